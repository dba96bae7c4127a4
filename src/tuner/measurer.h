// Measurer: takes the times of ways in a process of its own, so that one that fails costs its trial, not the run. Part
// of tuner/.
#ifndef OCTAVO_TUNER_MEASURER_H_
#define OCTAVO_TUNER_MEASURER_H_

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "planner/trial.h"
#include "tuner/task.h"

namespace octavo {

struct TrialTimes {
  double ns = 0.0, median_ns = 0.0;  // of the repeats
  std::string failure;               // why there are none, or empty
};

struct MeasureOptions {
  TimeEvaluator evaluator;
  TrialOptions trial;
  bool is_on_device = false;      // ways are those of a device
  double timeout_seconds = 10.0;  // of one way
};

class Measurer {
 public:
  // The tasks must outlive it and stay as they are.
  Measurer(std::span<const TuningTask> tasks, const MeasureOptions& options) : tasks_(tasks), options_(options) {}
  ~Measurer() { end(); }
  Measurer(const Measurer&) = delete;
  Measurer& operator=(const Measurer&) = delete;

  // A way that crashes, hangs or cannot be prepared has failed, in words. Errors: resource where there is no process,
  // or it cannot have the device; usage, of a number that there is no device for.
  Result<TrialTimes> measure(std::size_t task, std::size_t way);

 private:
  Status start();
  Status greet(int socket, std::shared_ptr<const void>& device) const;
  Status hear_greeting();
  // Its exit status, in words.
  std::string end();
  [[noreturn]] void serve(int socket);

  std::span<const TuningTask> tasks_;
  MeasureOptions options_;
  pid_t child_ = -1;
  int socket_ = -1;
};

}  // namespace octavo

#endif  // OCTAVO_TUNER_MEASURER_H_
