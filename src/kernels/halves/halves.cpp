// cast of halves, by elements. Part of kernels/.
#include "kernels/halves/halves.h"

#include "kernels/call.h"
#include "kernels/compiled_for.h"
#include "kernels/halves/functions.h"

namespace octavo {
namespace {

struct HalfParams {
  HalfFunctions::Convert convert = nullptr;
  std::int64_t from_bytes = 0, to_bytes = 0;
  Chunks chunks;  // of elements
};

// Null where there is none.
HalfFunctions::Convert convert_of(const HalfFunctions& functions, DType from, DType to) {
  if (from == DType::f16 && to == DType::f32) return functions.f16_to_f32;
  if (from == DType::f32 && to == DType::f16) return functions.f32_to_f16;
  if (from == DType::bf16 && to == DType::f32) return functions.bf16_to_f32;
  if (from == DType::f32 && to == DType::bf16) return functions.f32_to_bf16;
  return nullptr;
}

std::string refuse_halves(const CallView& call) {
  const bool is_known =
      convert_of(CompiledFor<HalfFunctions, Isa::scalar>::table, call.input(0).dtype, call.output().dtype) != nullptr;
  return is_known ? "" : "needs f32 on one side and 16 bits on the other";
}

void run_halves(const HalfParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange elements = params.chunks.units_of(range);
  params.convert(buffers.inputs[0] + elements.begin * params.from_bytes,
                 buffers.outputs[0] + elements.begin * params.to_bytes, elements.end - elements.begin);
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_halves(const CallView& call, const StepSpec&) {
  const DType from = call.input(0).dtype, to = call.output().dtype;
  HalfParams params{.convert = convert_of(CompiledFor<HalfFunctions, isa>::table, from, to),
                    .from_bytes = static_cast<std::int64_t>(size_of(from)),
                    .to_bytes = static_cast<std::int64_t>(size_of(to)),
                    .chunks = Chunks::of(call.output().elements(), 4)};
  const std::int64_t items = params.chunks.items();
  return make_step(params, items, run_halves);
}

template <int kPicoseconds>
double halves_cost(const OpCall& call, const Machine&) {
  return 50.0 + 1e-3 * kPicoseconds * static_cast<double>(call.outputs[0].shape.elements());
}

template <Isa isa, int kPicoseconds>
constexpr KernelChoice halves_kernel(std::string_view name) {
  return {
      .code = {.name = name, .op = "cast", .needs = isa, .prepare = prepare_on<isa, refuse_halves, make_halves<isa>>()},
      .refusal = refusal_by<refuse_halves>,
      .cost = halves_cost<kPicoseconds>};
}

constexpr KernelChoice kHalfChoices[] = {
    halves_kernel<Isa::scalar, 1000>("cast_halves_portable"),
    halves_kernel<Isa::avx2, 300>("cast_halves_avx2"),
    halves_kernel<Isa::avx512, 200>("cast_halves_avx512"),
    halves_kernel<Isa::neon, 500>("cast_halves_neon"),
};
constexpr auto kHalfCodes = codes_of(kHalfChoices);

}  // namespace

std::span<const KernelCode> half_codes() { return kHalfCodes; }
std::span<const KernelChoice> half_choices() { return kHalfChoices; }

}  // namespace octavo
