// Copies by one list of offsets per axis. Part of kernels/.
#include "kernels/move/separable.h"

#include <numeric>

namespace octavo {
namespace {

// source[i] = source[0] + i * stride, nothing filled.
bool is_contiguous(const CopyAxis& axis, std::int64_t stride) {
  for (std::size_t i = 0; i < axis.source.size(); ++i) {
    if (axis.source[i] == kFilled || axis.source[i] != axis.source[0] + static_cast<std::int64_t>(i) * stride)
      return false;
  }
  return true;
}

template <class T>
void pick(const std::byte* x, const std::byte* fill, std::byte* y, const std::vector<std::int64_t>& offsets) {
  const auto* from = reinterpret_cast<const T*>(x);
  auto* to = reinterpret_cast<T*>(y);
  for (std::size_t i = 0; i < offsets.size(); ++i)
    to[i] = offsets[i] == kFilled ? *reinterpret_cast<const T*>(fill) : from[offsets[i]];
}

template <class T>
void fill_with(const std::byte* fill, std::byte* y, std::int64_t n) {
  const T value = *reinterpret_cast<const T*>(fill);
  auto* to = reinterpret_cast<T*>(y);
  for (std::int64_t i = 0; i < n; ++i) to[i] = value;
}

// One axis for two: every sum of an offset of each, as long as the list stays short.
bool merge_last_two(std::vector<CopyAxis>& axes) {
  constexpr std::size_t kMostOffsets = std::size_t{1} << 16;
  if (axes.size() < 2 || axes.back().source.size() * axes[axes.size() - 2].source.size() > kMostOffsets) return false;
  const CopyAxis inner = std::move(axes.back());
  axes.pop_back();
  CopyAxis merged;
  for (std::int64_t outer : axes.back().source) {
    for (std::int64_t offset : inner.source)
      merged.source.push_back(outer == kFilled || offset == kFilled ? kFilled : outer + offset);
  }
  axes.back() = std::move(merged);
  return true;
}

}  // namespace

CopyAxis axis_of(const std::vector<std::int64_t>& index, std::int64_t stride) {
  CopyAxis axis{index};
  for (std::int64_t& offset : axis.source) offset = offset < 0 ? kFilled : offset * stride;
  return axis;
}

CopyAxis plain_axis(std::int64_t size, std::int64_t stride, std::int64_t start, std::int64_t step) {
  CopyAxis axis;
  axis.source.resize(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < size; ++i) axis.source[static_cast<std::size_t>(i)] = (start + i * step) * stride;
  return axis;
}

SeparableCopy::SeparableCopy(std::vector<CopyAxis> axes, std::size_t element_bytes)
    : outer_(std::move(axes)), element_bytes_(element_bytes) {
  std::int64_t start = 0;
  while (!outer_.empty() && !outer_.back().source.empty() && is_contiguous(outer_.back(), row_elements_)) {
    start += outer_.back().source[0];
    row_elements_ *= static_cast<std::int64_t>(outer_.back().source.size());
    outer_.pop_back();
  }
  if (row_elements_ == 1 && !outer_.empty()) {
    last_ = std::move(outer_.back().source);
    row_elements_ = static_cast<std::int64_t>(last_.size());
    outer_.pop_back();
    for (std::int64_t& offset : last_) offset += offset == kFilled ? 0 : start;
  } else if (start != 0) {
    outer_.insert(outer_.begin(), CopyAxis{{start}});
  }
  // Fewer axes to divide by for every row.
  while (merge_last_two(outer_)) {
  }
  std::int64_t rows = row_elements_ == 0 ? 0 : 1;
  for (const CopyAxis& axis : outer_) rows *= static_cast<std::int64_t>(axis.source.size());
  chunks_ = Chunks::of(rows, row_elements_ * static_cast<std::int64_t>(element_bytes_));
}

void SeparableCopy::run(const std::byte* x, const std::byte* fill, std::byte* y, ItemRange range) const {
  const ItemRange rows = chunks_.units_of(range);
  const auto bytes = static_cast<std::int64_t>(element_bytes_);
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    std::int64_t rest = row, offset = 0;
    bool is_filled = false;
    for (std::size_t axis = outer_.size(); axis-- > 0;) {
      const auto size = static_cast<std::int64_t>(outer_[axis].source.size());
      const std::int64_t source = outer_[axis].source[static_cast<std::size_t>(rest % size)];
      rest /= size;
      is_filled = is_filled || source == kFilled;
      offset += source;
    }
    std::byte* to = y + row * row_elements_ * bytes;
    if (is_filled) fill_row(fill, to);
    else if (last_.empty()) copy_row(x + offset * bytes, to);
    else pick_row(x + offset * bytes, fill, to);
  }
}

void SeparableCopy::copy_row(const std::byte* x, std::byte* y) const {
  copy_bytes(x, y, static_cast<std::size_t>(row_elements_) * element_bytes_);
}

void SeparableCopy::pick_row(const std::byte* x, const std::byte* fill, std::byte* y) const {
  switch (element_bytes_) {
    case 1: return pick<std::uint8_t>(x, fill, y, last_);
    case 2: return pick<std::uint16_t>(x, fill, y, last_);
    case 4: return pick<std::uint32_t>(x, fill, y, last_);
    default: return pick<std::uint64_t>(x, fill, y, last_);
  }
}

void SeparableCopy::fill_row(const std::byte* fill, std::byte* y) const {
  switch (element_bytes_) {
    case 1: return fill_with<std::uint8_t>(fill, y, row_elements_);
    case 2: return fill_with<std::uint16_t>(fill, y, row_elements_);
    case 4: return fill_with<std::uint32_t>(fill, y, row_elements_);
    default: return fill_with<std::uint64_t>(fill, y, row_elements_);
  }
}

}  // namespace octavo
