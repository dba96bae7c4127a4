// gather of bytes along a short last axis, as a channel shuffle is: a row of x is the table, the indices are what is
// looked up in it. Part of kernels/.
#include "ops/gather/gather.h"

#include <array>
#include <cstring>

#include "kernels/cache_line.h"
#include "kernels/call.h"
#include "kernels/compiled_for.h"
#include "kernels/table/lookup.h"
#include "kernels/table/table.h"

namespace octavo {
namespace {

constexpr std::int64_t kEntries = 256;

struct GatherBytesParams {
  std::int64_t size = 1, count = 0;  // of a row of x, and of the indices: of a row of y
  bool has_64_bits = false;
  const LookupFunctions* functions = nullptr;
  Chunks chunks;  // of rows
};

// What lies outside is clamped, as the reference has it.
void list_indices(const GatherBytesParams& params, const std::byte* indices, std::uint8_t* list) {
  for (std::int64_t i = 0; i < params.count; ++i) {
    const std::int64_t index = params.has_64_bits ? reinterpret_cast<const std::int64_t*>(indices)[i]
                                                  : reinterpret_cast<const std::int32_t*>(indices)[i];
    const std::int64_t from_start = index < 0 ? index + params.size : index;
    list[i] = static_cast<std::uint8_t>(std::clamp<std::int64_t>(from_start, 0, params.size - 1));
  }
}

void run_gather_bytes(const GatherBytesParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange rows = params.chunks.units_of(range);
  auto* list = reinterpret_cast<std::uint8_t*>(buffers.scratch);
  list_indices(params, buffers.inputs[1], list);
  // A lookup reads all entries; behind the last row there may be nothing.
  std::array<std::uint8_t, kEntries> table{};
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    std::memcpy(table.data(), buffers.inputs[0] + row * params.size, static_cast<std::size_t>(params.size));
    params.functions->bytes(table.data(), list,
                            reinterpret_cast<std::uint8_t*>(buffers.outputs[0]) + row * params.count, params.count);
  }
}

std::string refuse_gather_bytes(const CallView& call) {
  const Shape& x = *call.input(0).shape;
  const int axis = *normalize_axis(call.attrs->as<GatherAttrs>().axis, x.rank());
  if (size_of(call.input(0).dtype) != 1) return "needs elements of a byte";
  return axis == x.rank() - 1 && x[axis] >= 1 && x[axis] <= kEntries ? "" : "needs a last axis of 1 to 256";
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_gather_bytes(const CallView& call, const StepSpec&) {
  const Shape& x = *call.input(0).shape;
  GatherBytesParams params{.size = x[x.rank() - 1],
                           .count = call.input(1).elements(),
                           .has_64_bits = call.input(1).dtype == DType::s64,
                           .functions = &CompiledFor<LookupFunctions, isa>::table};
  params.chunks = Chunks::of(call.output().elements() == 0 ? 0 : x.elements(0, x.rank() - 1), 8 * params.count);
  const std::int64_t items = params.chunks.items();
  return make_step(params, items, run_gather_bytes, static_cast<std::size_t>(whole_lines(params.count)));
}

template <int kPicoseconds>
double gather_bytes_cost(const OpCall& call, const Machine&) {
  const Shape x = call.inputs[0]->shape;
  const auto rows = static_cast<double>(x.elements(0, x.rank() - 1));
  return 100.0 + 10.0 * rows + 1e-3 * kPicoseconds * static_cast<double>(call.outputs[0].shape.elements());
}

template <Isa isa, int kPicoseconds>
constexpr KernelChoice gather_bytes_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "gather",
                   .needs = isa,
                   .prepare = prepare_on<isa, refuse_gather_bytes, make_gather_bytes<isa>>()},
          .refusal = refusal_by<refuse_gather_bytes>,
          .cost = gather_bytes_cost<kPicoseconds>};
}

constexpr KernelChoice kGatherBytesChoices[] = {
    gather_bytes_kernel<Isa::scalar, 700>("gather_bytes_portable"),
    gather_bytes_kernel<Isa::avx2, 250>("gather_bytes_avx2"),
    gather_bytes_kernel<Isa::avx512, 150>("gather_bytes_avx512"),
    gather_bytes_kernel<Isa::neon, 250>("gather_bytes_neon"),
    gather_bytes_kernel<Isa::avx512vbmi, 50>("gather_bytes_avx512vbmi"),
};
constexpr auto kGatherBytesCodes = codes_of(kGatherBytesChoices);

}  // namespace

std::span<const KernelCode> gather_bytes_codes() { return kGatherBytesCodes; }
std::span<const KernelChoice> gather_bytes_choices() { return kGatherBytesChoices; }

}  // namespace octavo
