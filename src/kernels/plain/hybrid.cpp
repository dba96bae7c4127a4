// hybrid_conv in plain loops, for machines without vectors. Part of kernels/.
#include <cmath>
#include <optional>

#include "base/requantize.h"
#include "kernels/call.h"
#include "kernels/epilogue/parts.h"
#include "kernels/image_sizes.h"
#include "kernels/plain/plain.h"
#include "ops/hybrid_conv/hybrid_conv.h"
#include "ops/integers.h"

namespace octavo {
namespace {

struct PlainHybridParams {
  HybridConvAttrs attrs;
  ScaleInRun scale;
  std::optional<AddScaled> add;
  std::optional<Round> round;  // else a clamped real
  ClampReal clamp;
  DType other_type = DType::u8, to = DType::f32;
  ImageSizes x, y;
  std::int64_t depth = 1;       // channels of a group of x
  std::int64_t scale_step = 0;  // pixels of the result that share a scale of x; 0: all
};

// What a pixel of the result reads.
struct Pixel {
  std::int64_t image, oh, ow;
  std::int32_t x_zero;
};

std::uint32_t plain_hybrid_sum_of(const PlainHybridParams& p, const Pixel& at, std::int64_t oc,
                                  const StepBuffers& buffers) {
  const Window& window = p.attrs.window;
  const auto* x = reinterpret_cast<const std::uint8_t*>(buffers.inputs[kHybridX]) + at.image * p.x.strides.image;
  const auto* w = reinterpret_cast<const std::int8_t*>(buffers.inputs[kHybridW]) +
                  oc * window.kernel[0] * window.kernel[1] * p.depth;
  const bool has_offset = buffers.inputs.size() > kHybridOffset && buffers.inputs[kHybridOffset] != nullptr;
  const auto offset =
      has_offset ? static_cast<std::uint32_t>(reinterpret_cast<const std::int32_t*>(buffers.inputs[kHybridOffset])[oc])
                 : 0u;
  const std::int64_t first_channel = oc / (p.y.channels / p.attrs.groups) * p.depth;
  std::uint32_t sum = 0;
  for (std::int64_t kh = 0; kh < window.kernel[0]; ++kh) {
    for (std::int64_t kw = 0; kw < window.kernel[1]; ++kw, w += p.depth) {
      const std::int64_t ih = at.oh * window.strides[0] + kh * window.dilations[0] - window.pad_begin[0];
      const std::int64_t iw = at.ow * window.strides[1] + kw * window.dilations[1] - window.pad_begin[1];
      if (ih < 0 || ih >= p.x.height || iw < 0 || iw >= p.x.width) continue;
      const std::uint8_t* from = x + ih * p.x.strides.row + iw * p.x.strides.column + first_channel;
      for (std::int64_t i = 0; i < p.depth; ++i)
        sum += static_cast<std::uint32_t>(from[i] - at.x_zero) * (static_cast<std::uint32_t>(w[i]) + offset);
    }
  }
  return sum;
}

std::int32_t stored_at(const std::byte* values, DType dtype, std::int64_t i) {
  if (dtype == DType::s16) return reinterpret_cast<const std::int16_t*>(values)[i];
  return load_8bit(values, dtype, i);
}

// What becomes of the scaled sum of an element.
void plain_hybrid_store(const PlainHybridParams& p, const StepBuffers& buffers, std::int64_t element, float real) {
  constexpr std::size_t kOther = kHybridBias + 1;
  if (!p.round) {
    reinterpret_cast<float*>(buffers.outputs[0])[element] = p.clamp.apply(real);
    return;
  }
  if (p.add) {
    const std::int32_t other = stored_at(buffers.inputs[kOther], p.other_type, element) - p.add->zero_point;
    real = std::fma(static_cast<float>(other), p.add->ratio, real);
  }
  const float bounded = clamp_f32(real, p.round->lowest_real(), p.round->highest_real());
  const auto rounded = static_cast<std::int32_t>(round_even(bounded)) + p.round->after;
  if (p.to == DType::s16)
    reinterpret_cast<std::int16_t*>(buffers.outputs[0])[element] = static_cast<std::int16_t>(rounded);
  else store_8bit(buffers.outputs[0], element, rounded);
}

void run_plain_hybrid(const PlainHybridParams& p, const StepBuffers& buffers, ItemRange rows) {
  const auto floats = [&](int input) {
    return reinterpret_cast<const float*>(buffers.inputs[static_cast<std::size_t>(input)]);
  };
  std::int64_t element = rows.begin * p.y.strides.row;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    for (std::int64_t ow = 0; ow < p.y.width; ++ow) {
      const std::int64_t scale = p.scale_step == 0 ? 0 : (row * p.y.width + ow) / p.scale_step;
      const Pixel at{row / p.y.height, row % p.y.height, ow,
                     std::to_integer<std::int32_t>(buffers.inputs[kHybridXZero][scale])};
      for (std::int64_t oc = 0; oc < p.y.channels; ++oc) {
        const auto sum = static_cast<std::int32_t>(plain_hybrid_sum_of(p, at, oc, buffers));
        plain_hybrid_store(
            p, buffers, element++,
            p.scale.apply(sum, floats(kHybridXScale)[scale], floats(kHybridWScale)[oc], floats(kHybridBias)[oc]));
      }
    }
  }
}

// infer has seen to a scale known in the run as the first stage.
std::string refuse_plain_hybrid(const CallView& call) {
  const auto parts = EpilogueParts::of(call.attrs->as<HybridConvAttrs>().epilogue, kHybridXScale);
  if (!parts || parts->table >= 0) return "needs an epilogue of a scale, an addition and a clamp or rounding";
  if (parts->other >= 0 && *call.input(static_cast<std::size_t>(parts->other)).shape != *call.output().shape)
    return "needs an addition of the same shape";
  const std::int64_t channels = call.output().elements() == 0 ? 0 : (*call.output().shape)[3];
  const bool is_per_channel =
      call.input(kHybridWScale).elements() == channels && call.input(kHybridBias).elements() == channels;
  return channels == 0 || is_per_channel ? "" : "needs a multiplier for each channel";
}

Result<std::unique_ptr<Step>> make_plain_hybrid(const CallView& call, const StepSpec&) {
  PlainHybridParams p{.attrs = call.attrs->as<HybridConvAttrs>(),
                      .x = ImageSizes::of(*call.input(kHybridX).shape, Layout::channels_last),
                      .y = ImageSizes::of(*call.output().shape, Layout::channels_last),
                      .depth = (*call.input(kHybridW).shape)[3]};
  const EpilogueParts parts = *EpilogueParts::of(p.attrs.epilogue, kHybridXScale);
  p.scale = *parts.in_run;
  if (parts.clamp != nullptr) p.clamp = *parts.clamp;
  if (parts.round != nullptr) p.round = *parts.round;
  if (parts.add_scaled != nullptr) p.add = *parts.add_scaled;
  if (parts.other >= 0) p.other_type = call.input(static_cast<std::size_t>(parts.other)).dtype;
  p.to = call.output().dtype;
  const std::int64_t scales = call.input(kHybridXScale).elements();
  const std::int64_t rows = call.output().elements() == 0 ? 0 : p.y.batch * p.y.height;
  if (scales > 1) p.scale_step = rows * p.y.width / scales;
  return make_step(std::move(p), rows, run_plain_hybrid);
}

double plain_hybrid_cost(const OpCall& call, const Machine&) {
  const Shape& w = call.inputs[kHybridW]->shape;
  return 500.0 + 1.0 * static_cast<double>(call.outputs[0].shape.elements()) * static_cast<double>(w.elements()) /
                     std::max(1.0, static_cast<double>(w[0]));
}

constexpr KernelChoice kPlainHybridChoices[] = {
    {.code = {.name = "plain_hybrid_conv_portable",
              .op = "hybrid_conv",
              .prepare = prepare_by<refuse_plain_hybrid, make_plain_hybrid>},
     .refusal = refusal_by<refuse_plain_hybrid>,
     .cost = plain_hybrid_cost},
};
constexpr auto kPlainHybridCodes = codes_of(kPlainHybridChoices);

}  // namespace

std::span<const KernelCode> plain_hybrid_codes() { return kPlainHybridCodes; }
std::span<const KernelChoice> plain_hybrid_choices() { return kPlainHybridChoices; }

}  // namespace octavo
