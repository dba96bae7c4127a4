// What is left in floats beside integers: batch normalisations, skip connections, weights, means. Part of diagnose/.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "diagnose/repair/repairs.h"

namespace octavo::repair {
namespace {

// y = factor * x + shift per channel, as a BatchNormalization of constants says.
struct Norm {
  std::vector<double> factor, shift;
};

// The numbers of a constant, or of a DequantizeLinear of one.
std::optional<std::vector<double>> numbers_of(const OnnxEdit& edit, const std::string& name) {
  const onnx::NodeProto* pair = edit.writer(name, "DequantizeLinear");
  const auto stored = edit.constant(pair == nullptr ? name : pair->input(0));
  const auto scales = pair == nullptr ? std::nullopt : edit.scales_of(*pair);
  const bool fits = !scales || scales->is_per_tensor() ||
                    (stored && static_cast<std::int64_t>(scales->scale.size()) == stored->elements());
  if (!stored || (pair != nullptr && !scales) || !fits) return std::nullopt;
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < stored->elements(); ++i) {
    const auto channel = static_cast<std::size_t>(scales && !scales->is_per_tensor() ? i : 0);
    const double zero = scales && scales->zero_point.elements() == 1 ? static_cast<double>(scales->zero()) : 0.0;
    const double stored_value = element_as_double(stored->view(), i);
    numbers.push_back(scales ? (stored_value - zero) * scales->scale[channel] : stored_value);
  }
  return numbers;
}

std::optional<Norm> norm_of(const OnnxEdit& edit, const onnx::NodeProto& node) {
  if (node.input_size() != 5 || node.output_size() != 1 || integer_attribute(node, "training_mode", 0) != 0)
    return std::nullopt;
  std::vector<double> numbers[4];
  for (int i = 0; i < 4; ++i) {
    const auto value = numbers_of(edit, node.input(i + 1));
    if (!value) return std::nullopt;
    numbers[i] = *value;
    if (numbers[i].size() != numbers[0].size()) return std::nullopt;
  }
  const onnx::AttributeProto* epsilon = attribute(node, "epsilon");
  Norm norm;
  for (std::size_t i = 0; i < numbers[0].size(); ++i) {
    const double factor = numbers[0][i] / std::sqrt(numbers[3][i] + (epsilon == nullptr ? 1e-5f : epsilon->f()));
    norm.factor.push_back(factor);
    norm.shift.push_back(numbers[1][i] - numbers[2][i] * factor);
  }
  return norm;
}

// The weights of a convolution: floats, or integers of a DequantizeLinear per channel or per tensor.
struct Weights {
  onnx::NodeProto* pair = nullptr;
  Tensor values;
  std::vector<float> scale;
};

std::optional<Weights> weights_of(const OnnxEdit& edit, const onnx::NodeProto& conv) {
  Weights found;
  if (auto values = edit.constant(conv.input(1)); values && values->dtype() == DType::f32) {
    found.values = std::move(*values);
    return found;
  }
  found.pair = edit.writer(conv.input(1), "DequantizeLinear");
  if (found.pair == nullptr || edit.only_reader(conv.input(1)) != &conv) return std::nullopt;
  auto values = edit.constant(found.pair->input(0));
  const auto scales = edit.scales_of(*found.pair);
  // With a zero point of its own a channel could not change its sign.
  if (!values || !scales || values->dtype() != DType::s8 || (!scales->is_per_tensor() && scales->axis != 0))
    return std::nullopt;
  for (std::int64_t i = 0; i < scales->zero_point.elements(); ++i) {
    if (element_as_double(scales->zero_point.view(), i) != 0.0) return std::nullopt;
  }
  found.values = std::move(*values);
  found.scale = scales->scale;
  return found;
}

std::optional<std::vector<double>> bias_of(const OnnxEdit& edit, const onnx::NodeProto& conv, std::size_t channels) {
  const std::string& name = input_of(conv, 2);
  std::optional<std::vector<double>> bias = std::vector<double>(channels, 0.0);
  if (!name.empty()) bias = numbers_of(edit, name);
  return bias && bias->size() == channels ? bias : std::nullopt;
}

// Channels of the weights times the factors; of integers the scales take them, and a sign turns the integers.
void scale_weights(OnnxEdit& edit, onnx::NodeProto& conv, Weights weights, const Norm& norm) {
  const std::size_t channels = norm.factor.size();
  const auto size = static_cast<std::size_t>(weights.values.elements()) / channels;
  Tensor values(weights.values.dtype(), weights.values.shape());
  for (std::size_t i = 0; i < channels * size; ++i) {
    const double before = element_as_double(weights.values.view(), static_cast<std::int64_t>(i));
    const double factor = norm.factor[i / size];
    const double after = weights.pair == nullptr ? before * factor : factor < 0.0 ? std::max(-127.0, -before) : before;
    store_double(values.view(), static_cast<std::int64_t>(i), after);
  }
  const std::string stem = weights.pair == nullptr ? conv.input(1) : weights.pair->input(0);
  const std::string name = edit.add_constant(stem + "_with_norm", values);
  if (weights.pair == nullptr) return edit.set_input(conv, 1, name);
  Tensor scale(DType::f32, Shape{static_cast<std::int64_t>(channels)}), zero(DType::s8, scale.shape());
  for (std::size_t i = 0; i < channels; ++i) {
    const double before = weights.scale[weights.scale.size() > 1 ? i : 0];
    store_double(scale.view(), static_cast<std::int64_t>(i), std::max(before * std::abs(norm.factor[i]), 1e-30));
  }
  const std::string result = edit.fresh(conv.input(1) + "_with_norm");
  onnx::NodeProto& pair =
      edit.add_node("DequantizeLinear",
                    {name, edit.add_constant(stem + "_scale", scale), edit.add_constant(stem + "_zero", zero)}, result);
  set_integer(pair, "axis", 0);
  edit.set_input(conv, 1, result);
}

// The bias in floats, or, where activations and weights have pairs, in sums as engines take it.
void set_bias(OnnxEdit& edit, onnx::NodeProto& conv, const std::vector<double>& bias) {
  const Shape shape{static_cast<std::int64_t>(bias.size())};
  const onnx::NodeProto* x = edit.writer(conv.input(0), "DequantizeLinear");
  const onnx::NodeProto* w = edit.writer(conv.input(1), "DequantizeLinear");
  const auto steps = x == nullptr ? std::nullopt : edit.scales_of(*x);
  const auto scales = w == nullptr ? std::nullopt : edit.scales_of(*w);
  std::string name;
  if (steps && scales && steps->is_per_tensor()) {
    Tensor sums(DType::s32, shape), scale(DType::f32, shape);
    for (std::size_t i = 0; i < bias.size(); ++i) {
      const float step = steps->scale[0] * scales->scale[scales->is_per_tensor() ? 0 : i];
      store_double(scale.view(), static_cast<std::int64_t>(i), step);
      store_double(sums.view(), static_cast<std::int64_t>(i), std::nearbyint(bias[i] / static_cast<double>(step)));
    }
    const std::string stem = conv.output(0) + "_bias";
    name = edit.fresh(stem);
    onnx::NodeProto& pair = edit.add_node(
        "DequantizeLinear", {edit.add_constant(stem + "_sums", sums), edit.add_constant(stem + "_scale", scale)}, name);
    set_integer(pair, "axis", 0);
  } else {
    Tensor values(DType::f32, shape);
    for (std::size_t i = 0; i < bias.size(); ++i) store_double(values.view(), static_cast<std::int64_t>(i), bias[i]);
    name = edit.add_constant(conv.output(0) + "_bias", values);
  }
  if (conv.input_size() > 2) return edit.set_input(conv, 2, name);
  // A node is known as a reader by its inputs, so that one more makes another node of it.
  std::vector<std::string> inputs(conv.input().begin(), conv.input().end());
  inputs.push_back(name);
  const std::string output = conv.output(0);
  edit.remove(conv);
  onnx::NodeProto& made = edit.add_node("Conv", inputs, output);
  made.set_name(conv.name());
  *made.mutable_attribute() = conv.attribute();
}

// The convolution whose result a BatchNormalization alone reads, with or without a pair between.
onnx::NodeProto* conv_before(const OnnxEdit& edit, const onnx::NodeProto& norm) {
  onnx::NodeProto* conv = edit.writer(norm.input(0), "Conv");
  if (conv != nullptr) return edit.only_reader(norm.input(0)) == &norm ? conv : nullptr;
  const onnx::NodeProto* dequantize = edit.writer(norm.input(0), "DequantizeLinear");
  const onnx::NodeProto* quantize =
      dequantize == nullptr ? nullptr : edit.writer(dequantize->input(0), "QuantizeLinear");
  if (quantize == nullptr || edit.only_reader(dequantize->output(0)) != &norm) return nullptr;
  if (edit.only_reader(quantize->output(0)) != dequantize) return nullptr;
  conv = edit.writer(quantize->input(0), "Conv");
  return conv != nullptr && edit.only_reader(conv->output(0)) == quantize ? conv : nullptr;
}

// A pair behind this tensor, if any: the DequantizeLinear.
onnx::NodeProto* pair_of(const OnnxEdit& edit, const std::string& tensor) {
  for (const onnx::NodeProto* quantize : edit.readers(tensor)) {
    if (quantize->op_type() != "QuantizeLinear" || quantize->input(0) != tensor) continue;
    for (onnx::NodeProto* reader : edit.readers(quantize->output(0))) {
      if (reader->op_type() == "DequantizeLinear") return reader;
    }
  }
  return nullptr;
}

}  // namespace

