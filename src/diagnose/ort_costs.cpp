// What nodes cost in ONNX Runtime: which of them it fuses with the pairs around them. Part of diagnose/.
// Measured with 1.32.0 by the optimized files of small networks (SessionOptions.optimized_model_filepath).
#include "diagnose/ort_costs.h"

#include <algorithm>
#include <cmath>

#include "base/requantize.h"
#include "diagnose/census.h"
#include "diagnose/rules.h"

namespace octavo::diagnose {
namespace {

// The bounds of a Relu or Clip; nothing where they are computed.
std::optional<std::pair<double, double>> bounds_of(const FileView& view, const ViewNode& node) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (node.op == "Relu") return std::pair(0.0, kInfinity);
  if (node.op != "Clip") return {};
  const auto bound = [&](std::size_t input, const char* attribute, double otherwise) {
    const auto found = node.attributes.find(attribute);
    if (found != node.attributes.end() && std::holds_alternative<double>(found->second))
      return std::get<double>(found->second);
    int tensor = view.input(node, input);
    const auto values = view.values(tensor);
    return values && values->elements() == 1 ? element_as_double(values->view(), 0) : otherwise;
  };
  return std::pair(bound(1, "min", -kInfinity), bound(2, "max", kInfinity));
}

// Whether what a quantize node clamps to lies within the bounds, so that the activation changes nothing.
bool range_is_within(const FileView& view, const ViewNode& quantize, std::pair<double, double> bounds) {
  const ViewTensor& stored = view.tensor(view.output(quantize));
  if (!stored.quant || stored.quant->scale.size() != 1 || !sight::is_integer_8(stored)) return false;
  const double scale = stored.quant->scale[0];
  const double zero = stored.quant->zero_point.empty() ? 0.0 : stored.quant->zero_point[0];
  const double least = stored.dtype == DType::u8 ? 0.0 : -128.0, most = least + 255.0;
  // Half a step is what rounding of scales makes.
  return (least - zero) * scale >= bounds.first - 0.5 * scale && (most - zero) * scale <= bounds.second + 0.5 * scale;
}

bool has_bad_axis(const FileView& view, const ViewNode& node) {
  const int dequantize = view.producer_if(view.input(node, 1), Kind::dequantize);
  if (dequantize < 0) return false;
  const int stored = view.input(view.node(dequantize), 0);
  const auto& quant = view.tensor(stored).quant;
  if (!quant || quant->axis < 0 || !view.tensor(stored).shape) return false;
  const int rank = static_cast<int>(view.tensor(stored).shape->size());
  if (node.kind == Kind::matmul) return quant->axis != (node.integer("transB", 0) != 0 ? 0 : rank - 1);
  return quant->axis != (node.kind == Kind::transposed_conv ? 1 : 0);
}

// Why a product between dequantize nodes is not fused with what reads it; nothing where it is.
std::optional<Cause> cause_behind(const FileView& view, const ViewNode& node) {
  const int result = view.output(node);
  if (result < 0) return {};
  const auto& readers = view.tensor(result).readers;
  const auto quantizers = sight::quantizers_of(view, result);
  if (view.tensor(result).is_output) return Cause::missing_output_pair;
  if (!readers.empty() && quantizers.size() == readers.size())
    return quantizers.size() == 1 ? std::nullopt : std::optional(Cause::requantized_branches);
  if (readers.size() != 1) return Cause::missing_output_pair;
  const ViewNode& reader = view.node(readers[0]);
  if (reader.kind == Kind::batch_norm) return Cause::batch_norm_unfolded;
  const int bounded = view.output(reader);
  if (reader.kind != Kind::relu || bounded < 0) return Cause::missing_output_pair;
  const auto behind = sight::quantizers_of(view, bounded);
  if (behind.size() != 1 || view.tensor(bounded).readers.size() != 1) return Cause::missing_output_pair;
  const auto bounds = bounds_of(view, reader);
  if (bounds && range_is_within(view, view.node(behind[0]), *bounds)) return {};
  return Cause::range_behind_relu;
}

// Nodes that read what a quantize node stores, through dequantize nodes.
std::size_t readers_behind(const FileView& view, int stored) {
  std::size_t readers = 0;
  for (const int reader : view.tensor(stored).readers) {
    const ViewNode& node = view.node(reader);
    const int real = node.kind == Kind::dequantize ? view.output(node) : -1;
    readers += real >= 0 ? std::max<std::size_t>(1, view.tensor(real).readers.size()) : 1;
  }
  return readers;
}

// s8 pairs become u8 when a file is loaded, but for those that several nodes read; on x86 nothing between pairs of s8
// is fused.
bool stays_signed(const FileView& view, int stored) {
  return stored >= 0 && view.tensor(stored).dtype == DType::s8 && readers_behind(view, stored) != 1;
}

// What the pair behind a node, or behind its activation, stores; -1 where there is none.
int stored_behind(const FileView& view, const ViewNode& node) {
  int result = view.output(node);
  const auto& readers = view.tensor(result).readers;
  if (readers.size() == 1 && view.node(readers[0]).kind == Kind::relu) result = view.output(view.node(readers[0]));
  const auto quantizers = sight::quantizers_of(view, result);
  return quantizers.empty() ? -1 : view.output(view.node(quantizers[0]));
}

// What is stored before a dequantize node that makes the tensor; -1 where none does.
int stored_before(const FileView& view, int tensor) {
  const int dequantize = view.producer_if(tensor, Kind::dequantize);
  return dequantize < 0 ? -1 : view.input(view.node(dequantize), 0);
}

struct Fate {
  Form form = Form::packed_float;
  std::optional<Cause> cause = std::nullopt;  // why it is not the fast form
};

Fate fate_of_integer(const FileView& view, const ViewNode& node) {
  const int x = view.input(node, 0), weights = sight::stored_weights(view, node);
  if (node.op.ends_with("Integer")) return {Form::dynamic, Cause::dynamic_quantize};
  if (weights >= 0 && view.tensor(weights).dtype == DType::u8) return {Form::unsigned_slow, Cause::unsigned_weights};
  // Operators of integers run as they stand; only pairs are turned into u8 when a file is loaded.
  if (x >= 0 && view.tensor(x).dtype == DType::s8) return {Form::signed_slow, Cause::signed_activations};
  return {Form::integer};
}

Fate fate_of_product(const FileView& view, const ViewNode& node) {
  if (view.dialect == Dialect::fp32) return {};
  if (node.is_integer) return fate_of_integer(view, node);
  const int x = view.input(node, 0), w = view.input(node, 1);
  const bool is_quantized = sight::is_dequantized(view, x);
  if (!sight::is_dequantized(view, w)) {
    if (!is_quantized || !sight::is_float_constant(view, w)) return {Form::packed_float, Cause::float_island};
    // Convolutions get weights quantized when the file is loaded, where all else stands.
    const bool is_fused = node.kind != Kind::matmul && !cause_behind(view, node);
    return {is_fused ? Form::integer : Form::packed_float, Cause::float_weights};
  }
  if (!is_quantized) return {Form::loose_float, Cause::dynamic_range};
  if (has_bad_axis(view, node)) return {Form::loose_float, Cause::per_channel_axis};
  if (const auto cause = cause_behind(view, node)) return {Form::loose_float, cause};
  const int before = stored_before(view, x);
  if (before >= 0 && !sight::is_integer_8(view.tensor(before)))
    return {Form::loose_float, Cause::sixteen_bit_activations};
  if (stays_signed(view, before) || stays_signed(view, stored_behind(view, node)))
    return {Form::loose_float, Cause::signed_activations};
  const int weights = sight::stored_weights(view, node);
  if (weights >= 0 && view.tensor(weights).dtype == DType::u8) return {Form::unsigned_slow, Cause::unsigned_weights};
  return {Form::integer};
}

// ---- what is no product ----

bool is_view(std::string_view op) {
  return op == "Reshape" || op == "Flatten" || op == "Squeeze" || op == "Unsqueeze" || op == "Identity";
}

// The work of a node on bytes, and on floats; nothing where there is no kernel for bytes.
struct Work {
  std::optional<Pass> integer;
  Pass floats = Pass::float_add;
};

Work work_of(const ViewNode& node) {
  switch (node.kind) {
    case Kind::add: return {node.op == "Sub" ? std::nullopt : std::optional(Pass::add), Pass::float_add};
    case Kind::mul: return {node.op == "Div" ? std::nullopt : std::optional(Pass::mul), Pass::float_mul};
    case Kind::sigmoid:
      return {node.op.ends_with("HardSigmoid") ? std::nullopt : std::optional(Pass::sigmoid), Pass::float_sigmoid};
    case Kind::function:
      return {node.op.ends_with("LeakyRelu") ? std::optional(Pass::sigmoid) : std::nullopt, Pass::float_function};
    case Kind::average:
      return {node.op == "ReduceMean" ? std::nullopt : std::optional(Pass::average), Pass::float_average};
    case Kind::max_pool: return {Pass::max_pool, Pass::float_max_pool};
    case Kind::softmax: return {Pass::float_softmax, Pass::float_softmax};
    case Kind::concat: return {Pass::transpose, Pass::float_transpose};
    case Kind::movement:
      return is_view(node.op) ? Work{Pass::none, Pass::none} : Work{Pass::transpose, Pass::float_transpose};
    case Kind::resize: {
      const bool is_nearest = node.text("mode") != "linear" && node.text("mode") != "cubic";
      return {is_nearest ? std::optional(Pass::transpose) : std::nullopt,
              is_nearest ? Pass::float_transpose : Pass::float_softmax};
    }
    case Kind::batch_norm: return {std::nullopt, Pass::float_mul};
    case Kind::relu: return {std::nullopt, Pass::float_relu};
    case Kind::norm: return {std::nullopt, Pass::float_softmax};
    // Their time is in that of the products behind and before them.
    case Kind::dynamic_quantize:
    case Kind::cast: return {std::nullopt, Pass::none};
    default: return {std::nullopt, Pass::float_function};
  }
}

bool keeps_scale(const ViewNode& node) {
  return node.kind == Kind::movement || node.kind == Kind::max_pool || node.kind == Kind::resize;
}

// A function of one value and the product with that value, between pairs of their own.
bool is_gate(const FileView& view, const ViewNode& node) {
  if (node.kind != Kind::mul || node.inputs.size() < 2) return false;
  for (std::size_t side = 0; side < 2; ++side) {
    const int made = sight::before_pair(view, view.input(node, side));
    const int maker = made < 0 ? -1 : view.tensor(made).producer;
    if (maker < 0 || view.node(maker).kind != Kind::sigmoid) continue;
    const int of = sight::before_pair(view, view.input(view.node(maker), 0));
    if (of >= 0 && of == sight::before_pair(view, view.input(node, 1 - side))) return true;
  }
  return false;
}

// The product quantized in the run to which a bias or an activation belongs: behind the scale of its sums. -1 where the
// node is none of them.
int dynamic_product_of(const FileView& view, const ViewNode& node) {
  const auto is_constant = [&](int x) {
    const int maker = x < 0 ? -1 : view.tensor(x).producer;
    return x >= 0 && (view.tensor(x).is_constant ||
                      (maker >= 0 && view.node(maker).kind == Kind::movement && view.input(view.node(maker), 0) >= 0 &&
                       view.tensor(view.input(view.node(maker), 0)).is_constant));
  };
  const bool is_bias = node.kind == Kind::add && is_constant(view.input(node, 1));
  if (node.kind != Kind::relu && !is_bias) return -1;
  int x = view.input(node, 0);
  for (int step = 0; step < 4; ++step) {
    const int maker = x < 0 || view.tensor(x).readers.size() != 1 ? -1 : view.tensor(x).producer;
    if (maker < 0) return -1;
    const ViewNode& before = view.node(maker);
    if (is_product(before.kind)) return before.op.ends_with("Integer") ? maker : -1;
    if (before.kind != Kind::cast && before.kind != Kind::mul && before.kind != Kind::add) return -1;
    x = view.input(before, 0);
  }
  return -1;
}

class Costs {
 public:
  Costs(const FileView& view, const EngineRates& rates)
      : view_(view), rates_(rates), costs_(view.nodes.size()), layouts_(view.nodes.size()) {}

