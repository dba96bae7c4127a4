// Shape: the dimensions of a tensor, row-major; numbers, or expressions over open sizes. Part of base/.
#ifndef OCTAVO_BASE_SHAPE_H_
#define OCTAVO_BASE_SHAPE_H_

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/dim.h"

namespace octavo {

// Any rank, 0 (a scalar) included. Dimensions are at least 0; nothing here assumes rank 4 or a layout.
// Up to kInlineRank dimensions live in the object itself, so that copying a shape (or a tensor view) in a run allocates
// nothing.
template <class Extent>
class BasicShape {
 public:
  static constexpr int kInlineRank = 8;

  BasicShape() = default;
  BasicShape(std::initializer_list<Extent> dims) : BasicShape(std::span(dims.begin(), dims.size())) {}
  explicit BasicShape(const std::vector<Extent>& dims) : BasicShape(std::span<const Extent>(dims)) {}
  explicit BasicShape(std::span<const Extent> dims);
  // Numbers as extents that may be open.
  template <std::same_as<std::int64_t> Number>
  requires std::same_as<Extent, Dim> BasicShape(const BasicShape<Number>& numbers)
      : BasicShape(std::vector<Dim>(numbers.begin(), numbers.end())) {}
  // Open extents as Dim::fixed.
  operator BasicShape<std::int64_t>() const requires std::same_as<Extent, Dim> {
    return BasicShape<std::int64_t>(std::vector<std::int64_t>(begin(), end()));
  }

  int rank() const { return rank_; }
  const Extent& operator[](int axis) const { return data()[axis]; }
  Extent& operator[](int axis) { return data()[axis]; }
  std::span<const Extent> dims() const { return {data(), static_cast<std::size_t>(rank_)}; }
  std::vector<Extent> to_vector() const { return {begin(), end()}; }
  const Extent* begin() const { return data(); }
  const Extent* end() const { return data() + rank_; }

  // Product of the dimensions. Shapes reach a Graph only through checked_elements, so this cannot overflow there.
  Extent elements() const { return elements(0, rank()); }
  // Product of the dimensions in [from, to).
  Extent elements(int from, int to) const;

  // Row-major strides in elements, one per axis.
  std::vector<Extent> strides() const;

  std::string to_string() const;  // "1x3x224x224"; "scalar" for rank 0
  bool operator==(const BasicShape& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

 private:
  const Extent* data() const { return rank_ > kInlineRank ? more_.data() : inline_.data(); }
  Extent* data() { return rank_ > kInlineRank ? more_.data() : inline_.data(); }

  int rank_ = 0;
  std::array<Extent, kInlineRank> inline_{};
  std::vector<Extent> more_;  // all dimensions, where there are more than kInlineRank
};

// Of memory.
using Shape = BasicShape<std::int64_t>;
// Of a value of a graph: extents may be open.
using OpenShape = BasicShape<Dim>;

extern template class BasicShape<std::int64_t>;
extern template class BasicShape<Dim>;

inline bool operator==(const OpenShape& a, const Shape& b) { return a == OpenShape(b); }

// Known to be equal, whatever the sizes.
inline bool is_same(const OpenShape& a, const OpenShape& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Dim& x, const Dim& y) { return is_same(x, y); });
}

// The element count, or nothing when a dimension is negative or the count exceeds kMaxElements: hostile files
// must not make us overflow or take unbounded memory.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 33;
std::optional<std::int64_t> checked_elements(std::span<const std::int64_t> dims);
// The same for extents that may be open: their ranges answer, or the example.
std::optional<Dim> checked_elements(std::span<const Dim> dims);

// Numpy broadcasting of two shapes, or nothing where they disagree. An open extent beside another than 1 is taken to be
// that one.
std::optional<Shape> broadcast(const Shape& a, const Shape& b);
std::optional<OpenShape> broadcast(const OpenShape& a, const OpenShape& b);

// Axis in [-rank, rank) to [0, rank), or nothing.
std::optional<int> normalize_axis(std::int64_t axis, int rank);

}  // namespace octavo

#endif  // OCTAVO_BASE_SHAPE_H_
