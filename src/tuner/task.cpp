// Collecting the calls of a plan. Part of tuner/.
#include "tuner/task.h"

#include <algorithm>

#include "planner/measurement_log.h"

namespace octavo {

OwnedCall::OwnedCall(const OpCall& call) : attrs_(*call.attrs), call_(call) {
  facts_.reserve(call.inputs.size());
  for (const Fact*& input : call_.inputs) {
    if (input != nullptr) input = &facts_.emplace_back(*input);
  }
  call_.attrs = &attrs_;
}

StepObserver TaskCollector::observer() {
  return [this](const OpCall& call, const SelectOptions& options, std::int64_t calls) {
    for (const Fact* input : call.inputs) {
      if (input != nullptr && input->is_constant())
        constant_bytes_ += static_cast<std::int64_t>(input->constant->bytes());
    }
    const double in_a_row = static_cast<double>(calls) * options.threads / threads_;
    std::string subject = describe_call(call);
    TuningTask& task = tasks_[subject + "\n" + std::to_string(options.threads)];
    task.calls += calls > 1 ? in_a_row : 1.0;
    if (task.call != nullptr) return;
    task.subject = std::move(subject);
    task.threads = options.threads;
    task.call = std::make_shared<const OwnedCall>(call);
    task.ways = all_ways(task.call->call(), machine_, options);
  };
}

std::vector<TuningTask> TaskCollector::tasks() const {
  std::vector<TuningTask> tasks;
  for (const auto& [key, task] : tasks_) {
    if (task.ways.size() > 1) tasks.push_back(task);
  }
  std::stable_sort(tasks.begin(), tasks.end(),
                   [](const TuningTask& a, const TuningTask& b) { return a.predicted_ns() > b.predicted_ns(); });
  return tasks;
}

}  // namespace octavo
