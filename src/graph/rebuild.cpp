// A new graph made of an old one. Part of graph/.
#include "graph/rebuild.h"

namespace octavo {

void Rebuild::take_over(ValueId old_id, ValueId new_id) {
  set(old_id, new_id);
  if (!new_id.exists()) return;
  new_.set_name(new_id, old_.value(old_id).name);
  if (const auto& quant = old_.fact(old_id).quant) new_.set_quant(new_id, *quant);
}

ValueId Rebuild::of(ValueId old_id) {
  if (!old_id.exists() || made(old_id).exists() || !old_.fact(old_id).is_constant())
    return old_id.exists() ? made(old_id) : old_id;
  const auto& [name, fact, producer] = old_.value(old_id);
  set(old_id, fact.extents == nullptr ? new_.add_constant(name, fact.constant)
                                      : new_.add_extents(name, fact.dtype, fact.shape, *fact.extents));
  return made(old_id);
}

std::vector<ValueId> Rebuild::of(const std::vector<ValueId>& old_ids) {
  std::vector<ValueId> ids;
  for (const ValueId old_id : old_ids) ids.push_back(of(old_id));
  return ids;
}

void Rebuild::add_inputs() {
  for (const ValueId input : old_.inputs()) {
    const Value& value = old_.value(input);
    take_over(input, new_.add_input(value.name, value.fact.dtype, value.fact.shape));
  }
}

ValueId Rebuild::add(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs, const std::string& name,
                     const std::string& origin) {
  if (has_failed()) return {};
  auto added = new_.add(spec, std::move(attrs), std::move(inputs), name, origin);
  if (added) return *added;
  errors_ = std::move(added).errors();
  return {};
}

std::vector<ValueId> Rebuild::emit(const Node& node, Attrs attrs, std::vector<ValueId> inputs) {
  std::vector<ValueId> none(node.outputs.size());
  if (has_failed()) return none;
  auto added = new_.add_node(*node.spec, std::move(attrs), std::move(inputs), node.name, node.origin);
  if (added) return new_.node(*added).outputs;
  errors_ = std::move(added).errors();
  return none;
}

void Rebuild::copy(const Node& node) {
  const std::vector<ValueId> results = emit(node, node.attrs, of(node.inputs));
  for (std::size_t i = 0; i < results.size(); ++i) take_over(node.outputs[i], results[i]);
}

void Rebuild::add_outputs(const std::vector<ValueId>& old_ids, const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < old_ids.size() && !has_failed(); ++i) new_.add_output(of(old_ids[i]), names[i]);
}

Result<Graph> Rebuild::finish() {
  if (has_failed()) return errors_;
  return std::move(new_);
}

}  // namespace octavo
