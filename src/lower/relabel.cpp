// s8 activations become u8 ones. Part of lower/.
#include "lower/relabel.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "lower/integer_weights.h"
#include "ops/list.h"

namespace octavo {
namespace {

constexpr std::int32_t kShift = 128;

// q + 128 of an s8 tensor as u8, or back: the top bit flips.
Tensor other_sign(const Tensor& x) {
  Tensor y(x.dtype() == DType::s8 ? DType::u8 : DType::s8, x.shape());
  const std::uint8_t* from = x.as<std::uint8_t>();
  std::transform(from, from + x.elements(), y.as<std::uint8_t>(),
                 [](std::uint8_t q) { return static_cast<std::uint8_t>(q ^ 0x80u); });
  return y;
}

// The table for an index with its top bit flipped.
Tensor with_flipped_index(const Tensor& table) {
  Tensor y(table.dtype(), table.shape());
  const std::size_t size = size_of(table.dtype());
  for (std::size_t i = 0; i < 256; ++i) std::copy_n(table.data() + i * size, size, y.data() + (i ^ 0x80u) * size);
  return y;
}

Tensor sign_table(DType to) {
  Tensor table(to, Shape{256});
  for (std::size_t i = 0; i < 256; ++i) table.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(i ^ 0x80u);
  return table;
}

class Relabeller {
 public:
  explicit Relabeller(const Graph& old_graph)
      : old_(old_graph), plain_(static_cast<std::size_t>(old_graph.value_count())), unsigned_(plain_.size()) {}

  Result<Graph> run() {
    for (ValueId input : old_.inputs()) {
      const Value& value = old_.value(input);
      at(plain_, input) = new_.add_input(value.name, value.fact.dtype, value.fact.shape);
      if (value.fact.quant) new_.set_quant(at(plain_, input), *value.fact.quant);
    }
    for (NodeId id : old_.order()) {
      visit(old_.node(id));
      if (!errors_.empty()) return errors_;
    }
    for (std::size_t i = 0; i < old_.outputs().size(); ++i)
      new_.add_output(plain(old_.outputs()[i]), old_.output_names()[i]);
    if (!errors_.empty()) return errors_;
    new_.remove_unused();
    return std::move(new_);
  }

 private:
  using Ids = std::vector<ValueId>;
  static ValueId& at(Ids& ids, ValueId id) { return ids[static_cast<std::size_t>(id.index)]; }
  const Fact& fact(ValueId old_id) const { return old_.fact(old_id); }
  bool is_signed(const Node& node, std::size_t input) const {
    return input < node.inputs.size() && node.inputs[input].exists() && fact(node.inputs[input]).dtype == DType::s8;
  }

  // The value with the type it has in the old graph.
  ValueId plain(ValueId old_id) {
    if (!old_id.exists() || at(plain_, old_id).exists()) return old_id.exists() ? at(plain_, old_id) : old_id;
    if (fact(old_id).is_constant())
      return at(plain_, old_id) = new_.add_constant(old_.value(old_id).name, fact(old_id).constant);
    return at(plain_, old_id) = convert(at(unsigned_, old_id), DType::s8, old_id);
  }

  // An s8 value as u8; other types as they are.
  ValueId as_unsigned(ValueId old_id) {
    if (!old_id.exists() || fact(old_id).dtype != DType::s8) return plain(old_id);
    if (at(unsigned_, old_id).exists()) return at(unsigned_, old_id);
    if (fact(old_id).is_constant())
      return at(unsigned_, old_id) = new_.add_constant(old_.value(old_id).name, other_sign(*fact(old_id).constant));
    return at(unsigned_, old_id) = convert(plain(old_id), DType::u8, old_id);
  }

  ValueId convert(ValueId from, DType to, ValueId old_id) {
    if (!errors_.empty()) return {};
    const Value& value = old_.value(old_id);
    const std::string origin = old_.producer(old_id) == nullptr ? "" : old_.producer(old_id)->origin;
    const ValueId table = new_.add_constant(value.name + "/sign", sign_table(to));
    auto added = new_.add(kTable, NoAttrs{}, {from, table}, value.name + (to == DType::u8 ? "/u8" : "/s8"), origin);
    if (!added) errors_ = added.errors();
    if (added && value.fact.quant)
      new_.set_quant(*added, to == DType::u8 ? shifted(*value.fact.quant) : *value.fact.quant);
    return added ? *added : ValueId{};
  }

  static QuantParams shifted(QuantParams quant) {
    for (std::int32_t& zero_point : quant.zero_point) zero_point += kShift;
    return quant;
  }

