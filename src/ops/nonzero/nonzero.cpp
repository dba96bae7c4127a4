// nonzero: shape rule and reference. Part of ops/.
#include "ops/nonzero/nonzero.h"

#include <algorithm>

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/element_types.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_nonzero(const Attrs&, InputFacts inputs) {
  const OpenShape& x = inputs[0]->shape;
  const Dim rows = std::max(x.rank(), 1), most = x.elements();
  const Dim dims[] = {rows, most};
  if (!checked_elements(dims)) return shape_error("x", x.to_string(), "at most 2^33 positions");
  return std::vector<Fact>{{.dtype = DType::s64, .shape = OpenShape({rows, most})},
                           {.dtype = DType::s64, .shape = OpenShape({Dim(2)})}};
}

void reference_nonzero(const Attrs&, InputViews inputs, OutputViews outputs) { find_nonzero(inputs[0], outputs); }

}  // namespace

void find_nonzero(const ConstTensorView& x, OutputViews outputs) {
  const std::int64_t elements = x.shape.elements(), rows = std::max(x.shape.rank(), 1);
  auto* positions = outputs[0].as<std::int64_t>();
  std::fill(positions, positions + outputs[0].shape.elements(), 0);
  std::int64_t count = 0;
  with_element(x.dtype, [&]<class Element>(Element) {
    const auto* values = x.as<typename Element::Stored>();
    const auto is_there = [&](std::int64_t i) { return Element::load(values[i]) != typename Element::Number{0}; };
    for (std::int64_t i = 0; i < elements; ++i) count += is_there(i) ? 1 : 0;
    for (std::int64_t i = 0, found = 0; i < elements; ++i) {
      if (!is_there(i)) continue;
      std::int64_t rest = i;
      for (int axis = x.shape.rank() - 1; axis >= 0; --axis) {
        positions[axis * count + found] = rest % x.shape[axis];
        rest /= x.shape[axis];
      }
      ++found;
    }
  });
  outputs[1].as<std::int64_t>()[0] = rows;
  outputs[1].as<std::int64_t>()[1] = count;
}

const OpSpec kNonzero{
    .name = "nonzero",
    .summary = "the positions of all elements that are not 0, and how many there are; the rest of the result is 0",
    .inputs = {"x"},
    .outputs = 2,
    .infer = infer_nonzero,
    .reference = reference_nonzero,
    .decode_attrs = decode_attrs_as<NoAttrs>,
    .folds_at_import = true,
    .read_from = "ONNX NonZero; TFLite WHERE",
};

}  // namespace octavo
