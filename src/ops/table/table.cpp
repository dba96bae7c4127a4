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
  if (auto problem = first_of({check_dtype("x", x, {DType::u8, DType::s8, DType::s16}),
                               check_dtype("table", table, {DType::u8, DType::s8, DType::s16, DType::f32}),
                               check_shape("table", table, OpenShape{table_entries(x.dtype)})}))
    return *problem;
  return one_output(table.dtype, x.shape.to_vector());
}

template <class Index, class Entry>
void look_up(InputViews inputs, OutputViews outputs) {
  const std::int64_t count = inputs[0].shape.elements();
  const auto* x = reinterpret_cast<const Index*>(inputs[0].data);
  const auto* table = reinterpret_cast<const Entry*>(inputs[1].data);
  auto* y = reinterpret_cast<Entry*>(outputs[0].data);
  for (std::int64_t i = 0; i < count; ++i) y[i] = table[x[i]];
}

template <class Index>
void look_up_entries(InputViews inputs, OutputViews outputs) {
  switch (size_of(inputs[1].dtype)) {
    case 1: return look_up<Index, std::uint8_t>(inputs, outputs);
    case 2: return look_up<Index, std::uint16_t>(inputs, outputs);
    default: return look_up<Index, std::uint32_t>(inputs, outputs);
  }
}

void reference_table(const Attrs&, InputViews inputs, OutputViews outputs) {
  if (inputs[0].dtype == DType::s16) look_up_entries<std::uint16_t>(inputs, outputs);
  else look_up_entries<std::uint8_t>(inputs, outputs);
}

int pointwise_in_table(const Attrs&, InputFacts inputs) { return inputs[1]->is_constant() ? 1 : 0; }

bool is_identity_table(const Attrs&, InputFacts inputs) {
  const Fact& table = *inputs[1];
  if (!table.is_constant() || table.dtype != inputs[0]->dtype || !is_8bit(table.dtype)) return false;
  for (int i = 0; i < 256; ++i) {
    if (table.constant->as<std::uint8_t>()[i] != i) return false;
  }
  return true;
}

}  // namespace

const OpSpec kTable = {
    .name = "table",
    .summary = "y = table[x as an unsigned number], 256 entries (s16: 65536) of u8, s8, s16 or f32",
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
