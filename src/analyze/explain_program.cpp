// Measures a model of several parts kernel by kernel. Part of analyze/.
#include "analyze/explain_program.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>

#include "analyze/bench.h"
#include "run/access.h"

namespace octavo {
namespace {

// What is told of every step, summed up by where it is.
class StepTimes {
 public:
  explicit StepTimes(std::size_t networks) : starts_(networks) {}

  void add(std::int32_t network, const Plan& plan, const StepEvent& event) {
    const auto index = static_cast<std::size_t>(network);
    if (event.index == 0) ++starts_[index];
    const std::string& name = plan.report_of(event.index).name;
    ProgramStep& step = steps_[{index, name, event.step->op, event.step->kernel}];
    if (step.calls == 0.0)
      step = {.network = index,
              .name = name,
              .op = event.step->op,
              .kernel = event.step->kernel,
              .type = type_of(plan, *event.step)};
    step.calls += static_cast<double>(plan.calls_of(event.index));
    step.ms += static_cast<double>(event.elapsed_ns) * 1e-6;
  }

  // Into means of so many runs.
  void put_into(ProgramExplanation& e, double runs) const {
    for (const auto& [place, step] : steps_) {
      e.networks[step.network].ms += step.ms / runs;
      e.steps.push_back(step);
      e.steps.back().calls /= runs;
      e.steps.back().ms /= runs;
    }
    for (std::size_t i = 0; i < starts_.size(); ++i) e.networks[i].runs = static_cast<double>(starts_[i]) / runs;
    std::stable_sort(e.steps.begin(), e.steps.end(),
                     [](const ProgramStep& a, const ProgramStep& b) { return a.ms > b.ms; });
  }

 private:
  std::map<std::tuple<std::size_t, std::string, std::string, std::string>, ProgramStep> steps_;
  std::vector<std::int64_t> starts_;
};

nlohmann::json plan_cache_json(const v1::PlanCacheInfo& plans) {
  return {{"hits", plans.hits},       {"made", plans.made},       {"followed", plans.followed},
          {"lowered", plans.lowered}, {"dropped", plans.dropped}, {"again", plans.again},
          {"kept", plans.plans},      {"bytes", plans.bytes},     {"limit_bytes", plans.limit_bytes}};
}

}  // namespace

double ProgramExplanation::steps_ms() const {
  double sum = 0.0;
  for (const ProgramNetwork& network : networks) sum += network.ms;
  return sum;
}

Result<ProgramExplanation> explain_program(const std::string& name, const v1::CompiledModel& compiled,
                                           const ExplainOptions& options) {
  auto session = Session::of_program(compiled, options.choice, options.threads);
  if (!session) return session.errors();
  if (const Status filled = options.fill(*session); !filled) return filled.errors();
  ProgramExplanation e{.model = name, .info = compiled.info(), .threads = session->threads()};
  e.networks.resize(e.info.networks.size());
  for (const v1::PartInfo& part : e.info.parts) {
    if (part.network) e.networks[*part.network].name = part.name;
  }
  if (const Status done = session->run(); !done) return done.errors();  // plans what comes
  auto whole = time_runs(*session, options.seconds / 2);
  if (!whole) return whole.errors();
  if (options.progress) options.progress(0.5);
  StepTimes times(e.networks.size());
  ProgramContext& context = v1::Access::of(session->program()).context;
  context.observe_steps(
      [&](std::int32_t network, const Plan& plan, const StepEvent& step) { times.add(network, plan, step); });
  const auto observed = time_runs(*session, options.seconds / 2);
  context.observe_steps({});
  if (!observed) return observed.errors();
  if (options.progress) options.progress(1.0);
  e.run_ms = median_ms(*whole);
  e.runs = std::ssize(*whole);
  const auto runs = static_cast<double>(observed->size());
  times.put_into(e, runs);
  const auto caches = session->program().plan_caches();
  for (std::size_t i = 0; i < caches.size(); ++i) e.networks[i].plans = caches[i];
  const auto all_ns = static_cast<double>(std::accumulate(observed->begin(), observed->end(), std::int64_t{0}));
  e.outside_ms = std::max(0.0, all_ns * 1e-6 / runs - e.steps_ms());
  return e;
}

nlohmann::json explanation_json(const ProgramExplanation& e) {
  nlohmann::json networks = nlohmann::json::array(), steps = nlohmann::json::array();
  for (std::size_t i = 0; i < e.networks.size(); ++i) {
    nlohmann::json notes = nlohmann::json::array();
    for (const v1::PlanInfo& plan : e.info.networks[i].plans) {
      for (const std::string& note : plan.notes) notes.push_back(note);
    }
    networks.push_back({{"name", e.networks[i].name},
                        {"runs", e.networks[i].runs},
                        {"ms", e.networks[i].ms},
                        {"plans", plan_cache_json(e.networks[i].plans)},
                        {"notes", std::move(notes)}});
  }
  for (const ProgramStep& s : e.steps)
    steps.push_back({{"network", s.network},
                     {"name", s.name},
                     {"op", s.op},
                     {"kernel", s.kernel},
                     {"type", name_of(s.type)},
                     {"calls", s.calls},
                     {"ms", s.ms}});
  return {{"machine", machine_json()},
          {"model", e.model},
          {"dialect", e.info.dialect},
          {"source_nodes", e.info.source_nodes},
          {"threads", e.threads},
          {"runs", e.runs},
          {"run_ms", e.run_ms},
          {"outside_ms", e.outside_ms},
          {"networks", std::move(networks)},
          {"steps", std::move(steps)}};
}

}  // namespace octavo
