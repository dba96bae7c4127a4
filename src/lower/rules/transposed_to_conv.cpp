// Transposed convolutions as convolutions of their phases. Part of lower/.
#include "lower/rules/transposed_to_conv.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "graph/open_shape.h"
#include "lower/quantized_value.h"
#include "ops/conv/conv.h"
#include "ops/conv_transpose/conv_transpose.h"
#include "ops/dequantize/dequantize.h"
#include "ops/image.h"
#include "ops/reshape/reshape.h"
#include "ops/slice/slice.h"
#include "ops/transpose/transpose.h"

namespace octavo {
namespace {

// One spatial axis. Position o of the result is position o + cut of what the phases give: phase r = (o + cut) % stride
// of pixel q = (o + cut) / stride, which sums x[q + first + t * dilation] * w[start + r - stride * t] over the taps t.
struct Phases {
  std::int64_t stride = 1, taps = 1, dilation = 1;
  std::int64_t first = 0, start = 0, cut = 0;
  std::int64_t weight_step = 1;  // w[k] is weight k / weight_step, and 0 where that leaves a rest
  std::int64_t pad_begin = 0, pad_end = 0;
};

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }
std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return -floor_div(-a, b); }

struct TransposedAxis {
  std::int64_t kernel, stride, dilation, pad_begin, pad_end, output_padding;
};

Phases phases_of(const TransposedAxis& axis) {
  Phases p{.stride = axis.stride};
  // Along an axis that keeps its pixels the dilated kernel stays one, else the gaps become weights of 0.
  p.dilation = axis.stride == 1 ? axis.dilation : 1;
  p.weight_step = axis.stride == 1 ? 1 : axis.dilation;
  const std::int64_t extent = (axis.kernel - 1) * axis.dilation + 1;
  // Tap k of pixel i falls on i * stride + k - pad_begin. With `shift` = pad_begin - cut, pixels from
  // ceil((shift - extent + 1) / stride) to ceil(shift / stride) reach a phase of pixel 0.
  std::int64_t fewest = 0;
  for (std::int64_t cut = 0; cut < std::min(axis.stride, axis.pad_begin + 1); ++cut) {
    const std::int64_t shift = axis.pad_begin - cut;
    const std::int64_t taps = ceil_div(shift, axis.stride) - ceil_div(shift - extent + 1, axis.stride) + 1;
    if (fewest != 0 && taps >= fewest) continue;
    fewest = taps, p.cut = cut;
  }
  std::int64_t shift = axis.pad_begin - p.cut;
  p.first = ceil_div(shift - extent + 1, axis.stride);
  // Where more is cut off than the kernel reaches, the first pixels do not count.
  const std::int64_t skipped = std::max<std::int64_t>(0, p.first) * axis.stride;
  p.cut += skipped, shift -= skipped, p.first = std::min<std::int64_t>(0, p.first);
  p.taps = axis.stride == 1 ? axis.kernel : fewest;
  p.start = axis.stride == 1 ? axis.kernel - 1 : shift - axis.stride * p.first;
  p.pad_begin = -p.first;
  // So many pixels that the last position of the result is among their phases.
  const std::int64_t beyond =
      floor_div(p.cut + extent + axis.output_padding - axis.pad_begin - axis.pad_end + axis.stride - 1, axis.stride);
  p.pad_end = std::max<std::int64_t>(0, beyond - 1 + p.first + (p.taps - 1) * p.dilation);
  return p;
}

std::vector<Phases> phases_of(const ConvTransposeAttrs& conv) {
  std::vector<Phases> all;
  for (std::size_t i = 0; i < conv.window.kernel.size(); ++i) {
    all.push_back(phases_of(TransposedAxis{.kernel = conv.window.kernel[i],
                                           .stride = conv.window.strides[i],
                                           .dilation = conv.window.dilations[i],
                                           .pad_begin = conv.window.pad_begin[i],
                                           .pad_end = conv.window.pad_end[i],
                                           .output_padding = conv.output_padding[i]}));
  }
  return all;
}

constexpr double kMostGrowth = 16.0;  // weights for each of the kernel's

// Strides beyond the kernel make weights of 0 that nobody wants to store. In a hostile file they have no end, and
// phases_of goes through them: where one is so long by itself it is not asked.
bool may_be_worth_it(const Window& window) {
  for (std::size_t i = 0; i < window.kernel.size(); ++i) {
    if (static_cast<double>(window.strides[i]) > kMostGrowth * static_cast<double>(window.kernel[i].fixed()))
      return false;
  }
  return true;
}

bool are_worth_it(const std::vector<Phases>& phases, const Window& window) {
  double growth = 1.0;
  for (std::size_t i = 0; i < phases.size(); ++i)
    growth *= static_cast<double>(phases[i].stride) * static_cast<double>(phases[i].taps) /
              static_cast<double>(window.kernel[i].fixed());
  return growth <= kMostGrowth;
}

