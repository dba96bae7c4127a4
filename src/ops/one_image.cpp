// Which operators compute the images of a batch apart from each other. Part of ops/.
#include "ops/one_image.h"

namespace octavo {

std::optional<Attrs> same_for_one_image(const Attrs& attrs, InputFacts inputs) {
  int rank = -1;
  for (const Fact* input : inputs) {
    if (input == nullptr || input->is_constant()) continue;
    if (rank >= 0 && input->shape.rank() != rank) return std::nullopt;
    rank = input->shape.rank();
  }
  return attrs;
}

std::optional<Attrs> same_for_one_image_along_last_axis(const Attrs& attrs, InputFacts inputs) {
  if (inputs[0]->shape.rank() < 2) return std::nullopt;
  return same_for_one_image(attrs, inputs);
}

std::optional<Attrs> product_for_one_image(const Attrs& attrs, InputFacts inputs) {
  constexpr int kWithBatch = 3;  // axis 0 of b is one of the batch
  if (!inputs[1]->is_constant() && inputs[1]->shape.rank() < kWithBatch) return std::nullopt;
  return same_for_one_image(attrs, inputs);
}

}  // namespace octavo
