// Sizes and refusals that the depthwise kernels share. Part of kernels/.
#include "kernels/depthwise/shape.h"

namespace octavo {
namespace {

Epilogue::Kind kind_of(const QuantizedConvAttrs& attrs) {
  if (attrs.to == DType::s32) return Epilogue::Kind::s32;
  if (attrs.to == DType::f32) return Epilogue::Kind::f32;
  switch (attrs.residual) {
    case Residual::none: return Epilogue::Kind::requantize;
    case Residual::before_rounding: return Epilogue::Kind::residual_before;
    case Residual::after_rounding_conv_first: return Epilogue::Kind::add_conv_first;
    case Residual::after_rounding_conv_second: return Epilogue::Kind::add_conv_second;
    case Residual::after_rounding_integer: break;  // refused
  }
  return Epilogue::Kind::requantize;
}

}  // namespace

DepthwiseShape DepthwiseShape::of(const CallView& call) {
  const Window& window = call.attrs->as<QuantizedConvAttrs>().window;
  const Shape& x = *call.input(kConvX).shape;
  const Shape& y = *call.output().shape;
  return {.batch = x[0],
          .height = x[1],
          .width = x[2],
          .in_channels = x[3],
          .out_height = y[1],
          .out_width = y[2],
          .channels = y[3],
          .kernel_height = window.kernel[0],
          .kernel_width = window.kernel[1],
          .stride_height = window.strides[0],
          .stride_width = window.strides[1],
          .dilation_height = window.dilations[0],
          .dilation_width = window.dilations[1],
          .pad_top = window.pad_begin[0],
          .pad_left = window.pad_begin[1]};
}

std::string refuse_not_depthwise(const CallView& call) {
  const auto& attrs = call.attrs->as<QuantizedConvAttrs>();
  const Shape& x = *call.input(kConvX).shape;
  if (attrs.residual == Residual::after_rounding_integer) return "needs a residual that is added in f32";
  if (attrs.groups != x[3]) return "needs one input channel per group";
  if (attrs.window.kernel[0] > 64 || attrs.window.kernel[1] > 64) return "needs a window of at most 64x64";
  return {};
}

std::string refuse_variable_weights(const OpCall& call) {
  for (std::size_t i : {kConvW, kConvBias, kConvMultiplier, kConvTable, kConvOffset, kConvBiasRest}) {
    if (i < call.inputs.size() && call.inputs[i] != nullptr && !call.inputs[i]->is_constant())
      return "needs constant weights";
  }
  for (std::size_t i : {kConvX, kConvResidual}) {
    if (i < call.inputs.size() && call.inputs[i] != nullptr && call.inputs[i]->is_constant())
      return "needs a variable x and residual";
  }
  return {};
}

Epilogue epilogue_of(const QuantizedConvAttrs& attrs, const CallView& call) {
  return {.kind = kind_of(attrs),
          .zero_point = attrs.zero_point,
          .lowest = attrs.lowest,
          .highest = attrs.highest,
          .residual_is_signed = call.input(kConvResidual).dtype == DType::s8,
          .residual_zero_point = attrs.residual_zero_point,
          .residual_ratio = attrs.residual_ratio,
          .a_ratio = attrs.add.a_ratio,
          .b_ratio = attrs.add.b_ratio,
          .fixed = attrs.add.fixed,
          .shift = attrs.add.shift,
          .add_lowest = attrs.add_lowest,
          .add_highest = attrs.add_highest};
}

}  // namespace octavo