int fold_batch_norms(OnnxEdit& edit) {
  int changed = 0;
  for (onnx::NodeProto* node : edit.nodes("BatchNormalization")) {
    onnx::NodeProto* conv = conv_before(edit, *node);
    const auto norm = norm_of(edit, *node);
    if (conv == nullptr || !norm || edit.is_pinned(node->output(0))) continue;
    const std::size_t channels = norm->factor.size();
    const auto weights = weights_of(edit, *conv);
    auto bias = bias_of(edit, *conv, channels);
    const bool fits = weights && weights->values.shape().rank() > 1 &&
                      weights->values.shape()[0] == static_cast<std::int64_t>(channels);
    if (!fits || !bias) continue;
    for (std::size_t i = 0; i < channels; ++i) (*bias)[i] = (*bias)[i] * norm->factor[i] + norm->shift[i];
    const std::string result = conv->output(0);
    scale_weights(edit, *conv, *weights, *norm);
    set_bias(edit, *conv, *bias);
    edit.redirect(node->output(0), result);
    edit.remove(*node);
    ++changed;
  }
  return changed;
}

int read_pairs_instead_of_floats(OnnxEdit& edit) {
  int changed = 0;
  for (onnx::NodeProto* node : edit.nodes()) {
    if (node->op_type() == "QuantizeLinear" || node->op_type() == "DynamicQuantizeLinear") continue;
    for (int i = 0; i < node->input_size(); ++i) {
      const onnx::NodeProto* maker = edit.writer(node->input(i));
      if (maker == nullptr || maker->op_type() == "DequantizeLinear" || maker->op_type() == "Constant") continue;
      onnx::NodeProto* pair = pair_of(edit, node->input(i));
      if (pair == nullptr) continue;
      edit.set_input(*node, i, pair->output(0));
      ++changed;
    }
  }
  return changed;
}

