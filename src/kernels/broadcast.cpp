// Merging of broadcast axes. Part of kernels/.
#include "kernels/broadcast.h"

namespace octavo {
namespace {

using Strides = std::array<std::int64_t, kMaxBroadcast>;

// Element strides of an operand along the result's axes; 0 where it is repeated.
std::vector<std::int64_t> strides_along(const Shape& result, const Shape& operand) {
  std::vector<std::int64_t> strides(static_cast<std::size_t>(result.rank()), 0);
  std::int64_t stride = 1;
  for (int i = 1; i <= operand.rank(); ++i) {
    const std::int64_t dim = operand[operand.rank() - i];
    if (dim != 1) strides[static_cast<std::size_t>(result.rank() - i)] = stride;
    stride *= dim;
  }
  return strides;
}

}  // namespace

Broadcast::Broadcast(const Shape& result, std::span<const Shape* const> operands) {
  std::vector<std::vector<std::int64_t>> along;
  for (const Shape* operand : operands) along.push_back(strides_along(result, *operand));
  for (int axis = 0; axis < result.rank(); ++axis) {
    if (result[axis] == 1) continue;
    Strides strides{};
    for (std::size_t k = 0; k < along.size(); ++k) strides[k] = along[k][static_cast<std::size_t>(axis)];
    bool merges = !dims_.empty();
    for (std::size_t k = 0; merges && k < along.size(); ++k) merges = strides_.back()[k] == strides[k] * result[axis];
    if (!merges) {
      dims_.push_back(result[axis]);
      strides_.push_back(strides);
    } else {
      dims_.back() *= result[axis];
      strides_.back() = strides;
    }
  }
  if (dims_.empty()) {
    dims_.push_back(1);
    strides_.push_back({1, 1, 1});
  }
  if (dims_.size() == 1) {
    dims_.insert(dims_.begin(), 1);
    strides_.insert(strides_.begin(), Strides{});
  }
  if (result.elements() == 0) dims_.assign(2, 0);
  for (std::size_t i = 0; i + 1 < dims_.size(); ++i) rows_ *= dims_[i];
  chunks_ = rows_ == 1 ? Chunks::of(dims_.back(), 1) : Chunks::of(rows_, dims_.back());
}

RowBlock Broadcast::part_of_row(ItemRange elements) const {
  RowBlock block{.rows = 1, .n = elements.end - elements.begin, .y_offset = elements.begin};
  for (std::size_t k = 0; k < kMaxBroadcast; ++k) {
    block.step[k] = static_cast<int>(strides_.back()[k]);
    block.offset[k] = elements.begin * block.step[k];
  }
  return block;
}

RowBlock Broadcast::block_at(std::int64_t row, std::int64_t end) const {
  const std::size_t inner = dims_.size() - 1;
  const std::int64_t first = row % dims_[inner - 1];
  RowBlock block{
      .rows = std::min(dims_[inner - 1] - first, end - row), .n = dims_[inner], .y_offset = row * dims_[inner]};
  std::int64_t rest = row;
  for (std::size_t i = inner; i-- > 0;) {
    const std::int64_t index = rest % dims_[i];
    rest /= dims_[i];
    for (std::size_t k = 0; k < kMaxBroadcast; ++k) block.offset[k] += index * strides_[i][k];
  }
  for (std::size_t k = 0; k < kMaxBroadcast; ++k) {
    block.row_stride[k] = strides_[inner - 1][k];
    block.step[k] = static_cast<int>(strides_[inner][k]);
  }
  return block;
}

}  // namespace octavo
