// Rebuilds a graph with its pairs. Part of quantize/.
#include "quantize/insert.h"

#include <algorithm>

#include "base/requantize.h"
#include "graph/rebuild.h"
#include "lower/tensor_edit.h"
#include "ops/binary/binary.h"
#include "ops/dequantize/dequantize.h"
#include "ops/gather/gather.h"
#include "ops/hybrid_conv/hybrid_conv.h"
#include "ops/matmul/matmul.h"
#include "ops/quantize/quantize.h"
#include "ops/reshape/reshape.h"
#include "ops/row_quantize/row_quantize.h"
#include "ops/row_requantize/row_requantize.h"
#include "ops/unary/unary.h"
#include "quantize/roles.h"

namespace octavo {
namespace {

class Inserter {
 public:
  Inserter(const Graph& old, const Placement& placement, const std::vector<ActivationScale>& scales,
           const Calibrated& calibrated, Ends ends)
      : old_(old),
        new_(old),
        placement_(placement),
        scales_(scales),
        calibrated_(calibrated),
        ends_(ends),
        integers_(static_cast<std::size_t>(old.value_count())),
        dequantized_(integers_.size()),
        bytes_(integers_.size()),
        rows_(integers_.size()),
        matmul_bias_(placement.roles.size()) {}

  Result<Graph> run() {
    for (ValueId input : old_.inputs()) add_input(input);
    for (NodeId id : old_.order()) {
      if (!new_.has_failed()) copy(id);
    }
    for (std::size_t i = 0; i < old_.outputs().size() && !new_.has_failed(); ++i)
      new_.graph().add_output(output(old_.outputs()[i]), old_.output_names()[i]);
    return new_.finish();
  }

 private:
  const Node& node(NodeId id) const { return old_.node(id); }
  bool is_8bit(NodeId id) const { return id.exists() && placement_.is_8bit[at(id)]; }

  Graph& graph() { return new_.graph(); }
  bool is_integer_end(ValueId value) const { return ends_ == Ends::integers && placement_.pair(value); }

  // An input in 8 bits is what the pair's quantize would make; all readers find its dequantized values.
  void add_input(ValueId input) {
    const Value& value = old_.value(input);
    const ActivationScale& own = scales_[at(input)];
    const ValueId added =
        graph().add_input(value.name, is_integer_end(input) ? own.dtype : value.fact.dtype, value.fact.shape);
    new_.set(input, added);
    if (!is_integer_end(input)) return add_pair(input);
    graph().set_quant(added, {.scale = {own.scale}, .zero_point = {own.zero_point}});
    integers_[at(input)] = added;
    const auto [scale, zero_point] = add_scale(input);
    dequantized_[at(input)] = new_.add(kDequantize, DequantizeAttrs{}, {added, scale, zero_point},
                                       value.name + "/dequantize", origin_of(input));
    new_.set(input, dequantized_[at(input)]);
  }

  ValueId output(ValueId value) { return is_integer_end(value) ? integers_[at(value)] : read(value, {}); }

  // The constants of the wire's scale and zero point.
  std::pair<ValueId, ValueId> add_scale(ValueId value) {
    const std::string& name = old_.value(value).name;
    return {graph().add_constant(name + "/scale", Tensor::scalar(scales_[at(value)].scale)),
            graph().add_constant(name + "/zero_point", zero_point_tensor(scales_[at(value)]))};
  }

  // What a quantize made, and its dequantized form.
  struct Pair {
    ValueId integers, floats;
  };
  Pair quantized(ValueId x, const ActivationScale& own, const std::string& name, const std::string& origin) {
    const ValueId scale = graph().add_constant(name + "/scale", Tensor::scalar(own.scale));
    const ValueId zero_point = graph().add_constant(name + "/zero_point", zero_point_tensor(own));
    const ValueId q =
        new_.add(kQuantize, QuantizeAttrs{.to = own.dtype}, {x, scale, zero_point}, name + "/quantize", origin);
    return {q, new_.add(kDequantize, DequantizeAttrs{}, {q, scale, zero_point}, name + "/dequantize", origin)};
  }

