// Which operators compute the images of a batch apart from each other: OpSpec::for_one_image. Part of ops/.
#ifndef OCTAVO_OPS_ONE_IMAGE_H_
#define OCTAVO_OPS_ONE_IMAGE_H_

#include <cstdint>
#include <optional>

#include "graph/op.h"

namespace octavo {

// Of operators that never look along axis 0, whatever their attributes. Inputs of different rank are parameters or
// broadcast: only constants may be.
std::optional<Attrs> same_for_one_image(const Attrs& attrs, InputFacts inputs);

// Of operators that work along the last axis.
std::optional<Attrs> same_for_one_image_along_last_axis(const Attrs& attrs, InputFacts inputs);

// Of operators with one axis (an attribute `axis`, not negative; -1 of quantize and dequantize: none), unless it is 0.
template <class T>
std::optional<Attrs> same_for_one_image_along_axis(const Attrs& attrs, InputFacts inputs) {
  if (attrs.as<T>().axis == 0) return std::nullopt;
  return same_for_one_image(attrs, inputs);
}

// Of products in numpy shapes.
std::optional<Attrs> product_for_one_image(const Attrs& attrs, InputFacts inputs);

}  // namespace octavo

#endif  // OCTAVO_OPS_ONE_IMAGE_H_
