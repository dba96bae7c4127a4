// Encoding, checking and changing layouts of weights. Part of onednn/.
#include "onednn/layout.h"

#include <algorithm>
#include <numeric>

namespace octavo::onednn {
namespace {

constexpr std::int64_t kLargestBlock = 4096;

// Elements of one block along each axis.
Dims block_sizes(const dnnl_memory_desc_t& md) {
  Dims sizes(static_cast<std::size_t>(md.ndims), 1);
  const auto& blocking = md.format_desc.blocking;
  for (int i = 0; i < blocking.inner_nblks; ++i)
    sizes[static_cast<std::size_t>(blocking.inner_idxs[i])] *= blocking.inner_blks[i];
  return sizes;
}

// Dense strides for the axes in this order, the blocks already set.
void set_strides(dnnl_memory_desc_t& md, std::span<const int> order) {
  const Dims blocks = block_sizes(md);
  std::int64_t stride = std::accumulate(blocks.begin(), blocks.end(), std::int64_t{1}, std::multiplies<>());
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(order[i]);
    const std::int64_t padded = (md.dims[axis] + blocks[axis] - 1) / blocks[axis] * blocks[axis];
    md.padded_dims[axis] = padded;
    md.format_desc.blocking.strides[axis] = stride;
    stride *= padded / blocks[axis];
  }
}

dnnl_memory_desc_t blank_desc(const Dims& dims) {
  dnnl_memory_desc_t md{};
  md.ndims = static_cast<int>(dims.size());
  std::copy(dims.begin(), dims.end(), md.dims);
  md.data_type = dnnl_f32;
  md.format_kind = dnnl_blocked;
  return md;
}

bool is_permutation_of_axes(std::span<const std::int32_t> order) {
  std::vector<bool> is_seen(order.size(), false);
  for (std::int32_t axis : order) {
    const bool is_axis = axis >= 0 && axis < static_cast<std::int32_t>(order.size());
    if (!is_axis || is_seen[static_cast<std::size_t>(axis)]) return false;
    is_seen[static_cast<std::size_t>(axis)] = true;
  }
  return true;
}

}  // namespace

Desc plain_desc(const Dims& dims, std::span<const int> order) {
  dnnl_memory_desc_t md = blank_desc(dims);
  set_strides(md, order);
  return Desc(md);
}

Desc any_desc(const Dims& dims) { return Desc(dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any); }

std::optional<std::vector<std::int32_t>> encode_layout(const Desc& desc) {
  const dnnl_memory_desc_t& md = desc.data;
  if (md.format_kind != dnnl_blocked || md.data_type != dnnl_f32 || md.extra.flags != 0 || md.offset0 != 0)
    return std::nullopt;
  const auto& blocking = md.format_desc.blocking;
  const Dims blocks = block_sizes(md);
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(md.ndims));
  std::iota(numbers.begin(), numbers.end(), 0);
  // Of axes with equal strides only one is longer than 1; it is the outer one.
  std::stable_sort(numbers.begin(), numbers.end(), [&](std::int32_t a, std::int32_t b) {
    const auto extent = [&](std::int32_t axis) {
      return md.padded_dims[axis] / blocks[static_cast<std::size_t>(axis)];
    };
    if (blocking.strides[a] != blocking.strides[b]) return blocking.strides[a] > blocking.strides[b];
    return extent(a) > extent(b);
  });
  for (int i = 0; i < blocking.inner_nblks; ++i) {
    numbers.push_back(static_cast<std::int32_t>(blocking.inner_blks[i]));
    numbers.push_back(static_cast<std::int32_t>(blocking.inner_idxs[i]));
  }
  // What comes back must be the layout that went in: this catches offsets, gaps and whatever else the numbers do not
  // say.
  const auto decoded = decode_layout(Dims(md.dims, md.dims + md.ndims), numbers);
  if (!decoded || *decoded != desc) return std::nullopt;
  return numbers;
}

std::optional<Desc> decode_layout(const Dims& dims, std::span<const std::int32_t> numbers) {
  const std::size_t rank = dims.size();
  if (numbers.size() < rank || (numbers.size() - rank) % 2 != 0 || (numbers.size() - rank) / 2 > DNNL_MAX_NDIMS)
    return std::nullopt;
  const auto order = numbers.first(rank);
  if (!is_permutation_of_axes(order)) return std::nullopt;
  dnnl_memory_desc_t md = blank_desc(dims);
  auto& blocking = md.format_desc.blocking;
  std::int64_t block = 1;
  for (std::size_t i = rank; i < numbers.size(); i += 2) {
    if (numbers[i] < 1 || numbers[i] > kLargestBlock || numbers[i + 1] < 0 ||
        numbers[i + 1] >= static_cast<std::int32_t>(rank))
      return std::nullopt;
    block *= numbers[i];
    if (block > kLargestBlock) return std::nullopt;
    blocking.inner_blks[blocking.inner_nblks] = numbers[i];
    blocking.inner_idxs[blocking.inner_nblks] = numbers[i + 1];
    ++blocking.inner_nblks;
  }
  set_strides(md, order);
  return Desc(md);
}

Tensor reorder(const Weights& from, const Desc& to) {
  const OneOpenMpThread one_thread;
  Tensor result(DType::f32, Shape{static_cast<std::int64_t>(to.get_size() / sizeof(float))});
  dnnl::memory source = empty_memory(from.desc);
  dnnl::memory target = empty_memory(to);
  set_data(source, from.data);
  set_data(target, result.data());
  dnnl::stream queue(engine());
  dnnl::reorder(source, target).execute(queue, source, target);
  queue.wait();
  return result;
}

const std::byte* WeightLayouts::in_layout(const Desc& wanted) {
  for (const Weights& weights : known_) {
    if (weights.desc == wanted) return weights.data;
  }
  owned_.push_back(reorder(known_.front(), wanted));
  known_.push_back({wanted, owned_.back().data()});
  return known_.back().data;
}

}  // namespace octavo::onednn
