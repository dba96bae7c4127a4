// What both census and rules ask of a file: pairs, products, ranges. Part of diagnose/.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "diagnose/census.h"

namespace octavo::diagnose::sight {
namespace {

// A node that leaves values as they are, as far as scales go.
bool keeps_values(Kind kind) { return kind == Kind::movement || kind == Kind::max_pool || kind == Kind::relu; }

bool is_integer_result(const FileView& view, int tensor) {
  if (tensor < 0 || view.tensor(tensor).is_constant) return false;
  if (is_dequantized(view, tensor)) return true;
  return view.format == FileFormat::tflite && view.tensor(tensor).quant && is_integer_8(view.tensor(tensor));
}

template <class Test>
std::vector<int> nodes_where(const FileView& view, const Test& test) {
  std::vector<int> found;
  for (std::size_t i = 0; i < view.nodes.size(); ++i) {
    if (test(view.nodes[i])) found.push_back(static_cast<int>(i));
  }
  return found;
}

}  // namespace

bool is_integer_8(const ViewTensor& tensor) { return tensor.dtype == DType::s8 || tensor.dtype == DType::u8; }

Pair pair_making(const FileView& view, int tensor) {
  const int dequantize = view.producer_if(tensor, Kind::dequantize);
  if (dequantize < 0) return {};
  const int quantize = view.producer_if(view.input(view.node(dequantize), 0), Kind::quantize);
  return quantize < 0 ? Pair{} : Pair{quantize, dequantize};
}

bool is_dequantized(const FileView& view, int tensor) { return view.producer_if(tensor, Kind::dequantize) >= 0; }

int before_pair(const FileView& view, int tensor) {
  const Pair pair = pair_making(view, tensor);
  return pair.quantize < 0 ? tensor : view.input(view.node(pair.quantize), 0);
}

int stored_weights(const FileView& view, const ViewNode& node) {
  const bool is_qlinear = node.op.starts_with("QLinear") || node.op == "QGemm";
  int weights = view.input(node, is_qlinear ? 3 : 1);
  // addmm has the bias first
  if (node.op.starts_with("aten.addmm")) weights = view.input(node, 2);
  for (int step = 0; step < 8 && weights >= 0; ++step) {
    if (view.tensor(weights).is_constant) return weights;
    const int maker = view.tensor(weights).producer;
    if (maker < 0) return -1;
    const Kind kind = view.node(maker).kind;
    if (kind != Kind::dequantize && kind != Kind::quantize && kind != Kind::movement && kind != Kind::cast) return -1;
    weights = view.input(view.node(maker), 0);
  }
  return -1;
}

std::int64_t all_weights(const FileView& view) {
  std::int64_t weights = 0;
  for (const ViewNode& node : view.nodes) {
    const int stored = is_product(node.kind) ? stored_weights(view, node) : -1;
    if (stored >= 0) weights += view.tensor(stored).elements();
  }
  return weights;
}

bool is_float_constant(const FileView& view, int tensor) {
  return tensor >= 0 && view.tensor(tensor).is_constant && view.tensor(tensor).dtype == DType::f32;
}

bool has_quantized_operands(const FileView& view, const ViewNode& node) {
  if (node.is_integer) return true;
  return is_dequantized(view, view.input(node, 0)) && is_dequantized(view, view.input(node, 1));
}

std::vector<int> quantizers_of(const FileView& view, int tensor) {
  std::vector<int> found;
  if (tensor < 0) return found;
  for (const int reader : view.tensor(tensor).readers) {
    const ViewNode& node = view.node(reader);
    if (node.kind == Kind::quantize && view.output(node) >= 0 && view.input(node, 0) == tensor) found.push_back(reader);
  }
  return found;
}

std::vector<int> double_pairs(const FileView& view) {
  return nodes_where(view, [&](const ViewNode& node) {
    const int x = view.input(node, 0);
    if (node.kind != Kind::quantize || x < 0) return false;
    // In TFLite one node rescales.
    return view.format == FileFormat::tflite ? view.producer_if(x, Kind::quantize) >= 0
                                             : pair_making(view, x).quantize >= 0;
  });
}

namespace {

// Whether something that reads what a quantize node stores needs it: not where all of it is computed in float.
bool is_needed(const FileView& view, const ViewTensor& stored) {
  bool is_read = false;
  if (stored.is_output) return true;
  for (const int reader : stored.readers) {
    if (view.node(reader).kind != Kind::dequantize) return true;
    const int real = view.output(view.node(reader));
    if (real < 0) continue;
    if (view.tensor(real).is_output) return true;
    for (const int user : view.tensor(real).readers) {
      is_read = true;
      const ViewNode& used = view.node(user);
      const bool takes_integers = is_product(used.kind) && has_quantized_operands(view, used);
      if (takes_integers || keeps_values(used.kind) || used.kind == Kind::add || used.kind == Kind::concat ||
          used.kind == Kind::quantize || used.kind == Kind::mul ||
          (used.kind == Kind::average && used.op != "ReduceMean"))
        return true;
    }
  }
  return !is_read;
}

}  // namespace

std::vector<int> redundant_pairs(const FileView& view) {
  return nodes_where(view, [&](const ViewNode& node) {
    const int x = view.input(node, 0);
    const int stored = view.output(node);
    if (node.kind != Kind::quantize || stored < 0 || x < 0 || view.tensor(x).is_constant) return false;
    // Made in float, and read by nothing that computes in integers.
    const int maker = view.tensor(x).producer;
    if (maker < 0 || view.node(maker).kind == Kind::dequantize || has_quantized_operands(view, view.node(maker)))
      return false;
    return !is_needed(view, view.tensor(stored));
  });
}

std::vector<int> unfolded_norms(const FileView& view) {
  return nodes_where(view, [&](const ViewNode& node) {
    const int x = node.kind == Kind::batch_norm ? before_pair(view, view.input(node, 0)) : -1;
    return x >= 0 && view.tensor(x).producer >= 0 && view.node(view.tensor(x).producer).kind <= Kind::transposed_conv;
  });
}

std::vector<int> constants_in_run(const FileView& view) {
  return nodes_where(view, [&](const ViewNode& node) {
    return node.kind == Kind::quantize && is_float_constant(view, view.input(node, 0));
  });
}

std::vector<int> float_products(const FileView& view) {
  return nodes_where(view, [&](const ViewNode& node) {
    return is_product(node.kind) && !node.is_integer && is_float_constant(view, view.input(node, 1));
  });
}

std::vector<int> island_nodes(const FileView& view) {
  return nodes_where(view, [&](const ViewNode& node) {
    const bool converts =
        node.kind == Kind::quantize || node.kind == Kind::dequantize || node.kind == Kind::dynamic_quantize;
    if (converts || node.is_integer || view.output(node) < 0) return false;
    const ViewTensor& result = view.tensor(view.output(node));
    if (result.dtype && *result.dtype != DType::f32) return false;  // sizes and indices
    // By its operands an operator between pairs is one that an engine can compute in integers.
    const bool from_integers = std::ranges::any_of(node.inputs, [&](int x) { return is_integer_result(view, x); });
    if (from_integers || !quantizers_of(view, view.output(node)).empty()) return false;
    return std::ranges::any_of(node.inputs, [&](int x) {
      return x >= 0 && view.tensor(x).dtype == DType::f32 && !view.tensor(x).is_constant;
    });
  });
}

ScaleFault fault_of(const FileView& view, const ViewTensor& tensor) {
  if (!tensor.quant) return ScaleFault::none;
  ScaleFault worst = ScaleFault::none;
  for (const float scale : tensor.quant->scale) {
    // Ranges of masks are 3.4e38 over up to 255 steps.
    constexpr float kMask = 1e30f;
    if (!(scale > 0.0f) || !std::isfinite(scale)) return ScaleFault::zero;
    if (scale < std::numeric_limits<float>::min()) return ScaleFault::denormal;
    if (scale > kMask) worst = ScaleFault::mask;
  }
  if (worst != ScaleFault::none || tensor.is_constant || tensor.quant->scale.size() != 1) return worst;
  // Bytes of pictures have a scale of 1.
  const int maker = tensor.producer < 0 ? -1 : view.input(view.node(tensor.producer), 0);
  if (tensor.is_input || (maker >= 0 && view.tensor(maker).is_input)) return worst;
  // What observers begin with: a scale of 1 and a zero point of 0, or the range [0, 1e-5..1e-8] that guards against 0.
  const float scale = tensor.quant->scale[0];
  const std::int32_t zero = tensor.quant->zero_point.empty() ? 0 : tensor.quant->zero_point[0];
  const bool is_first = scale == 1.0f && zero == 0;
  return is_first || scale < 1e-7f ? ScaleFault::uncalibrated : ScaleFault::none;
}

std::vector<int> nodes_of_one_range(const FileView& view) {
  // Fewer may share a range by chance, and what only moves values shares that of its input.
  constexpr std::size_t kFewest = 8;
  std::map<std::pair<float, std::int32_t>, std::vector<int>> nodes;
  std::size_t all = 0;
  for (const ViewTensor& tensor : view.tensors) {
    if (tensor.is_constant || tensor.producer < 0 || !tensor.quant || tensor.quant->scale.size() != 1) continue;
    const ViewNode& maker = view.node(tensor.producer);
    // What networks of ReLU6 have.
    if (std::abs(tensor.quant->scale[0] * 255.0f - 6.0f) < 1e-3f) continue;
    if (maker.kind == Kind::dequantize || keeps_values(maker.kind) || !is_integer_8(tensor)) continue;
    const std::int32_t zero = tensor.quant->zero_point.empty() ? 0 : tensor.quant->zero_point[0];
    nodes[{tensor.quant->scale[0], zero}].push_back(tensor.producer);
    ++all;
  }
  if (all < kFewest) return {};
  const auto most = std::ranges::max_element(nodes, {}, [](const auto& entry) { return entry.second.size(); });
  return 10 * most->second.size() >= 9 * all ? most->second : std::vector<int>{};
}

double saturated_share(const Tensor& values, std::int64_t channels) {
  if (values.elements() == 0 || (values.dtype() != DType::s8 && values.dtype() != DType::u8)) return 0.0;
  const bool is_signed = values.dtype() == DType::s8;
  std::int64_t at_ends = 0;
  for (const std::byte byte : std::span(values.data(), values.bytes())) {
    const int value = is_signed ? static_cast<std::int8_t>(byte) : static_cast<int>(byte);
    at_ends += is_signed ? value == 127 || value <= -127 : value == 255 || value == 0;
  }
  // A scale by the greatest magnitude puts one element of its channel there, and seldom more than two.
  const std::int64_t expected = 2 * std::max<std::int64_t>(channels, 1);
  return static_cast<double>(std::max<std::int64_t>(at_ends - expected, 0)) / static_cast<double>(values.elements());
}

double channel_spread(const Tensor& values, int axis) {
  const auto& shape = values.shape();
  if (axis < 0 || axis >= shape.rank() || values.elements() == 0) return 1.0;
  const std::int64_t channels = shape[axis], inner = shape.elements(axis + 1, shape.rank());
  std::vector<double> greatest(static_cast<std::size_t>(channels));
  for (std::int64_t i = 0; i < values.elements(); ++i) {
    double& channel = greatest[static_cast<std::size_t>(i / inner % channels)];
    channel = std::max(channel, std::abs(element_as_double(values.view(), i)));
  }
  double least = std::numeric_limits<double>::infinity(), most = 0.0;
  for (const double value : greatest) {
    if (value > 0.0) least = std::min(least, value), most = std::max(most, value);
  }
  return most > 0.0 ? most / least : 1.0;
}

std::int64_t depth_of(const FileView& view, const ViewNode& node) {
  const int index = stored_weights(view, node);
  if (index < 0 || !view.tensor(index).shape || view.tensor(index).shape->empty()) {
    // A product of two activations: along the last axis of the first.
    const int x = view.input(node, 0);
    return x >= 0 && view.tensor(x).shape && !view.tensor(x).shape->empty() ? view.tensor(x).shape->back() : 0;
  }
  const auto& shape = *view.tensor(index).shape;
  const std::int64_t elements = view.tensor(index).elements();
  if (node.kind == Kind::matmul) {
    const bool rows_are_outputs = node.integer("transB", view.format == FileFormat::onnx ? 0 : 1) != 0;
    if (shape.size() < 2) return shape[0];
    return rows_are_outputs ? shape.back() : shape[shape.size() - 2];
  }
  const bool is_last = view.format == FileFormat::tflite && node.kind == Kind::depthwise_conv;
  const std::int64_t channels = is_last ? shape.back() : shape[0];
  return channels > 0 ? elements / channels : 0;
}

std::int64_t macs_of(const FileView& view, const ViewNode& node) {
  if (!is_product(node.kind) || view.output(node) < 0) return 0;
  // Of a transposed one each element of x meets a row of weights.
  const int counted = node.kind == Kind::transposed_conv ? view.input(node, 0) : view.output(node);
  const std::int64_t elements = counted < 0 ? 0 : view.tensor(counted).elements(), depth = depth_of(view, node);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return depth <= 0 || elements > kMost / depth ? 0 : elements * depth;
}

}  // namespace octavo::diagnose::sight