  // Of the wire's s16, where it is wide.
  ActivationScale stored_scale(ValueId value) const {
    const bool follows_bytes = placement_.wide(value) && placement_.has_byte_scale(value);
    return follows_bytes ? wide_scale(scales_[at(value)]) : scales_[at(value)];
  }

  // quantize and dequantize on the wire; on a wide one those of s16, and where bytes are read those behind them.
  void add_pair(ValueId value) {
    if (!placement_.pair(value)) return;
    const std::string& name = old_.value(value).name;
    const ActivationScale& own = scales_[at(value)];
    const bool has_both = placement_.wide(value) && placement_.bytes_follow(value);
    const Pair first =
        quantized(new_.made(value), stored_scale(value), has_both ? name + "/wide" : name, origin_of(value));
    integers_[at(value)] = first.integers;
    dequantized_[at(value)] = first.floats;
    if (has_both) bytes_[at(value)] = quantized(first.floats, own, name, origin_of(value)).floats;
  }

  static Tensor zero_point_tensor(const ActivationScale& own) {
    if (own.dtype == DType::s16) return Tensor::scalar(static_cast<std::int16_t>(own.zero_point));
    if (own.dtype == DType::s8) return Tensor::scalar(static_cast<std::int8_t>(own.zero_point));
    return Tensor::scalar(static_cast<std::uint8_t>(own.zero_point));
  }
  std::string origin_of(ValueId value) const {
    const Node* producer = old_.producer(value);
    return producer != nullptr ? producer->origin : "input '" + old_.value(value).name + "'";
  }

  // What a reader finds on the wire: the rounded value where it computes in 8 bits or the producer has nothing else to
  // give.
  ValueId read(ValueId value, NodeId reader) {
    const NodeId producer = old_.value(value).producer;
    const bool gives_8bit = producer.exists() && placement_.role(producer).role != Role::floating;
    const bool reads_wide = !reader.exists() || placement_.takes_wide[at(reader)] || !is_8bit(reader);
    if (placement_.pair(value) && (is_8bit(reader) || gives_8bit))
      return !reads_wide && placement_.bytes_follow(value) ? bytes_[at(value)] : dequantized_[at(value)];
    return new_.of(value);
  }

  // A constant operand of an 8-bit node, quantized like an activation of its own range.
  ValueId read_constant(ValueId value, NodeId reader) {
    const Tensor& tensor = *old_.fact(value).constant;
    const auto values = tensor.span<float>();
    const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
    const ActivationScale own = values.empty() ? ActivationScale{} : activation_scale({*lowest, *highest});
    Tensor integers(DType::u8, tensor.shape());
    for (std::size_t i = 0; i < values.size(); ++i)
      integers.as<std::uint8_t>()[i] =
          static_cast<std::uint8_t>(quantize_value(values[i], own.scale, own.zero_point, 0, 255));
    const std::string& name = old_.value(value).name;
    const ValueId scale = graph().add_constant(name + "/scale", Tensor::scalar(own.scale));
    const ValueId zero_point = graph().add_constant(name + "/zero_point", zero_point_tensor(own));
    return new_.add(kDequantize, DequantizeAttrs{},
                    {graph().add_constant(name, std::move(integers)), scale, zero_point}, name + "/dequantize",
                    node(reader).origin);
  }

  // s8 weights (and s32 bias) between a constant and its dequantize, one scale per output channel.
  ValueId add_per_channel(Tensor integers, const std::vector<float>& scale, int axis, const std::string& name,
                          const std::string& origin) {
    const ValueId scales =
        graph().add_constant(name + "/scale", Tensor::of<float>(Shape{static_cast<std::int64_t>(scale.size())}, scale));
    return new_.add(kDequantize, DequantizeAttrs{.axis = axis},
                    {graph().add_constant(name, std::move(integers)), scales}, name + "/dequantize", origin);
  }

  QuantizedWeights weights_of(NodeId id, int axis, const std::vector<float>& bias) const {
    return quantize_weights(*old_.fact(node(id).inputs[1]).constant, axis, bias, x_scale(id),
                            known_weights(calibrated_, old_.value(node(id).outputs[0]).name));
  }

