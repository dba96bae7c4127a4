// s8 activations become u8 ones. Part of lower/.
#include "lower/relabel.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "lower/integer_weights.h"
#include "ops/dequantize/dequantize.h"
#include "ops/quantize/quantize.h"
#include "ops/quantized_conv/quantized_conv.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace octavo {
namespace {

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
      : old_(old_graph), plain_(static_cast<std::size_t>(old_graph.value_count())), unsigned_(plain_.size()) {
    new_.set_sizes(old_.sizes());
  }

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
    if (fact(old_id).is_constant()) return at(plain_, old_id) = constant(old_.value(old_id));
    return at(plain_, old_id) = convert(at(unsigned_, old_id), DType::s8, old_id);
  }

  // Of extents that are open it stays what depends on them.
  ValueId constant(const Value& value) {
    const Fact& fact = value.fact;
    if (fact.extents == nullptr) return new_.add_constant(value.name, fact.constant);
    return new_.add_extents(value.name, fact.dtype, Shape(fact.shape), *fact.extents);
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
    for (std::int32_t& zero_point : quant.zero_point) zero_point += kSignShift;
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

  // The zero point input of a quantize or dequantize, shifted; of the scale's shape where there was none.
  ValueId shifted_zero_point(const Node& node) {
    if (node.inputs.size() > 2 && node.inputs[2].exists()) return as_unsigned(node.inputs[2]);
    Tensor zero_point(DType::u8, fact(node.inputs[1]).shape);
    std::fill_n(zero_point.as<std::uint8_t>(), zero_point.elements(), std::uint8_t{kSignShift});
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
      attrs.lowest += kSignShift;
      attrs.highest += kSignShift;
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
    Ids inputs;
    for (ValueId input : node.inputs) inputs.push_back(as_unsigned(input));
    const bool pads_with_zero =
        elements_of(*node.spec, node.attrs) == Elements::padded && (node.inputs.size() < 2 || !node.inputs[1].exists());
    if (pads_with_zero)
      inputs = {inputs[0], new_.add_constant(node.name + "/value", Tensor::scalar(std::uint8_t{kSignShift}))};
    emit(node, node.attrs, std::move(inputs));
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
      const bool is_stored = kinds[i] == StageOperand::stored || kinds[i] == StageOperand::stored_or_s16;
      is_relabelled[i] = is_stored && is_signed(node, input);
      operands.push_back(kinds[i] == StageOperand::table ? table_input(node, input, epilogue.to == DType::s8)
                         : is_relabelled[i]              ? as_unsigned(node.inputs[input])
                                                         : plain(node.inputs[input]));
    }
    epilogue = epilogue.relabelled(input_is_signed, is_relabelled);
    return operands;
  }

  // What a convolution's bias lacks once x has 128 added; nothing where that is known only in the run.
  std::optional<Tensor> relabelled_bias(const Node& node) const {
    const Fact& w = fact(node.inputs[kConvW]);
    const Fact& bias = fact(node.inputs[kConvBias]);
    const bool has_offset = node.inputs.size() > kConvOffset && node.inputs[kConvOffset].exists();
    const Tensor* offset = has_offset ? fact(node.inputs[kConvOffset]).constant.get() : nullptr;
    if (!w.is_constant() || !bias.is_constant()) return std::nullopt;
    return bias_with_zero_point(*bias.constant, *w.constant, offset, kSignShift);
  }

  // Operators that say what becomes of their attributes, or have an epilogue.
  void integers(const Node& node) {
    const EpilogueTrait* trait = node.spec->epilogue;
    std::vector<bool> is_relabelled;
    Ids inputs;
    for (std::size_t i = 0; i < node.inputs.size() && (trait == nullptr || i < trait->operands); ++i) {
      // Weights keep their type.
      const bool is_weight = i > 0 && node.spec->depth == depth_of_weights;
      is_relabelled.push_back(!is_weight && is_signed(node, i));
      inputs.push_back(is_weight ? plain(node.inputs[i]) : as_unsigned(node.inputs[i]));
    }
    Attrs attrs = node.attrs;
    if (trait != nullptr) {
      Epilogue epilogue = trait->of(attrs);
      const auto operands = relabel_epilogue(node, trait->operands, is_relabelled[0], epilogue);
      if (!operands) return keep(node);
      attrs = trait->with(attrs, epilogue);
      inputs.insert(inputs.end(), operands->begin(), operands->end());
    }
    if (node.spec == &kQuantizedConv && is_relabelled[kConvX]) {
      auto bias = relabelled_bias(node);
      if (!bias) return keep(node);
      inputs[kConvBias] = new_.add_constant(old_.value(node.inputs[kConvBias]).name, *std::move(bias));
    }
    if (node.spec->relabelled != nullptr) attrs = node.spec->relabelled(attrs, is_relabelled);
    emit(node, std::move(attrs), std::move(inputs));
  }

  void visit(const Node& node) {
    const Elements elements = elements_of(*node.spec, node.attrs);
    if (node.spec == &kQuantize) quantize(node);
    else if (node.spec == &kDequantize) dequantize(node);
    else if (node.spec == &kTable) table(node);
    else if (node.spec->epilogue != nullptr || node.spec->relabelled != nullptr) integers(node);
    else if (elements != Elements::computed && elements != Elements::converted) structure(node);
    else keep(node);
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
