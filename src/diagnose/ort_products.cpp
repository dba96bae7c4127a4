// What ONNX Runtime makes of products: which of them it fuses with the pairs around them. Part of diagnose/.
// Measured with 1.32.0 by the optimized files of small networks (SessionOptions.optimized_model_filepath).
#include <algorithm>
#include <cmath>

#include "base/requantize.h"
#include "diagnose/census.h"
#include "diagnose/rules.h"

namespace octavo::diagnose {
namespace {

// The bounds of a Relu or Clip; nothing where they are computed.
std::optional<std::pair<double, double>> bounds_of(const FileView& view, const ViewNode& node) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (node.op == "Relu") return std::pair(0.0, kInfinity);
  if (node.op != "Clip") return {};
  const auto bound = [&](std::size_t input, const char* attribute, double otherwise) {
    const auto found = node.attributes.find(attribute);
    if (found != node.attributes.end() && std::holds_alternative<double>(found->second))
      return std::get<double>(found->second);
    int tensor = view.input(node, input);
    const auto values = view.values(tensor);
    return values && values->elements() == 1 ? element_as_double(values->view(), 0) : otherwise;
  };
  return std::pair(bound(1, "min", -kInfinity), bound(2, "max", kInfinity));
}

// Whether what a quantize node clamps to lies within the bounds, so that the activation changes nothing.
bool range_is_within(const FileView& view, const ViewNode& quantize, std::pair<double, double> bounds) {
  const ViewTensor& stored = view.tensor(quantize.outputs[0]);
  if (!stored.quant || stored.quant->scale.size() != 1 || !sight::is_integer_8(stored)) return false;
  const double scale = stored.quant->scale[0], zero = stored.quant->zero_point[0];
  const double least = stored.dtype == DType::u8 ? 0.0 : -128.0, most = least + 255.0;
  // Half a step is what rounding of scales makes.
  return (least - zero) * scale >= bounds.first - 0.5 * scale && (most - zero) * scale <= bounds.second + 0.5 * scale;
}

bool has_bad_axis(const FileView& view, const ViewNode& node) {
  const int dequantize = view.producer_if(view.input(node, 1), Kind::dequantize);
  if (dequantize < 0) return false;
  const int stored = view.input(view.node(dequantize), 0);
  const auto& quant = view.tensor(stored).quant;
  if (!quant || quant->axis < 0 || !view.tensor(stored).shape) return false;
  const int rank = static_cast<int>(view.tensor(stored).shape->size());
  if (node.kind == Kind::matmul) return quant->axis != (node.integer("transB", 0) != 0 ? 0 : rank - 1);
  return quant->axis != (node.kind == Kind::transposed_conv ? 1 : 0);
}

// Why a product between dequantize nodes is not fused with what reads it; nothing where it is.
std::optional<Cause> cause_behind(const FileView& view, const ViewNode& node) {
  const int result = node.outputs.empty() ? -1 : node.outputs[0];
  if (result < 0) return {};
  const auto& readers = view.tensor(result).readers;
  const auto quantizers = sight::quantizers_of(view, result);
  if (view.tensor(result).is_output) return Cause::missing_output_pair;
  if (!readers.empty() && quantizers.size() == readers.size())
    return quantizers.size() == 1 ? std::nullopt : std::optional(Cause::requantized_branches);
  if (readers.size() != 1) return Cause::missing_output_pair;
  const ViewNode& reader = view.node(readers[0]);
  if (reader.kind == Kind::batch_norm) return Cause::batch_norm_unfolded;
  if (reader.kind != Kind::relu || reader.outputs.empty()) return Cause::missing_output_pair;
  const auto behind = sight::quantizers_of(view, reader.outputs[0]);
  if (behind.size() != 1 || view.tensor(reader.outputs[0]).readers.size() != 1) return Cause::missing_output_pair;
  const auto bounds = bounds_of(view, reader);
  if (bounds && range_is_within(view, view.node(behind[0]), *bounds)) return {};
  return Cause::range_behind_relu;
}

// Nodes that read what a quantize node stores, through dequantize nodes.
std::size_t readers_behind(const FileView& view, int stored) {
  std::size_t readers = 0;
  for (const int reader : view.tensor(stored).readers) {
    const ViewNode& node = view.node(reader);
    const bool is_dequantize = node.kind == Kind::dequantize && !node.outputs.empty() && node.outputs[0] >= 0;
    readers += is_dequantize ? std::max<std::size_t>(1, view.tensor(node.outputs[0]).readers.size()) : 1;
  }
  return readers;
}

// s8 pairs become u8 when a file is loaded, but for those that several nodes read; on x86 products between pairs of s8
// are not fused.
bool stays_signed(const FileView& view, int stored) {
  return stored >= 0 && view.tensor(stored).dtype == DType::s8 && readers_behind(view, stored) != 1;
}

// What the pair behind a product, or behind its activation, stores; -1 where there is none.
int stored_behind(const FileView& view, const ViewNode& node) {
  int result = node.outputs[0];
  const auto& readers = view.tensor(result).readers;
  if (readers.size() == 1 && view.node(readers[0]).kind == Kind::relu) result = view.node(readers[0]).outputs[0];
  const auto quantizers = sight::quantizers_of(view, result);
  return quantizers.empty() ? -1 : view.node(quantizers[0]).outputs[0];
}

ProductFate fate_of_integer(const FileView& view, const ViewNode& node, int index) {
  const int x = view.input(node, 0), weights = sight::stored_weights(view, node);
  if (node.op.ends_with("Integer")) return {index, Form::dynamic, Cause::dynamic_quantize};
  if (weights >= 0 && view.tensor(weights).dtype == DType::u8)
    return {index, Form::unsigned_slow, Cause::unsigned_weights};
  // Operators of integers run as they stand; only pairs are turned into u8 when a file is loaded.
  if (x >= 0 && view.tensor(x).dtype == DType::s8) return {index, Form::signed_slow, Cause::signed_activations};
  return {index, Form::integer, {}};
}

ProductFate fate_of(const FileView& view, int index) {
  const ViewNode& node = view.node(index);
  if (node.is_integer) return fate_of_integer(view, node, index);
  const int x = view.input(node, 0), w = view.input(node, 1);
  const bool is_quantized = sight::is_dequantized(view, x);
  const bool has_quantized_weights = sight::is_dequantized(view, w);
  if (!has_quantized_weights) {
    if (!is_quantized) return {index, Form::packed_float, Cause::float_island};
    if (!sight::is_float_constant(view, w)) return {index, Form::packed_float, Cause::float_island};
    // Convolutions get weights quantized when the file is loaded, where all else stands.
    const bool is_fused = node.kind != Kind::matmul && !cause_behind(view, node);
    return {index, is_fused ? Form::integer : Form::packed_float, Cause::float_weights};
  }
  if (!is_quantized) return {index, Form::loose_float, Cause::dynamic_range};
  if (has_bad_axis(view, node)) return {index, Form::loose_float, Cause::per_channel_axis};
  if (const auto cause = cause_behind(view, node)) return {index, Form::loose_float, cause};
  const int before = view.input(view.node(view.producer_if(x, Kind::dequantize)), 0);
  if (before >= 0 && !sight::is_integer_8(view.tensor(before)))
    return {index, Form::loose_float, Cause::sixteen_bit_activations};
  if (stays_signed(view, before) || stays_signed(view, stored_behind(view, node)))
    return {index, Form::loose_float, Cause::signed_activations};
  const int weights = sight::stored_weights(view, node);
  if (weights >= 0 && view.tensor(weights).dtype == DType::u8)
    return {index, Form::unsigned_slow, Cause::unsigned_weights};
  return {index, Form::integer, {}};
}

}  // namespace

std::vector<ProductFate> fates_in_ort(const FileView& view) {
  std::vector<ProductFate> fates;
  for (std::size_t i = 0; i < view.nodes.size(); ++i) {
    if (!is_product(view.nodes[i].kind)) continue;
    fates.push_back(view.dialect == Dialect::fp32 ? ProductFate{static_cast<int>(i), Form::packed_float, {}}
                                                  : fate_of(view, static_cast<int>(i)));
  }
  return fates;
}

}  // namespace octavo::diagnose