  std::vector<ValueId> conv_inputs(NodeId id) {
    const auto& inputs = node(id).inputs;
    const bool has_bias = inputs.size() > 2 && inputs[2].exists();
    const QuantizedWeights weights = weights_of(id, 0, has_bias ? bias_values(inputs[2], id) : std::vector<float>{});
    std::vector<ValueId> result{read(inputs[0], id), add_per_channel(weights.values, weights.scale, 0,
                                                                     old_.value(inputs[1]).name, node(id).origin)};
    if (has_bias)
      result.push_back(add_bias(weights, x_scale(id), inputs[2], node(id).origin, old_.fact(inputs[2]).shape));
    return result;
  }

  // The bias of a product with constant factor is the addition after it; its scale belongs to the product.
  std::vector<ValueId> matmul_inputs(NodeId id) {
    const auto& inputs = node(id).inputs;
    if (!old_.fact(inputs[1]).is_constant()) return {read(inputs[0], id), read(inputs[1], id)};
    const auto bias = bias_after(id);
    const QuantizedWeights weights =
        weights_of(id, 1, bias.exists() ? bias_values(bias, bias_node(id)) : std::vector<float>{});
    if (bias.exists()) {
      const Shape& shape = old_.fact(bias).shape;
      matmul_bias_[at(bias_node(id))] = add_bias(weights, x_scale(id), bias, node(id).origin, shape);
    }
    return {read(inputs[0], id),
            add_per_channel(weights.values, weights.scale, 1, old_.value(inputs[1]).name, node(id).origin)};
  }

  ValueId add_bias(const QuantizedWeights& weights, float scale_of_x, ValueId bias, const std::string& origin,
                   const Shape& shape) {
    std::vector<float> scale;
    for (const float of_channel : weights.scale) scale.push_back(scale_of_x * of_channel);
    return add_per_channel(Tensor::of<std::int32_t>(shape, weights.bias), scale, shape.rank() - 1,
                           old_.value(bias).name, origin);
  }

  float x_scale(NodeId id) const { return scales_[at(node(id).inputs[0])].scale; }
  // of `bias`, which `node` adds, with its correction
  std::vector<float> bias_values(ValueId bias, NodeId adds) const {
    std::vector<float> values = to_floats(old_.fact(bias).constant->view());
    const auto found = calibrated_.bias_corrections.find(old_.value(node(adds).outputs[0]).name);
    for (std::size_t c = 0;
         found != calibrated_.bias_corrections.end() && c < std::min(values.size(), found->second.size()); ++c)
      values[c] += found->second[c];
    return values;
  }
  NodeId bias_node(NodeId product) const {
    const auto readers = old_.readers(node(product).outputs[0]);
    return readers.size() == 1 && placement_.is_bias[at(readers[0])] ? readers[0] : NodeId{};
  }
  ValueId bias_after(NodeId product) const {
    const NodeId addition = bias_node(product);
    if (!addition.exists()) return {};
    const auto& inputs = node(addition).inputs;
    return inputs[0] == node(product).outputs[0] ? inputs[1] : inputs[0];
  }

  std::vector<ValueId> inputs_of(NodeId id) {
    if (is_8bit(id) && node(id).spec->weight_axis >= 0)
      return node(id).spec->weight_axis == 0 ? conv_inputs(id) : matmul_inputs(id);
    // Scalars of a table and indices stay as they are; a whole constant operand of an 8-bit node is quantized.
    const bool joins = elements_of(*node(id).spec, node(id).attrs) == Elements::joined;
    const bool quantizes_constants =
        is_8bit(id) && !placement_.takes_wide[at(id)] && (placement_.role(id).role == Role::kernel || joins);
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < node(id).inputs.size(); ++i) {
      const ValueId input = node(id).inputs[i];
      const bool is_constant = input.exists() && old_.fact(input).is_constant();
      if (!input.exists()) inputs.emplace_back();
      else if (!takes_integers(node(id), i)) inputs.push_back(read(input, {}));
      else if (is_constant && placement_.is_bias[at(id)]) inputs.push_back(matmul_bias_[at(id)]);
      else if (is_constant && quantizes_constants && old_.fact(input).dtype == DType::f32)
        inputs.push_back(read_constant(input, id));
      else inputs.push_back(read(input, id));
    }
    return inputs;
  }

