// bitcast: shape rule and reference. Part of ops/.
#include "ops/bitcast/bitcast.h"

#include <cstring>

#include "graph/attrs_of.h"
#include "ops/one_image.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_bitcast(const Attrs& attrs, InputFacts inputs) {
  const Fact& x = *inputs[0];
  const DType to = attrs.as<BitcastAttrs>().to;
  // Of the values of a byte, booleans are only two.
  const bool makes_booleans = to == DType::boolean && x.dtype != DType::boolean;
  if (size_of(to) != size_of(x.dtype) || makes_booleans)
    return shape_error("to", std::string(name_of(to)) + " of " + std::string(name_of(x.dtype)),
                       "another type of equally many bits than bool");
  return std::vector<Fact>{{.dtype = to, .shape = x.shape}};
}

void reference_bitcast(const Attrs&, InputViews inputs, OutputViews outputs) {
  if (inputs[0].bytes() != 0) std::memcpy(outputs[0].data, inputs[0].data, inputs[0].bytes());
}

bool is_same_type(const Attrs& attrs, InputFacts inputs) { return attrs.as<BitcastAttrs>().to == inputs[0]->dtype; }

}  // namespace

const OpSpec kBitcast{
    .name = "bitcast",
    .summary = "the same bytes as another element type of equally many bits",
    .inputs = {"x"},
    .infer = infer_bitcast,
    .reference = reference_bitcast,
    .decode_attrs = decode_attrs_as<BitcastAttrs>,
    .for_one_image = same_for_one_image,
    .folds_at_import = true,
    .is_identity = is_same_type,
    .reordered = reordered_as_is,
    .read_from = "ONNX BitCast; TFLite BITCAST; ATen view",
};

template Attrs::Attrs(BitcastAttrs);

}  // namespace octavo
