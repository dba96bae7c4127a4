// table: shape rule and reference. Part of ops/.
#include "ops/table/table.h"

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/one_image.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_table(const Attrs&, InputFacts inputs) {
  const Fact& x = *inputs[0];
  const Fact& table = *inputs[1];
  if (auto problem = first_of(
          {check_dtype("x", x, {DType::u8, DType::s8}), check_table(table, {DType::u8, DType::s8, DType::f32})}))
    return *problem;
  return one_output(table.dtype, x.shape.to_vector());
}

void reference_table(const Attrs&, InputViews inputs, OutputViews outputs) {
  const std::int64_t count = inputs[0].shape.elements();
  const auto* x = inputs[0].as<std::uint8_t>();
  if (inputs[1].dtype == DType::f32) {
    for (std::int64_t i = 0; i < count; ++i) outputs[0].as<float>()[i] = inputs[1].as<float>()[x[i]];
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) outputs[0].data[i] = inputs[1].data[x[i]];
}

int pointwise_in_table(const Attrs&, InputFacts inputs) { return inputs[1]->is_constant() ? 1 : 0; }

bool is_identity_table(const Attrs&, InputFacts inputs) {
  const Fact& table = *inputs[1];
  if (!table.is_constant() || table.dtype != inputs[0]->dtype) return false;
  for (int i = 0; i < 256; ++i) {
    if (table.constant->as<std::uint8_t>()[i] != i) return false;
  }
  return true;
}

}  // namespace

const OpSpec kTable = {
    .name = "table",
    .summary = "y = table[x as an unsigned byte], 256 entries of u8, s8 or f32",
    .inputs = {"x", "table"},
    .infer = infer_table,
    .reference = reference_table,
    .decode_attrs = decode_attrs_as<NoAttrs>,
    .for_one_image = same_for_one_image,
    .pointwise = pointwise_in_table,
    .is_integer = true,
    .is_identity = is_identity_table,
};

}  // namespace octavo
