// hybrid_conv by the tiles of quantized_conv: the same packed weights and loop over K, with the scales of x read in the
// run. Part of kernels/conv/.
//   sum (x - zero) * w = sum x * w - zero * sum w, so accumulators begin with zero * -sum(w): that stands where
//   quantized_conv has its bias (as zero_point_factor), and hybrid_conv its zero points; all other operands have the
//   same places.
#include <algorithm>
#include <array>

#include "kernels/call.h"
#include "kernels/conv/amx_schedule.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/epilogue.h"
#include "kernels/conv/split.h"
#include "kernels/jit/code.h"
#include "ops/hybrid_conv/hybrid_conv.h"
#include "ops/quantized_conv/quantized_conv.h"

namespace octavo {
namespace {

static_assert(int{kHybridX} == kConvX && int{kHybridW} == kConvW && int{kHybridXZero} == kConvBias &&
              int{kHybridOffset} == kConvOffset && int{kHybridXScale} == kConvOperands);

// A zero point of x other than 0: padding is never skipped.
QuantizedConvAttrs integer_attrs(const HybridConvAttrs& attrs) {
  return {.window = attrs.window, .groups = attrs.groups, .x_zero_point = 1, .epilogue = attrs.epilogue};
}

bool has_input(const OpCall& call, std::size_t i) { return i < call.inputs.size() && call.inputs[i] != nullptr; }

// -sum over the taps of w + w_offset, per output channel.
Tensor negative_weight_sums(const OpCall& call) {
  const Tensor& w = *call.inputs[kHybridW]->constant;
  const std::int64_t channels = w.shape()[0], taps = w.elements() / channels;
  const std::int32_t* offset =
      has_input(call, kHybridOffset) ? call.inputs[kHybridOffset]->constant->as<std::int32_t>() : nullptr;
  Tensor sums(DType::s32, Shape{channels});
  for (std::int64_t oc = 0; oc < channels; ++oc) {
    std::uint32_t sum =
        offset == nullptr ? 0u : static_cast<std::uint32_t>(offset[oc]) * static_cast<std::uint32_t>(taps);
    for (std::int64_t i = 0; i < taps; ++i) sum += static_cast<std::uint32_t>(w.as<std::int8_t>()[oc * taps + i]);
    sums.as<std::int32_t>()[oc] = static_cast<std::int32_t>(0u - sum);
  }
  return sums;
}

bool fit_factors(const Tensor& sums) {
  return std::ranges::all_of(sums.span<std::int32_t>(), [](std::int32_t sum) {
    return sum > -kMostZeroPointFactor && sum < kMostZeroPointFactor;
  });
}

// As tiles read them.
Tensor zero_point_factors(Tensor sums) {
  for (std::int32_t& sum : sums.span<std::int32_t>()) sum = zero_point_factor(sum);
  return sums;
}

Fact constant_fact(Tensor tensor) {
  const DType dtype = tensor.dtype();
  const Shape shape = tensor.shape();
  return {.dtype = dtype, .shape = shape, .constant = std::make_shared<Tensor>(std::move(tensor))};
}

// The quantized_conv with the same weights. Values of its bias are made where `Values` says so; its shape alone serves
// costs.
enum class Values { shapes_only, all };
class IntegerCall {
 public:
  IntegerCall(const OpCall& call, Values values)
      : attrs_(integer_attrs(call.attrs->as<HybridConvAttrs>())),
        bias_(values == Values::all ? constant_fact(zero_point_factors(negative_weight_sums(call)))
                                    : Fact{.dtype = DType::s32, .shape = {call.inputs[kHybridW]->shape[0]}}),
        call_{.attrs = &attrs_, .inputs = call.inputs, .outputs = call.outputs} {
    call_.inputs[kConvBias] = &bias_;
  }
  IntegerCall(const IntegerCall&) = delete;
  IntegerCall& operator=(const IntegerCall&) = delete;
  const OpCall& operator*() const { return call_; }

