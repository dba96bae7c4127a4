// What the readers of recurrent layers share: their biases. Part of import/.
#include "import/rare_verbs.h"

namespace octavo::importing {

RecurrentBiases recurrent_biases(NodeBuilder& in, const RecurrenceAttrs& attrs, ValueId of_x, ValueId of_h,
                                 const std::string& name) {
  if (in.failed()) return {};
  if (attrs.kind != RecurrenceKind::gru || !attrs.resets_after_product)
    return {in.binary(BinaryKind::add, of_x, of_h, name + ".bias"), {}};
  const std::int64_t hidden = in.shape(of_h)[0].fixed() / gates_of(attrs.kind), gates = 2 * hidden;
  const ValueId none = in.constant(Tensor(DType::f32, Shape{hidden}), name + ".zeros");
  const ValueId candidate = slice(in, of_h, 0, Range{.start = gates, .size = hidden}, name + ".rbh");
  const ValueId of_gates =
      concat(in, {slice(in, of_h, 0, Range{.size = gates}, name + ".rbg"), none}, 0, name + ".rbzr");
  return {in.binary(BinaryKind::add, of_x, of_gates, name + ".bias"), candidate};
}

}  // namespace octavo::importing
