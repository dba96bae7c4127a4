// compress: shape rule and reference. Part of ops/.
#include "ops/compress/compress.h"

#include <algorithm>
#include <cstring>

#include "graph/attrs_of.h"
#include "ops/check.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_compress(const Attrs& attrs, InputFacts inputs) {
  const std::int64_t axis = attrs.as<CompressAttrs>().axis;
  const Fact &x = *inputs[0], &condition = *inputs[1];
  if (auto problem =
          first_of({check_dtype("condition", condition, {DType::boolean}), check_rank("condition", condition, 1, 1),
                    check_range("axis", axis, -1, std::int64_t{x.shape.rank()} - 1)}))
    return *problem;
  OpenShape shape = axis < 0 ? OpenShape({x.shape.elements()}) : x.shape;
  Dim& most = shape[axis < 0 ? 0 : static_cast<int>(axis)];
  most = smaller(most, condition.shape[0]);
  return std::vector<Fact>{{.dtype = x.dtype, .shape = shape},
                           {.dtype = DType::s64, .shape = OpenShape({Dim(shape.rank())})}};
}

void reference_compress(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  compress(attrs.as<CompressAttrs>(), inputs, outputs);
}

}  // namespace

void compress(const CompressAttrs& attrs, InputViews inputs, OutputViews outputs) {
  const ConstTensorView& x = inputs[0];
  const Shape& most = outputs[0].shape;
  const int axis = attrs.axis < 0 ? 0 : static_cast<int>(attrs.axis);
  const std::int64_t size = attrs.axis < 0 ? x.shape.elements() : x.shape[axis];
  const std::int64_t outer = most.elements(0, axis);
  const auto bytes = static_cast<std::size_t>(most.elements(axis + 1, most.rank())) * size_of(x.dtype);
  const auto* is_chosen = inputs[1].as<std::uint8_t>();
  std::byte* to = outputs[0].data;
  const std::size_t total = outputs[0].bytes();
  if (total > 0) std::memset(to, 0, total);
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < most[axis]; ++i) count += is_chosen[i] != 0 ? 1 : 0;
  for (std::int64_t o = 0; o < outer && bytes > 0; ++o) {
    for (std::int64_t i = 0; i < most[axis]; ++i) {
      if (is_chosen[i] == 0) continue;
      std::memcpy(to, x.data + static_cast<std::size_t>(o * size + i) * bytes, bytes);
      to += bytes;
    }
  }
  auto* extents = outputs[1].as<std::int64_t>();
  for (int i = 0; i < most.rank(); ++i) extents[i] = i == axis ? count : most[i];
}

const OpSpec kCompress{
    .name = "compress",
    .summary = "the slices along an axis that a mask chooses, and their shape; the rest of the result is 0",
    .inputs = {"x", "condition"},
    .outputs = 2,
    .infer = infer_compress,
    .reference = reference_compress,
    .decode_attrs = decode_attrs_as<CompressAttrs>,
    .folds_at_import = true,
    .read_from = "ONNX Compress",
};

template Attrs::Attrs(CompressAttrs);

}  // namespace octavo
