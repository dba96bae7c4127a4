// The loop over batches of trials. Part of tuner/.
#include "tuner/tuner.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "kernels/schedule.h"
#include "tuner/features.h"

namespace octavo {
namespace {

constexpr std::size_t kBatch = 16;

// What a task has seen so far.
struct Progress {
  std::vector<SearchPoint> space;
  std::unique_ptr<Search> search;
  TaskHistory history;
  double least = HUGE_VAL;
  std::int64_t batches = 0, since_better = 0;
  double last_gain = 1.0;  // share of its time that the last batch saved; of the first one unknown
  bool is_done = false;
};

class Tuner {
 public:
  Tuner(std::span<const TuningTask> tasks, MeasurementLog& log, const MeasureWay& measure, const TuneOptions& options)
      : tasks_(tasks), log_(log), measure_(measure), options_(options), known_(groups_of(log.trials(), tasks)) {}

  Result<TuneHistory> run() {
    history_.search = options_.search;
    for (const TuningTask& task : tasks_) add(task);
    for (std::size_t task = 0; task < tasks_.size(); ++task) {
      if (const Status done = run_trials(task, {0}); !done) return done.errors();
    }
    while (!history_.was_stopped && history_.trials < options_.trials) {
      const auto next = next_task();
      if (!next) break;
      if (const Status done = run_batch(*next); !done) return done.errors();
    }
    for (std::size_t task = 0; task < tasks_.size(); ++task) {
      if (const Status done = confirm(task); !done) return done.errors();
      history_.tasks.push_back(std::move(progress_[task].history));
    }
    return std::move(history_);
  }

 private:
  void add(const TuningTask& task) {
    Progress& own = progress_.emplace_back();
    own.space = search_space(task);
    const auto seed = static_cast<std::uint32_t>(options_.seed + progress_.size());
    own.search =
        make_search(own.space, {.kind = options_.search, .seed = seed, .ranker = options_.ranker, .known = known_});
  }

  double ns_of(std::size_t task) const {
    const Progress& own = progress_[task];
    return tasks_[task].calls * (std::isfinite(own.least) ? own.least : tasks_[task].ways.front().predicted_ns);
  }

  // Nothing where every task has enough.
  std::optional<std::size_t> next_task() const {
    constexpr double kAlways = 0.02;  // of its time, that more batches may gain, divided by how many it had
    std::optional<std::size_t> next;
    double most = -1.0;
    for (std::size_t i = 0; i < progress_.size(); ++i) {
      const Progress& own = progress_[i];
      if (own.is_done) continue;
      const double expected = ns_of(i) * std::max(own.last_gain / 2.0, kAlways / static_cast<double>(1 + own.batches));
      if (expected > most) most = expected, next = i;
    }
    return next;
  }

  Status run_batch(std::size_t task) {
    Progress& own = progress_[task];
    const auto room = static_cast<std::size_t>(options_.trials - history_.trials);
    const auto points = own.search->propose(std::min(kBatch, room));
    if (!points) return points.errors();
    const double before = own.least;
    if (const Status done = run_trials(task, *points); !done) return done;
    ++own.batches;
    own.last_gain = std::isfinite(before) ? 1.0 - own.least / before : 1.0;
    const bool has_enough = options_.early_stopping > 0 && own.since_better >= options_.early_stopping;
    own.is_done = has_enough || own.history.trials.size() == own.space.size();
    return ok_status();
  }

  Status run_trials(std::size_t task, const std::vector<std::size_t>& points) {
    std::vector<SearchTrial> observations;
    for (const std::size_t point : points) {
      if (history_.was_stopped) break;
      const auto ns = trial(task, point);
      if (!ns) return ns.errors();
      observations.push_back({point, *ns});
      tell();
    }
    progress_[task].search->observe(observations);
    return ok_status();
  }

  void tell() {
    TuneProgress told{.trials = history_.trials, .of = options_.trials};
    for (std::size_t i = 0; i < progress_.size(); ++i) {
      told.best_ns += ns_of(i);
      const TaskHistory& own = progress_[i].history;
      told.default_ns += own.trials.empty() ? ns_of(i) : tasks_[i].calls * own.trials.front().ns;
    }
    if (history_.trials >= static_cast<std::int64_t>(tasks_.size())) history_.best_ns.push_back(told.best_ns);
    if (options_.goes_on && !options_.goes_on(told)) history_.was_stopped = true;
  }

  Measurement measurement_of(std::size_t task, std::size_t way) const {
    const Way& own = tasks_[task].ways[way];
    return {.subject = tasks_[task].subject,
            .variant = std::string(own.kernel->code.name),
            .values = {},
            .schedule = schedule_text(own.kernel->code, own.schedule),
            .threads = tasks_[task].threads,
            .cache = std::string(name_of(options_.measure.trial.cache))};
  }

