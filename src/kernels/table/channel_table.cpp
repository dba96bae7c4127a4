// A 256-entry table for each channel. Part of kernels/.
#include "kernels/table/channel_table.h"

#include "kernels/call.h"
#include "kernels/table/lookup.h"
#include "ops/channel_table/channel_table.h"

namespace octavo {
namespace {

struct ChannelTableParams {
  std::vector<std::int64_t> channels;
  std::int64_t from;
  std::int64_t entry_bytes;
  Chunks pixels;
  LookupChannels lookup;
};

template <class Entry>
void lookup_entries(const ChannelLookup& lookup, const std::uint8_t* x, std::byte* y, std::int64_t pixels) {
  const auto* table = reinterpret_cast<const Entry*>(lookup.table);
  auto* to = reinterpret_cast<Entry*>(y);
  for (std::int64_t p = 0; p < pixels; ++p) {
    for (std::int64_t c = 0; c < lookup.to; ++c)
      to[p * lookup.to + c] = table[c * 256 + x[p * lookup.from + lookup.channels[c]]];
  }
}

// Pixels of three channels, what most pictures have: tables and channels stay in registers.
template <class Entry>
void lookup_three(const ChannelLookup& lookup, const std::uint8_t* x, std::byte* y, std::int64_t pixels) {
  const auto* table = reinterpret_cast<const Entry*>(lookup.table);
  auto* to = reinterpret_cast<Entry*>(y);
  const std::int64_t first = lookup.channels[0], second = lookup.channels[1], third = lookup.channels[2];
  for (std::int64_t p = 0; p < pixels; ++p, x += lookup.from, to += 3) {
    const Entry a = table[x[first]], b = table[256 + x[second]], c = table[512 + x[third]];
    to[0] = a;
    to[1] = b;
    to[2] = c;
  }
}

LookupChannels portable_lookup(std::int64_t channels, std::size_t entry_bytes) {
  if (entry_bytes == 1) return channels == 3 ? lookup_three<std::uint8_t> : lookup_entries<std::uint8_t>;
  return channels == 3 ? lookup_three<std::uint32_t> : lookup_entries<std::uint32_t>;
}

void run_channel_table(const ChannelTableParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange pixels = params.pixels.units_of(range);
  const auto to = static_cast<std::int64_t>(params.channels.size());
  params.lookup({buffers.inputs[1], params.channels.data(), params.from, to},
                reinterpret_cast<const std::uint8_t*>(buffers.inputs[0]) + pixels.begin * params.from,
                buffers.outputs[0] + pixels.begin * to * params.entry_bytes, pixels.end - pixels.begin);
}

std::int64_t last_of(const OperandType& operand) { return (*operand.shape)[operand.shape->rank() - 1]; }

std::string refuse_channel_table_nothing(const CallView&) { return {}; }
std::string refuse_vbmi(const CallView& call) {
  if (size_of(call.output().dtype) != 1) return "needs entries of 8 bits";
  return last_of(call.output()) == 3 && last_of(call.input(0)) <= 3 ? "" : "needs three channels of at most three";
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_channel_table(const CallView& call, const StepSpec&) {
  const auto& channels = call.attrs->as<ChannelTableAttrs>().channels;
  const auto to = static_cast<std::int64_t>(channels.size());
  const std::size_t entry_bytes = size_of(call.output().dtype);
  const std::int64_t bytes = to * static_cast<std::int64_t>(entry_bytes);
  const Chunks pixels = Chunks::of(to == 0 ? 0 : call.output().elements() / to, bytes);
  const LookupChannels lookup = isa == Isa::scalar ? portable_lookup(to, entry_bytes) : lookup_three_avx512vbmi;
  ChannelTableParams params{channels, last_of(call.input(0)), static_cast<std::int64_t>(entry_bytes), pixels, lookup};
  return make_step(std::move(params), pixels.items(), run_channel_table);
}

template <Isa isa>
double channel_table_cost(const OpCall& call, const Machine&) {
  constexpr double element_ns = isa == Isa::scalar ? 0.5 : 0.07;
  return 50.0 + element_ns * static_cast<double>(call.outputs[0].shape.elements());
}

template <Isa isa, Refuse refuse>
constexpr KernelChoice channel_table_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "channel_table",
                   .needs = isa,
                   .prepare = prepare_on<isa, refuse, make_channel_table<isa>>()},
          .refusal = refusal_by<refuse>,
          .cost = channel_table_cost<isa>};
}

constexpr KernelChoice kChannelTableChoices[] = {
    channel_table_kernel<Isa::scalar, refuse_channel_table_nothing>("channel_table_portable"),
    channel_table_kernel<Isa::avx512vbmi, refuse_vbmi>("channel_table_avx512vbmi"),
};
constexpr auto kChannelTableCodes = codes_of(kChannelTableChoices);

}  // namespace

std::span<const KernelCode> channel_table_codes() { return kChannelTableCodes; }
std::span<const KernelChoice> channel_table_choices() { return kChannelTableChoices; }

}  // namespace octavo
