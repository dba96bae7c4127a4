// A quantized network in floats: what its answers would be without rounding. Part of diagnose/.
#include <limits>

#include "diagnose/repair/repair.h"
#include "diagnose/repair/repairs.h"

namespace octavo::repair {
namespace {

// The least and the greatest value of a pair of bytes; nothing of other types.
std::optional<std::pair<float, float>> bounds_of(const Scales& scales) {
  const DType type = scales.zero_point.dtype();
  if (!scales.is_per_tensor() || (type != DType::s8 && type != DType::u8)) return std::nullopt;
  const std::int64_t least = type == DType::s8 ? -128 : 0;
  const auto value = [&](std::int64_t q) { return static_cast<float>(q - scales.zero()) * scales.scale[0]; };
  return std::pair(value(least), value(least + 255));
}

}  // namespace

onnx::ModelProto unrounded(const onnx::ModelProto& model) {
  OnnxEdit edit(model);
  make_operators_pairs(edit);
  for (onnx::NodeProto* dequantize : edit.nodes("DequantizeLinear")) {
    const onnx::NodeProto* quantize = edit.writer(dequantize->input(0), "QuantizeLinear");
    const auto scales = quantize == nullptr ? std::nullopt : edit.scales_of(*quantize);
    const auto bounds = scales ? bounds_of(*scales) : std::nullopt;
    if (!bounds || edit.opset() < 11) continue;
    const std::string output = dequantize->output(0);
    const std::string least = edit.add_constant(output + "_least", Tensor::scalar(bounds->first));
    const std::string most = edit.add_constant(output + "_most", Tensor::scalar(bounds->second));
    const std::string input = quantize->input(0);
    edit.remove(*dequantize);
    edit.add_node("Clip", {input, least, most}, output);
  }
  return edit.finish();
}

}  // namespace octavo::repair
