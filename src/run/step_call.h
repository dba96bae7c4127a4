// A step with what a context calls it with. Part of run/.
#ifndef OCTAVO_RUN_STEP_CALL_H_
#define OCTAVO_RUN_STEP_CALL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/kernel.h"
#include "run/thread_pool.h"

namespace octavo {

// Where the operands of steps lie, one step's after the other's.
struct Pointers {
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs;
};

// Scratch memory of every thread, `stride` bytes apart.
struct Scratch {
  std::byte* first = nullptr;
  std::uint64_t stride = 0;
  std::byte* of(int thread) const { return first + stride * static_cast<std::uint64_t>(thread); }
};

// Into how many parts a step is cut for so many threads, by what is predicted for one; a prediction that is not a
// positive number limits nothing. A part of a round that is shorter than two barriers is not worth another thread.
inline int parts_for(const Step& step, double predicted_ns, int threads, double barrier_ns) {
  const double least_ns = 2.0 * barrier_ns * static_cast<double>(step.rounds());
  int parts = static_cast<int>(std::min<std::int64_t>(step.items(), threads));
  if (predicted_ns > 0.0 && predicted_ns < least_ns * parts)
    parts = std::max(1, static_cast<int>(predicted_ns / least_ns));
  return parts;
}

// A step with its slices of the pointers, and into how many parts its items are cut where threads share them.
struct StepCall {
  const Step* step = nullptr;
  std::int64_t items = 1;
  std::int64_t rounds = 1;
  int parts = 1;
  std::size_t first_input = 0, input_count = 0;
  std::size_t first_output = 0, output_count = 0;
  StepFailure* failure = nullptr;  // this step's, in the run that is under way
  const StepCall* next = nullptr;  // the next that reads constants of which there are many

  StepBuffers buffers(const Pointers& pointers, std::byte* scratch) const {
    return {.inputs = {pointers.inputs.data() + first_input, input_count},
            .outputs = {pointers.outputs.data() + first_output, output_count},
            .scratch = scratch,
            .failure = failure};
  }

  // Of the next step.
  std::span<const std::byte> ahead_of(int part) const {
    return next == nullptr || part >= next->parts ? std::span<const std::byte>()
                                                  : next->step->reads(next->range_of(part));
  }

  ItemRange range_of(int part) const {
    const std::int64_t share = items / parts;
    const std::int64_t rest = items % parts;
    const std::int64_t begin = share * part + std::min<std::int64_t>(part, rest);
    return {begin, begin + share + (part < rest ? 1 : 0)};
  }

  // All rounds of all items on this thread.
  void run_alone(StepBuffers whole) const {
    for (whole.round = 0; whole.round < rounds; ++whole.round) step->run(whole, {0, items});
  }
  // With the threads of `pool`, or on this one where there is none.
  void run(const Pointers& pointers, const Scratch& scratch, Executor* pool) const;
};

}  // namespace octavo

#endif  // OCTAVO_RUN_STEP_CALL_H_
