// 256-entry lookup of 8-bit values. Part of kernels/.
#include "kernels/table/table.h"

#include "kernels/call.h"
#include "kernels/compiled_for.h"
#include "kernels/table/lookup.h"

namespace octavo {
namespace {

struct TableParams {
  Chunks chunks;
  std::int64_t entry_bytes;
  const LookupFunctions* functions;
};

std::string refuse_table(const CallView& call) {
  if (!is_8bit(call.input(0).dtype)) return "needs 8-bit values";
  const std::size_t entry = size_of(call.output().dtype);
  return entry == 1 || entry == 4 ? "" : "needs entries of 1 or 4 bytes";
}

void run_table(const TableParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange units = params.chunks.units_of(range);
  const auto* x = reinterpret_cast<const std::uint8_t*>(buffers.inputs[0]) + units.begin;
  std::byte* y = buffers.outputs[0] + units.begin * params.entry_bytes;
  const std::int64_t n = units.end - units.begin;
  if (params.entry_bytes == 1) {
    params.functions->bytes(reinterpret_cast<const std::uint8_t*>(buffers.inputs[1]), x,
                            reinterpret_cast<std::uint8_t*>(y), n);
  } else {
    params.functions->words(reinterpret_cast<const std::uint32_t*>(buffers.inputs[1]), x,
                            reinterpret_cast<std::uint32_t*>(y), n);
  }
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_table(const CallView& call, const StepSpec&) {
  const auto entry_bytes = static_cast<std::int64_t>(size_of(call.output().dtype));
  const Chunks chunks = Chunks::of(call.output().elements(), entry_bytes);
  return make_step(TableParams{chunks, entry_bytes, &CompiledFor<LookupFunctions, isa>::table}, chunks.items(),
                   run_table);
}

template <Isa isa>
double table_cost(const OpCall& call, const Machine&) {
  constexpr double byte_ns = isa == Isa::avx512vbmi ? 0.05 : by_width(isa, {0.5, 0.25, 0.15});
  const double n = static_cast<double>(call.outputs[0].shape.elements());
  return 50.0 + n * (size_of(call.outputs[0].dtype) == 1 ? byte_ns : 0.5);
}

int table_in_place_input(const OpCall& call) { return size_of(call.outputs[0].dtype) == 1 ? 0 : -1; }

template <Isa isa>
constexpr KernelChoice table_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "table",
                   .needs = isa,
                   .prepare = prepare_on<isa, refuse_table, make_table<isa>>(),
                   .in_place_input = table_in_place_input},
          .refusal = refusal_by<refuse_table>,
          .cost = table_cost<isa>};
}

constexpr KernelChoice kTableChoices[] = {
    table_kernel<Isa::scalar>("table_portable"),       table_kernel<Isa::avx2>("table_avx2"),
    table_kernel<Isa::avx512>("table_avx512"),         table_kernel<Isa::neon>("table_neon"),
    table_kernel<Isa::avx512vbmi>("table_avx512vbmi"),
};
constexpr auto kTableCodes = codes_of(kTableChoices);

}  // namespace

bool flips_sign(const std::uint8_t* table) {
  std::uint8_t differs = 0;  // without an end before the last: in vectors
  for (int i = 0; i < 256; ++i) differs |= static_cast<std::uint8_t>(table[i] ^ i ^ 0x80);
  return differs == 0;
}

const LookupFunctions& lookup_of_avx512() {
  return host_machine().isa.has(Isa::avx512vbmi) ? CompiledFor<LookupFunctions, Isa::avx512vbmi>::table
                                                 : CompiledFor<LookupFunctions, Isa::avx512>::table;
}

const LookupFunctions& lookup_of_8_lanes() {
  return host_machine().isa.has(Isa::neon) ? CompiledFor<LookupFunctions, Isa::neon>::table
                                           : CompiledFor<LookupFunctions, Isa::avx2>::table;
}

std::span<const KernelCode> table_codes() { return kTableCodes; }
std::span<const KernelChoice> table_choices() { return kTableChoices; }

}  // namespace octavo
