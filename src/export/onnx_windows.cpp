// ONNX writers: convolutions and pools. Part of export/.
#include <algorithm>
#include <numeric>

#include "export/onnx_operators.h"
#include "ops/average_pool/average_pool.h"
#include "ops/conv/conv.h"
#include "ops/conv_integer/conv_integer.h"
#include "ops/conv_transpose/conv_transpose.h"
#include "ops/max_pool/max_pool.h"

namespace octavo::onnx_export {
namespace {

void set_window(onnx::NodeProto& node, const Window& window) {
  set_attribute(node, "kernel_shape", fixed(window.kernel));
  set_attribute(node, "strides", window.strides);
  Integers pads = fixed(window.pad_begin);
  pads.insert(pads.end(), window.pad_end.begin(), window.pad_end.end());
  set_attribute(node, "pads", pads);
}

bool is_dilated(const Window& window) {
  return std::any_of(window.dilations.begin(), window.dilations.end(),
                     [](std::int64_t dilation) { return dilation != 1; });
}

// Weights [OC, C / groups, kernel] as ONNX has those of a ConvTranspose: [C, OC / groups, kernel].
std::string input_channels_first(NodeExport& node, std::int64_t groups) {
  const Integers dims = fixed(node.fact(1).shape.dims());
  Integers parts = dims, turned = dims, perm(dims.size() + 1);
  parts[0] /= groups;
  parts.insert(parts.begin(), groups);
  turned[0] = groups * dims[1], turned[1] = parts[1];
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[1], perm[2]);
  const auto reshaped = [&](const std::string& from, const Integers& to, const std::string& name) {
    return node.before("Reshape", {from, node.out.integers(node.name(name + ".shape"), to)}, name);
  };
  std::string swapped = node.out.fresh(node.name("weights_turned"));
  const std::string split = reshaped(node.input(1), parts, "weights_in_groups");
  set_attribute(node.out.node("Transpose", node.name("weights_turned"), {split}, swapped), "perm", perm);
  return reshaped(swapped, turned, "weights");
}

}  // namespace

void write_conv(NodeExport& node) {
  const auto& attrs = node.attrs<ConvAttrs>();
  onnx::NodeProto& made = node.emit("Conv", node.inputs());
  set_window(made, attrs.window);
  set_attribute(made, "dilations", attrs.window.dilations);
  set_attribute(made, "group", attrs.groups);
}

void write_conv_integer(NodeExport& node) {
  const auto& attrs = node.attrs<ConvIntegerAttrs>();
  if (attrs.layout != Layout::channels_first) return node.refuse("channels last", "channels first");
  onnx::NodeProto& made = node.emit("ConvInteger", node.inputs());
  set_window(made, attrs.window);
  set_attribute(made, "dilations", attrs.window.dilations);
  set_attribute(made, "group", attrs.groups);
}

void write_conv_transpose(NodeExport& node) {
  const auto& attrs = node.attrs<ConvTransposeAttrs>();
  std::vector<std::string> inputs = node.inputs();
  inputs[1] = input_channels_first(node, attrs.groups);
  onnx::NodeProto& made = node.emit("ConvTranspose", inputs);
  set_window(made, attrs.window);
  set_attribute(made, "dilations", attrs.window.dilations);
  set_attribute(made, "output_padding", fixed(attrs.output_padding));
  set_attribute(made, "group", attrs.groups);
}

void write_average_pool(NodeExport& node) {
  const auto& attrs = node.attrs<AveragePoolAttrs>();
  if (is_dilated(attrs.window))
    return node.refuse("a dilated average pool", "dilations of 1, which is all that opset 17 has");
  onnx::NodeProto& made = node.emit("AveragePool", node.inputs());
  set_window(made, attrs.window);
  set_attribute(made, "ceil_mode", std::int64_t{attrs.rounding == Rounding::ceil});
  set_attribute(made, "count_include_pad", std::int64_t{attrs.count_include_pad});
}

void write_max_pool(NodeExport& node) {
  const auto& attrs = node.attrs<MaxPoolAttrs>();
  onnx::NodeProto& made = node.emit("MaxPool", node.inputs());
  set_window(made, attrs.window);
  set_attribute(made, "dilations", attrs.window.dilations);
  set_attribute(made, "ceil_mode", std::int64_t{attrs.rounding == Rounding::ceil});
}

}  // namespace octavo::onnx_export
