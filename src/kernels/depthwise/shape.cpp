// Sizes and refusals that the depthwise kernels share. Part of kernels/.
#include "kernels/depthwise/shape.h"

#include "ops/quantized_conv/quantized_conv.h"

namespace octavo {
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
  const auto parts = EpilogueParts::of(attrs.epilogue, kConvOperands);
  if (!parts || parts->in_run != nullptr) return "needs an epilogue of a scale, a rounding, an addition and a table";
  if (parts->add_integer != nullptr) return "needs an addition in f32";
  if (parts->other >= 0 && *call.input(static_cast<std::size_t>(parts->other)).shape != *call.output().shape)
    return "needs an addition of the same shape";
  const bool has_s16_operand =
      parts->other >= 0 && call.input(static_cast<std::size_t>(parts->other)).dtype == DType::s16;
  if (parts->to == DType::s16 || has_s16_operand) return "needs results and additions of 8 bits";
  if (attrs.groups != x[3]) return "needs one input channel per group";
  if (attrs.window.kernel[0] > 64 || attrs.window.kernel[1] > 64) return "needs a window of at most 64x64";
  return {};
}

std::string refuse_variable_weights(const OpCall& call) {
  for (std::size_t i : {kConvW, kConvBias, kConvOffset}) {
    if (i < call.inputs.size() && call.inputs[i] != nullptr && !call.inputs[i]->is_constant())
      return "needs constant weights";
  }
  if (call.inputs[kConvX]->is_constant()) return "needs a variable x";
  return epilogue_refusal(call, call.attrs->as<QuantizedConvAttrs>().epilogue, kConvOperands);
}

}  // namespace octavo
