// The steps of a batch that run image by image, so that what one leaves is still in the caches when the next reads it.
// Part of planner/.
#ifndef OCTAVO_PLANNER_IMAGE_LOOP_H_
#define OCTAVO_PLANNER_IMAGE_LOOP_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "base/machine.h"
#include "kernels/kernel.h"

namespace octavo {

// What a step costs either way.
struct LoopCost {
  double batch_ns = 0.0;            // predicted, the whole batch at once
  double image_ns = 0.0;            // predicted, one image
  std::int64_t image_bytes = 0;     // activations of one image, read and written
  std::int64_t constant_bytes = 0;  // weights and the like
};

std::int64_t bytes_of(const Fact& fact);
// Of a step whose call on one image that is.
LoopCost loop_cost(const OpCall& image, double batch_ns, double image_ns);

// How many steps, from the first on, are predicted to take less time image by image than for the batch at once. Beside
// the kernels' own time a batch fetches activations from wherever a batch of them fits, and a loop fetches weights once
// per image from wherever those of all its steps fit.
std::size_t steps_by_image(std::span<const LoopCost> steps, std::int64_t images, const Machine& machine);

// Calls on a batch as calls on one of its images. Keeps the facts that these point to.
class ImageCalls {
 public:
  explicit ImageCalls(std::int64_t images) : images_(images) {}

  // The attributes with which `call` (its constants known) is computed image by image and, in `image`, that call on one
  // image; nothing where the operator or a shape does not allow it. `image.attrs` is left to the caller, who keeps the
  // attributes.
  std::optional<Attrs> image_of(const OpCall& call, OpCall& image);

 private:
  const Fact* image_of(const Fact& fact);

  std::int64_t images_;
  std::deque<Fact> facts_;
};

}  // namespace octavo

#endif  // OCTAVO_PLANNER_IMAGE_LOOP_H_