 private:
  Attrs attrs_;
  Fact bias_;
  OpCall call_;
};

// Scales of their own for each pixel of a window of one, in any number of images.
bool has_pixel_scales(const HybridConvAttrs& attrs, const Shape& x, std::int64_t rows) {
  return attrs.is_pointwise() && rows == x[0] * x[1] * x[2];
}

std::string hybrid_refusal(const OpCall& call, const TileTarget& target) {
  for (std::size_t i : {kHybridW, kHybridOffset}) {
    if (has_input(call, i) && !call.inputs[i]->is_constant()) return "needs constant weights";
  }
  if (call.inputs[kHybridXZero]->is_constant()) return "needs inputs known only in a run";
  if (call.inputs[kHybridW]->shape.elements() == 0) return "needs at least one element";
  const std::int64_t rows = call.inputs[kHybridXZero]->shape.elements();
  if (target.step == MacStep::amx &&
      !has_pixel_scales(call.attrs->as<HybridConvAttrs>(), call.inputs[kHybridX]->shape, rows))
    return "needs a scale for each pixel";
  if (!fit_factors(negative_weight_sums(call))) return "needs sums of weights below 2^22";
  return conv_refusal(*IntegerCall(call, Values::all), target);
}

double hybrid_cost(const OpCall& call, const Machine& machine, const TileTarget& target) {
  return conv_cost(*IntegerCall(call, Values::shapes_only), machine, target);
}

std::vector<Tensor> pack_hybrid(const OpCall& call, const TileTarget& target) {
  return pack_conv(*IntegerCall(call, Values::all), target);
}

std::vector<std::int64_t> packed_hybrid_layout(const OpCall& call, const TileTarget& target) {
  return packed_conv_layout(*IntegerCall(call, Values::shapes_only), target);
}

int hybrid_residual_in_place(const OpCall& call) { return residual_in_place(*IntegerCall(call, Values::shapes_only)); }

// The step's spec as that of the quantized_conv.
StepSpec integer_spec(const StepSpec& spec, const Attrs& attrs) {
  StepSpec integer = spec;
  integer.attrs = &attrs;
  integer.inputs[kConvBias] = {.dtype = DType::s32, .shape = {spec.inputs[kHybridW].shape[0]}, .is_packed = true};
  return integer;
}

// Images with scales of their own are not one line of pixels, even where windows are of one pixel.
void keep_images(ConvGeometry& g, const Shape& x) {
  g.batch = x[0];
  g.height = g.out_height = x[1];
  g.width = g.out_width = x[2];
}

// One scale for each pixel, for each image of several, or for all.
RunScaling scaling_of(const HybridConvAttrs& attrs, const Shape& x, std::int64_t rows) {
  if (has_pixel_scales(attrs, x, rows)) return {.scales = RunScales::per_pixel};
  return {.scales = RunScales::shared, .image_step = rows > 1 ? 1 : 0};
}

bool keeps_images(const HybridConvAttrs& attrs, const RunScaling& scaling) {
  return scaling.image_step > 0 && attrs.is_pointwise();
}

ScheduledConv scheduled_hybrid(const OpCall& call, const TileTarget& target) {
  ScheduledConv conv = scheduled_conv(*IntegerCall(call, Values::shapes_only), target);
  const auto& attrs = call.attrs->as<HybridConvAttrs>();
  const Shape& x = call.inputs[kHybridX]->shape;
  const RunScaling scaling = scaling_of(attrs, x, call.inputs[kHybridXZero]->shape.elements());
  if (keeps_images(attrs, scaling)) keep_images(conv.geometry, x);
  return conv;
}

Result<std::unique_ptr<Step>> prepare_hybrid(const StepSpec& spec, const TileTarget& target) {
  const auto& attrs = spec.attrs->as<HybridConvAttrs>();
  const Attrs integer = integer_attrs(attrs);
  const StepSpec as_integer = integer_spec(spec, integer);
  auto call = checked_conv(as_integer, target);
  if (!call) return call.errors();
  if (!is_read_in_run(spec, kHybridXZero)) return not_as_packed(spec);
  const Shape& x = spec.inputs[kHybridX].shape;
  const std::int64_t rows = spec.inputs[kHybridXZero].shape.elements();
  const RunScaling scaling = scaling_of(attrs, x, rows);
  if (keeps_images(attrs, scaling)) keep_images(call->geometry, x);
  if (target.step != MacStep::amx) return prepare_scaled_conv(as_integer, target, std::move(*call), scaling);
  if (scaling.scales != RunScales::per_pixel) return refused_conv("needs a scale for each pixel");
  return prepare_scaled_amx(as_integer, std::move(*call));
}

template <const TileTarget& target>
std::vector<Candidate> hybrid_candidates_of(const OpCall& call, const Machine& machine, int threads) {
  return conv_candidates(scheduled_hybrid(call, target), machine, threads);
}

template <const TileTarget& target>
std::string hybrid_schedule_refusal_of(const OpCall& call, const Machine& machine,
                                       std::span<const std::byte> schedule) {
  return conv_schedule_refusal(scheduled_hybrid(call, target), machine, schedule);
}

constexpr std::span<const std::string_view> knobs_of(const TileTarget& target) {
  return target.step == MacStep::amx ? std::span<const std::string_view>(kAmxKnobs) : kConvKnobs;
}

template <const TileTarget& target, const TileTarget& evex = target>
constexpr KernelChoice hybrid_kernel(std::string_view name, Isa needs) {
  return {.code = {.name = name,
                   .op = "hybrid_conv",
                   .needs = needs,
                   .packs = true,
                   .knobs = knobs_of(target),
                   .prepare = [](const StepSpec& spec) { return prepare_hybrid(spec, has_vex_vnni() ? target : evex); },
                   .in_place_input = hybrid_residual_in_place},
          .refusal = [](const OpCall& call) { return hybrid_refusal(call, target); },
          .cost = [](const OpCall& call, const Machine& machine) { return hybrid_cost(call, machine, target); },
          .candidates = hybrid_candidates_of<target>,
          .schedule_refusal = hybrid_schedule_refusal_of<target>,
          .knows_speeds = true,
          .pack = [](const OpCall& call) { return pack_hybrid(call, target); },
          .packed_layout = [](const OpCall& call) { return packed_hybrid_layout(call, target); }};
}

constexpr KernelChoice kHybridChoices[] = {
    hybrid_kernel<kTileVnni512>("hybrid_conv_u8s8_7x4_avx512vnni", Isa::avx512vnni),
    hybrid_kernel<kTileVnni256, kTileVnni256Evex>("hybrid_conv_u8s8_6x2_avxvnni", Isa::avxvnni),
    hybrid_kernel<kTileAvx2Words>("hybrid_conv_u8s8_4x3_avx2", Isa::avx2),
    hybrid_kernel<kTileAvx2Bytes>("hybrid_conv_u8s8_6x2_avx2_bytes", Isa::avx2),
    hybrid_kernel<kTileAmx>("hybrid_conv_u8s8_16x16_amx_int8", Isa::amx_int8),
    hybrid_kernel<kTileNeonBytes>("hybrid_conv_u8s8_5x1_neon", Isa::neon),
    hybrid_kernel<kTileNeonPairs>("hybrid_conv_u8s8_5x1_neon_pairs", Isa::neon),
    hybrid_kernel<kTileDotprod>("hybrid_conv_u8s8_6x4_dotprod", Isa::dotprod),
    hybrid_kernel<kTileDotprodAhead>("hybrid_conv_u8s8_6x4_dotprod_ahead", Isa::dotprod),
    hybrid_kernel<kTileI8mm>("hybrid_conv_u8s8_4x4_i8mm", Isa::i8mm),
};
constexpr auto kHybridCodes = codes_of(kHybridChoices);

}  // namespace

std::span<const KernelCode> hybrid_conv_codes() { return kHybridCodes; }
std::span<const KernelChoice> hybrid_conv_choices() { return kHybridChoices; }

}  // namespace octavo