  // Adds the node; each s8 output whose new form is u8 is from now on known as such.
  void emit(const Node& node, Attrs attrs, Ids inputs) {
    if (!errors_.empty()) return;
    auto added = new_.add_node(*node.spec, std::move(attrs), std::move(inputs), node.name, node.origin);
    if (!added) {
      errors_ = added.errors();
      return;
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId made = new_.node(*added).outputs[i];
      const Value& before = old_.value(node.outputs[i]);
      const bool is_relabelled = before.fact.dtype == DType::s8 && new_.fact(made).dtype == DType::u8;
      at(is_relabelled ? unsigned_ : plain_, node.outputs[i]) = made;
      new_.set_name(made, before.name);
      if (before.fact.quant) new_.set_quant(made, is_relabelled ? shifted(*before.fact.quant) : *before.fact.quant);
    }
  }

  void keep(const Node& node) {
    Ids inputs;
    for (ValueId input : node.inputs) inputs.push_back(plain(input));
    emit(node, node.attrs, std::move(inputs));
  }

  Ids unsigned_inputs(const Node& node) {
    Ids inputs;
    for (ValueId input : node.inputs) inputs.push_back(as_unsigned(input));
    return inputs;
  }

  // The zero point input of a quantize or dequantize, shifted; of the scale's shape where there was none.
  ValueId shifted_zero_point(const Node& node) {
    if (node.inputs.size() > 2 && node.inputs[2].exists()) return as_unsigned(node.inputs[2]);
    Tensor zero_point(DType::u8, fact(node.inputs[1]).shape);
    std::fill_n(zero_point.as<std::uint8_t>(), zero_point.elements(), std::uint8_t{kShift});
    return new_.add_constant(node.name + "/zero_point", std::move(zero_point));
  }

  bool has_variable_zero_point(const Node& node) const {
    return node.inputs.size() > 2 && node.inputs[2].exists() && !fact(node.inputs[2]).is_constant();
  }

  void quantize(const Node& node) {
    auto attrs = node.attrs.as<QuantizeAttrs>();
    if (attrs.to != DType::s8 || has_variable_zero_point(node)) return keep(node);
    attrs.to = DType::u8;
    if (attrs.lowest != 0 || attrs.highest != 0) {
      attrs.lowest += kShift;
      attrs.highest += kShift;
    }
    emit(node, attrs, {plain(node.inputs[0]), plain(node.inputs[1]), shifted_zero_point(node)});
  }

  void dequantize(const Node& node) {
    if (!is_signed(node, 0) || fact(node.inputs[0]).is_constant() || has_variable_zero_point(node)) return keep(node);
    emit(node, node.attrs, {as_unsigned(node.inputs[0]), plain(node.inputs[1]), shifted_zero_point(node)});
  }

  // Moves and selects elements: s8 in, s8 out, whatever they mean.
  void structure(const Node& node) {
    if (!is_signed(node, 0)) return keep(node);
    Ids inputs = unsigned_inputs(node);
    const bool pads_with_zero = node.spec == &kPad && node.attrs.as<PadAttrs>().mode == PadMode::constant &&
                                (node.inputs.size() < 2 || !node.inputs[1].exists());
    if (pads_with_zero)
      inputs = {inputs[0], new_.add_constant(node.name + "/value", Tensor::scalar(std::uint8_t{kShift}))};
    emit(node, node.attrs, std::move(inputs));
  }

  // Extremes and nearest neighbours select elements; other reductions and interpolations compute with them.
  void selection(const Node& node) {
    const bool is_nearest = node.spec == &kResize && node.attrs.as<ResizeAttrs>().mode == ResizeMode::nearest &&
                            node.attrs.as<ResizeAttrs>().coordinates != ResizeCoordinates::tf_crop_and_resize;
    const bool is_extreme = node.spec == &kReduce && (node.attrs.as<ReduceAttrs>().kind == ReduceKind::max ||
                                                      node.attrs.as<ReduceAttrs>().kind == ReduceKind::min);
    if (is_nearest || is_extreme) structure(node);
    else keep(node);
  }

  // The table input at `input`, for an index that was s8 or u8; s8 entries become u8.
  ValueId table_input(const Node& node, std::size_t input, bool was_signed) {
    if (input >= node.inputs.size() || !node.inputs[input].exists()) return {};
    Tensor table = *fact(node.inputs[input]).constant;
    if (was_signed) table = with_flipped_index(table);
    if (table.dtype() == DType::s8) table = other_sign(table);
    return new_.add_constant(old_.value(node.inputs[input]).name, std::move(table));
  }

  bool has_variable_table(const Node& node, std::size_t input) const {
    return input < node.inputs.size() && node.inputs[input].exists() && !fact(node.inputs[input]).is_constant();
  }