  // Rows of s8 and their scales, looked up by the same indices, and their product.
  ValueId look_up_rows(const Node& source) {
    const std::string& name = old_.value(source.inputs[0]).name;
    const QuantizedWeights rows = quantize_weights(*old_.fact(source.inputs[0]).constant, 0, {}, 1.0f);
    const Shape scales{static_cast<std::int64_t>(rows.scale.size()), 1};
    const ValueId indices = new_.of(source.inputs[1]);
    const ValueId q =
        new_.add(kGather, source.attrs, {graph().add_constant(name, rows.values), indices}, source.name, source.origin);
    const ValueId scale = new_.add(
        kGather, source.attrs, {graph().add_constant(name + "/scale", Tensor::of<float>(scales, rows.scale)), indices},
        source.name + "/scale", source.origin);
    const ValueId one = graph().add_constant(name + "/one", Tensor::scalar(1.0f));
    const ValueId real = new_.add(kDequantize, DequantizeAttrs{}, {q, one}, source.name + "/dequantize", source.origin);
    return new_.add(kBinary, BinaryAttrs{BinaryKind::mul}, {real, scale}, source.name + "/scaled", source.origin);
  }

  // A product that reads a wire of rows with scales of their own, with the bias that follows it.
  bool is_row_product(NodeId id) const { return is_8bit(id) && placement_.reads_rows[at(id)]; }
  bool is_bias_of_row_product(NodeId id) const {
    if (!placement_.is_bias[at(id)]) return false;
    return std::any_of(node(id).inputs.begin(), node(id).inputs.end(), [&](ValueId input) {
      const NodeId producer = old_.value(input).producer;
      return producer.exists() && is_row_product(producer);
    });
  }

  // Bytes of the wire, their scales and zero points; made once for all that read them.
  const std::vector<ValueId>& rows_of(ValueId wire) {
    std::vector<ValueId>& rows = rows_[at(wire)];
    if (rows.empty()) rows = placement_.row_source(wire) == RowSource::gelu ? gelu_rows(wire) : plain_rows(wire);
    return rows;
  }
  std::vector<ValueId> gelu_rows(ValueId wire) {
    const Node& gelu = *old_.producer(wire);
    const bool is_tanh = gelu.attrs.as<UnaryAttrs>().kind == UnaryKind::gelu_tanh;
    const RowRequantizeAttrs attrs{.function = is_tanh ? RowFunction::gelu_tanh : RowFunction::gelu,
                                   .x_scale = stored_scale(gelu.inputs[0]).scale};
    return add_rows(kRowRequantize, attrs, {integers_[at(gelu.inputs[0])]}, gelu.name, gelu.origin);
  }
  std::vector<ValueId> plain_rows(ValueId wire) {
    const std::string name = old_.value(wire).name + "/rows";
    if (placement_.row_source(wire) == RowSource::scaled_stream) return scaled_rows(wire, name);
    if (placement_.row_source(wire) == RowSource::stream) {
      const RowRequantizeAttrs attrs{.x_scale = stored_scale(wire).scale};
      return add_rows(kRowRequantize, attrs, {integers_[at(wire)]}, name, origin_of(wire));
    }
    const RowQuantizeAttrs attrs{.form = DynamicForm::xnnpack, .axis = old_.fact(wire).shape.rank() - 1};
    return add_rows(kRowQuantize, attrs, {read(wire, {})}, name, origin_of(wire));
  }
  std::vector<ValueId> scaled_rows(ValueId wire, const std::string& name) {
    const Node& product = *old_.producer(wire);
    std::vector<float> factors = to_floats(old_.fact(product.inputs[1]).constant->view());
    for (float& factor : factors) factor *= stored_scale(product.inputs[0]).scale;
    const Shape channels{static_cast<std::int64_t>(factors.size())};
    const ValueId factor = graph().add_constant(name + "/factor", Tensor::of<float>(channels, factors));
    return add_rows(kRowRequantize, RowRequantizeAttrs{}, {integers_[at(product.inputs[0])], factor}, name,
                    product.origin);
  }
  std::vector<ValueId> add_rows(const OpSpec& spec, Attrs attrs, const std::vector<ValueId>& inputs,
                                const std::string& name, const std::string& origin) {
    const Node like{.name = name, .spec = &spec, .outputs = std::vector<ValueId>(3), .origin = origin};
    return new_.emit(like, std::move(attrs), inputs);
  }