  std::vector<NodeCost> run() && {
    for (std::size_t i = 0; i < view_.nodes.size(); ++i) {
      const ViewNode& node = view_.nodes[i];
      if (view_.output(node) < 0 || node.kind == Kind::quantize || node.kind == Kind::dequantize) continue;
      layouts_[i] = layout_before(node);
      const bool has_channels_last = layouts_[i].has_channels_last;
      is_product(node.kind) ? add_product(node, costs_[i]) : add_other(node, has_channels_last, costs_[i]);
      if (node.kind == Kind::max_pool && costs_[i].is_integer) add_max_pool(node, layouts_[i], costs_[i]);
      const bool is_float = !costs_[i].is_integer && node.kind != Kind::relu;
      if (is_product(node.kind) || is_float) layouts_[i] = {!is_float && node.kind != Kind::matmul, costs_[i].cause};
    }
    for (std::size_t i = 0; i < view_.nodes.size(); ++i) {
      const ViewNode& node = view_.nodes[i];
      if (view_.output(node) < 0) continue;
      if (node.kind == Kind::quantize) add_quantize(node, costs_[i]);
      if (node.kind == Kind::dequantize) add_dequantize(node, costs_[i]);
      if (costs_[i].is_integer && node.kind <= Kind::transposed_conv) add_transposes(node, costs_[i]);
    }
    return std::move(costs_);
  }

