// Trial: one call with tensors of its own, to find out how long ways to go about it take. Part of planner/.
#ifndef OCTAVO_PLANNER_TRIAL_H_
#define OCTAVO_PLANNER_TRIAL_H_

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/choice.h"
#include "run/device.h"
#include "run/step_call.h"

namespace octavo {

// What caches hold when a run begins.
enum class TrialCache : std::uint8_t {
  network,  // values, where threads have just written a part of each; other layers' weights came since those of this
            // one
  warm,     // whatever the run before left
  cold,     // nothing in level 2
};
constexpr int count_of(TrialCache) { return 3; }
constexpr std::string_view name_of(TrialCache cache) {
  constexpr std::string_view names[] = {"network", "warm", "cold"};
  return names[static_cast<int>(cache)];
}

// As AutoTVM's: `repeat` times the mean of `number` runs, of more where they take less than `min_repeat_ms`.
struct TimeEvaluator {
  int number = 1;
  int repeat = 20;
  double min_repeat_ms = 0.1;
};

struct TrialOptions {
  TrialCache cache = TrialCache::network;  // a device's: network, and else warm
  std::int64_t network_bytes = 0;          // of the weights of all layers, for TrialCache::network
  MachineSpeeds speeds = {};               // of the machine that a plan would be made for
  int device = 0;                          // of kernels for devices: its number
};

class Trial {
 public:
  // On random data, of every value in bytes, around 0 in floats; of other types 0, which is valid where they are
  // indices. Refers to the call.
  Trial(const OpCall& call, int threads, const TrialOptions& options);

  // Another way. Errors: those of KernelCode::prepare; resource where the machine lacks the instructions, or the
  // device.
  Status prepare(const KernelChoice& kernel, std::span<const std::byte> schedule, double predicted_ns);
  // Of the way that was prepared: nanoseconds of a run, `repeat` of them. Error: resource where a run failed.
  Result<std::vector<double>> time(const TimeEvaluator& evaluator);

 private:
  void add_inputs();
  void pack();
  Status prepare_step(std::size_t packed, std::span<const std::byte> schedule);
  Status prepare_on_device();
  void run();
  Result<double> run_ns(int number);
  void prepare_caches();

  const OpCall& call_;
  const int threads_;
  const TrialOptions options_;
  ThreadPool pool_;
  const KernelChoice* kernel_ = nullptr;
  std::list<Tensor> owned_;
  std::vector<Tensor*> values_;  // of owned_: inputs known only in a run
  Pointers pointers_;
  std::vector<std::vector<Tensor>> packed_;        // as often as caches are to hold none of it
  std::vector<std::unique_ptr<Step>> steps_;       // of each
  std::unique_ptr<DeviceTrial> on_device_;         // of all, where the kernel is one for devices
  Tensor scratch_;                                 // of all threads
  std::vector<std::vector<std::uint64_t>> other_;  // of each thread: what else level 2 may hold
  std::size_t next_ = 0;
  int parts_ = 1;
  StepFailure failure_;
};

}  // namespace octavo

#endif  // OCTAVO_PLANNER_TRIAL_H_
