// A convolution over three axes as one over two. Part of lower/.
#include "lower/planar_conv.h"

#include "graph/open_shape.h"
#include "lower/tensor_edit.h"
#include "ops/concat/concat.h"
#include "ops/pad/pad.h"
#include "ops/planar.h"
#include "ops/reshape/reshape.h"
#include "ops/slice/slice.h"

namespace octavo {
namespace {

constexpr int kTime = 1, kHeight = 2, kWidth = 3, kChannels = 4;  // axes of an image

// Without the first axis, or with the first and one that is 1.
Window over_image(const Window& w) {
  return {.kernel = {w.kernel[1], w.kernel[2]},
          .strides = {w.strides[1], w.strides[2]},
          .dilations = {w.dilations[1], w.dilations[2]},
          .pad_begin = {w.pad_begin[1], w.pad_begin[2]},
          .pad_end = {w.pad_end[1], w.pad_end[2]}};
}
Window over_rows(const Window& w) {
  return {.kernel = {w.kernel[0], 1},
          .strides = {w.strides[0], 1},
          .dilations = {w.dilations[0], 1},
          .pad_begin = {w.pad_begin[0], 0},
          .pad_end = {w.pad_end[0], 0}};
}

}  // namespace

std::optional<PlanarConv> PlanarConv::of(const Graph& graph, const Node& conv) {
  const auto& attrs = conv.attrs.as<ConvAttrs>();
  const Window& window = attrs.window;
  if (attrs.layout != Layout::channels_last || !is_planar(window, attrs.groups)) return std::nullopt;
  PlanarConv made;
  made.node_ = &conv;
  made.given_ = window;
  made.x_ = graph.fact(conv.inputs[0]).shape;
  made.y_ = graph.fact(conv.outputs[0]).shape;
  made.form_ = is_over_planes(window) ? Form::planes : (is_over_first_axis(window) ? Form::rows : Form::joined);
  made.window_ = made.form_ == Form::rows ? over_rows(window) : over_image(window);
  return made;
}

Tensor PlanarConv::weights(const Tensor& w) const {
  const Shape& s = w.shape();
  if (form_ == Form::rows) return w.reshaped(Shape{s[0], s[1], 1, s[4]});
  if (form_ == Form::planes) return w.reshaped(Shape{s[0], s[2], s[3], s[4]});
  return transposed(w, {0, 2, 3, 1, 4}).reshaped(Shape{s[0], s[2], s[3], s[1] * s[4]});
}

ValueId PlanarConv::add(Patch& patch, const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs,
                        const char* what) const {
  return patch.add(spec, std::move(attrs), std::move(inputs), node_->name + what, node_->origin);
}

// As many planes as y has, from `first` on.
ValueId PlanarConv::strided(Patch& patch, ValueId x, std::int64_t first) const {
  OpenShape shape = patch.fact(x).shape;
  if (first == 0 && given_.strides[0] == 1 && is_same(shape[kTime], y_[kTime])) return x;
  shape[kTime] = y_[kTime];
  const SliceAttrs slice{
      .starts = {0, first, 0, 0, 0}, .steps = {1, given_.strides[0], 1, 1, 1}, .sizes = shape.to_vector()};
  return add(patch, kSlice, slice, {x}, "/planes");
}

ValueId PlanarConv::image(Patch& patch, ValueId x, double outside) const {
  if (form_ == Form::rows) {
    const ReshapeAttrs rows{{x_[0], x_[kTime], x_[kHeight] * x_[kWidth], x_[kChannels]}};
    return add(patch, kReshape, rows, {x}, "/rows");
  }
  if (form_ == Form::joined) {
    if (!is_zero(given_.pad_begin[0]) || !is_zero(given_.pad_end[0])) {
      Tensor value(patch.fact(x).dtype, Shape{});
      store_double(value.view(), 0, outside);
      const PadAttrs pad{.begin = {0, given_.pad_begin[0], 0, 0, 0}, .end = {0, given_.pad_end[0], 0, 0, 0}};
      x = add(patch, kPad, pad, {x, patch.constant(node_->name + "/outside", value)}, "/padded");
    }
    std::vector<ValueId> planes;
    for (std::int64_t k = 0; k < given_.kernel[0].fixed(); ++k)
      planes.push_back(strided(patch, x, k * given_.dilations[0]));
    x = add(patch, kConcat, ConcatAttrs{kChannels}, std::move(planes), "/joined");
  } else {
    x = strided(patch, x, 0);
  }
  const OpenShape& shape = patch.fact(x).shape;
  const ReshapeAttrs images{{shape[0] * shape[kTime], shape[kHeight], shape[kWidth], shape[kChannels]}};
  return add(patch, kReshape, images, {x}, "/images");
}

ValueId PlanarConv::flat(Patch& patch, ValueId y) const {
  const ReshapeAttrs attrs = form_ == Form::rows
                                 ? ReshapeAttrs{{y_[0], y_[kTime], y_[kHeight] * y_[kWidth], y_[kChannels]}}
                                 : ReshapeAttrs{{y_[0] * y_[kTime], y_[kHeight], y_[kWidth], y_[kChannels]}};
  return add(patch, kReshape, attrs, {y}, "/flat");
}

ValueId PlanarConv::back(Patch& patch, ValueId y) const {
  return add(patch, kReshape, ReshapeAttrs{y_.to_vector()}, {y}, "/volume");
}

}  // namespace octavo
