// ONNX readers: what ONNX Runtime makes of other operators when it optimises a model and writes it down. Part of
// import/.
#include <array>
#include <cmath>

#include "import/onnx/nchwc.h"
#include "import/onnx/operators.h"

namespace octavo::onnx_import {
namespace {

// An activation that another operator has taken up, how many numbers it takes, and those of its own operator.
struct Activation {
  std::string_view name;
  UnaryKind kind;
  std::size_t parameters;
  std::array<float, 2> usual;
};
constexpr std::array kTakenActivations = {
    Activation{"Celu", UnaryKind::celu, 1, {1.0f}},
    Activation{"Clip", UnaryKind::clip, 2, {}},
    Activation{"Elu", UnaryKind::elu, 1, {1.0f}},
    Activation{"HardSigmoid", UnaryKind::hard_sigmoid, 2, {0.2f, 0.5f}},
    Activation{"LeakyRelu", UnaryKind::leaky_relu, 1, {0.01f}},
    Activation{"Relu", UnaryKind::relu, 0, {}},
    Activation{"Selu", UnaryKind::selu, 2, {1.67326319217681884765625f, 1.05070102214813232421875f}},
    Activation{"Sigmoid", UnaryKind::sigmoid, 0, {}},
    Activation{"Softplus", UnaryKind::softplus, 0, {}},
    Activation{"Softsign", UnaryKind::softsign, 0, {}},
    Activation{"Tanh", UnaryKind::tanh, 0, {}},
    Activation{"ThresholdedRelu", UnaryKind::thresholded_relu, 1, {1.0f}},
};

const Activation* find_activation(NodeReader& in, const std::string& name) {
  for (const Activation& activation : kTakenActivations) {
    if (activation.name == name) return &activation;
  }
  in.unsupported("attribute 'activation'", "'" + name + "'", "an activation of ONNX Runtime's, like Relu or LeakyRelu");
  return nullptr;
}

// Of convolutions: its numbers are a list.
ValueId activate(NodeReader& in, ValueId x) {
  const Activation* activation = find_activation(in, in.text("activation", ""));
  std::vector<float> parameters = in.numbers("activation_params");
  if (activation == nullptr) return {};
  if (parameters.size() != activation->parameters)
    return in.fail("attribute 'activation_params'", std::to_string(parameters.size()) + " numbers",
                   std::to_string(activation->parameters));
  parameters.resize(2);
  return in.unary({activation->kind, parameters[0], parameters[1]}, x);
}

// Of an attribute that may be left out: so many inputs and attributes of Conv, then a tensor to add and an activation.
ValueId finished_conv(NodeReader& in, const ConvArgs& args) {
  const ValueId residual = in.optional(3);
  const bool is_activated = in.has("activation");
  ValueId y = conv(in, args, residual.exists() || is_activated ? "conv" : "");
  if (residual.exists()) y = in.binary(BinaryKind::add, y, residual, is_activated ? "sum" : "");
  return is_activated ? activate(in, y) : y;
}

ValueId read_fused_conv(NodeReader& in) {
  const ValueId x = in.value(0, "X"), w = in.value(1, "W");
  return finished_conv(in, read_conv_args(in, x, w, in.optional(2)));
}

// Of products: each number is an attribute; one that is left out is that of the activation's own operator.
ValueId read_fused_gemm(NodeReader& in) {
  const Activation* activation = find_activation(in, in.text("activation", ""));
  const float alpha = in.number("activation_alpha", activation == nullptr ? 0.0f : activation->usual[0]);
  const float beta = in.number("activation_beta", 0.0f), gamma = in.number("activation_gamma", 0.0f);
  if (activation == nullptr) return {};
  const bool is_selu = activation->kind == UnaryKind::selu;
  const bool has_second = in.has(is_selu ? "activation_gamma" : "activation_beta");
  const float second = !has_second ? activation->usual[1] : is_selu ? gamma : beta;
  return in.unary({activation->kind, alpha, second}, gemm(in, "gemm"));
}

ValueId read_nhwc_max_pool(NodeReader& in) {
  return max_pool(in, read_pool_args(in, in.value(0, "x"), Layout::channels_last));
}

// ---- com.microsoft.nchwc: channels in blocks, which a graph does not see; each value has as many channels as fill
// its blocks, in order ----

ValueId read_blocked_conv(NodeReader& in) {
  const ValueId x = in.value(0, "X"), w = unblocked_weights(in, in.value(1, "W"));
  return finished_conv(in, read_conv_args(in, x, w, in.optional(2)));
}

ValueId read_blocked_max_pool(NodeReader& in) {
  in.ignore("storage_order");  // of indices, which nobody has here
  return max_pool(in, read_pool_args(in, in.value(0, "X")));
}

ValueId read_blocked_average_pool(NodeReader& in) { return average_pool(in, read_pool_args(in, in.value(0, "X"))); }

template <ReduceKind kind>
ValueId read_blocked_global_pool(NodeReader& in) {
  return global_pool(in, in.value(0, "X"), kind, Layout::channels_first);
}

ValueId read_reorder_input(NodeReader& in) {
  ValueId x = in.value(0, "X");
  in.require_rank(x, 4, 4);
  if (in.flag("channels_last")) x = transpose(in, x, Integers{0, 3, 1, 2}, "channels_first");
  return in.failed() ? ValueId{} : filled_blocks(in, x);
}

ValueId read_reorder_output(NodeReader& in) {
  const ValueId x = in.value(0, "X");
  const Number channels = in.integer("channels");
  const bool is_last = in.flag("channels_last");
  in.require_rank(x, 4, 4);
  if (!in.failed() && (channels < 1 || in.shape(x)[1] < channels.value))
    in.fail(channels.place, std::to_string(channels.value), "1 to " + to_string(in.shape(x)[1]) + ", what there is");
  if (in.failed()) return {};
  const ValueId y = slice(in, x, 1, {.size = channels.value}, is_last ? "channels" : "");
  if (is_last) return transpose(in, y, Integers{0, 2, 3, 1});
  return y;
}

ValueId read_blocked_upsample(NodeReader& in) {
  ResizeArgs args{.x = in.value(0, "X"), .axes = {0, 1, 2, 3}};
  const Numbers scales = in.integers("scales");
  const std::string mode = in.text("mode", "nearest"), positions = in.text("coordinate_transformation_mode", "");
  in.require_rank(args.x, 4, 4);
  if (scales.size() != 4) in.fail(scales.place, std::to_string(scales.size()) + " numbers", "4");
  if (mode != "nearest" && mode != "linear") in.fail("attribute 'mode'", "'" + mode + "'", "nearest or linear");
  args.attrs.mode = mode == "nearest" ? ResizeMode::nearest : ResizeMode::linear;
  args.attrs.nearest = NearestRounding::floor;
  if (positions == "asymmetric" || positions.empty()) args.attrs.coordinates = ResizeCoordinates::asymmetric;
  else if (positions == "half_pixel") args.attrs.coordinates = ResizeCoordinates::half_pixel;
  else if (positions == "align_corners") args.attrs.coordinates = ResizeCoordinates::align_corners;
  else
    in.fail("attribute 'coordinate_transformation_mode'", "'" + positions + "'",
            "asymmetric, half_pixel or align_corners");
  for (std::size_t i = 0; i < 4 && !in.failed(); ++i) {
    const std::int64_t scale = scales[i].fixed();
    if (scale < 1 || scale > 1024) in.fail(scales.place, std::to_string(scale), "1 to 1024");
    args.sizes.values.push_back(in.shape(args.x)[static_cast<int>(i)] * scale);
    args.scales.push_back(static_cast<float>(scale));
  }
  return in.failed() ? ValueId{} : resize(in, args);
}

constexpr Operator kOptimisedTable[] = {
    {"com.microsoft.FusedConv", 1, 2, 4, read_fused_conv},
    {"com.microsoft.FusedGemm", 1, 2, 3, read_fused_gemm},
    {"com.microsoft.NhwcMaxPool", 1, 1, 1, read_nhwc_max_pool},
    {"com.microsoft.nchwc.AveragePool", 1, 1, 1, read_blocked_average_pool},
    {"com.microsoft.nchwc.Conv", 1, 2, 4, read_blocked_conv},
    {"com.microsoft.nchwc.GlobalAveragePool", 1, 1, 1, read_blocked_global_pool<ReduceKind::mean>},
    {"com.microsoft.nchwc.GlobalMaxPool", 1, 1, 1, read_blocked_global_pool<ReduceKind::max>},
    {"com.microsoft.nchwc.MaxPool", 1, 1, 1, read_blocked_max_pool},
    {"com.microsoft.nchwc.ReorderInput", 1, 1, 1, read_reorder_input},
    {"com.microsoft.nchwc.ReorderOutput", 1, 1, 1, read_reorder_output},
    {"com.microsoft.nchwc.Upsample", 1, 1, 1, read_blocked_upsample},
};

}  // namespace

const std::span<const Operator> kOptimised = kOptimisedTable;

}  // namespace octavo::onnx_import
