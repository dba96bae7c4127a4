// Shape: the dimensions of a tensor, row-major, all known. Part of base/.
#ifndef OCTAVO_BASE_SHAPE_H_
#define OCTAVO_BASE_SHAPE_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace octavo {

// Any rank, 0 (a scalar) included. Dimensions are at least 0; nothing here assumes rank 4 or a layout.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<std::int64_t> dims) : dims_(std::move(dims)) {}
  explicit Shape(std::span<const std::int64_t> dims) : dims_(dims.begin(), dims.end()) {}

  int rank() const { return static_cast<int>(dims_.size()); }
  std::int64_t operator[](int axis) const { return dims_[static_cast<std::size_t>(axis)]; }
  std::int64_t& operator[](int axis) { return dims_[static_cast<std::size_t>(axis)]; }
  std::span<const std::int64_t> dims() const { return dims_; }
  std::vector<std::int64_t> to_vector() const { return dims_; }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }

  // Product of the dimensions. Shapes reach a Graph only through checked_elements, so this cannot overflow there.
  std::int64_t elements() const;
  // Product of the dimensions in [from, to).
  std::int64_t elements(int from, int to) const;

  // Row-major strides in elements, one per axis.
  std::vector<std::int64_t> strides() const;

  std::string to_string() const;  // "1x3x224x224"; "scalar" for rank 0
  bool operator==(const Shape&) const = default;

 private:
  std::vector<std::int64_t> dims_;
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
