// Tensors as PyTorch stores them. Part of import/.
#include "import/pt2/strided.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/fields.h"

namespace octavo::pt2_import {
namespace {

constexpr std::size_t kMaxRank = 64;

Error invalid(const std::string& where, std::string found, std::string expected) {
  return {ErrorKind::invalid_input, where, std::move(found), std::move(expected), ""};
}

// Elements of the storage up to and including the last one that the view reaches; nothing where that is beyond
// counting.
std::optional<std::int64_t> reach(const StridedView& view) {
  std::int64_t last = view.offset;
  for (std::size_t i = 0; i < view.sizes.size(); ++i) {
    std::int64_t step = 0;
    if (__builtin_mul_overflow(view.sizes[i] - 1, view.strides[i], &step) || __builtin_add_overflow(last, step, &last))
      return std::nullopt;
  }
  return last < kMaxElements ? std::optional(last + 1) : std::nullopt;
}

Status check(const StridedView& view, std::uint64_t storage_bytes, const std::string& where) {
  const auto is_negative = [](std::int64_t number) { return number < 0; };
  if (view.sizes.size() > kMaxRank || !checked_elements(view.sizes)) {
    return invalid(where, "sizes " + print(view.sizes), "at most 2^33 elements in up to 64 dimensions");
  }
  const bool are_good = view.strides.size() == view.sizes.size() && view.offset >= 0 &&
                        std::none_of(view.strides.begin(), view.strides.end(), is_negative);
  if (!are_good)
    return invalid(where, "strides " + print(view.strides) + " and offset " + std::to_string(view.offset),
                   "one stride per size");
  const auto needed = *checked_elements(view.sizes) == 0 ? std::optional<std::int64_t>(0) : reach(view);
  const std::uint64_t stored = storage_bytes / size_of(view.dtype);
  if (!needed || static_cast<std::uint64_t>(*needed) > stored) {
    return invalid(
        where,
        std::to_string(storage_bytes) + " bytes for sizes " + print(view.sizes) + " and strides " + print(view.strides),
        needed ? "at least " + std::to_string(static_cast<std::uint64_t>(*needed) * size_of(view.dtype)) + " bytes"
               : "fewer elements");
  }
  return ok_status();
}

// The storage is exactly this tensor.
bool is_dense(const StridedView& view, std::uint64_t storage_bytes) {
  const Shape shape(view.sizes);
  if (view.offset != 0 || static_cast<std::uint64_t>(shape.elements()) * size_of(view.dtype) != storage_bytes)
    return false;
  const std::vector<std::int64_t> dense = shape.strides();
  for (std::size_t i = 0; i < dense.size(); ++i) {
    if (view.sizes[i] > 1 && view.strides[i] != dense[i]) return false;
  }
  return true;
}

void copy(const StridedView& view, const std::vector<std::byte>& storage, Tensor& to) {
  const std::size_t size = size_of(view.dtype);
  std::vector<std::int64_t> index(view.sizes.size(), 0);
  std::int64_t from = view.offset;
  for (std::int64_t i = 0; i < to.elements(); ++i) {
    std::memcpy(to.data() + static_cast<std::size_t>(i) * size, storage.data() + static_cast<std::size_t>(from) * size,
                size);
    for (std::size_t axis = index.size(); axis-- > 0;) {
      from += view.strides[axis];
      if (++index[axis] < view.sizes[axis]) break;
      from -= view.strides[axis] * view.sizes[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace

Result<Tensor> read_strided(const StridedView& view, std::uint64_t storage_bytes, const ReadStorage& read,
                            ByteBudget& budget, const std::string& where) {
  if (auto status = check(view, storage_bytes, where); !status) return status.errors();
  const Shape shape(view.sizes);
  const std::uint64_t bytes = static_cast<std::uint64_t>(shape.elements()) * size_of(view.dtype);
  const std::uint64_t wanted = std::max(bytes, storage_bytes);
  if (wanted > budget.left) {
    return invalid(where, std::to_string(wanted) + " bytes more",
                   "at most " + std::to_string(budget.left) + " for the tensors of this file");
  }
  budget.left -= wanted;
  Tensor tensor(view.dtype, shape);
  if (is_dense(view, storage_bytes)) {
    if (auto status = read({tensor.data(), tensor.bytes()}); !status) return status.errors();
    return tensor;
  }
  std::vector<std::byte> storage(storage_bytes);
  if (auto status = read(storage); !status) return status.errors();
  copy(view, storage, tensor);
  return tensor;
}

}  // namespace octavo::pt2_import
