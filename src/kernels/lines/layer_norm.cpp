// layer_norm in f32. Part of kernels/.
#include "ops/layer_norm/layer_norm.h"

#include "kernels/call.h"
#include "kernels/compiled_for.h"
#include "kernels/lines/lines.h"
#include "kernels/lines/record.h"

namespace octavo {
namespace {

struct LayerNormParams {
  std::int64_t n = 0;
  double epsilon = 0.0;
  bool has_bias = false;
  // Of scale and bias: where they are repeated along the normalised axes they are written out into the scratch.
  bool is_repeated = false;
  Shape normalized, scale, bias;
  Chunks chunks;
  void (*run)(const LayerNormLines&) = nullptr;
};

// Element i of `whole` for each i, from one of `shape`, which broadcasts to it.
void write_out(const float* from, const Shape& shape, const Shape& whole, float* to) {
  const std::int64_t n = whole.elements();
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t source = 0, stride = 1, index = i;
    for (int back = 1; back <= shape.rank(); ++back) {
      const std::int64_t size = whole[whole.rank() - back], own = shape[shape.rank() - back];
      source += (own == 1 ? 0 : index % size) * stride;
      index /= size;
      stride *= own;
    }
    to[i] = from[source];
  }
}

void run_layer_norm(const LayerNormParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange rows = params.chunks.units_of(range);
  const auto* scale = reinterpret_cast<const float*>(buffers.inputs[1]);
  const auto* bias = params.has_bias ? reinterpret_cast<const float*>(buffers.inputs[2]) : nullptr;
  if (params.is_repeated) {
    auto* scratch = reinterpret_cast<float*>(buffers.scratch);
    write_out(scale, params.scale, params.normalized, scratch);
    scale = scratch;
    if (bias != nullptr) {
      write_out(bias, params.bias, params.normalized, scratch + params.n);
      bias = scratch + params.n;
    }
  }
  params.run({.lines = {.x = reinterpret_cast<const float*>(buffers.inputs[0]) + rows.begin * params.n,
                        .y = reinterpret_cast<float*>(buffers.outputs[0]) + rows.begin * params.n,
                        .lines = rows.end - rows.begin,
                        .n = params.n},
              .scale = scale,
              .bias = bias,
              .epsilon = params.epsilon});
}

std::string refuse_layer_norm(const CallView& call) {
  for (const OperandType& input : call.inputs) {
    if (input.exists() && input.dtype != DType::f32) return "needs f32";
  }
  return "";
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_layer_norm(const CallView& call, const StepSpec&) {
  const auto& attrs = call.attrs->as<LayerNormAttrs>();
  const Shape& x = *call.input(0).shape;
  const auto axis = static_cast<std::size_t>(attrs.axis);
  LayerNormParams params{.epsilon = static_cast<double>(attrs.epsilon),
                         .has_bias = call.input(2).exists(),
                         .normalized = Shape(x.dims().subspan(axis)),
                         .scale = *call.input(1).shape,
                         .run = CompiledFor<LineFunctions, isa>::table.layer_norm};
  params.n = params.normalized.elements();
  if (params.has_bias) params.bias = *call.input(2).shape;
  params.is_repeated =
      call.input(1).elements() != params.n || (params.has_bias && call.input(2).elements() != params.n);
  params.chunks = Chunks::of(params.n == 0 ? 0 : call.output().elements() / params.n, 8 * params.n);
  const std::int64_t items = params.chunks.items();
  const std::size_t scratch = params.is_repeated ? 2 * sizeof(float) * static_cast<std::size_t>(params.n) : 0;
  return make_step(std::move(params), items, run_layer_norm, scratch);
}

template <Isa isa, int kPicoseconds>
constexpr KernelChoice layer_norm_kernel(std::string_view name) {
  return line_kernel<refuse_layer_norm, make_layer_norm<isa>, kPicoseconds>("layer_norm", isa, name, over_first_input);
}

constexpr KernelChoice kLayerNormChoices[] = {
    layer_norm_kernel<Isa::scalar, 6000>("lines_layer_norm_f32_portable"),
    layer_norm_kernel<Isa::avx2, 600>("lines_layer_norm_f32_avx2"),
    layer_norm_kernel<Isa::avx512, 500>("lines_layer_norm_f32_avx512"),
    layer_norm_kernel<Isa::neon, 1200>("lines_layer_norm_f32_neon"),
};
constexpr auto kLayerNormCodes = codes_of(kLayerNormChoices);

}  // namespace

std::span<const KernelCode> layer_norm_codes() { return kLayerNormCodes; }
std::span<const KernelChoice> layer_norm_choices() { return kLayerNormChoices; }

}  // namespace octavo
