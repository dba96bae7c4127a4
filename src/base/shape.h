// Shape: the dimensions of a tensor, row-major, all known. Part of base/.
#ifndef OCTAVO_BASE_SHAPE_H_
#define OCTAVO_BASE_SHAPE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace octavo {

// Any rank, 0 (a scalar) included. Dimensions are at least 0; nothing here assumes rank 4 or a layout.
// Up to kInlineRank dimensions live in the object itself, so that copying a shape (or a tensor view) in a run allocates
// nothing.
class Shape {
 public:
  static constexpr int kInlineRank = 8;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(const std::vector<std::int64_t>& dims) : Shape(std::span<const std::int64_t>(dims)) {}
  explicit Shape(std::span<const std::int64_t> dims);

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const { return data()[axis]; }
  std::int64_t& operator[](int axis) { return data()[axis]; }
  std::span<const std::int64_t> dims() const { return {data(), static_cast<std::size_t>(rank_)}; }
  std::vector<std::int64_t> to_vector() const { return {begin(), end()}; }
  const std::int64_t* begin() const { return data(); }
  const std::int64_t* end() const { return data() + rank_; }

  // Product of the dimensions. Shapes reach a Graph only through checked_elements, so this cannot overflow there.
  std::int64_t elements() const;
  // Product of the dimensions in [from, to).
  std::int64_t elements(int from, int to) const;

  // Row-major strides in elements, one per axis.
  std::vector<std::int64_t> strides() const;

  std::string to_string() const;  // "1x3x224x224"; "scalar" for rank 0
  bool operator==(const Shape& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

 private:
  const std::int64_t* data() const { return rank_ > kInlineRank ? more_.data() : inline_.data(); }
  std::int64_t* data() { return rank_ > kInlineRank ? more_.data() : inline_.data(); }

  int rank_ = 0;
  std::array<std::int64_t, kInlineRank> inline_{};
  std::vector<std::int64_t> more_;  // all dimensions, where there are more than kInlineRank
};

// The element count, or nothing when a dimension is negative or the count exceeds kMaxElements: hostile files
// must not make us overflow or take unbounded memory.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 33;
std::optional<std::int64_t> checked_elements(std::span<const std::int64_t> dims);

// Numpy broadcasting of two shapes, or nothing where they disagree.
std::optional<Shape> broadcast(const Shape& a, const Shape& b);

// Axis in [-rank, rank) to [0, rank), or nothing.
std::optional<int> normalize_axis(std::int64_t axis, int rank);

}  // namespace octavo

#endif  // OCTAVO_BASE_SHAPE_H_
