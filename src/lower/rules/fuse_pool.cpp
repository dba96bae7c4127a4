// Means of quantized images. Part of lower/.
#include "lower/rules/fuse_pool.h"

#include <algorithm>
#include <optional>

#include "lower/quantized_value.h"
#include "ops/average_pool/average_pool.h"
#include "ops/quantized_pool/quantized_pool.h"
#include "ops/reduce/reduce.h"
#include "ops/reshape/reshape.h"

namespace octavo {
namespace {

bool has_open_image(const OpenShape& x) { return x.rank() == 4 && !(x[1].is_number() && x[2].is_number()); }

// The window of an average, and whether it is the whole image.
struct Averaged {
  QuantizedPoolAttrs pool;
  bool is_global = false;
};
std::optional<Averaged> average_of(const Graph& graph, const Node& node) {
  const OpenShape& x = graph.fact(node.inputs[0]).shape;
  if (node.spec == &kReduce) {
    const auto& reduce = node.attrs.as<ReduceAttrs>();
    const bool is_spatial = x.rank() == 4 && reduce.axes == std::vector<std::int64_t>{1, 2};
    if (reduce.kind != ReduceKind::mean || !is_spatial) return std::nullopt;
    return Averaged{{.window = unit_window({x[1], x[2]})}, true};
  }
  if (node.spec != &kAveragePool) return std::nullopt;
  const auto& pool = node.attrs.as<AveragePoolAttrs>();
  if (pool.layout != Layout::channels_last || pool.window.rank() != 2) return std::nullopt;
  const std::vector<Dim> none{0, 0};
  if (pool.window.kernel == std::vector<Dim>{x[1], x[2]} && pool.window.pad_begin == none &&
      pool.window.pad_end == none)
    return Averaged{{.window = unit_window({x[1], x[2]})}, true};
  return Averaged{{.window = pool.window, .rounding = pool.rounding, .count_include_pad = pool.count_include_pad}};
}

// A window over the whole image takes the global formula, as in ONNX Runtime.
QuantizedPoolAttrs onnx_pool(const Averaged& average, const QuantType& x, const Quantized& end) {
  QuantizedPoolAttrs pool = average.pool;
  const float y_scale = end.type.scale;
  pool.x_zero_point = x.zero_point;
  if (average.is_global) {
    const std::int64_t count = pool.window.kernel[0] * pool.window.kernel[1];
    pool.epilogue.stages = {Affine{global_average_multiplier(x.scale, y_scale, count)}, end.rounding()};
  } else {
    pool.form = QuantizedPoolForm::real_average;
    pool.x_scale = x.scale;
    pool.epilogue.stages = {Divide{y_scale},
                            Round{.before = end.type.zero_point, .lowest = end.lowest, .highest = end.highest}};
  }
  pool.epilogue.to = end.type.dtype;
  return pool;
}

// TFLite's average of the stored values themselves, without their scale.
Match integer_pool(const Graph& graph, const Node& node, const Dequantized& x, const Quantized& end) {
  const auto& pool = node.attrs.as<AveragePoolAttrs>();
  if (x.type != end.type) return std::string("its result has another scale or zero point than its input");
  const auto is_large = [](std::int64_t size) { return size > 2048; };
  if (std::any_of(pool.window.kernel.begin(), pool.window.kernel.end(), is_large))
    return std::string("its window has more than 2048 elements in a row");
  const QuantizedPoolAttrs attrs{.form = QuantizedPoolForm::integer_average,
                                 .window = pool.window,
                                 .rounding = pool.rounding,
                                 .epilogue = {{Round{.lowest = end.lowest, .highest = end.highest}}, end.type.dtype}};
  Patch patch(graph);
  const ValueId y = patch.add(kQuantizedPool, attrs, {x.q}, node.name, node.origin);
  patch.set_quant(y, end.type.params());
  patch.replace(end.y, y);
  return patch;
}

}  // namespace

Match fuse_pool(const Graph& graph, const Node& node) {
  if (node.spec != &kReduce && node.spec != &kAveragePool) return std::string();
  const auto x = dequantized(graph, node.inputs[0]);
  if (!x) return std::string("its input is not quantized");
  // How many elements are averaged is part of the scale, and whether a window is the whole image of the formula.
  if (has_open_image(graph.fact(node.inputs[0]).shape)) return std::string("the size of its image is open");
  const auto average = average_of(graph, node);
  if (!average) return std::string("it has no integer form: only averages over two spatial axes have one");
  const auto followed = follow_to_quantize(graph, node.outputs[0]);
  if (const auto* reason = std::get_if<std::string>(&followed)) return *reason;
  const auto& end = std::get<Quantized>(followed);
  if (is_of_tflite(end.profile) && node.spec == &kAveragePool) return integer_pool(graph, node, *x, end);
  if (is_of_tflite(end.profile)) return std::string();  // fuse_sum
  Patch patch(graph);
  ValueId y = patch.add(kQuantizedPool, onnx_pool(*average, x->type, end), {x->q}, node.name, node.origin);
  patch.set_quant(y, end.type.params());
  const OpenShape& old_shape = graph.fact(end.y).shape;
  if (patch.fact(y).shape != old_shape)
    y = patch.add(kReshape, ReshapeAttrs{old_shape.to_vector()}, {y}, node.name + "/flat", node.origin);
  patch.replace(end.y, y);
  return patch;
}

}  // namespace octavo
