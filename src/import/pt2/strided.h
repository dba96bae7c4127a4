// Tensors as PyTorch stores them: a view with offset and strides into a storage. Part of import/.
#ifndef OCTAVO_IMPORT_PT2_STRIDED_H_
#define OCTAVO_IMPORT_PT2_STRIDED_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor.h"

namespace octavo::pt2_import {

// How many bytes of tensors may still be made. A view may be larger than its storage (stride 0) and many views may
// share one: without a bound, a small file could ask for any amount of memory.
struct ByteBudget {
  std::uint64_t left = 0;
};

struct StridedView {
  DType dtype = DType::f32;
  std::vector<std::int64_t> sizes, strides;  // in elements
  std::int64_t offset = 0;
};

// Unpacks the whole storage into memory of its size.
using ReadStorage = std::function<Status(std::span<std::byte>)>;

// The view's elements as a dense tensor, without a detour where they are all of the storage in its order. `where` names
// the tensor in messages.
Result<Tensor> read_strided(const StridedView& view, std::uint64_t storage_bytes, const ReadStorage& read,
                            ByteBudget& budget, const std::string& where);

}  // namespace octavo::pt2_import

#endif  // OCTAVO_IMPORT_PT2_STRIDED_H_
