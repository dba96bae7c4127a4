// The tables of ONNX operators, joined. Part of import/.
#include "import/onnx/operators.h"

#include <algorithm>

namespace octavo::onnx_import {

std::span<const Operator> all_operators() {
  static const std::vector<Operator> kAll = [] {
    std::vector<Operator> all;
    for (const auto& table :
         {kCounted, kDecoding, kElementwise, kImages, kLosses, kMicrosoftAttention, kOptimised, kProducts, kQonnx,
          kQuantized, kRandom, kRecurrent, kSampling, kSelection, kShaping, kSignals, kTransformers})
      all.insert(all.end(), table.begin(), table.end());
    std::sort(all.begin(), all.end(), [](const Operator& a, const Operator& b) { return a.name < b.name; });
    return all;
  }();
  return kAll;
}

Family family_of(std::string_view name) {
  for (const std::string_view described : {"DequantizeLinear", "IntQuant", "Quant", "QuantizeLinear"}) {
    if (name == described) return Family::qdq;
  }
  for (const std::string_view dynamic :
       {"ConvInteger", "DynamicQuantizeLSTM", "DynamicQuantizeLinear", "DynamicQuantizeMatMul", "MatMulInteger",
        "MatMulIntegerToFloat", "QAttention"}) {
    if (name == dynamic) return Family::dynamic;
  }
  if (name.substr(0, 7) == "QLinear" || name == "QGemm") return Family::qoperator;
  return Family::plain;
}

}  // namespace octavo::onnx_import
