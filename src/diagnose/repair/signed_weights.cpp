// u8 weights as s8. Part of diagnose/.
#include <algorithm>

#include "diagnose/repair/shifted.h"

namespace octavo::repair {
namespace {

constexpr int kTensor = 3, kZeroPoint = 5;  // of weights, where an operator of integers takes them

// A pair's half that products read, and nothing else, as their weights.
bool is_of_products(const OnnxEdit& edit, const onnx::NodeProto& dequantize) {
  const std::vector<onnx::NodeProto*> readers = edit.readers(dequantize.output(0));
  return !edit.is_pinned(dequantize.output(0)) && !readers.empty() &&
         std::ranges::all_of(readers, [&](const onnx::NodeProto* node) {
           const std::string& op = node->op_type();
           return (op == "Conv" || op == "MatMul" || op == "Gemm") && input_of(*node, 1) == dequantize.output(0) &&
                  input_of(*node, 0) != dequantize.output(0);
         });
}

class WeightSigner {
 public:
  explicit WeightSigner(OnnxEdit& edit) : edit_(edit), shifted_(edit, DType::s8) {}

  int run() {
    int changed = 0;
    for (onnx::NodeProto* node : edit_.nodes()) {
      const std::string& op = node->op_type();
      if (op == "QLinearConv" || op == "QLinearMatMul" || op == "QGemm") changed += sign(*node, kTensor, kZeroPoint);
      if (op == "DequantizeLinear" && is_of_products(edit_, *node)) changed += sign(*node, 0, 2);
    }
    return changed;
  }

 private:
  bool is_u8(const std::string& name) const {
    const auto value = edit_.constant(name);
    return value && value->dtype() == DType::u8;
  }

  // Both, or none: what the weights stand for stays.
  bool sign(onnx::NodeProto& node, int tensor, int zero_point) {
    if (!is_u8(input_of(node, tensor)) || !is_u8(input_of(node, zero_point))) return false;
    for (const int input : {tensor, zero_point}) edit_.set_input(node, input, shifted_.of(node.input(input)));
    return true;
  }

  OnnxEdit& edit_;
  ShiftedConstants shifted_;
};

}  // namespace

int make_weights_signed(OnnxEdit& edit) { return WeightSigner(edit).run(); }

}  // namespace octavo::repair
