// Sums of convolutions of the same image. Part of lower/.
#include "lower/rules/parallel_convs.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "graph/origin.h"
#include "lower/tensor_edit.h"
#include "ops/binary/binary.h"
#include "ops/conv/conv.h"
#include "ops/image.h"

namespace octavo {
namespace {

const ConvAttrs& attrs_of(const Node& conv) { return conv.attrs.as<ConvAttrs>(); }

// Which tap of the wide window's axis meets the narrow one's first.
std::optional<std::int64_t> place_along(const Window& narrow, const Window& wide, std::size_t axis) {
  const std::int64_t dilation = wide.dilations[axis];
  for (const Dim& dim : {narrow.kernel[axis], wide.kernel[axis], narrow.pad_begin[axis], wide.pad_begin[axis]}) {
    if (!dim.is_number()) return std::nullopt;
  }
  const std::int64_t distance = wide.pad_begin[axis].fixed() - narrow.pad_begin[axis].fixed();
  const bool is_same_step = is_one(narrow.kernel[axis]) || narrow.dilations[axis] == dilation;
  if (!is_same_step || narrow.strides[axis] != wide.strides[axis] || distance % dilation != 0) return std::nullopt;
  const std::int64_t first = distance / dilation;
  if (first < 0 || first + narrow.kernel[axis].fixed() > wide.kernel[axis].fixed()) return std::nullopt;
  return first;
}

// The same along every axis; none where one of its taps, or one of a group's channels, has no counterpart.
std::optional<std::vector<std::int64_t>> place_in(const ConvAttrs& narrow, const ConvAttrs& wide) {
  if (narrow.layout != wide.layout || narrow.window.rank() != wide.window.rank() || narrow.groups % wide.groups != 0)
    return std::nullopt;
  std::vector<std::int64_t> place;
  for (std::size_t axis = 0; axis < narrow.window.kernel.size(); ++axis) {
    const auto first = place_along(narrow.window, wide.window, axis);
    if (!first) return std::nullopt;
    place.push_back(*first);
  }
  return place;
}

// `wide` with the weights of `narrow` added where they belong.
Tensor sum_of_weights(const Tensor& wide, const Tensor& narrow, const ConvAttrs& to, const ConvAttrs& from,
                      const std::vector<std::int64_t>& place) {
  Tensor sum = map_floats(wide, [](std::int64_t, float value) { return value; });
  const Image a = Image::of(wide.shape(), to.layout), b = Image::of(narrow.shape(), from.layout);
  std::int64_t shift = 0;
  for (std::size_t axis = 0; axis < place.size(); ++axis) shift += place[axis] * a.strides[axis];
  const std::int64_t outputs = a.batch, per_group = outputs / from.groups, per_wide_group = outputs / to.groups;
  for (std::int64_t oc = 0; oc < outputs; ++oc) {
    // Of the group's first channel, among those of the wide group.
    const std::int64_t first = oc / per_group * b.channels - oc / per_wide_group * a.channels;
    for (std::int64_t ic = 0; ic < b.channels; ++ic) {
      for (std::int64_t tap = 0; tap < b.positions(); ++tap) {
        std::int64_t at = oc * a.batch_stride + (first + ic) * a.channel_stride + shift;
        for (std::int64_t axis = std::ssize(place), rest = tap; axis-- > 0;) {
          const auto i = static_cast<std::size_t>(axis);
          at += rest % b.sizes[i] * a.strides[i];
          rest /= b.sizes[i];
        }
        sum.as<float>()[at] += narrow.as<float>()[oc * b.batch_stride + ic * b.channel_stride + b.offset(tap)];
      }
    }
  }
  return sum;
}

bool has_bias(const Node& conv) { return conv.inputs.size() > 2 && conv.inputs[2].exists(); }

// A convolution of f32 constants that the sum alone reads.
const Node* branch(const Graph& graph, ValueId wire) {
  const Node* conv = graph.producer(wire);
  if (conv == nullptr || conv->spec != &kConv || !graph.has_one_reader(wire)) return nullptr;
  const auto is_known = [&](ValueId id) { return graph.fact(id).is_constant() && graph.fact(id).dtype == DType::f32; };
  return is_known(conv->inputs[1]) && (!has_bias(*conv) || is_known(conv->inputs[2])) ? conv : nullptr;
}

Tensor sum_of_biases(const Graph& graph, const Node& a, const Node& b, std::int64_t channels) {
  Tensor sum(DType::f32, Shape{channels});
  for (const Node* conv : {&a, &b}) {
    if (!has_bias(*conv)) continue;
    const auto bias = graph.fact(conv->inputs[2]).constant->span<float>();
    for (std::int64_t c = 0; c < channels; ++c) sum.as<float>()[c] += bias[static_cast<std::size_t>(c)];
  }
  return sum;
}

}  // namespace

Match parallel_convs(const Graph& graph, const Node& node) {
  if (node.spec != &kBinary || node.attrs.as<BinaryAttrs>().kind != BinaryKind::add) return std::string();
  const Node *narrow = branch(graph, node.inputs[0]), *wide = branch(graph, node.inputs[1]);
  if (narrow == nullptr || wide == nullptr || narrow == wide || narrow->inputs[0] != wide->inputs[0])
    return std::string();
  if (!graph.fact(narrow->outputs[0]).same_type(graph.fact(wide->outputs[0])))
    return std::string("one result is repeated for the other's shape");
  auto place = place_in(attrs_of(*narrow), attrs_of(*wide));
  if (!place) {
    std::swap(narrow, wide);
    place = place_in(attrs_of(*narrow), attrs_of(*wide));
  }
  if (!place) return std::string("neither of the two windows holds the other");

  const Tensor& w = *graph.fact(wide->inputs[1]).constant;
  Tensor weights =
      sum_of_weights(w, *graph.fact(narrow->inputs[1]).constant, attrs_of(*wide), attrs_of(*narrow), *place);
  Patch patch(graph);
  const ValueId new_w = patch.constant(graph.value(wide->inputs[1]).name, std::move(weights));
  std::vector<ValueId> inputs{wide->inputs[0], new_w};
  if (has_bias(*narrow) || has_bias(*wide))
    inputs.push_back(patch.constant(wide->name + "/bias", sum_of_biases(graph, *narrow, *wide, w.shape()[0])));
  patch.replace(node.outputs[0],
                patch.add(kConv, wide->attrs, std::move(inputs), wide->name, joined_origins(*narrow, *wide)));
  return patch;
}

}  // namespace octavo
