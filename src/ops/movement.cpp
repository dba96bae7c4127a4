// Strided copies. Part of ops/.
#include "ops/movement.h"

#include <algorithm>
#include <cstdlib>

namespace octavo {
namespace {

// One axis of a copy, its strides in elements.
struct MovementAxis {
  std::int64_t size = 1;
  std::int64_t from = 0;
  std::int64_t to = 0;
};

// The axes of a dense result, outermost first; axes of one element are left out, neighbours that run on in both tensors
// are one.
std::vector<MovementAxis> merged_axes(const Shape& shape, std::span<const std::int64_t> strides) {
  const std::vector<std::int64_t> dense = shape.strides();
  std::vector<MovementAxis> axes;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    const MovementAxis axis{shape[static_cast<int>(i)], strides[i], dense[i]};
    if (axis.size == 1) continue;
    if (!axes.empty() && axes.back().from == axis.from * axis.size)
      axes.back() = {axes.back().size * axis.size, axis.from, axis.to};
    else axes.push_back(axis);
  }
  while (axes.size() < 2) axes.insert(axes.begin(), MovementAxis{});
  return axes;
}

// A plane of two axes in tiles, so that a transpose touches each cache line of either side once.
template <class T>
void copy_plane(const MovementAxis& rows, const MovementAxis& columns, const T* x, T* y) {
  constexpr std::int64_t kTile = 32;
  for (std::int64_t row = 0; row < rows.size; row += kTile) {
    for (std::int64_t column = 0; column < columns.size; column += kTile) {
      const std::int64_t last_row = std::min(rows.size, row + kTile);
      const std::int64_t last_column = std::min(columns.size, column + kTile);
      for (std::int64_t r = row; r < last_row; ++r) {
        for (std::int64_t c = column; c < last_column; ++c)
          y[r * rows.to + c * columns.to] = x[r * rows.from + c * columns.from];
      }
    }
  }
}

// The plane is the result's last axis and the one along which x is densest; the others are walked.
template <class T>
void copy_axes(std::vector<MovementAxis> axes, const T* x, T* y) {
  const MovementAxis columns = axes.back();
  axes.pop_back();
  const auto densest = std::min_element(axes.begin(), axes.end(), [](const MovementAxis& a, const MovementAxis& b) {
    return std::abs(a.from) < std::abs(b.from);
  });
  const MovementAxis rows = *densest;
  axes.erase(densest);
  std::vector<std::int64_t> index(axes.size(), 0);
  while (true) {
    copy_plane(rows, columns, x, y);
    std::size_t i = axes.size();
    while (i > 0) {
      --i;
      x += axes[i].from;
      y += axes[i].to;
      if (++index[i] < axes[i].size) break;
      x -= axes[i].from * axes[i].size;
      y -= axes[i].to * axes[i].size;
      index[i] = 0;
      if (i == 0) return;
    }
    if (axes.empty()) return;
  }
}

}  // namespace

std::vector<std::int64_t> broadcast_strides(const Shape& from, const Shape& to) {
  const std::vector<std::int64_t> dense = from.strides();
  std::vector<std::int64_t> strides(static_cast<std::size_t>(to.rank()), 0);
  const int lead = to.rank() - from.rank();
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (from[axis] != 1) strides[static_cast<std::size_t>(axis + lead)] = dense[static_cast<std::size_t>(axis)];
  }
  return strides;
}

void copy_strided(const ConstTensorView& x, const TensorView& y, std::span<const std::int64_t> strides,
                  std::int64_t base) {
  if (y.shape.elements() == 0) return;
  const std::vector<MovementAxis> axes = merged_axes(y.shape, strides);
  switch (size_of(x.dtype)) {
    case 1: return copy_axes(axes, x.as<std::uint8_t>() + base, y.as<std::uint8_t>());
    case 2: return copy_axes(axes, x.as<std::uint16_t>() + base, y.as<std::uint16_t>());
    case 4: return copy_axes(axes, x.as<std::uint32_t>() + base, y.as<std::uint32_t>());
    default: return copy_axes(axes, x.as<std::uint64_t>() + base, y.as<std::uint64_t>());
  }
}

Fact moved_fact(const Fact& x, OpenShape shape) {
  Fact y{.dtype = x.dtype, .shape = std::move(shape)};
  if (x.quant && x.quant->axis < 0) y.quant = x.quant;
  return y;
}

}  // namespace octavo
