// Shape arithmetic. Part of base/.
#include "base/shape.h"

#include <algorithm>

namespace octavo {

// Not inline: GCC 12 warns about the copy where it is (a false stringop-overflow).
Shape::Shape(std::span<const std::int64_t> dims) : rank_(static_cast<int>(dims.size())) {
  if (rank_ > kInlineRank) more_.resize(dims.size());
  std::copy(dims.begin(), dims.end(), data());
}

std::int64_t Shape::elements() const { return elements(0, rank()); }

std::int64_t Shape::elements(int from, int to) const {
  std::int64_t count = 1;
  for (int axis = from; axis < to; ++axis) count *= (*this)[axis];
  return count;
}

std::vector<std::int64_t> Shape::strides() const {
  std::vector<std::int64_t> strides(static_cast<std::size_t>(rank()), 1);
  for (int axis = rank() - 2; axis >= 0; --axis) {
    const auto i = static_cast<std::size_t>(axis);
    strides[i] = strides[i + 1] * (*this)[axis + 1];
  }
  return strides;
}

std::string Shape::to_string() const {
  if (rank() == 0) return "scalar";
  std::string text;
  for (std::int64_t dim : *this) {
    if (!text.empty()) text += 'x';
    text += std::to_string(dim);
  }
  return text;
}

std::optional<std::int64_t> checked_elements(std::span<const std::int64_t> dims) {
  std::int64_t count = 1;
  bool is_empty = false;
  for (std::int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    if (dim == 0) is_empty = true;
    // The product of the non-zero dimensions is bounded too, so that partial products stay in range.
    if (dim > 0 && count > kMaxElements / dim) return std::nullopt;
    if (dim > 0) count *= dim;
  }
  return is_empty ? 0 : count;
}

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::vector<std::int64_t> dims(static_cast<std::size_t>(rank), 1);
  for (int i = 1; i <= rank; ++i) {
    const std::int64_t da = i <= a.rank() ? a[a.rank() - i] : 1;
    const std::int64_t db = i <= b.rank() ? b[b.rank() - i] : 1;
    if (da != db && da != 1 && db != 1) return std::nullopt;
    dims[static_cast<std::size_t>(rank - i)] = da == 1 ? db : da;
  }
  return Shape(dims);
}

std::optional<int> normalize_axis(std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) return std::nullopt;
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace octavo
