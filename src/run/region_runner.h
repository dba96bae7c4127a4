// Runs a region of a plan: every thread takes a slice (an image of a batch) through all of the region's steps, then the
// next one. Part of run/.
#ifndef OCTAVO_RUN_REGION_RUNNER_H_
#define OCTAVO_RUN_REGION_RUNNER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "base/tensor.h"
#include "plan/plan.h"
#include "run/step_call.h"
#include "run/thread_pool.h"

namespace octavo {

class RegionRunner {
 public:
  // `calls` are those of all steps of the plan, `batch` their pointers: where slice 0 lies, or null for what lies in
  // the arena of a slice. Thread t has its own at `arenas` + t * `arena_stride`.
  RegionRunner(const Plan& plan, const Region& region, std::span<const StepCall> calls, const Pointers& batch,
               std::byte* arenas, std::uint64_t arena_stride, int threads);

  const Region& region() const { return *region_; }

  // All slices, `batch` as it is now. Threads share those slices that are left when every one had equally many. `stop`
  // is asked between steps of a slice. Whether it came to the end.
  bool run(const Pointers& batch, const Scratch& scratch, Executor* pool, const std::stop_token& stop);

  // From now on `run` notes how long each step takes and, where `keeps_values`, what it computes: all slices, one after
  // the other.
  void observe(bool keeps_values);
  void stop_observing();
  // Of the last run: wall time of a step of the plan, summed over slices; threads that work at the same time count
  // once.
  std::int64_t elapsed_ns(std::size_t step) const;
  // The outputs of a call; without data where values are not kept.
  std::span<const TensorView> values_of(const StepCall& call) const {
    return std::span(values_).subspan(call.first_output - first_output_, call.output_count);
  }

 private:
  // An operand of which each slice of the batch has its own part.
  struct Slice {
    std::size_t slot = 0;  // in the pointers
    std::uint64_t bytes = 0;
  };

  static void run_lane(const void* context, int lane);
  void point_to(Pointers& pointers, std::int64_t slice) const;
  void run_slice(int lane, std::int64_t slice);
  void share_slice(std::int64_t slice, Executor* pool);
  void keep(std::size_t step, const Pointers& pointers, std::int64_t slice);
  std::int64_t slices_for_lanes(int lanes) const;

  const Plan* plan_;
  const Region* region_;
  std::vector<StepCall> calls_;  // of the region
  std::size_t first_output_ = 0;
  std::vector<Slice> input_slices_, output_slices_;
  std::vector<Pointers> lanes_;      // by thread
  const Pointers* batch_ = nullptr;  // of this run
  const Scratch* scratch_ = nullptr;
  const std::stop_token* stop_ = nullptr;
  std::int64_t whole_slices_ = 0;  // of this run: those that a thread takes alone
  std::atomic<std::int64_t> next_slice_{0};

  bool is_observed_ = false;
  std::vector<std::vector<std::int64_t>> lane_ns_;  // by thread and step
  std::vector<std::int64_t> shared_ns_;             // by step
  int busy_lanes_ = 1;
  std::vector<TensorView> values_;
  std::vector<Tensor> kept_;
};

}  // namespace octavo

#endif  // OCTAVO_RUN_REGION_RUNNER_H_