int quantize_weights(OnnxEdit& edit) {
  int changed = 0;
  for (onnx::NodeProto* node : edit.nodes()) {
    const bool is_conv = node->op_type() == "Conv", is_gemm = node->op_type() == "Gemm";
    if (!is_conv && !is_gemm && node->op_type() != "MatMul") continue;
    const auto values = node->input_size() > 1 ? edit.constant(node->input(1)) : std::nullopt;
    if (!values || values->dtype() != DType::f32 || values->shape().rank() < 2 || values->elements() == 0) continue;
    if (edit.writer(node->input(0), "DequantizeLinear") == nullptr || edit.opset() < 13) continue;
    const bool is_first = is_conv || (is_gemm && integer_attribute(*node, "transB", 0) != 0);
    const int axis = is_first ? 0 : static_cast<int>(values->shape().rank()) - 1;
    const std::int64_t channels = values->shape()[static_cast<std::size_t>(axis)];
    const std::int64_t behind = is_first ? values->elements() / channels : 1;
    const auto channel_of = [&](std::int64_t i) { return static_cast<std::size_t>(i / behind % channels); };
    std::vector<float> scale(static_cast<std::size_t>(channels), 0.0f);
    for (std::int64_t i = 0; i < values->elements(); ++i) {
      float& most = scale[channel_of(i)];
      most = std::max(most, static_cast<float>(std::abs(element_as_double(values->view(), i))));
    }
    for (float& each : scale) each = std::max(each, 1e-12f) / 127.0f;
    Tensor stored(DType::s8, values->shape()), zero(DType::s8, Shape{channels});
    for (std::int64_t i = 0; i < values->elements(); ++i) {
      store_double(stored.view(), i,
                   std::nearbyint(element_as_double(values->view(), i) / static_cast<double>(scale[channel_of(i)])));
    }
    const std::string stem = node->input(1), result = edit.fresh(stem + "_dequantized");
    onnx::NodeProto& pair = edit.add_node("DequantizeLinear",
                                          {edit.add_constant(stem + "_s8", stored),
                                           edit.add_constant(stem + "_scale", Tensor::of(Shape{channels}, scale)),
                                           edit.add_constant(stem + "_zero", zero)},
                                          result);
    set_integer(pair, "axis", axis);
    edit.set_input(*node, 1, result);
    ++changed;
  }
  return changed;
}

int make_means_pools(OnnxEdit& edit) {
  int changed = 0;
  for (onnx::NodeProto* node : edit.nodes("ReduceMean")) {
    std::vector<std::int64_t> axes;
    if (const onnx::AttributeProto* list = attribute(*node, "axes"); list != nullptr) {
      axes.assign(list->ints().begin(), list->ints().end());
    } else if (const auto value = edit.constant(input_of(*node, 1)); value) {
      axes = to_int64s(value->view());
    }
    std::ranges::sort(axes);
    const bool is_of_pixels = axes == std::vector<std::int64_t>{2, 3};
    if (!is_of_pixels || integer_attribute(*node, "keepdims", 1) != 1) continue;
    if (edit.writer(node->input(0), "DequantizeLinear") == nullptr) continue;
    const std::string input = node->input(0), output = node->output(0);
    edit.remove(*node);
    edit.add_node("GlobalAveragePool", {input}, output).set_name(node->name());
    ++changed;
  }
  return changed;
}

}  // namespace octavo::repair