  void table(const Node& node) {
    if (has_variable_table(node, 1)) return keep(node);
    emit(node, NoAttrs{}, {as_unsigned(node.inputs[0]), table_input(node, 1, is_signed(node, 0))});
  }

  // The operands of an epilogue from input `first` on, as the relabelled one wants them; nothing where a table is known
  // only in the run.
  std::optional<Ids> relabel_epilogue(const Node& node, std::size_t first, bool input_is_signed, Epilogue& epilogue) {
    const std::vector<StageOperand> kinds = epilogue.operands();
    Ids operands;
    std::vector<bool> is_relabelled(kinds.size(), false);
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const std::size_t input = first + i;
      if (kinds[i] == StageOperand::table && has_variable_table(node, input)) return std::nullopt;
      is_relabelled[i] = kinds[i] == StageOperand::stored && is_signed(node, input);
      operands.push_back(kinds[i] == StageOperand::table ? table_input(node, input, epilogue.to == DType::s8)
                         : is_relabelled[i]              ? as_unsigned(node.inputs[input])
                                                         : plain(node.inputs[input]));
    }
    epilogue = epilogue.relabelled(input_is_signed, is_relabelled);
    return operands;
  }

  void convolution(const Node& node) {
    auto attrs = node.attrs.as<QuantizedConvAttrs>();
    const auto operands = relabel_epilogue(node, kConvOperands, false, attrs.epilogue);
    if (!operands) return keep(node);
    // Weights and biases keep their types.
    Ids inputs = {as_unsigned(node.inputs[kConvX]), plain(node.inputs[kConvW]), plain(node.inputs[kConvBias])};
    inputs.push_back(node.inputs.size() > kConvOffset ? plain(node.inputs[kConvOffset]) : ValueId{});
    if (is_signed(node, kConvX)) {
      const Fact& w = fact(node.inputs[kConvW]);
      const Fact& bias = fact(node.inputs[kConvBias]);
      const Tensor* offset = node.inputs.size() > kConvOffset && node.inputs[kConvOffset].exists()
                                 ? fact(node.inputs[kConvOffset]).constant.get()
                                 : nullptr;
      const auto corrected = w.is_constant() && bias.is_constant()
                                 ? bias_with_zero_point(*bias.constant, *w.constant, offset, kShift)
                                 : std::nullopt;
      if (!corrected) return keep(node);
      inputs[kConvBias] = new_.add_constant(old_.value(node.inputs[kConvBias]).name, *corrected);
      attrs.x_zero_point += kShift;
    }
    inputs.insert(inputs.end(), operands->begin(), operands->end());
    emit(node, attrs, std::move(inputs));
  }

  void binary(const Node& node) {
    auto attrs = node.attrs.as<QuantizedBinaryAttrs>();
    const bool makes_signed = attrs.to == DType::s8;
    if (has_variable_table(node, 2)) return keep(node);
    if (attrs.kind == QuantizedBinaryKind::add) {
      // One shift stands for both operands and the result.
      if (is_signed(node, 0) != makes_signed || is_signed(node, 1) != makes_signed) return keep(node);
      if (makes_signed) attrs.add.shift += kShift;
    } else if (attrs.kind == QuantizedBinaryKind::integer_add) {
      attrs.integer_add =
          attrs.integer_add.with_shifted(is_signed(node, 0) ? kShift : 0, is_signed(node, 1) ? kShift : 0);
      if (makes_signed) {
        attrs.integer_add.zero_point += kShift;
        attrs.lowest += kShift;
        attrs.highest += kShift;
      }
    } else {
      if (is_signed(node, 0)) attrs.a_zero_point += kShift;
      if (is_signed(node, 1)) attrs.b_zero_point += kShift;
      if (makes_signed) attrs.shift += kShift;
    }
    if (makes_signed) attrs.to = DType::u8;
    emit(node, attrs, {as_unsigned(node.inputs[0]), as_unsigned(node.inputs[1]), table_input(node, 2, makes_signed)});
  }

  void pool(const Node& node) {
    auto attrs = node.attrs.as<QuantizedPoolAttrs>();
    if (has_variable_table(node, 1)) return keep(node);
    const bool makes_signed = attrs.to == DType::s8;
    if (is_signed(node, 0)) attrs.x_zero_point += kShift;
    if (makes_signed) {
      attrs.to = DType::u8;
      attrs.shift += kShift;
    }
    emit(node, attrs, {as_unsigned(node.inputs[0]), table_input(node, 1, makes_signed)});
  }

  // What is rounded before the zero point comes to it.
  template <class Result>
  static void relabel_result(Result& attrs) {
    if (attrs.to != DType::s8) return;
    attrs.to = DType::u8;
    attrs.zero_point += kShift;
    attrs.lowest += kShift;
    attrs.highest += kShift;
  }

