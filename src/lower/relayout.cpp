// The books of a change of layout. Part of lower/.
#include "lower/relayout.h"

#include <algorithm>

#include "ops/dequantize/dequantize.h"
#include "ops/reshape/reshape.h"
#include "ops/transpose/transpose.h"

namespace octavo {
namespace {

std::int64_t position_of(const Axes& axes, std::int64_t axis) {
  return std::find(axes.begin(), axes.end(), axis) - axes.begin();
}

}  // namespace

Relayout::Relayout(const Graph& old_graph)
    : new_(old_graph), views_(static_cast<std::size_t>(old_graph.value_count())) {
  new_.add_inputs();
  for (int i = 0; i < old_graph.value_count(); ++i)
    views_[static_cast<std::size_t>(i)] = {new_.made({i}), identity_axes(old_graph.fact({i}).shape.rank())};
}

const View& Relayout::view(ValueId old_id) {
  View& known = views_[static_cast<std::size_t>(old_id.index)];
  if (!known.stored.exists()) known.stored = new_.of(old_id);  // a constant
  return known;
}

void Relayout::set(ValueId old_id, View view) {
  views_[static_cast<std::size_t>(old_id.index)] = view;
  if (has_failed() || !view.stored.exists()) return;
  const Value& value = new_.old_graph().value(old_id);
  if (value.fact.is_constant() || !new_graph().producer(view.stored)) return;
  new_.graph().set_name(view.stored, value.name);
  if (!value.fact.quant) return;
  QuantParams quant = *value.fact.quant;
  if (quant.axis >= 0 && quant.axis < static_cast<int>(view.axes.size()))
    quant.axis = static_cast<int>(view.axes[static_cast<std::size_t>(quant.axis)]);
  new_.graph().set_quant(view.stored, std::move(quant));
}

ValueId Relayout::stored_in(ValueId old_id, const Axes& axes) {
  const View& from = view(old_id);
  return transposed(from.stored, compose(from.axes, inverse(axes)));
}

ValueId Relayout::logical(ValueId old_id) {
  return old_id.exists() ? stored_in(old_id, identity_axes(shape(old_id).rank())) : old_id;
}

ValueId Relayout::broadcastable(ValueId old_id, int rank, const Axes& axes) {
  const OpenShape& own = shape(old_id);
  if (own.rank() == rank) return stored_in(old_id, axes);
  if (is_one(own.elements())) return logical(old_id);
  std::vector<Dim> dims(static_cast<std::size_t>(rank - own.rank()), 1);
  dims.insert(dims.end(), own.begin(), own.end());
  return transposed(reshaped(logical(old_id), OpenShape(dims)), inverse(axes));
}

ValueId Relayout::transposed(ValueId id, const Axes& axes) {
  if (has_failed() || !id.exists() || is_identity(axes)) return id;
  const auto [found, is_new] = transposed_.try_emplace({id.index, axes}, ValueId{});
  if (!is_new) return found->second;
  // The recursion may insert into the map; iterators of a std::map stay valid.
  return found->second = transposed_uncached(id, axes);
}

ValueId Relayout::transposed_uncached(ValueId id, const Axes& axes) {
  const Fact& fact = new_graph().fact(id);
  if (fact.is_constant())
    return new_.graph().add_constant(new_graph().value(id).name, octavo::transposed(*fact.constant, axes));
  if (keeps_element_order(fact.shape, axes)) return reshaped(id, transposed_shape(fact.shape, axes));
  const Node* producer = new_graph().producer(id);
  if (producer != nullptr && producer->spec == &kTranspose) {
    const Axes inner = producer->attrs.as<TransposeAttrs>().perm;
    return transposed(producer->inputs[0], compose(inner, axes));
  }
  if (producer != nullptr && producer->spec == &kDequantize && producer->attrs.as<DequantizeAttrs>().block == 0) {
    const Node node = *producer;  // a copy: adding nodes moves them
    auto attrs = node.attrs.as<DequantizeAttrs>();
    if (attrs.axis >= 0) attrs.axis = position_of(axes, attrs.axis);
    std::vector<ValueId> inputs = node.inputs;
    inputs[0] = transposed(inputs[0], axes);
    return new_.add(kDequantize, attrs, std::move(inputs), node.name, node.origin);
  }
  const std::string name = new_graph().value(id).name + "/transposed";
  const std::string origin = producer == nullptr ? "" : producer->origin;
  const auto quant = fact.quant;
  const ValueId added = new_.add(kTranspose, TransposeAttrs{axes}, {id}, name, origin);
  if (added.exists() && quant && quant->axis < 0) new_.graph().set_quant(added, *quant);
  return added;
}

ValueId Relayout::reshaped(ValueId id, const OpenShape& shape) {
  if (has_failed() || !id.exists()) return id;
  const Fact& fact = new_graph().fact(id);
  if (is_same(fact.shape, shape)) return id;
  if (fact.is_constant()) return new_.graph().add_constant(new_graph().value(id).name, fact.constant->reshaped(shape));
  const Node* producer = new_graph().producer(id);
  if (producer != nullptr && producer->spec == &kReshape) return reshaped(producer->inputs[0], shape);
  if (producer != nullptr && producer->spec == &kDequantize && producer->attrs.as<DequantizeAttrs>().block == 0) {
    const auto attrs = producer->attrs.as<DequantizeAttrs>();
    const bool keeps_axis = attrs.axis < 0 || (attrs.axis == 0 && shape.rank() > 0 && shape[0] == fact.shape[0]);
    if (keeps_axis) {
      const Node node = *producer;
      std::vector<ValueId> inputs = node.inputs;
      inputs[0] = reshaped(inputs[0], shape);
      return new_.add(kDequantize, attrs, std::move(inputs), node.name, node.origin);
    }
  }
  const std::string name = new_graph().value(id).name + "/reshaped";
  const std::string origin = producer == nullptr ? "" : producer->origin;
  const auto quant = fact.quant;
  const ValueId added = new_.add(kReshape, ReshapeAttrs{shape.to_vector()}, {id}, name, origin);
  if (added.exists() && quant && quant->axis < 0) new_.graph().set_quant(added, *quant);
  return added;
}

Result<Graph> Relayout::finish() {
  const Graph& old = new_.old_graph();
  for (const ValueId output : old.outputs()) new_.set(output, logical(output));
  new_.add_outputs(old.outputs(), old.output_names());
  auto made = new_.finish();
  if (made) made->remove_unused();
  return made;
}

}  // namespace octavo