std::int64_t count_of(const std::vector<Phases>& phases) {
  std::int64_t count = 1;
  for (const Phases& axis : phases) count *= axis.stride;
  return count;
}

// The output channels of the convolution are [groups, phases, channels of a group]; gives the one of the transposed
// convolution.
struct PhaseChannels {
  std::int64_t per_group, phases;
  std::int64_t channel_of(std::int64_t oc) const { return oc / (per_group * phases) * per_group + oc % per_group; }
  std::int64_t phase_of(std::int64_t oc) const { return oc / per_group % phases; }
};

// Weight k of phase r and tap t along each axis, as a position in the kernel; nothing where it is 0.
std::optional<std::int64_t> kernel_position(const std::vector<Phases>& phases, const Image& kernel, std::int64_t phase,
                                            std::int64_t tap) {
  std::int64_t offset = 0;
  for (std::size_t axis = phases.size(); axis-- > 0;) {
    const Phases& p = phases[axis];
    const std::int64_t k = p.start + phase % p.stride - p.stride * (tap % p.taps);
    if (k < 0 || k % p.weight_step != 0 || k / p.weight_step >= kernel.sizes[axis]) return std::nullopt;
    offset += k / p.weight_step * kernel.strides[axis];
    phase /= p.stride;
    tap /= p.taps;
  }
  return offset;
}

// [OC, kernel] as [phases of OC, taps]; weights that no tap has stand for 0, which is stored as `zeros` says by output
// channel: one, or one each.
Tensor phase_weights(const Tensor& w, const std::vector<Phases>& phases, Layout layout, const PhaseChannels& channels,
                     const std::vector<std::int32_t>& zeros) {
  const Image kernel = Image::of(w.shape(), layout);
  ImageExtents extents = ImageExtents::of(w.shape(), layout);
  extents.batch = w.shape()[0] * channels.phases;
  for (std::size_t i = 0; i < phases.size(); ++i) extents.sizes[i] = phases[i].taps;
  Tensor made(w.dtype(), Shape(fixed(extents.dims(layout))));
  const Image result = Image::of(made.shape(), layout);
  const std::size_t size = size_of(w.dtype());
  for (std::int64_t oc = 0; oc < result.batch; ++oc) {
    const std::int64_t channel = channels.channel_of(oc);
    const std::int32_t zero = zeros[zeros.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
    for (std::int64_t tap = 0; tap < result.positions(); ++tap) {
      const auto from = kernel_position(phases, kernel, channels.phase_of(oc), tap);
      for (std::int64_t ic = 0; ic < result.channels; ++ic) {
        const std::int64_t to = oc * result.batch_stride + result.offset(tap) + ic * result.channel_stride;
        if (!from) {
          store_double(made.view(), to, zero);
          continue;
        }
        const std::int64_t at = channel * kernel.batch_stride + *from + ic * kernel.channel_stride;
        std::memcpy(made.data() + static_cast<std::size_t>(to) * size, w.data() + static_cast<std::size_t>(at) * size,
                    size);
      }
    }
  }
  return made;
}

// A list with one entry per output channel, for all phases; one that stands for all channels stays.
Tensor per_phase(const Tensor& list, const PhaseChannels& channels) {
  if (list.elements() == 1 && list.shape().rank() == 0) return list;
  Tensor made(list.dtype(), Shape{list.elements() * channels.phases});
  for (std::int64_t oc = 0; oc < made.elements(); ++oc)
    store_double(made.view(), oc, element_as_double(list.view(), channels.channel_of(oc)));
  return made;
}

// Weights or bias of the convolution: a constant, or a constant behind a dequantize; nothing where the value is
// neither.
template <class Rearrange>
std::optional<ValueId> rearranged(const Graph& graph, Patch& patch, ValueId value, const PhaseChannels& channels,
                                  const Rearrange& rearrange) {
  const Fact& fact = graph.fact(value);
  const std::string& name = graph.value(value).name;
  if (fact.is_constant()) return patch.constant(name, rearrange(*fact.constant, std::vector<std::int32_t>{0}));
  const auto quantized = quantized_constant(graph, value);
  if (!quantized || quantized->axis > 0) return std::nullopt;
  const Node& dequantize = *graph.producer(value);
  std::vector<ValueId> inputs = dequantize.inputs;
  inputs[0] = patch.constant(name, rearrange(*quantized->q, quantized->zero_point));
  const bool is_by_output = dequantize.attrs.as<DequantizeAttrs>().axis == 0;  // also where there is but one
  for (std::size_t i = 1; i < inputs.size() && is_by_output; ++i) {
    if (inputs[i].exists())
      inputs[i] = patch.constant(graph.value(inputs[i]).name, per_phase(*graph.fact(inputs[i]).constant, channels));
  }
  return patch.add(kDequantize, dequantize.attrs, std::move(inputs), dequantize.name, dequantize.origin);
}

// The convolution's result [N, Q1, Q2, groups * phases * channels] as an image of all phases; channels first: [N,
// groups
// * phases * channels, Q1, Q2].
ValueId side_by_side(Patch& patch, ValueId y, const std::vector<Phases>& phases, const ConvTransposeAttrs& conv,
                     std::int64_t per_group, const Node& node) {
  const ImageExtents image = ImageExtents::of(patch.fact(y).shape, conv.layout);
  const auto rank = static_cast<std::int64_t>(phases.size());
  std::vector<Dim> channels{conv.groups}, parts{image.batch}, dims{image.batch};
  for (const Phases& axis : phases) channels.emplace_back(axis.stride);
  channels.emplace_back(per_group);
  const bool is_first = conv.layout == Layout::channels_first;
  if (is_first) parts.insert(parts.end(), channels.begin(), channels.end());
  parts.insert(parts.end(), image.sizes.begin(), image.sizes.end());
  if (!is_first) parts.insert(parts.end(), channels.begin(), channels.end());
  const std::int64_t first_channel = is_first ? 1 : 1 + rank, first_pixel = is_first ? 3 + rank : 1;
  std::vector<std::int64_t> perm{0};
  const auto keep_channels = [&] {
    perm.insert(perm.end(), {first_channel, first_channel + rank + 1});
    dims.emplace_back(conv.groups * per_group);
  };
  if (is_first) keep_channels();
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    perm.insert(perm.end(), {first_pixel + axis, first_channel + 1 + axis});
    const auto i = static_cast<std::size_t>(axis);
    dims.push_back(image.sizes[i] * phases[i].stride);
  }
  if (!is_first) keep_channels();
  const ValueId split = patch.add(kReshape, ReshapeAttrs{parts}, {y}, node.name + "/phases", node.origin);
  const ValueId moved = patch.add(kTranspose, TransposeAttrs{perm}, {split}, node.name + "/apart", node.origin);
  return patch.add(kReshape, ReshapeAttrs{dims}, {moved}, node.name + "/image", node.origin);
}

