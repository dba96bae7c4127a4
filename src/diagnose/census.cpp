// Counting what a file is made of. Part of diagnose/.
#include "diagnose/census.h"

#include <algorithm>
#include <cmath>

#include "base/dtype.h"

namespace octavo::diagnose {
namespace {

bool has_text(const FileView& view, std::string_view text) {
  return view.producer.find(text) != std::string::npos || view.description.find(text) != std::string::npos;
}

bool has_name(const FileView& view, std::string_view part) {
  return std::ranges::any_of(view.tensors,
                             [&](const ViewTensor& t) { return t.name.find(part) != std::string::npos; }) ||
         std::ranges::any_of(view.nodes, [&](const ViewNode& n) { return n.name.find(part) != std::string::npos; });
}

// The program that wrote the fp32 network, where names or producer say so.
std::string exporter_of(const FileView& view) {
  if (view.format == FileFormat::zip) return view.producer + " (torch.export)";
  if (view.format == FileFormat::tflite)
    return view.producer.find("MLIR") != std::string::npos ? "TensorFlow's MLIR converter" : view.producer;
  if (has_text(view, "pytorch")) return "PyTorch (" + view.producer + ")";
  if (has_text(view, "tf2onnx")) return "tf2onnx";
  if (has_name(view, "node_Conv") || has_name(view, "node_conv")) return "PyTorch (dynamo exporter, by names)";
  if (has_name(view, "onnx::Conv") || has_name(view, "onnx::MatMul")) return "PyTorch (TorchScript exporter, by names)";
  if (has_name(view, "StatefulPartitionedCall")) return "TensorFlow (by names)";
  return view.producer == "onnx.quantize 0.1.0" ? "" : view.producer;
}

std::string quantizer_of(const FileView& view, const Census& census) {
  if (view.dialect == Dialect::fp32) return "";
  if (view.format == FileFormat::zip) return has_name(view, "quantize_affine") ? "torchao" : "PyTorch pt2e";
  if (view.format == FileFormat::tflite) return "TensorFlow Lite converter";
  if (has_text(view, "onnx.quantize") || has_name(view, "_QuantizeLinear_Output"))
    return "ONNX Runtime (onnxruntime.quantization)";
  if (has_text(view, "octavo")) return "Octavo";
  if (has_name(view, "nncf") || has_name(view, "/nncf_module")) return "NNCF";
  if (has_name(view, "input_quantizer") || has_name(view, "TensorQuantizer")) return "NVIDIA ModelOpt";
  if (census.symmetric_activations > 0 && census.asymmetric_activations == 0 && has_text(view, "pytorch"))
    return "PyTorch fake quantization, symmetric";
  return "";
}

// ---- nodes ----

std::map<std::string, int> census_operators_of(const FileView& view) {
  std::map<std::string, int> operators;
  for (const ViewNode& node : view.nodes) ++operators[node.op];
  return operators;
}

void count_nodes(const FileView& view, Census& census) {
  for (const ViewNode& node : view.nodes) {
    const int x = view.input(node, 0);
    const bool is_of_constant = x >= 0 && (view.tensor(x).is_constant || view.producer_if(x, Kind::quantize) >= 0) &&
                                sight::stored_weights(view, ViewNode{.inputs = {-1, x}}) >= 0;
    if (node.kind == Kind::quantize || node.kind == Kind::dequantize) {
      if (is_of_constant) ++census.weight_nodes;
      else ++(node.kind == Kind::quantize ? census.quantize_nodes : census.dequantize_nodes);
    }
    if (!is_product(node.kind)) continue;
    ++census.products;
    census.integer_products += sight::has_quantized_operands(view, node) || node.op.ends_with("Integer");
  }
}

// Where values pass from one side to the other: a pair that both its neighbours take as a hint is none.
void count_boundaries(const FileView& view, Census& census) {
  for (const ViewNode& node : view.nodes) {
    const int x = view.input(node, 0);
    if (x < 0 || view.tensor(x).is_constant || view.output(node) < 0) continue;
    if (node.kind == Kind::quantize) {
      const int maker = view.tensor(x).producer;
      const bool is_hint = maker >= 0 && sight::has_quantized_operands(view, view.node(maker));
      census.boundaries += !is_hint && view.producer_if(x, Kind::dequantize) < 0;
    } else if (node.kind == Kind::dequantize) {
      const auto& readers = view.tensor(view.output(node)).readers;
      census.boundaries += !std::ranges::all_of(
          readers, [&](int reader) { return sight::has_quantized_operands(view, view.node(reader)); });
    }
  }
  for (const int node : sight::island_nodes(view)) census.island_nodes.add(view.node(node).name);
}

// ---- tensors ----

void count_scale(const FileView& view, const ViewTensor& tensor, Census& census) {
  switch (sight::fault_of(view, tensor)) {
    case sight::ScaleFault::none: break;
    case sight::ScaleFault::zero: census.zero_scales.add(tensor.name); break;
    case sight::ScaleFault::denormal: census.denormal_scales.add(tensor.name); break;
    case sight::ScaleFault::mask: census.mask_ranges.add(tensor.name); break;
    case sight::ScaleFault::uncalibrated: census.uncalibrated.add(tensor.name); break;
  }
}

void count_tensors(const FileView& view, Census& census) {
  for (const ViewTensor& tensor : view.tensors) {
    if (!tensor.quant || !tensor.dtype || *tensor.dtype == DType::s32) continue;
    count_scale(view, tensor, census);
    if (tensor.is_constant) continue;
    ++census.activation_types[std::string(name_of(*tensor.dtype))];
    const std::int32_t middle = *tensor.dtype == DType::u8 ? 128 : 0;
    const bool is_symmetric =
        std::ranges::all_of(tensor.quant->zero_point, [&](std::int32_t z) { return z == middle; });
    ++(is_symmetric ? census.symmetric_activations : census.asymmetric_activations);
  }
}

void count_weights(const FileView& view, Census& census) {
  for (const ViewNode& node : view.nodes) {
    if (!is_product(node.kind)) continue;
    const int index = sight::stored_weights(view, node);
    if (index < 0) continue;
    const ViewTensor& weights = view.tensor(index);
    if (weights.dtype) ++census.weight_types[std::string(name_of(*weights.dtype))];
    if (!weights.quant || !sight::is_integer_8(weights)) continue;
    ++(weights.quant->axis >= 0 ? census.per_channel_weights : census.per_tensor_weights);
    if (std::ranges::any_of(weights.quant->zero_point, [](std::int32_t z) { return z != 0; }))
      census.weight_zero_points.add(weights.name);
    const auto values = view.values(index);
    if (!values) continue;
    constexpr double kSaturated = 0.05, kWide = 1e4;
    if (sight::saturated_share(*values, static_cast<std::int64_t>(weights.quant->scale.size())) > kSaturated)
      census.saturated_weights.add(weights.name);
    const auto& scales = weights.quant->scale;
    const auto [least, most] = std::ranges::minmax_element(scales);
    if (scales.size() > 1 && *least > 0.0f && *most / *least > kWide) census.wide_weights.add(weights.name);
  }
}

// Different scales that are the same but for rounding, before and behind a node that moves bytes.
void count_mergeable(const FileView& view, Census& census) {
  const auto scale_of = [&](int tensor) -> double {
    if (tensor < 0) return 0.0;
    const ViewTensor& t = view.tensor(tensor);
    return t.quant && t.quant->scale.size() == 1 ? t.quant->scale[0] : 0.0;
  };
  for (const ViewNode& node : view.nodes) {
    if (node.kind != Kind::movement && node.kind != Kind::max_pool && node.kind != Kind::concat) continue;
    const int result = view.output(node);
    const auto quantizers = sight::quantizers_of(view, result);
    const double after = quantizers.empty() ? scale_of(result) : scale_of(view.output(view.node(quantizers[0])));
    for (const int x : node.inputs) {
      const auto pair = sight::pair_making(view, x);
      const double before = pair.quantize < 0 ? scale_of(x) : scale_of(view.output(view.node(pair.quantize)));
      constexpr double kNear = 1e-3;
      census.mergeable_scales +=
          before > 0.0 && after > 0.0 && before != after && std::abs(before / after - 1.0) < kNear;
    }
  }
}

void add_all(const FileView& view, const std::vector<int>& nodes, Sightings& sightings) {
  for (const int node : nodes) sightings.add(view.node(node).name);
}

}  // namespace

void Sightings::add(const std::string& name) {
  ++count;
  if (names.size() < kMostNames) names.push_back(name);
}

Census census_of(const FileView& view, const FileView* before) {
  Census census;
  census.operators = census_operators_of(view);
  census.nodes = static_cast<int>(view.nodes.size());
  if (before != nullptr) {
    census.operators_before = census_operators_of(*before);
    census.nodes_before = static_cast<int>(before->nodes.size());
  }
  count_nodes(view, census);
  count_tensors(view, census);
  if (view.dialect != Dialect::fp32) {
    count_boundaries(view, census);
    count_weights(view, census);
    count_mergeable(view, census);
    add_all(view, sight::float_products(view), census.float_weights);
    add_all(view, sight::double_pairs(view), census.double_pairs);
    add_all(view, sight::redundant_pairs(view), census.redundant_pairs);
    add_all(view, sight::unfolded_norms(view), census.batch_norms);
    add_all(view, sight::constants_in_run(view), census.constants_in_run);
  }
  census.exporter = exporter_of(before != nullptr ? *before : view);
  census.quantizer = quantizer_of(view, census);
  return census;
}

}  // namespace octavo::diagnose
