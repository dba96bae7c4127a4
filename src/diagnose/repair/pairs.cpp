// Pairs that cost more than they say: double ones, those before an activation, ranges half used, scales that change
// where values only move. Part of diagnose/.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "diagnose/repair/repairs.h"

namespace octavo::repair {
namespace {

bool is_activation(const onnx::NodeProto& node) { return node.op_type() == "Relu" || node.op_type() == "Clip"; }

// Gives a QuantizeLinear, and every DequantizeLinear behind it, another scale and zero point. `factor`: by how much the
// scale grows.
void set_scales(OnnxEdit& edit, onnx::NodeProto& quantize, const std::string& scale, const std::string& zero_point,
                double factor) {
  edit.set_input(quantize, 1, scale);
  edit.set_input(quantize, 2, zero_point);
  for (onnx::NodeProto* reader : edit.readers(quantize.output(0))) {
    edit.set_input(*reader, 1, scale);
    edit.set_input(*reader, 2, zero_point);
    rescale_biases(edit, reader->output(0), factor);
  }
}

// Whether all that reads the integers are DequantizeLinear nodes of three inputs, so that they can have other scales.
bool has_only_pairs_behind(const OnnxEdit& edit, const onnx::NodeProto& quantize) {
  const auto readers = edit.readers(quantize.output(0));
  return quantize.input_size() == 3 && !edit.is_pinned(quantize.output(0)) && !readers.empty() &&
         std::ranges::all_of(readers, [](const onnx::NodeProto* node) {
           return node->op_type() == "DequantizeLinear" && node->input_size() == 3;
         });
}

}  // namespace

void rescale_biases(OnnxEdit& edit, const std::string& tensor, double factor) {
  for (onnx::NodeProto* node : edit.readers(tensor)) {
    const bool has_bias = node->op_type() == "Conv" || node->op_type() == "Gemm";
    onnx::NodeProto* pair = has_bias && node->input(0) == tensor && node->input_size() == 3
                                ? edit.writer(node->input(2), "DequantizeLinear")
                                : nullptr;
    const auto bias = pair == nullptr ? std::nullopt : edit.constant(pair->input(0));
    const auto scale = pair == nullptr ? std::nullopt : edit.constant(pair->input(1));
    if (!bias || !scale || bias->dtype() != DType::s32) continue;
    Tensor sums(DType::s32, bias->shape()), scales(DType::f32, scale->shape());
    for (std::int64_t i = 0; i < bias->elements(); ++i)
      store_double(sums.view(), i, std::nearbyint(element_as_double(bias->view(), i) / factor));
    for (std::int64_t i = 0; i < scale->elements(); ++i)
      store_double(scales.view(), i, element_as_double(scale->view(), i) * factor);
    std::vector<std::string> inputs(pair->input().begin(), pair->input().end());
    inputs[0] = edit.add_constant(inputs[0], sums);
    inputs[1] = edit.add_constant(inputs[1], scales);
    const std::string result = edit.fresh(node->input(2));
    onnx::NodeProto& made = edit.add_node("DequantizeLinear", inputs, result);
    copy_attribute(*pair, made, "axis");
    edit.set_input(*node, 2, result);
  }
}

int drop_double_pairs(OnnxEdit& edit) {
  int changed = 0;
  for (onnx::NodeProto* last : edit.nodes("DequantizeLinear")) {
    onnx::NodeProto* quantize = edit.writer(last->input(0), "QuantizeLinear");
    onnx::NodeProto* first = quantize == nullptr ? nullptr : edit.writer(quantize->input(0), "DequantizeLinear");
    if (first == nullptr || edit.constant(first->input(0)) || edit.is_pinned(last->output(0))) continue;
    const auto a = edit.scales_of(*first), b = edit.scales_of(*quantize), c = edit.scales_of(*last);
    if (!a || !b || !c || a->scale != b->scale || b->scale != c->scale) continue;
    if (!(a->zero_point == b->zero_point) || !(b->zero_point == c->zero_point)) continue;
    edit.redirect(last->output(0), first->output(0));
    edit.remove(*last);
    ++changed;
  }
  return changed;
}

int drop_pairs_before_activations(OnnxEdit& edit) {
  int changed = 0;
  for (onnx::NodeProto* node : edit.nodes()) {
    if (!is_activation(*node)) continue;
    onnx::NodeProto* dequantize = edit.writer(node->input(0), "DequantizeLinear");
    onnx::NodeProto* quantize = dequantize == nullptr ? nullptr : edit.writer(dequantize->input(0), "QuantizeLinear");
    if (quantize == nullptr || edit.only_reader(quantize->output(0)) != dequantize ||
        edit.only_reader(dequantize->output(0)) != node)
      continue;
    const onnx::NodeProto* maker = edit.writer(quantize->input(0));
    const onnx::NodeProto* after = edit.only_reader(node->output(0));
    static const std::set<std::string> kMakers = {"Add", "BatchNormalization", "Conv", "Gemm", "MatMul"};
    if (maker == nullptr || !kMakers.contains(maker->op_type()) || edit.only_reader(quantize->input(0)) != quantize)
      continue;
    if (after == nullptr || after->op_type() != "QuantizeLinear") continue;
    edit.set_input(*node, 0, quantize->input(0));
    ++changed;
  }
  return changed;
}

int use_whole_range_behind_relu(OnnxEdit& edit) {
  int changed = 0;
  for (onnx::NodeProto* quantize : edit.nodes("QuantizeLinear")) {
    if (edit.writer(quantize->input(0), "Relu") == nullptr || !has_only_pairs_behind(edit, *quantize)) continue;
    const auto scales = edit.scales_of(*quantize);
    if (!scales || !scales->is_per_tensor() || scales->zero_point.dtype() != DType::u8 || scales->zero() <= 0) continue;
    const double factor = static_cast<double>(255 - scales->zero()) / 255.0;
    if (factor <= 0.0) continue;
    const auto scale = Tensor::scalar(static_cast<float>(scales->scale[0] * factor));
    const std::string name = edit.add_constant(quantize->input(1) + "_from_zero", scale);
    const std::string zero = edit.add_constant(quantize->input(2) + "_from_zero", Tensor::scalar<std::uint8_t>(0));
    set_scales(edit, *quantize, name, zero, factor);
    ++changed;
  }
  return changed;
}

int keep_scales_through_moves(OnnxEdit& edit) {
  static const std::set<std::string> kMoves = {"DepthToSpace", "Expand",    "Flatten",  "Gather",       "MaxPool",
                                               "Reshape",      "Resize",    "Slice",    "SpaceToDepth", "Squeeze",
                                               "Tile",         "Transpose", "Unsqueeze"};
  int changed = 0;
  for (onnx::NodeProto* node : edit.nodes()) {
    if (!kMoves.contains(node->op_type()) || node->output_size() != 1) continue;
    const onnx::NodeProto* before = edit.writer(node->input(0), "DequantizeLinear");
    onnx::NodeProto* after = edit.only_reader(node->output(0));
    if (before == nullptr || before->input_size() != 3 || after == nullptr || after->op_type() != "QuantizeLinear")
      continue;
    const onnx::AttributeProto* mode = attribute(*node, "mode");
    const bool overshoots = node->op_type() == "Resize" && mode != nullptr && mode->s() == "cubic";
    if (overshoots || !has_only_pairs_behind(edit, *after)) continue;
    const auto in = edit.scales_of(*before), out = edit.scales_of(*after);
    if (!in || !out || !in->is_per_tensor() || !out->is_per_tensor() || !(in->scale[0] > 0.0f)) continue;
    if (in->scale[0] == out->scale[0] && in->zero_point == out->zero_point) continue;
    if (in->zero_point.dtype() != out->zero_point.dtype() || !(out->scale[0] > 0.0f)) continue;
    set_scales(edit, *after, before->input(1), before->input(2), static_cast<double>(in->scale[0]) / out->scale[0]);
    ++changed;
  }
  return changed;
}

}  // namespace octavo::repair
