// What nodes cost in engines that run a file node by node, and what all engines' costs add up to. Part of diagnose/.
#include <algorithm>

#include "diagnose/census.h"
#include "diagnose/ort_costs.h"
#include "diagnose/rules.h"

namespace octavo::diagnose {
namespace {

bool is_wide(const FileView& view, int tensor) { return tensor >= 0 && view.tensor(tensor).dtype == DType::s16; }

// Of the three types in which an operator may come: bytes, s16, floats.
struct Passes {
  Pass bytes, wide, floats;
};

Passes passes_of(const ViewNode& node) {
  switch (node.kind) {
    case Kind::add: return {Pass::add, Pass::wide_add, Pass::float_add};
    case Kind::mul: return {Pass::mul, Pass::wide_mul, Pass::float_mul};
    case Kind::sigmoid: return {Pass::sigmoid, Pass::wide_mul, Pass::float_sigmoid};
    case Kind::function: return {Pass::sigmoid, Pass::wide_mul, Pass::float_function};
    case Kind::average: return {Pass::average, Pass::wide_add, Pass::float_average};
    case Kind::max_pool: return {Pass::max_pool, Pass::wide_add, Pass::float_max_pool};
    case Kind::softmax: return {Pass::float_softmax, Pass::float_softmax, Pass::float_softmax};
    case Kind::relu: return {Pass::requantize, Pass::wide_add, Pass::float_relu};
    case Kind::batch_norm: return {Pass::mul, Pass::wide_mul, Pass::float_mul};
    case Kind::movement:
      // A pass where elements change their places.
      if (node.op == "RESHAPE" || node.op == "SQUEEZE" || node.op == "EXPAND_DIMS" || node.op == "aten.view.default")
        return {Pass::none, Pass::none, Pass::none};
      return {Pass::transpose, Pass::float_transpose, Pass::float_transpose};
    case Kind::cast: return {Pass::none, Pass::none, Pass::none};
    default: return {Pass::transpose, Pass::float_transpose, Pass::float_transpose};
  }
}

Pass conversion(const FileView& view, const ViewNode& node) {
  const int x = view.input(node, 0), result = view.output(node);
  if (node.kind == Kind::dequantize) return is_wide(view, x) ? Pass::dequantize16 : Pass::dequantize;
  if (view.tensor(x).dtype && view.tensor(x).dtype != DType::f32) return Pass::requantize;
  return is_wide(view, result) ? Pass::quantize16 : Pass::quantize;
}

// What LiteRT's delegate takes in floats alone: how its own kernel for bytes computes it, and what floats would take.
struct SlowBytes {
  Pass slow, floats;
};
std::optional<SlowBytes> slow_bytes(const FileView& view, const ViewNode& node) {
  const int result = view.output(node);
  if (!node.is_integer || is_wide(view, result)) return {};
  constexpr std::string_view kFunctions[] = {"ABS", "EXP", "GELU", "HARD_SWISH", "PRELU", "SQUARED_DIFFERENCE"};
  if (node.kind == Kind::relu) return SlowBytes{Pass::slow_relu, Pass::sigmoid};
  if (std::ranges::find(kFunctions, node.op) != std::end(kFunctions))
    return SlowBytes{Pass::slow_function, Pass::sigmoid};
  if (node.kind == Kind::softmax) return SlowBytes{Pass::slow_softmax, Pass::float_softmax};
  const auto& shape = view.tensor(result).shape;
  const bool is_window = node.op == "AVERAGE_POOL_2D" && shape && shape->size() == 4 && (*shape)[1] * (*shape)[2] > 1;
  return is_window ? std::optional(SlowBytes{Pass::slow_window, Pass::float_window}) : std::nullopt;
}

NodeCost cost_of_slow_bytes(const FileView& view, const ViewNode& node, const EngineRates& rates, SlowBytes passes) {
  const std::int64_t elements = view.tensor(view.output(node)).elements();
  // The delegate makes one pass of a function and the conversions beside it.
  const double conversions = passes.floats == Pass::sigmoid ? 0.0
                                                            : pass_ms(elements, Pass::dequantize, rates) +
                                                                  pass_ms(elements, Pass::quantize, rates);
  NodeCost cost{.ms = pass_ms(elements, passes.slow, rates),
                .best_ms = pass_ms(elements, passes.floats, rates) + conversions,
                .is_integer = true};
  if (cost.ms > cost.best_ms) cost.cause = Cause::slow_bytes;
  return cost;
}

NodeCost cost_of_product(const FileView& view, const ViewNode& node, const EngineRates& rates, bool lowers_pairs) {
  NodeCost cost;
  const int weights = sight::stored_weights(view, node);
  const bool has_bytes = weights >= 0 && sight::is_integer_8(view.tensor(weights));
  const bool is_lowered = node.is_integer || (lowers_pairs && sight::has_quantized_operands(view, node));
  if (node.is_integer && is_wide(view, view.output(node))) {
    cost.form = Form::wide;
    cost.cause = Cause::sixteen_bit_activations;
  } else if (is_lowered && view.format == FileFormat::tflite && view.tensor(view.input(node, 0)).dtype == DType::u8) {
    cost.form = Form::unsigned_slow;
    cost.cause = Cause::unsigned_weights;
  } else if (is_lowered) {
    cost.form = Form::integer;
  } else if (has_bytes && view.format == FileFormat::tflite && !sight::is_dequantized(view, view.input(node, 1))) {
    cost.form = Form::dynamic;
    cost.cause = Cause::dynamic_range;
  } else if (has_bytes && view.format == FileFormat::tflite && !sight::has_quantized_operands(view, node)) {
    cost.cause = Cause::dynamic_range;  // weights alone are bytes, and become floats when the file is loaded
  } else if (has_bytes && sight::has_quantized_operands(view, node)) {
    cost.form = Form::loose_float;
    cost.cause = Cause::unlowered_graph;
  }
  cost.is_integer = cost.form == Form::integer || cost.form == Form::unsigned_slow;
  cost.ms = product_ms(view, node, rates, cost.form);
  cost.best_ms = view.dialect == Dialect::fp32 ? cost.ms : product_ms(view, node, rates, Form::integer);
  return cost;
}

NodeCost cost_of_other(const FileView& view, const ViewNode& node, const EngineRates& rates) {
  NodeCost cost;
  const int result = view.output(node);
  const Passes passes = passes_of(node);
  cost.is_integer = node.is_integer;
  const bool is_wide_node = node.is_integer && is_wide(view, result);
  const std::int64_t elements =
      node.kind == Kind::average ? input_elements(view, node) : view.tensor(result).elements();
  const Pass pass = is_wide_node ? passes.wide : node.is_integer ? passes.bytes : passes.floats;
  cost.ms = pass_ms(elements, pass, rates);
  if (is_wide_node) cost.cause = Cause::sixteen_bit_activations;
  if (view.dialect == Dialect::dynamic_range) cost.cause = Cause::dynamic_range;
  const bool is_best = !cost.cause && (node.is_integer || view.dialect != Dialect::full_integer);
  cost.best_ms = is_best ? cost.ms : std::min(cost.ms, pass_ms(elements, passes.bytes, rates));
  return cost;
}

// Of a conversion the node in floats beside it: what reads it, or made what it reads; -1 where there is none.
int float_neighbour(const FileView& view, const ViewNode& node, std::span<const NodeCost> costs) {
  const auto is_float = [&](int index) {
    const Kind kind = view.node(index).kind;
    return kind != Kind::quantize && kind != Kind::dequantize && !costs[static_cast<std::size_t>(index)].is_integer;
  };
  if (node.kind == Kind::quantize) {
    const int maker = view.tensor(view.input(node, 0)).producer;
    return maker >= 0 && is_float(maker) ? maker : -1;
  }
  const auto& readers = view.tensor(view.output(node)).readers;
  const auto found = std::ranges::find_if(readers, is_float);
  return found == readers.end() ? -1 : *found;
}

std::vector<NodeCost> node_by_node(const FileView& view, Engine engine, const EngineRates& rates) {
  // OpenVINO makes products between pairs integer ones; in TVM and PyTorch every node of a pair runs.
  const bool lowers_pairs = engine == Engine::openvino, leaves_pairs = engine == Engine::tvm || engine == Engine::torch;
  std::vector<NodeCost> costs(view.nodes.size());
  const auto is_conversion = [](const ViewNode& node) {
    return node.kind == Kind::quantize || node.kind == Kind::dequantize;
  };
  for (std::size_t i = 0; i < view.nodes.size(); ++i) {
    const ViewNode& node = view.nodes[i];
    if (view.output(node) < 0 || is_conversion(node)) continue;
    const auto slow = engine == Engine::litert ? slow_bytes(view, node) : std::nullopt;
    if (slow) costs[i] = cost_of_slow_bytes(view, node, rates, *slow);
    else
      costs[i] =
          is_product(node.kind) ? cost_of_product(view, node, rates, lowers_pairs) : cost_of_other(view, node, rates);
  }
  for (std::size_t i = 0; i < view.nodes.size(); ++i) {
    const ViewNode& node = view.nodes[i];
    const int x = view.input(node, 0);
    if (!is_conversion(node) || view.output(node) < 0 || x < 0 || view.tensor(x).is_constant || lowers_pairs) continue;
    costs[i].ms = pass_ms(view.tensor(x).elements(), conversion(view, node), rates);
    costs[i].best_ms = leaves_pairs ? 0.0 : costs[i].ms;
    if (leaves_pairs) costs[i].cause = Cause::unlowered_graph;
    const int neighbour = leaves_pairs ? -1 : float_neighbour(view, node, costs);
    if (neighbour >= 0) costs[static_cast<std::size_t>(neighbour)].conversions_ms += costs[i].ms;
  }
  return costs;
}

}  // namespace

std::int64_t result_elements(const FileView& view, const ViewNode& node) {
  const int result = view.output(node);
  return result < 0 ? 0 : view.tensor(result).elements();
}

std::int64_t input_elements(const FileView& view, const ViewNode& node) {
  const int x = view.input(node, 0);
  return x < 0 ? 0 : view.tensor(x).elements();
}

std::vector<NodeCost> costs_in(const FileView& view, Engine engine, const EngineRates& rates) {
  return engine == Engine::ort ? ort_costs(view, rates) : node_by_node(view, engine, rates);
}

PredictedTime predicted_time(const FileView& view, std::span<const NodeCost> costs) {
  PredictedTime time;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const Kind kind = view.nodes[i].kind;
    const bool converts = kind == Kind::quantize || kind == Kind::dequantize;
    (is_product(kind) ? time.products_ms : converts ? time.conversions_ms : time.others_ms) += costs[i].ms;
  }
  return time;
}

}  // namespace octavo::diagnose
