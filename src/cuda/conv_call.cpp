// See conv_call.h. Part of cuda/.
#include "cuda/conv_call.h"

#include <algorithm>

#include "cuda/window.h"
#include "ops/quantized_conv/quantized_conv.h"

namespace octavo::cuda {
namespace {

template <class T>
Tensor padded(const Tensor& values, const ChannelLayout& layout) {
  Tensor packed(dtype_of<T>, Shape{layout.groups * layout.padded});
  for (std::int64_t group = 0; group < layout.groups; ++group)
    std::copy_n(values.as<T>() + group * layout.channels, layout.channels, packed.as<T>() + group * layout.padded);
  return packed;
}

}  // namespace

std::string refuse_conv(const CallView& call) {
  const auto& attrs = call.attrs->as<QuantizedConvAttrs>();
  const auto parts = EpilogueParts::of(attrs.epilogue, kConvOperands);
  if (!parts || parts->in_run != nullptr) return "needs an epilogue of a scale, a rounding, an addition and a table";
  const OperandType other = parts->other < 0 ? OperandType{} : call.input(static_cast<std::size_t>(parts->other));
  if (other.exists() && *other.shape != *call.output().shape) return "needs an addition of the same shape";
  return window_refusal(attrs.window, *call.input(kConvX).shape, *call.output().shape);
}

std::string refuse_variables(const OpCall& call) {
  for (std::size_t i : {kConvW, kConvBias, kConvOffset}) {
    if (i < call.inputs.size() && call.inputs[i] != nullptr && !call.inputs[i]->is_constant())
      return "needs constant weights";
  }
  if (call.inputs[kConvX]->is_constant()) return "needs a variable x";
  return epilogue_refusal(call, call.attrs->as<QuantizedConvAttrs>().epilogue, kConvOperands);
}

void add_channel_constants(const OpCall& call, const ChannelLayout& layout, std::vector<Tensor>& packed) {
  const EpilogueParts parts = *EpilogueParts::of(call.attrs->as<QuantizedConvAttrs>().epilogue, kConvOperands);
  const Tensor none(DType::u8, Shape{0});
  packed.push_back(padded<std::int32_t>(*call.inputs[kConvBias]->constant, layout));
  packed.push_back(parts.multiplier < 0 ? none : padded<float>(parts.constant(call, parts.multiplier), layout));
  packed.push_back(parts.rest < 0 ? none : padded<float>(parts.constant(call, parts.rest), layout));
  packed.push_back(parts.constant(call, parts.table));
}

ConvEpilogue::ConvEpilogue(const CallView& call, const StepSpec& spec)
    : spec_(spec),
      to_(call.output().dtype),
      parts_(*EpilogueParts::of(call.attrs->as<QuantizedConvAttrs>().epilogue, kConvOperands)) {}

bool ConvEpilogue::is_packed(std::size_t first, std::int64_t channels) const {
  return is_packed_as(spec_, first, DType::s32, channels) &&
         (parts_.multiplier < 0 || is_packed_as(spec_, first + 1, DType::f32, channels)) &&
         (parts_.rest < 0 || is_packed_as(spec_, first + 2, DType::f32, channels)) &&
         (parts_.table < 0 || is_packed_as(spec_, first + 3, to_, 256)) && is_read_in_run(spec_, kConvX) &&
         parts_.is_read_in_run(spec_);
}

}  // namespace octavo::cuda