  void fixed_requantize(const Node& node) {
    auto attrs = node.attrs.as<FixedRequantizeAttrs>();
    if (has_variable_table(node, 3)) return keep(node);
    const bool makes_signed = attrs.to == DType::s8;
    relabel_result(attrs);
    emit(node, attrs,
         {plain(node.inputs[0]), plain(node.inputs[1]), node.inputs.size() > 2 ? plain(node.inputs[2]) : ValueId{},
          table_input(node, 3, makes_signed)});
  }

  void fixed_binary(const Node& node) {
    auto attrs = node.attrs.as<FixedBinaryAttrs>();
    if (is_signed(node, 0)) attrs.a_zero_point += kShift;
    if (is_signed(node, 1)) attrs.b_zero_point += kShift;
    relabel_result(attrs);
    emit(node, attrs, unsigned_inputs(node));
  }

  void fixed_l2_norm(const Node& node) {
    auto attrs = node.attrs.as<FixedL2NormAttrs>();
    if (is_signed(node, 0)) attrs.x_zero_point += kShift;
    relabel_result(attrs);
    emit(node, attrs, unsigned_inputs(node));
  }

  void integer_resize(const Node& node) {
    auto attrs = node.attrs.as<IntegerResizeAttrs>();
    if (is_signed(node, 0)) attrs.shift += kShift;
    emit(node, attrs, unsigned_inputs(node));
  }

  void integer_sum(const Node& node) {
    auto attrs = node.attrs.as<IntegerSumAttrs>();
    if (is_signed(node, 0)) attrs.x_zero_point += kShift;
    emit(node, attrs, unsigned_inputs(node));
  }

  void softmax(const Node& node) {
    auto attrs = node.attrs.as<QuantizedSoftmaxAttrs>();
    if (attrs.to == DType::s8) {
      attrs.to = DType::u8;
      attrs.zero_point += kShift;
    }
    emit(node, attrs, {as_unsigned(node.inputs[0]), plain(node.inputs[1])});
  }

  void matmul(const Node& node) {
    auto attrs = node.attrs.as<QuantizedMatmulAttrs>();
    if (is_signed(node, 0)) attrs.a_zero_point += kShift;
    if (is_signed(node, 1)) attrs.b_zero_point += kShift;
    if (attrs.to == DType::s8) {
      attrs.to = DType::u8;
      attrs.zero_point += kShift;
      attrs.lowest += kShift;
      attrs.highest += kShift;
    }
    emit(node, attrs, unsigned_inputs(node));
  }

  void visit(const Node& node) {
    using Handler = void (Relabeller::*)(const Node&);
    static constexpr std::pair<const OpSpec*, Handler> handlers[] = {
        {&kArgmax, &Relabeller::structure},
        {&kConcat, &Relabeller::structure},
        {&kDequantize, &Relabeller::dequantize},
        {&kExpand, &Relabeller::structure},
        {&kFixedBinary, &Relabeller::fixed_binary},
        {&kFixedL2Norm, &Relabeller::fixed_l2_norm},
        {&kFixedRequantize, &Relabeller::fixed_requantize},
        {&kGather, &Relabeller::structure},
        {&kIntegerResize, &Relabeller::integer_resize},
        {&kIntegerSum, &Relabeller::integer_sum},
        {&kMaxPool, &Relabeller::structure},
        {&kPad, &Relabeller::structure},
        {&kQuantize, &Relabeller::quantize},
        {&kQuantizedBinary, &Relabeller::binary},
        {&kQuantizedConv, &Relabeller::convolution},
        {&kQuantizedMatmul, &Relabeller::matmul},
        {&kQuantizedPool, &Relabeller::pool},
        {&kQuantizedSoftmax, &Relabeller::softmax},
        {&kReduce, &Relabeller::selection},
        {&kReshape, &Relabeller::structure},
        {&kResize, &Relabeller::selection},
        {&kSlice, &Relabeller::structure},
        {&kTable, &Relabeller::table},
        {&kTranspose, &Relabeller::structure},
    };
    for (const auto& [spec, handler] : handlers) {
      if (spec == node.spec) return (this->*handler)(node);
    }
    keep(node);
  }

  const Graph& old_;
  Graph new_;
  Ids plain_;     // old id -> new id of the same type
  Ids unsigned_;  // old id of an s8 value -> new id of its u8 form
  Errors errors_;
};

}  // namespace

Status relabel_signed(Graph& graph) {
  auto changed = Relabeller(graph).run();
  if (!changed) return changed.errors();
  graph = std::move(*changed);
  return ok_status();
}

}  // namespace octavo
