// where: picks elements by a condition. Part of ops/.
#include "ops/where/where.h"

#include <cstring>

#include "graph/attrs_of.h"
#include "ops/movement.h"
#include "ops/one_image.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_where(const Attrs&, InputFacts inputs) {
  const Fact& condition = *inputs[0];
  const Fact& a = *inputs[1];
  const Fact& b = *inputs[2];
  if (condition.dtype != DType::boolean)
    return shape_error("", std::string(name_of(condition.dtype)) + " condition", "bool");
  if (a.dtype != b.dtype) {
    return shape_error("", std::string(name_of(a.dtype)) + " and " + std::string(name_of(b.dtype)),
                       "two inputs of one type");
  }
  auto shape = broadcast(a.shape, b.shape);
  if (shape) shape = broadcast(condition.shape, *shape);
  if (!shape) {
    return shape_error(
        "", "shapes " + condition.shape.to_string() + ", " + a.shape.to_string() + " and " + b.shape.to_string(),
        "shapes that broadcast");
  }
  return std::vector<Fact>{{.dtype = a.dtype, .shape = std::move(*shape)}};
}

void reference_where(const Attrs&, InputViews inputs, OutputViews outputs) {
  const TensorView& y = outputs[0];
  const std::size_t size = size_of(y.dtype);
  copy_strided(inputs[1], y, broadcast_strides(inputs[1].shape, y.shape), 0);
  Tensor picked(DType::boolean, y.shape);
  copy_strided(inputs[0], picked.view(), broadcast_strides(inputs[0].shape, y.shape), 0);
  std::size_t i = 0;
  for_each_offset(y.shape, broadcast_strides(inputs[2].shape, y.shape), 0, [&](std::int64_t offset) {
    const bool takes_a = picked.as<std::uint8_t>()[i] != 0;
    if (!takes_a) std::memcpy(y.data + i * size, inputs[2].data + static_cast<std::size_t>(offset) * size, size);
    ++i;
  });
}

}  // namespace

const OpSpec kWhere{
    .name = "where",
    .summary = "y = condition ? a : b, with broadcasting",
    .inputs = {"condition", "a", "b"},
    .infer = infer_where,
    .reference = reference_where,
    .decode_attrs = decode_attrs_as<NoAttrs>,
    .for_one_image = same_for_one_image,
    .pointwise = pointwise_in<3>,
    .folds_at_import = true,
    .reordered = reordered_as_is,
    .read_from = "ONNX Where; ATen where",
    .integer_form = "table with one varying input",
};

}  // namespace octavo
