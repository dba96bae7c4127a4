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

// The pool that a node is, types still missing; nothing for other nodes.
std::optional<QuantizedPoolAttrs> pool_of(const Graph& graph, const Node& node) {
  const Shape& x = graph.fact(node.inputs[0]).shape;
  if (node.spec == &kReduce) {
    const auto& reduce = node.attrs.as<ReduceAttrs>();
    const bool is_spatial = x.rank() == 4 && reduce.axes == std::vector<std::int64_t>{1, 2};
    if (reduce.kind != ReduceKind::mean || !is_spatial) return std::nullopt;
    return QuantizedPoolAttrs{.form = QuantizedPoolForm::global_average_pool, .window = unit_window({x[1], x[2]})};
  }
  if (node.spec != &kAveragePool) return std::nullopt;
  const auto& pool = node.attrs.as<AveragePoolAttrs>();
  if (pool.layout != Layout::channels_last || pool.window.rank() != 2) return std::nullopt;
  // A window over the whole image takes the global formula, as in ONNX Runtime.
  const std::vector<std::int64_t> none{0, 0};
  const bool is_global = pool.window.kernel == std::vector<std::int64_t>{x[1], x[2]} && pool.window.pad_begin == none &&
                         pool.window.pad_end == none;
  if (is_global)
    return QuantizedPoolAttrs{.form = QuantizedPoolForm::global_average_pool, .window = unit_window({x[1], x[2]})};
  return QuantizedPoolAttrs{
      .window = pool.window, .rounding = pool.rounding, .count_include_pad = pool.count_include_pad};
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
                                 .to = end.type.dtype,
                                 .profile = end.profile,
                                 .lowest = end.lowest,
                                 .highest = end.highest};
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
  auto attrs = pool_of(graph, node);
  if (!attrs) return std::string("it has no integer form: only averages over two spatial axes have one");
  const auto followed = follow_to_quantize(graph, node.outputs[0]);
  if (const auto* reason = std::get_if<std::string>(&followed)) return *reason;
  const auto& end = std::get<Quantized>(followed);
  if (is_of_tflite(end.profile) && node.spec == &kAveragePool) return integer_pool(graph, node, *x, end);
  if (is_of_tflite(end.profile)) return std::string();  // fuse_sum
  attrs->profile = end.profile;
  attrs->to = end.type.dtype;
  attrs->x_scale = x->type.scale;
  attrs->x_zero_point = x->type.zero_point;
  attrs->y_scale = end.type.scale;
  attrs->zero_point = end.type.zero_point;
  attrs->lowest = end.lowest;
  attrs->highest = end.highest;

  Patch patch(graph);
  ValueId y = patch.add(kQuantizedPool, std::move(*attrs), {x->q}, node.name, node.origin);
  patch.set_quant(y, end.type.params());
  const Shape& old_shape = graph.fact(end.y).shape;
  if (patch.fact(y).shape != old_shape)
    y = patch.add(kReshape, ReshapeAttrs{old_shape.to_vector()}, {y}, node.name + "/flat", node.origin);
  patch.replace(end.y, y);
  return patch;
}

}  // namespace octavo
