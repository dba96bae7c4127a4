// Integer operators as float operators between pairs, which engines fuse with what is around them. Part of diagnose/.
#include <cstdint>
#include <map>

#include "diagnose/repair/repairs.h"

namespace octavo::repair {
namespace {

// Where an integer operator has a tensor with its scale and zero point.
struct Triple {
  int tensor, scale, zero_point;
};

// What an integer operator computes, as a float operator of the same attributes.
struct Form {
  std::string_view op;
  std::vector<Triple> inputs;
  int scale, zero_point;   // of the result
  std::int64_t axis = -1;  // of the scales of the second input, which are constants of a weight
};

const std::map<std::string, Form>& forms() {
  static const std::map<std::string, Form> kForms = {
      {"QLinearConv", {"Conv", {{0, 1, 2}, {3, 4, 5}}, 6, 7, 0}},
      {"QLinearMatMul", {"MatMul", {{0, 1, 2}, {3, 4, 5}}, 6, 7, 1}},
      {"QGemm", {"Gemm", {{0, 1, 2}, {3, 4, 5}}, 7, 8, 1}},
      {"QLinearAdd", {"Add", {{0, 1, 2}, {3, 4, 5}}, 6, 7}},
      {"QLinearMul", {"Mul", {{0, 1, 2}, {3, 4, 5}}, 6, 7}},
      {"QLinearSigmoid", {"Sigmoid", {{0, 1, 2}}, 3, 4}},
      {"QLinearLeakyRelu", {"LeakyRelu", {{0, 1, 2}}, 3, 4}},
      {"QLinearGlobalAveragePool", {"GlobalAveragePool", {{0, 1, 2}}, 3, 4}},
      {"QLinearAveragePool", {"AveragePool", {{0, 1, 2}}, 3, 4}},
  };
  return kForms;
}

std::optional<Form> form_of(const onnx::NodeProto& node) {
  if (node.op_type() == "QLinearConcat") {
    Form form{"Concat", {}, 0, 1};
    for (int i = 2; i + 2 < node.input_size(); i += 3) form.inputs.push_back({i, i + 1, i + 2});
    return form;
  }
  const auto found = forms().find(node.op_type());
  if (found == forms().end()) return std::nullopt;
  Form form = found->second;
  if (node.op_type() == "QGemm" && integer_attribute(node, "transB", 0) != 0) form.axis = 0;
  return form;
}

class Unfolder {
 public:
  explicit Unfolder(OnnxEdit& edit) : edit_(edit) {}

  int run() {
    int changed = 0;
    for (onnx::NodeProto* node : edit_.nodes()) changed += unfold(*node) ? 1 : 0;
    return changed;
  }

 private:
  std::string dequantized(const std::string& tensor, const std::string& scale, const std::string& zero_point,
                          std::int64_t axis) {
    std::string& made = made_[tensor + " " + scale + " " + zero_point];
    if (!made.empty()) return made;
    made = edit_.fresh(tensor + "_dequantized");
    std::vector<std::string> inputs = {tensor, scale};
    if (!zero_point.empty()) inputs.push_back(zero_point);
    onnx::NodeProto& node = edit_.add_node("DequantizeLinear", inputs, made);
    if (axis >= 0) set_integer(node, "axis", axis);
    return made;
  }

  // Channels of a weight have their scales along an axis; -1: one scale for all.
  std::int64_t axis_of(const onnx::NodeProto& node, const Form& form, std::size_t index) const {
    const auto scale = edit_.constant(input_of(node, form.inputs[index].scale));
    return index == 1 && form.axis >= 0 && scale && scale->elements() > 1 ? form.axis : -1;
  }

  // The s32 bias, which counts in steps of x_scale * w_scale.
  std::optional<std::string> bias(const onnx::NodeProto& node, const Form& form, int index) {
    const auto x = edit_.constant(input_of(node, form.inputs[0].scale));
    const auto w = edit_.constant(input_of(node, form.inputs[1].scale));
    if (!x || !w || x->elements() != 1) return std::nullopt;
    Tensor scale(DType::f32, w->shape());
    for (std::int64_t i = 0; i < w->elements(); ++i)
      scale.span<float>()[static_cast<std::size_t>(i)] =
          to_floats(x->view())[0] * to_floats(w->view())[static_cast<std::size_t>(i)];
    const std::string& name = input_of(node, index);
    return dequantized(name, edit_.add_constant(name + "_scale", scale), "", scale.elements() > 1 ? 0 : -1);
  }

  bool unfold(onnx::NodeProto& node) {
    const std::optional<Form> form = form_of(node);
    if (!form || integer_attribute(node, "channels_last", 0) != 0) return false;
    std::vector<std::string> inputs;
    for (std::size_t i = 0; i < form->inputs.size(); ++i) {
      const Triple& triple = form->inputs[i];
      if (input_of(node, triple.tensor).empty() || !edit_.constant(input_of(node, triple.scale))) return false;
    }
    const int bias_index = form->op == "Conv" ? 8 : form->op == "Gemm" ? 6 : -1;
    const bool has_bias = bias_index >= 0 && !input_of(node, bias_index).empty();
    for (std::size_t i = 0; i < form->inputs.size(); ++i) {
      const Triple& triple = form->inputs[i];
      inputs.push_back(dequantized(node.input(triple.tensor), node.input(triple.scale),
                                   input_of(node, triple.zero_point), axis_of(node, *form, i)));
    }
    if (has_bias) {
      const auto made = bias(node, *form, bias_index);
      if (!made) return false;
      inputs.push_back(*made);
    }
    const std::string output = node.output(0);
    const bool is_float = input_of(node, form->scale).empty();  // what a QGemm may give
    const std::string result = is_float ? output : edit_.fresh(output + "_float");
    const std::string scale = input_of(node, form->scale), zero_point = input_of(node, form->zero_point);
    edit_.remove(node);
    onnx::NodeProto& made = edit_.add_node(form->op, inputs, result);
    made.set_name(node.name());
    for (const onnx::AttributeProto& each : node.attribute()) {
      if (each.name() != "channels_last") *made.add_attribute() = each;
    }
    if (!is_float) edit_.add_node("QuantizeLinear", {result, scale, zero_point}, output);
    return true;
  }

  OnnxEdit& edit_;
  std::map<std::string, std::string> made_;
};

}  // namespace

int make_operators_pairs(OnnxEdit& edit) {
  // Pairs per channel came with opset 13.
  return edit.opset() < 13 ? 0 : Unfolder(edit).run();
}

}  // namespace octavo::repair
