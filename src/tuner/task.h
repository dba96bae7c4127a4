// TuningTask: a call that a network makes, and every way to go about it. Part of tuner/.
#ifndef OCTAVO_TUNER_TASK_H_
#define OCTAVO_TUNER_TASK_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "planner/planner.h"
#include "planner/select.h"

namespace octavo {

// A call with all that it refers to.
class OwnedCall {
 public:
  explicit OwnedCall(const OpCall& call);
  OwnedCall(const OwnedCall&) = delete;
  OwnedCall& operator=(const OwnedCall&) = delete;
  const OpCall& call() const { return call_; }

 private:
  Attrs attrs_;
  std::vector<Fact> facts_;
  OpCall call_;
};

struct TuningTask {
  std::string subject;  // describe_call
  int threads = 1;      // that share the call
  double calls = 0.0;   // in a run of the network, one after the other
  std::shared_ptr<const OwnedCall> call;
  std::vector<Way> ways;  // at least two; the first is what a plan takes without a log

  // A predicted share of the network's time.
  double predicted_ns() const { return calls * ways.front().predicted_ns; }
};

// Calls of a plan, equal ones together, with the ways that a machine has. Calls with one way only are left out.
class TaskCollector {
 public:
  // `threads` of the whole network: images of a batch that threads take one each are so many at the same time.
  // Their ways are those of `machine`.
  TaskCollector(int threads, Machine machine) : threads_(threads), machine_(std::move(machine)) {}
  // For PlanOptions::on_step; refers to this.
  StepObserver observer();
  // Those that take longest, as predicted, first.
  std::vector<TuningTask> tasks() const;
  // Bytes of the constants of all steps.
  std::int64_t constant_bytes() const { return constant_bytes_; }
  const Machine& machine() const { return machine_; }

 private:
  int threads_;
  Machine machine_;
  std::int64_t constant_bytes_ = 0;
  std::map<std::string, TuningTask> tasks_;  // by subject and threads
};

}  // namespace octavo

#endif  // OCTAVO_TUNER_TASK_H_
