// How tensors are described and handed over: Octavo never owns a caller's memory. Part of the public API.
#ifndef OCTAVO_TENSOR_H_
#define OCTAVO_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "octavo/dtype.h"

namespace octavo::v1 {

// An input or output of a model. `shape` is concrete: every compiled batch or shape has a plan of its own.
struct TensorInfo {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<float> scale;  // one; real value = (stored - zero_point) * scale. Empty where it is not quantized
  std::vector<std::int32_t> zero_point;

  // Of the whole tensor.
  std::size_t bytes() const {
    std::size_t total = size_of(dtype);
    for (const std::int64_t dim : shape) total *= static_cast<std::size_t>(dim);
    return total;
  }
};

// Dense, row-major memory of the caller, aligned to the element type. Neither memory nor shape is copied: both have to
// last for the call that takes this.
struct ConstTensorRef {
  DType dtype = DType::f32;
  std::span<const std::int64_t> shape;
  const void* data = nullptr;
};
// The same to be written to.
struct TensorRef {
  DType dtype = DType::f32;
  std::span<const std::int64_t> shape;
  void* data = nullptr;
};

}  // namespace octavo::v1

#endif  // OCTAVO_TENSOR_H_
