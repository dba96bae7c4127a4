// Pools position by position; global ones are cut by channels. Part of kernels/.
#include "kernels/pool/pool.h"

#include "kernels/compiled_for.h"
#include "kernels/epilogue/step.h"
#include "kernels/pool/geometry.h"
#include "kernels/pool/taps.h"
#include "ops/average_pool/average_pool.h"
#include "ops/max_pool/max_pool.h"
#include "ops/quantized_pool/quantized_pool.h"

namespace octavo {
namespace {

enum class Count { inside, inside_padded, whole_kernel };

struct PoolParams {
  PoolGeometry geometry;
  const PoolFunctions* functions;
  void (*max)(const PoolTaps&, std::byte*) = nullptr;  // of max_pool
  bool is_quantized = false;                           // else f32, of average_pool
  QuantizedPool quantized;
  StepEpilogue epilogue;  // of quantized
  Count count = Count::inside;
  std::size_t x_bytes = 1, y_bytes = 1;  // per element
  std::int64_t channel_block = 0;        // channels per item; 0: all
  Chunks chunks;                         // of rows, or of (image, channel block) pairs
  std::size_t sums_offset = 0;           // in the scratch, after the tap pointers
};

std::int64_t divisor_of(const PoolParams& params, const PoolRow& row, std::int64_t ow, std::int64_t inside) {
  switch (params.count) {
    case Count::inside: return inside;
    case Count::inside_padded: return params.geometry.inside_padded(row, ow);
    case Count::whole_kernel: break;
  }
  return params.geometry.kernel_elements();
}

// Channels [first, first + channels) of one output position, and how many taps it has; of max_pool, of `positions` that
// lie inside the image like it.
struct PoolPosition {
  PoolRow place;
  std::int64_t row, ow, first, channels, count;
  const QuantizedPool& quantized;
  std::int64_t positions = 1;
};

const std::byte** pool_taps_of(const StepBuffers& buffers) {
  return reinterpret_cast<const std::byte**>(buffers.scratch);
}

// Its operands are those of these channels on.
QuantizedPool quantized_at(const PoolParams& params, const StepBuffers& buffers, std::int64_t first_channel) {
  QuantizedPool quantized = params.quantized;
  if (params.is_quantized) quantized.epilogue = params.epilogue.placed(buffers, first_channel);
  return quantized;
}

void run_pool_position(const PoolParams& params, const PoolPosition& at, const StepBuffers& buffers) {
  const PoolGeometry& g = params.geometry;
  const std::int64_t step = g.stride[2] * g.channels * static_cast<std::int64_t>(params.x_bytes);
  const PoolTaps pool{pool_taps_of(buffers), at.count, at.channels, at.positions, step};
  std::byte* y = buffers.outputs[0] +
                 static_cast<std::size_t>((at.row * g.out[2] + at.ow) * g.channels + at.first) * params.y_bytes;
  if (params.max != nullptr) return params.max(pool, y);
  const std::int64_t divisor = divisor_of(params, at.place, at.ow, pool.count);
  if (!params.is_quantized) return params.functions->average_f32(pool, static_cast<double>(divisor), y);
  params.functions->average_q8(pool, at.quantized, divisor, y, buffers.scratch + params.sums_offset);
}

void run_pool_row(const PoolParams& params, const StepBuffers& buffers, std::int64_t row,
                  const QuantizedPool& quantized) {
  const PoolGeometry& g = params.geometry;
  const PoolRow place = g.row_at(row);
  std::int64_t count = 0;
  for (std::int64_t ow = 0, positions = 1; ow < g.out[2]; ow += positions) {
    if (params.max != nullptr) positions = g.inside_from(ow);
    count = g.next_taps(place, ow, buffers.inputs[0], params.x_bytes, pool_taps_of(buffers), count);
    run_pool_position(params, {place, row, ow, 0, g.channels, count, quantized, positions}, buffers);
  }
}

// Of the only position of an image.
void run_channels(const PoolParams& params, const StepBuffers& buffers, std::int64_t unit) {
  const PoolGeometry& g = params.geometry;
  const std::int64_t blocks = (g.channels + params.channel_block - 1) / params.channel_block, row = unit / blocks;
  const std::int64_t first = unit % blocks * params.channel_block;
  const PoolRow place = g.row_at(row);
  const std::byte* x = buffers.inputs[0] + static_cast<std::size_t>(first) * params.x_bytes;
  const std::int64_t count = g.find_taps(place, 0, x, params.x_bytes, pool_taps_of(buffers));
  run_pool_position(params,
                    {place, row, 0, first, std::min(params.channel_block, g.channels - first), count,
                     quantized_at(params, buffers, first)},
                    buffers);
}

void run_pool(const PoolParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange units = params.chunks.units_of(range);
  const QuantizedPool quantized = quantized_at(params, buffers, 0);
  for (std::int64_t unit = units.begin; unit < units.end; ++unit)
    params.channel_block == 0 ? run_pool_row(params, buffers, unit, quantized) : run_channels(params, buffers, unit);
}

std::unique_ptr<Step> make_step_of(PoolParams params) {
  const PoolGeometry& g = params.geometry;
  const std::int64_t work = g.most_taps() * g.channels * static_cast<std::int64_t>(params.x_bytes);
  if (g.out[0] * g.out[1] * g.out[2] == 1 && g.channels > 64) {
    params.channel_block = 64;
    params.chunks =
        Chunks::of(g.rows() * ((g.channels + 63) / 64), g.most_taps() * 64 * static_cast<std::int64_t>(params.x_bytes));
  } else {
    params.chunks = Chunks::of(g.rows(), work * g.out[2]);
  }
  params.sums_offset =
      (static_cast<std::size_t>(g.most_taps()) * sizeof(void*) + kAlignment - 1) / kAlignment * kAlignment;
  const std::size_t scratch = params.sums_offset + static_cast<std::size_t>(g.channels) * sizeof(std::int32_t);
  const std::int64_t items = params.chunks.items();
  return make_step(std::move(params), items, run_pool, scratch);
}

std::string refuse_rank(const CallView& call) {
  const int rank = call.input(0).shape->rank();
  return rank >= 3 && rank <= 5 ? "" : "needs one to three spatial axes";
}

std::string refuse_max(const CallView& call) {
  const DType dtype = call.input(0).dtype;
  if (dtype != DType::u8 && dtype != DType::s8 && dtype != DType::f32) return "needs u8, s8 or f32";
  return refuse_rank(call);
}
std::string refuse_average(const CallView& call) {
  return call.input(0).dtype == DType::f32 ? refuse_rank(call) : "needs f32";
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_max(const CallView& call, const StepSpec&) {
  const PoolFunctions& functions = CompiledFor<PoolFunctions, isa>::table;
  const auto& attrs = call.attrs->as<MaxPoolAttrs>();
  const DType dtype = call.input(0).dtype;
  return make_step_of(
      {.geometry = PoolGeometry::of(attrs.window, attrs.layout, *call.input(0).shape, *call.output().shape),
       .functions = &functions,
       .max = dtype == DType::u8 ? functions.max_u8 : (dtype == DType::s8 ? functions.max_s8 : functions.max_f32),
       .x_bytes = size_of(dtype),
       .y_bytes = size_of(dtype)});
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_average(const CallView& call, const StepSpec&) {
  const auto& attrs = call.attrs->as<AveragePoolAttrs>();
  return make_step_of(
      {.geometry = PoolGeometry::of(attrs.window, attrs.layout, *call.input(0).shape, *call.output().shape),
       .functions = &CompiledFor<PoolFunctions, isa>::table,
       .count = attrs.count_include_pad ? Count::inside_padded : Count::inside,
       .x_bytes = sizeof(float),
       .y_bytes = sizeof(float)});
}

std::string refuse_pool_quantized(const CallView& call) {
  if (call.output().dtype == DType::f32) return "needs bytes or sums as its result";
  return step_epilogue_refusal<QuantizedPoolAttrs, kPoolOperands>(call);
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_quantized(const CallView& call, const StepSpec&) {
  const auto& attrs = call.attrs->as<QuantizedPoolAttrs>();
  return make_step_of(
      {.geometry = PoolGeometry::of(attrs.window, Layout::channels_last, *call.input(0).shape, *call.output().shape),
       .functions = &CompiledFor<PoolFunctions, isa>::table,
       .is_quantized = true,
       .quantized = {.form = static_cast<QuantizedPool::Form>(attrs.form),
                     .x_is_signed = call.input(0).dtype == DType::s8,
                     .x_zero_point = attrs.x_zero_point,
                     .x_scale = attrs.x_scale},
       .epilogue = *StepEpilogue::of(attrs.epilogue, kPoolOperands, call),
       .count = attrs.count_include_pad ? Count::whole_kernel : Count::inside,
       .y_bytes = size_of(call.output().dtype)});
}

template <Isa isa>
double cost_of_taps(const OpCall& call, const Window& window) {
  constexpr double per_byte = by_width(isa, {1.0 / 2.0, 1.0 / 32.0, 1.0 / 64.0});
  double taps = 1.0;
  for (std::int64_t size : window.kernel) taps *= static_cast<double>(size);
  const double bytes =
      static_cast<double>(call.outputs[0].shape.elements()) * static_cast<double>(size_of(call.inputs[0]->dtype));
  const double positions =
      bytes / std::max(1.0, static_cast<double>(call.outputs[0].shape[call.outputs[0].shape.rank() - 1]));
  return 100.0 + positions * (10.0 + taps) + bytes * taps * per_byte;
}
template <Isa isa>
double cost_max(const OpCall& call, const Machine&) {
  return cost_of_taps<isa>(call, call.attrs->as<MaxPoolAttrs>().window);
}
template <Isa isa>
double cost_average(const OpCall& call, const Machine&) {
  return 2.0 * cost_of_taps<isa>(call, call.attrs->as<AveragePoolAttrs>().window);
}
template <Isa isa>
double cost_quantized(const OpCall& call, const Machine&) {
  return 4.0 * cost_of_taps<isa>(call, call.attrs->as<QuantizedPoolAttrs>().window);
}

template <Isa isa>
constexpr KernelChoice max_kernel(std::string_view name) {
  return {
      .code = {.name = name, .op = "max_pool", .needs = isa, .prepare = prepare_on<isa, refuse_max, make_max<isa>>()},
      .refusal = refusal_by<refuse_max>,
      .cost = cost_max<isa>};
}
template <Isa isa>
constexpr KernelChoice average_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "average_pool",
                   .needs = isa,
                   .prepare = prepare_on<isa, refuse_average, make_average<isa>>()},
          .refusal = refusal_by<refuse_average>,
          .cost = cost_average<isa>};
}
template <Isa isa>
constexpr KernelChoice pool_quantized_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "quantized_pool",
                   .needs = isa,
                   .prepare = prepare_on<isa, refuse_pool_quantized, make_quantized<isa>>()},
          .refusal = refusal_by<refuse_pool_quantized>,
          .cost = cost_quantized<isa>};
}

constexpr KernelChoice kPoolChoices[] = {
    max_kernel<Isa::scalar>("pool_max_portable"),
    max_kernel<Isa::avx2>("pool_max_avx2"),
    max_kernel<Isa::avx512>("pool_max_avx512"),
    max_kernel<Isa::neon>("pool_max_neon"),
    average_kernel<Isa::scalar>("pool_average_f32_portable"),
    average_kernel<Isa::avx2>("pool_average_f32_avx2"),
    average_kernel<Isa::avx512>("pool_average_f32_avx512"),
    average_kernel<Isa::neon>("pool_average_f32_neon"),
    pool_quantized_kernel<Isa::scalar>("pool_q8_portable"),
    pool_quantized_kernel<Isa::avx2>("pool_q8_avx2"),
    pool_quantized_kernel<Isa::avx512>("pool_q8_avx512"),
    pool_quantized_kernel<Isa::neon>("pool_q8_neon"),
};
constexpr auto kPoolCodes = codes_of(kPoolChoices);

}  // namespace

std::span<const KernelCode> pool_codes() { return kPoolCodes; }
std::span<const KernelChoice> pool_choices() { return kPoolChoices; }

}  // namespace octavo