 private:
  void add_product(const ViewNode& node, NodeCost& cost) const {
    const Fate fate = fate_of_product(view_, node);
    cost.form = fate.form;
    cost.cause = fate.cause;
    cost.is_integer = fate.form == Form::integer || fate.form == Form::unsigned_slow || fate.form == Form::signed_slow;
    cost.ms = product_ms(view_, node, rates_, fate.form);
    cost.best_ms = view_.dialect == Dialect::fp32 ? cost.ms : product_ms(view_, node, rates_, Form::integer);
    if (cost.is_integer && fate.cause == Cause::float_weights) cost.best_ms = cost.ms;
  }

  void add_other(const ViewNode& node, bool has_channels_last, NodeCost& cost) {
    Work work = work_of(node);
    // The order of channels of convolutions on bytes is kept up to a mean in floats between them; not up to one that
    // leaves the axes out, as at the end of a network.
    if (node.op == "ReduceMean" && has_channels_last && node.integer("keepdims", 1) != 0)
      work.floats = Pass::slow_average;
    const bool is_average = node.kind == Kind::average;
    const std::int64_t elements = is_average ? input_elements(view_, node) : result_elements(view_, node);
    cost.is_integer = node.is_integer || is_fused(node, work, cost.cause);
    const bool is_free = node.kind == Kind::relu ? is_part_of_product(node) : is_scaling(node);
    const Pass pass = cost.is_integer ? work.integer.value_or(Pass::sigmoid) : work.floats;
    cost.ms = is_free ? 0.0 : pass_ms(elements, pass, rates_);
    const Pass best = node.kind == Kind::relu || node.kind == Kind::batch_norm ? Pass::none
                      : is_average                                             ? Pass::average
                                                                               : work.integer.value_or(Pass::sigmoid);
    cost.best_ms = cost.cause || is_between_pairs(view_, node) ? pass_ms(elements, best, rates_) : cost.ms;
    if (view_.dialect == Dialect::dynamic) tell(dynamic_product_of(view_, node), cost.ms);
    if (is_gate(view_, node) && cost.is_integer) {
      // One table in the operator before it would do.
      cost.cause = Cause::qdq_around_silu;
      cost.best_ms = 0.0;
    }
  }