  std::map<std::string, double> values_of(std::size_t task, std::size_t way, double ns, double median_ns) const {
    return {{"ns", ns}, {"median_ns", median_ns}, {std::string(kPredictedNs), tasks_[task].ways[way].predicted_ns}};
  }

  // By the log or, where it has none, measured now.
  Result<double> trial(std::size_t task, std::size_t way) {
    Measurement measurement = measurement_of(task, way);
    const Measurement* known = log_.find(measurement);
    if (known == nullptr) {
      const auto times = measure_(task, way);
      if (!times) return times.errors();
      measurement.failure = times->failure;
      if (times->failure.empty()) measurement.values = values_of(task, way, times->ns, times->median_ns);
      if (const Status added = log_.add(measurement); !added) return added.errors();
      known = log_.find(measurement);
    }
    const auto found = known->values.find("ns");
    const double ns = found == known->values.end() ? HUGE_VAL : found->second;
    remember(progress_[task], {way, ns});
    return ns;
  }

  void remember(Progress& own, TrialRecord record) {
    own.history.trials.push_back(record);
    ++history_.trials;
    history_.failed += std::isfinite(record.ns) ? 0 : 1;
    own.since_better = record.ns < own.least ? 0 : own.since_better + 1;
    own.least = std::min(own.least, record.ns);
  }

  // The default, the fastest, and what was confirmed before.
  std::vector<std::size_t> contenders(std::size_t task) const {
    constexpr std::size_t kMost = 6;
    std::vector<TrialRecord> trials = progress_[task].history.trials;
    std::sort(trials.begin(), trials.end(), [](const auto& a, const auto& b) { return a.ns < b.ns; });
    std::set<std::size_t> ways{0};
    for (std::size_t i = 0; i < std::min(kMost, trials.size()); ++i) {
      if (std::isfinite(trials[i].ns)) ways.insert(trials[i].way);
    }
    for (std::size_t way = 0; way < tasks_[task].ways.size(); ++way) {
      const Measurement* known = log_.find(measurement_of(task, way));
      if (known != nullptr && known->values.contains(std::string(kRounds))) ways.insert(way);
    }
    return {ways.begin(), ways.end()};
  }

  Status confirm(std::size_t task) {
    constexpr int kRoundsTaken = 5;
    constexpr double kNoise = 0.01;
    TaskHistory& own = progress_[task].history;
    if (own.trials.size() < 2) return ok_status();
    const std::vector<std::size_t> ways = contenders(task);
    std::vector<std::vector<double>> times(ways.size());
    for (int round = 0; round < kRoundsTaken; ++round) {
      for (std::size_t i = 0; i < ways.size(); ++i) {
        const auto measured = measure_(task, ways[i]);
        if (!measured) return measured.errors();
        times[i].push_back(measured->failure.empty() ? measured->ns : HUGE_VAL);
      }
    }
    std::vector<double> least;
    for (std::vector<double>& of_way : times) {
      std::sort(of_way.begin(), of_way.end());
      least.push_back(of_way.front());
    }
    auto best = static_cast<std::size_t>(std::min_element(least.begin(), least.end()) - least.begin());
    if (least[0] * (1.0 - kNoise) <= least[best]) best = 0;
    own.best = ways[best];
    own.best_ns = least[best];
    own.default_ns = least[0];
    return keep_confirmed(task, ways, times, best);
  }

  // The one that won is the one that plans take.
  Status keep_confirmed(std::size_t task, const std::vector<std::size_t>& ways,
                        const std::vector<std::vector<double>>& times, std::size_t best) {
    for (std::size_t i = 0; i < ways.size(); ++i) {
      if (!std::isfinite(times[i].back())) continue;
      Measurement measurement = measurement_of(task, ways[i]);
      measurement.values = values_of(task, ways[i], times[i].front(), times[i][times[i].size() / 2]);
      if (i == best) measurement.values[std::string(kRounds)] = static_cast<double>(times[i].size());
      if (const Status added = log_.add(std::move(measurement)); !added) return added;
    }
    return ok_status();
  }

  std::span<const TuningTask> tasks_;
  MeasurementLog& log_;
  const MeasureWay& measure_;
  const TuneOptions& options_;
  std::vector<RankedGroup> known_;
  std::vector<Progress> progress_;
  TuneHistory history_;
};

}  // namespace

Result<TuneHistory> tune(std::span<const TuningTask> tasks, MeasurementLog& log, const MeasureWay& measure,
                         const TuneOptions& options) {
  return Tuner(tasks, log, measure, options).run();
}

}  // namespace octavo
