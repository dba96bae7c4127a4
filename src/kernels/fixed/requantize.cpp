// fixed_requantize by s32 multipliers, rows with a factor per element or one for all. Part of kernels/.
#include "kernels/call.h"
#include "kernels/fixed/fixed.h"
#include "kernels/fixed/rows.h"
#include "ops/fixed_requantize/fixed_requantize.h"

namespace octavo {
namespace {

using SumsFunction = void (*)(const FixedSums&);

struct Params {
  FixedSums sums;  // without pointers and rows
  bool has_table = false;
  Chunks chunks;  // of rows, or of elements where one factor serves all
  SumsFunction function = nullptr;
};

std::string refuse(const CallView& call) { return call.input(1).dtype == DType::s32 ? "" : "needs s32 multipliers"; }

void run(const Params& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange units = params.chunks.units_of(range);
  FixedSums sums = params.sums;
  const bool is_row = sums.step == 0;
  const std::int64_t first = is_row ? units.begin : units.begin * sums.n;
  if (is_row) sums.n = units.end - units.begin;
  sums.rows = is_row ? 1 : units.end - units.begin;
  sums.x = reinterpret_cast<const std::int32_t*>(buffers.inputs[0]) + first;
  sums.y = reinterpret_cast<std::uint8_t*>(buffers.outputs[0]) + first;
  sums.multiplier = reinterpret_cast<const std::int32_t*>(buffers.inputs[1]);
  sums.shift = reinterpret_cast<const std::int32_t*>(buffers.inputs[2]);
  if (params.has_table) sums.table = reinterpret_cast<const std::uint8_t*>(buffers.inputs[3]);
  params.function(sums);
}

template <const FixedFunctions& functions>
Result<std::unique_ptr<Step>> make(const CallView& call, const StepSpec&) {
  const auto& attrs = call.attrs->as<FixedRequantizeAttrs>();
  const Shape& shape = *call.input(0).shape;
  const std::int64_t count = shape.elements(), channels = shape[shape.rank() - 1];
  Params params{.sums = {.zero_point = attrs.zero_point, .lowest = attrs.lowest, .highest = attrs.highest},
                .has_table = call.input(3).exists(),
                .function = attrs.profile == Profile::tflite_single ? functions.sums_once : functions.sums_twice};
  const bool has_one_factor = call.input(1).elements() == 1;
  params.sums.step = has_one_factor ? 0 : 1;
  params.sums.n = has_one_factor ? count : channels;
  const std::int64_t rows = channels == 0 ? 0 : count / channels;
  params.chunks = has_one_factor ? Chunks::of(count, 4) : Chunks::of(rows, 4 * channels);
  const std::int64_t items = params.chunks.items();
  return make_step(std::move(params), items, run);
}

// Nanoseconds per element, Xeon 2.5 GHz.
template <Isa isa>
double cost(const OpCall& call, const Machine&) {
  constexpr double per_element = isa == Isa::scalar ? 3.0 : (isa == Isa::avx2 ? 0.7 : 0.4);
  return 50.0 + per_element * static_cast<double>(call.outputs[0].shape.elements());
}

template <const FixedFunctions& functions, Isa isa>
constexpr KernelChoice kernel(std::string_view name) {
  return {
      .code = {.name = name, .op = "fixed_requantize", .needs = isa, .prepare = prepare_by<refuse, make<functions>>},
      .refusal = refusal_by<refuse>,
      .cost = cost<isa>};
}

constexpr KernelChoice kChoices[] = {
    kernel<kFixedScalar, Isa::scalar>("fixed_requantize_portable"),
    kernel<kFixedAvx2, Isa::avx2>("fixed_requantize_avx2"),
    kernel<kFixedAvx512, Isa::avx512>("fixed_requantize_avx512"),
};
constexpr auto kCodes = codes_of(kChoices);

}  // namespace

std::span<const KernelCode> fixed_requantize_codes() { return kCodes; }
std::span<const KernelChoice> fixed_requantize_choices() { return kChoices; }

}  // namespace octavo