  // How results lie; and why not with channels last, where a product in floats is to blame.
  struct Layout {
    bool has_channels_last = false;
    std::optional<Cause> why_not = std::nullopt;
  };

  // What stands behind convolutions on bytes has channels last as they have.
  Layout layout_before(const ViewNode& node) const {
    Layout layout;
    for (const int x : node.inputs) {
      const int before = x < 0 ? -1 : sight::before_pair(view_, x);
      const int maker = before < 0 ? -1 : view_.tensor(before).producer;
      if (maker < 0) continue;
      const Layout& made = layouts_[static_cast<std::size_t>(maker)];
      layout.has_channels_last = layout.has_channels_last || made.has_channels_last;
      if (!layout.why_not) layout.why_not = made.why_not;
    }
    return layout;
  }

  // Of bytes: a kernel with vector instructions where channels are last.
  void add_max_pool(const ViewNode& node, const Layout& before, NodeCost& cost) const {
    cost.best_ms = pass_ms(result_elements(view_, node), Pass::max_pool, rates_);
    if (before.has_channels_last) return;
    cost.ms = pass_ms(result_elements(view_, node), Pass::slow_max_pool, rates_);
    cost.cause = before.why_not;
    if (!cost.cause) cost.best_ms = cost.ms;
  }

  // Between pairs of bytes that fit its kernel.
  bool is_fused(const ViewNode& node, const Work& work, std::optional<Cause>& cause) const {
    const int result = view_.output(node);
    if (result < 0) return false;
    if (node.kind == Kind::relu) return is_left_out(node);
    if (!work.integer) return false;
    bool has_pair = false, has_float = false, is_wide = false, is_signed = false;
    for (const int x : node.inputs) {
      const int stored = x < 0 ? -1 : stored_before(view_, x);
      has_pair = has_pair || stored >= 0;
      has_float = has_float || (stored < 0 && x >= 0 && view_.tensor(x).dtype == DType::f32 && is_operand(node, x));
      is_wide = is_wide || (stored >= 0 && !sight::is_integer_8(view_.tensor(stored)));
      is_signed = is_signed || stays_signed(view_, stored);
    }
    const auto quantizers = sight::quantizers_of(view_, result);
    const bool is_alone = quantizers.size() == 1 && view_.tensor(result).readers.size() == 1;
    if (!has_pair) return false;
    if (is_wide) cause = Cause::sixteen_bit_activations;
    else if (has_float || !is_alone) cause = node.kind == Kind::add ? std::optional(Cause::missing_output_pair) : cause;
    else if ((!keeps_scale(node) || node.kind == Kind::max_pool) &&
             (is_signed || stays_signed(view_, view_.output(view_.node(quantizers[0])))))
      cause = Cause::signed_activations;
    else return !keeps_scale(node) || !changes_scale(view_, node);
    return false;
  }

