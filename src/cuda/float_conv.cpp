// fused_conv: f32 in tiles, or element by element where groups have few channels. Part of cuda/.
#include <algorithm>
#include <cmath>

#include "cuda/cost.h"
#include "cuda/cuda.h"
#include "cuda/float_conv_call.h"
#include "cuda/launch.h"
#include "cuda/window.h"
#include "ops/fused_conv/fused_conv.h"

namespace octavo::cuda {
namespace {

enum class Way { tiles, direct };

constexpr std::int64_t kFloatConvTile = 64;

struct Sizes {
  std::int64_t pixels, groups, group_in, group_out, k, padded_out;
};
template <Way way>
Sizes float_conv_sizes_of(const CallView& call) {
  const auto& attrs = call.attrs->as<FusedConvAttrs>();
  const Shape& y = *call.output().shape;
  Sizes s{.pixels = y[0] * y[1] * y[2],
          .groups = attrs.groups,
          .group_in = (*call.input(kX).shape)[3] / attrs.groups,
          .group_out = y[3] / attrs.groups};
  s.k = s.group_in * attrs.window.kernel[0] * attrs.window.kernel[1];
  s.padded_out = way == Way::tiles ? (s.group_out + kFloatConvTile - 1) / kFloatConvTile * kFloatConvTile : s.group_out;
  return s;
}

std::array<std::int64_t, 3> float_conv_grid_of(const Sizes& s) {
  return {std::max<std::int64_t>(1, (s.pixels + kFloatConvTile - 1) / kFloatConvTile), s.padded_out / kFloatConvTile,
          s.groups};
}

template <Way way>
std::string refuse_float_conv(const CallView& call) {
  const auto& attrs = call.attrs->as<FusedConvAttrs>();
  if (call.input(kX).dtype != DType::f32 || call.input(kX).shape->rank() != 4) return "needs images of f32";
  if (is_angular(attrs.activation.kind)) return "computes no angles";
  if (std::string reason = window_refusal(attrs.window, *call.input(kX).shape, *call.output().shape); !reason.empty())
    return reason;
  const Sizes s = float_conv_sizes_of<way>(call);
  constexpr std::int64_t kMostWeights = std::int64_t{1} << 29;
  if (s.group_out == 0 || s.k > kMostWeights / (s.padded_out * s.groups)) return "needs less than 2 GiB of weights";
  return way == Way::tiles ? grid_refusal(float_conv_grid_of(s)) : elements_refusal(call.output().elements());
}

template <Way way>
std::string float_conv_refusal(const OpCall& call) {
  if (std::string reason = refuse_float_variables(call); !reason.empty()) return reason;
  return refuse_float_conv<way>(view_of(call));
}

template <Way way>
std::vector<Tensor> pack_float_conv(const OpCall& call) {
  const Sizes s = float_conv_sizes_of<way>(view_of(call));
  const float* w = call.inputs[kW]->constant->as<float>();
  const std::int64_t columns = s.groups * s.padded_out;
  Tensor weights(DType::f32, Shape{s.k, columns}), biases(DType::f32, Shape{columns});
  std::fill_n(weights.as<float>(), weights.elements(), 0.0f);
  std::fill_n(biases.as<float>(), columns, 0.0f);
  for (std::int64_t oc = 0; oc < s.groups * s.group_out; ++oc) {
    const std::int64_t to = oc / s.group_out * s.padded_out + oc % s.group_out;
    for (std::int64_t k = 0; k < s.k; ++k) weights.as<float>()[k * columns + to] = w[oc * s.k + k];
    if (kBias < call.inputs.size() && call.inputs[kBias] != nullptr)
      biases.as<float>()[to] = call.inputs[kBias]->constant->as<float>()[oc];
  }
  std::vector<Tensor> packed;
  packed.push_back(std::move(weights));
  packed.push_back(std::move(biases));
  return packed;
}

template <Way way>
Result<std::unique_ptr<Step>> make_float_conv(const CallView& call, const StepSpec& spec) {
  const auto& attrs = call.attrs->as<FusedConvAttrs>();
  const Sizes s = float_conv_sizes_of<way>(call);
  const std::int64_t columns = s.groups * s.padded_out;
  const bool has_residual = attrs.residual != ResidualPlace::none;
  if (!is_packed_as(spec, kWeights, DType::f32, s.k * columns) || !is_packed_as(spec, kBiases, DType::f32, columns) ||
      !is_read_in_run(spec, kX) || (has_residual && !is_read_in_run(spec, kResidual)))
    return not_as_packed(spec);
  LaunchMaker<FloatConvArgs> maker;
  FloatConvArgs& args = maker.arguments;
  args.window = window_args(attrs.window, *call.input(kX).shape, *call.output().shape);
  args.pixels = s.pixels;
  args.group_in = static_cast<std::int32_t>(s.group_in), args.group_out = static_cast<std::int32_t>(s.group_out);
  args.groups = static_cast<std::int32_t>(s.groups), args.padded_out = static_cast<std::int32_t>(s.padded_out);
  args.k = static_cast<std::int32_t>(s.k);
  args.numbers = {attrs.activation.alpha, attrs.activation.beta};
  args.activation = attrs.activation.kind;
  args.addition = static_cast<FloatAddition>(attrs.residual);
  maker.point(args.x, Operand::input, kX);
  maker.point(args.w, Operand::packed, kWeights);
  maker.point(args.bias, Operand::packed, kBiases);
  maker.point_if(has_residual, args.residual, Operand::input, kResidual);
  maker.point(args.y, Operand::output, 0);
  maker.launch.kernel = way == Way::tiles ? "float_conv_64x64" : "float_conv_direct";
  maker.for_threads(call.output().elements());
  if (way == Way::tiles) {
    maker.launch.grid = float_conv_grid_of(s);
    maker.launch.shared_bytes = static_cast<int>(kFloatConvTile * kFloatConvTile * sizeof(float));
  }
  return maker.make(spec);
}

static_assert(static_cast<int>(FloatAddition::before_activation) ==
                  static_cast<int>(ResidualPlace::before_activation) &&
              static_cast<int>(FloatAddition::after_activation) == static_cast<int>(ResidualPlace::after_activation));

// By the multiply-adds of f32: tiles one after the other on a multiprocessor, or all elements spread over them.
template <Way way>
double float_conv_cost(const OpCall& call, const Machine& machine) {
  constexpr double kLanes = 128.0, kShare = way == Way::tiles ? 0.4 : 0.1;  // of a multiprocessor
  constexpr double kTileSums = kFloatConvTile * kFloatConvTile;
  const CallView view = view_of(call);
  const Sizes s = float_conv_sizes_of<way>(view);
  const std::array<std::int64_t, 3> grid = float_conv_grid_of(s);
  const double tiles = static_cast<double>(grid[0] * grid[1] * grid[2]) / machine.cores;
  const double share = static_cast<double>(view.output().elements()) / (kTileSums * machine.cores);
  const double turns = way == Way::tiles ? std::ceil(tiles) : share;
  const double sums_ns = turns * kTileSums * static_cast<double>(s.k) / (kLanes * kShare * machine.speeds.gigahertz);
  return memory_ns(view, machine) + sums_ns;
}

template <Way way>
constexpr KernelChoice float_conv_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "fused_conv",
                   .needs = Isa::cuda,
                   .packs = true,
                   .prepare = prepare_by<refuse_float_conv<way>, make_float_conv<way>>},
          .refusal = float_conv_refusal<way>,
          .cost = float_conv_cost<way>,
          .knows_speeds = true,
          .pack = pack_float_conv<way>,
          .packed_layout = same_layout};
}

constexpr KernelChoice kFloatConvChoices[] = {
    float_conv_kernel<Way::tiles>("conv_f32_64x64_cuda"),
    float_conv_kernel<Way::direct>("conv_f32_direct_cuda"),
};
constexpr auto kFloatConvCodes = codes_of(kFloatConvChoices);

}  // namespace
}  // namespace octavo::cuda

std::span<const octavo::KernelCode> octavo::cuda_float_conv_codes() { return cuda::kFloatConvCodes; }
std::span<const octavo::KernelChoice> octavo::cuda_float_conv_choices() { return cuda::kFloatConvChoices; }
