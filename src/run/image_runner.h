// Runs the image loop of a plan: every thread takes an image through all of the loop's steps, then the next one. Part
// of run/.
#ifndef OCTAVO_RUN_IMAGE_RUNNER_H_
#define OCTAVO_RUN_IMAGE_RUNNER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/tensor.h"
#include "plan/plan.h"
#include "run/step_call.h"
#include "run/thread_pool.h"

namespace octavo {

class ImageRunner {
 public:
  // `calls` are those of the loop, `batch` the pointers of all steps: where image 0 lies, or null for what lies in the
  // arena of an image. Thread t has its own at `arenas` + t * `arena_stride`.
  void prepare(const Plan& plan, std::span<const StepCall> calls, const Pointers& batch, std::byte* arenas,
               std::uint64_t arena_stride, int threads);

  // All images, `batch` as it is now. Threads share those images that are left when every one had equally many.
  void run(const Pointers& batch, const Scratch& scratch, Executor* pool);

  // From now on `run` notes how long each step takes and, where `keeps_values`, what it computes: all images, one after
  // the other.
  void observe(bool keeps_values);
  void stop_observing();
  // Of the last run: wall time of a step, summed over images; threads that work at the same time count once.
  std::int64_t elapsed_ns(std::size_t step) const;
  // By output, as in the pointers; without data where values are not kept.
  std::span<const TensorView> values() const { return values_; }

 private:
  // An operand of which each image has its own part.
  struct Slice {
    std::size_t slot = 0;  // in the pointers
    std::uint64_t bytes = 0;
  };

  static void run_lane(const void* context, int lane);
  void point_to(Pointers& pointers, std::int64_t image) const;
  void run_image(int lane, std::int64_t image);
  void share_image(std::int64_t image, Executor* pool);
  void keep(std::size_t step, const Pointers& pointers, std::int64_t image);
  std::int64_t images_for_lanes(int lanes) const;

  const Plan* plan_ = nullptr;
  std::vector<StepCall> calls_;
  std::vector<Slice> input_slices_, output_slices_;
  std::vector<Pointers> lanes_;      // by thread
  const Pointers* batch_ = nullptr;  // of this run
  const Scratch* scratch_ = nullptr;
  std::int64_t whole_images_ = 0;  // of this run: those that a thread takes alone
  std::atomic<std::int64_t> next_image_{0};

  bool is_observed_ = false;
  std::vector<std::vector<std::int64_t>> lane_ns_;  // by thread and step
  std::vector<std::int64_t> shared_ns_;             // by step
  int busy_lanes_ = 1;
  std::vector<TensorView> values_;
  std::vector<Tensor> kept_;
};

}  // namespace octavo

#endif  // OCTAVO_RUN_IMAGE_RUNNER_H_