  // Each row is an image of one pixel.
  void add_row_product(NodeId id) {
    const Node& source = node(id);
    const NodeId adds = bias_node(id);
    const Tensor& matrix = *old_.fact(source.inputs[1]).constant;
    const std::int64_t inner = matrix.shape()[0], columns = matrix.shape()[1];
    const QuantizedWeights weights = weights_of(id, 1, {});
    std::vector<float> bias(static_cast<std::size_t>(columns));
    if (adds.exists()) bias = bias_values(bias_after(id), adds);
    const std::vector<ValueId> rows = rows_of(source.inputs[0]);
    const Dim count = old_.fact(source.inputs[0]).shape.elements() / inner;
    const ValueId x =
        new_.add(kReshape, ReshapeAttrs{{count, 1, 1, inner}}, {rows[0]}, source.name + "/rows", source.origin);
    const Tensor filters = transposed(weights.values, {1, 0}).reshaped(Shape{columns, 1, 1, inner});
    const ValueId y = new_.add(
        kHybridConv,
        HybridConvAttrs{.window = unit_window({1, 1}), .epilogue = {{ScaleInRun{RunForm::xnnpack}}, DType::f32}},
        {x,
         graph().add_constant(old_.value(source.inputs[1]).name, filters),
         rows[2],
         {},
         rows[1],
         graph().add_constant(source.name + "/scales", Tensor::of<float>(Shape{columns}, weights.scale)),
         graph().add_constant(source.name + "/bias", Tensor::of<float>(Shape{columns}, bias))},
        source.name, source.origin);
    const ValueId old_result = node(adds.exists() ? adds : id).outputs[0];
    const ReshapeAttrs back{old_.fact(old_result).shape.to_vector()};
    new_.take_over(old_result, new_.add(kReshape, back, {y}, source.name + "/result", source.origin));
    add_pair(old_result);
  }

  void copy(NodeId id) {
    const Node& source = node(id);
    if (is_row_product(id)) return add_row_product(id);
    if (is_bias_of_row_product(id)) return;
    if (placement_.looks_up_rows[at(id)]) {
      new_.take_over(source.outputs[0], look_up_rows(source));
      return add_pair(source.outputs[0]);
    }
    const std::vector<ValueId> made = new_.emit(source, source.attrs, inputs_of(id));
    for (std::size_t i = 0; i < made.size() && !new_.has_failed(); ++i) {
      new_.take_over(source.outputs[i], made[i]);
      add_pair(source.outputs[i]);
    }
  }

  const Graph& old_;
  Rebuild new_;
  const Placement& placement_;
  const std::vector<ActivationScale>& scales_;
  const Calibrated& calibrated_;
  Ends ends_;
  std::vector<ValueId> integers_;           // by old ValueId, of wires with pairs
  std::vector<ValueId> dequantized_;        // by old ValueId
  std::vector<ValueId> bytes_;              // by old ValueId, of wide wires: dequantized bytes
  std::vector<std::vector<ValueId>> rows_;  // by old ValueId, of wires of rows with scales of their own
  std::vector<ValueId> matmul_bias_;        // by old NodeId of the addition
};

}  // namespace

Result<Graph> insert_pairs(const Graph& graph, const Placement& placement, const std::vector<ActivationScale>& scales,
                           const Calibrated& calibrated, Ends ends) {
  return Inserter(graph, placement, scales, calibrated, ends).run();
}

}  // namespace octavo