  // Values, not bounds and sizes.
  static bool is_operand(const ViewNode& node, int x) {
    return node.inputs[0] == x || node.kind == Kind::add || node.kind == Kind::mul || node.kind == Kind::concat;
  }

  // A ReLU whose pair bounds as much. Behind a pair of another scale it leaves a conversion.
  bool is_left_out(const ViewNode& node) const {
    if (view_.output(node) < 0 || sight::is_dequantized(view_, view_.input(node, 0))) return false;
    const auto behind = sight::quantizers_of(view_, view_.output(node));
    const auto bounds = bounds_of(view_, node);
    return bounds && behind.size() == 1 && range_is_within(view_, view_.node(behind[0]), *bounds);
  }

  bool is_part_of_product(const ViewNode& node) const {
    const int x = view_.input(node, 0), maker = x < 0 ? -1 : view_.tensor(x).producer;
    if (is_left_out(node)) return true;
    return maker >= 0 && is_product(view_.node(maker).kind) && view_.tensor(x).readers.size() == 1;
  }

  // The scale of a sum of integers, which is in the time of its product.
  bool is_scaling(const ViewNode& node) const {
    if (node.kind != Kind::mul) return false;
    const int x = view_.input(node, 0);
    return view_.producer_if(x, Kind::cast) >= 0 && view_.dialect == Dialect::dynamic;
  }

  bool is_integer(int node) const { return costs_[static_cast<std::size_t>(node)].is_integer; }

  void tell(int node, double ms) {
    if (node >= 0) costs_[static_cast<std::size_t>(node)].conversions_ms += ms;
  }

  // Stays where what it reads is made in floats.
  void add_quantize(const ViewNode& node, NodeCost& cost) {
    const int x = view_.input(node, 0);
    if (x < 0 || view_.tensor(x).is_constant) return;
    const int maker = view_.tensor(x).producer;
    if (maker >= 0 && is_integer(maker)) return;
    if (maker >= 0 && is_bounding(view_.node(maker))) return;  // part of the product before
    if (maker >= 0 && view_.node(maker).kind == Kind::dequantize) return;
    const bool is_wide = !sight::is_integer_8(view_.tensor(view_.output(node)));
    cost.ms = pass_ms(view_.tensor(x).elements(), is_wide ? Pass::quantize16 : Pass::quantize, rates_);
    tell(maker, cost.ms);
  }