// The positions of the result.
ValueId transposed_cut(Patch& patch, ValueId y, const std::vector<Phases>& phases, const OpenShape& result,
                       Layout layout, const Node& node) {
  SliceAttrs slice{.starts = std::vector<Dim>(static_cast<std::size_t>(result.rank()), 0),
                   .steps = std::vector<std::int64_t>(static_cast<std::size_t>(result.rank()), 1),
                   .sizes = result.to_vector()};
  for (std::size_t i = 0; i < phases.size(); ++i)
    slice.starts[i + (layout == Layout::channels_first ? 2 : 1)] = phases[i].cut;
  if (is_same(patch.fact(y).shape.dims(), result.dims())) return y;
  return patch.add(kSlice, slice, {y}, node.name + "/cut", node.origin);
}

}  // namespace

Match transposed_to_conv(const Graph& graph, const Node& node) {
  if (node.spec != &kConvTranspose) return std::string();
  const auto& conv = node.attrs.as<ConvTransposeAttrs>();
  const OpenShape& w = graph.fact(node.inputs[1]).shape;
  const std::string too_sparse = "its stride is much larger than its kernel";
  if (!may_be_worth_it(conv.window)) return too_sparse;
  const std::vector<Phases> phases = phases_of(conv);
  if (!are_worth_it(phases, conv.window)) return too_sparse;
  const PhaseChannels channels{w[0] / conv.groups, count_of(phases)};
  Patch patch(graph);
  const auto weights = rearranged(graph, patch, node.inputs[1], channels, [&](const Tensor& given, const auto& zeros) {
    return phase_weights(given, phases, conv.layout, channels, zeros);
  });
  if (!weights) return std::string("its weights are not constant");
  std::vector<ValueId> inputs{node.inputs[0], *weights};
  if (node.inputs.size() > 2 && node.inputs[2].exists()) {
    const auto bias = rearranged(graph, patch, node.inputs[2], channels,
                                 [&](const Tensor& given, const auto&) { return per_phase(given, channels); });
    if (!bias) return std::string("its bias is not constant");
    inputs.push_back(*bias);
  }
  std::vector<Dim> taps;
  for (const Phases& axis : phases) taps.emplace_back(axis.taps);
  ConvAttrs attrs{.window = unit_window(taps), .groups = conv.groups, .layout = conv.layout};
  for (std::size_t i = 0; i < phases.size(); ++i) {
    attrs.window.dilations[i] = phases[i].dilation;
    attrs.window.pad_begin[i] = phases[i].pad_begin;
    attrs.window.pad_end[i] = phases[i].pad_end;
  }
  ValueId y = patch.add(kConv, attrs, std::move(inputs), node.name, node.origin);
  // Sizes of a hostile file that a convolution refuses.
  if (patch.fact(y).shape.rank() != w.rank()) return std::string("no convolution takes its phases");
  if (channels.phases > 1) y = side_by_side(patch, y, phases, conv, channels.per_group, node);
  patch.replace(node.outputs[0],
                transposed_cut(patch, y, phases, graph.fact(node.outputs[0]).shape, conv.layout, node));
  return patch;
}

}  // namespace octavo
