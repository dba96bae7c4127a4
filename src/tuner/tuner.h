// tune: tries ways of the calls of a network, keeps every time in the log of measurements. Part of tuner/.
#ifndef OCTAVO_TUNER_TUNER_H_
#define OCTAVO_TUNER_TUNER_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "planner/measurement_log.h"
#include "tuner/measurer.h"
#include "tuner/search.h"

namespace octavo {

// Of one tuner.
struct TuneProgress {
  std::int64_t trials = 0, of = 0;  // taken; at most
  double best_ns = 0.0;             // of all tasks, each as often as a run calls it, as measured so far
  double default_ns = 0.0;          // the same of what a plan takes without a log
};

struct TuneOptions {
  SearchKind search = SearchKind::ga;
  std::int64_t trials = 1000;       // of all tasks together
  std::int64_t early_stopping = 0;  // trials of a task without a better one after which it has enough; 0: no end
  std::uint32_t seed = 0;
  MeasureOptions measure;
  Ranker* ranker = nullptr;  // for SearchKind::xgb
  // Told after every trial; false: no more trials. May be empty.
  std::function<bool(const TuneProgress&)> goes_on;
};

struct TrialRecord {
  std::size_t way = 0;
  double ns = 0.0;  // HUGE_VAL where it failed
};

struct TaskHistory {
  std::vector<TrialRecord> trials;         // in their order
  std::size_t best = 0;                    // way, after the best were timed again
  double best_ns = 0.0, default_ns = 0.0;  // of these, in turns
};

struct TuneHistory {
  SearchKind search = SearchKind::ga;
  std::vector<TaskHistory> tasks;  // in the order of the tasks
  std::int64_t trials = 0;
  std::int64_t failed = 0;  // of these
  bool was_stopped = false;
  std::vector<double> best_ns;  // TuneProgress::best_ns after each trial, once all tasks had one
};

// The time of a way of a task, from wherever.
using MeasureWay = std::function<Result<TrialTimes>(std::size_t task, std::size_t way)>;

// Tries what plans take without a log, then gives trials to tasks in batches: to whichever is
// expected to gain most, by its share of the network's time, by what its last batch gained, and the less the more
// batches it had. A way that the log has in the same setting is not measured again, and counts as a trial: what was
// interrupted goes on where it stopped. In the end the best of every task are timed again in turns with the default,
// which stays where it is not at least 1 % slower. Errors: of the log, of `measure`.
Result<TuneHistory> tune(std::span<const TuningTask> tasks, MeasurementLog& log, const MeasureWay& measure,
                         const TuneOptions& options);

}  // namespace octavo

#endif  // OCTAVO_TUNER_TUNER_H_