  // A ReLU that is left out behind a product on bytes.
  bool is_bounding(const ViewNode& node) const {
    const int x = view_.input(node, 0), maker = x < 0 ? -1 : view_.tensor(x).producer;
    return node.kind == Kind::relu && maker >= 0 && is_integer(maker);
  }

  // Stays where something reads it in floats. That of weights is in the time of their product.
  void add_dequantize(const ViewNode& node, NodeCost& cost) {
    const int x = view_.input(node, 0);
    if (x < 0 || view_.tensor(x).is_constant) return;
    if (view_.producer_if(x, Kind::quantize) >= 0 && view_.tensor(x).readers.size() == 1 && is_float_constant_pair(x))
      return;
    int reader = -1;
    for (const int each : view_.tensor(view_.output(node)).readers) {
      const bool is_float = view_.node(each).kind != Kind::quantize && !is_integer(each) &&
                            !(view_.node(each).kind == Kind::relu && is_left_out(view_.node(each)));
      if (is_float && reader < 0) reader = each;
    }
    if (reader < 0 && !view_.tensor(view_.output(node)).is_output) return;
    const bool is_wide = !sight::is_integer_8(view_.tensor(x));
    cost.ms = pass_ms(view_.tensor(x).elements(), is_wide ? Pass::dequantize16 : Pass::dequantize, rates_);
    tell(reader, cost.ms);
  }

  bool is_float_constant_pair(int stored) const {
    const int quantize = view_.producer_if(stored, Kind::quantize);
    return quantize >= 0 && sight::is_float_constant(view_, view_.input(view_.node(quantize), 0));
  }

  // Convolutions on bytes run with channels last; where what is before or behind them does not, bytes are moved.
  void add_transposes(const ViewNode& node, NodeCost& cost) const {
    const int x = view_.input(node, 0), result = view_.output(node);
    if (x < 0) return;
    const int before = sight::before_pair(view_, x);
    const int maker = before < 0 ? -1 : view_.tensor(before).producer;
    double ms = 0.0;
    if (maker < 0 || !has_channels_last(maker)) ms += pass_ms(view_.tensor(x).elements(), Pass::transpose, rates_);
    if (!is_read_with_channels_last(result, 0)) ms += pass_ms(view_.tensor(result).elements(), Pass::transpose, rates_);
    cost.ms += ms;
    if (cost.cause != Cause::signed_activations) cost.best_ms += ms;
  }

  bool has_channels_last(int node) const {
    const ViewNode& maker = view_.node(node);
    return is_integer(node) || (maker.kind == Kind::relu && is_bounding(maker));
  }

  bool is_read_with_channels_last(int tensor, int depth) const {
    const auto& readers = view_.tensor(tensor).readers;
    if (depth > 4 || readers.empty()) return false;
    return std::ranges::all_of(readers, [&](int reader) {
      const ViewNode& node = view_.node(reader);
      const bool is_passed = node.kind == Kind::quantize || node.kind == Kind::dequantize || node.kind == Kind::relu;
      if (is_passed) return view_.output(node) >= 0 && is_read_with_channels_last(view_.output(node), depth + 1);
      return is_integer(reader);
    });
  }

  const FileView& view_;
  const EngineRates& rates_;
  std::vector<NodeCost> costs_;
  std::vector<Layout> layouts_;
};

}  // namespace

bool is_between_pairs(const FileView& view, const ViewNode& node) {
  return !node.is_integer && sight::is_dequantized(view, view.input(node, 0)) &&
         !sight::quantizers_of(view, view.output(node)).empty();
}

bool changes_scale(const FileView& view, const ViewNode& node) {
  const int dequantize = view.producer_if(view.input(node, 0), Kind::dequantize);
  const auto behind = sight::quantizers_of(view, view.output(node));
  if (dequantize < 0 || behind.empty()) return false;
  const int from = view.input(view.node(dequantize), 0), to = view.output(view.node(behind[0]));
  if (from < 0 || to < 0) return false;  // a broken file's
  const auto &before = view.tensor(from).quant, &after = view.tensor(to).quant;
  return before && after && !(*before == *after);
}

std::vector<NodeCost> ort_costs(const FileView& view, const EngineRates& rates) { return Costs(view, rates).run(); }

}  // namespace octavo::diagnose
