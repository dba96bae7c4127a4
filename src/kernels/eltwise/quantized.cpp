// quantized_binary on rows: any broadcasting, optional table. Part of kernels/.
#include "kernels/broadcast.h"
#include "kernels/call.h"
#include "kernels/eltwise/eltwise.h"
#include "kernels/eltwise/rows.h"
#include "ops/quantized_binary/quantized_binary.h"

namespace octavo {
namespace {

struct Params {
  Broadcast broadcast;
  QuantizedRows rows;  // without pointers and sizes
  void (*function)(const QuantizedRows&);
};

// Differences of operands and such values, and products of two differences, are exact in f32.
bool is_small(std::int32_t value) { return value >= -512 && value <= 512; }

std::string refuse(const CallView& call) {
  const auto& attrs = call.attrs->as<QuantizedBinaryAttrs>();
  if (!is_8bit(call.input(0).dtype) || !is_8bit(call.input(1).dtype) || size_of(call.output().dtype) != 1)
    return "needs 8-bit operands and result";
  if (!is_small(attrs.a_zero_point) || !is_small(attrs.b_zero_point) || !is_small(attrs.add.shift))
    return "needs 8-bit zero points";
  return {};
}

void run(const Params& params, const StepBuffers& buffers, ItemRange range) {
  params.broadcast.for_blocks(range, [&](const RowBlock& block) {
    QuantizedRows rows = params.rows;
    place_rows(rows, block, buffers);
    rows.table = buffers.inputs.size() > 2 ? reinterpret_cast<const std::uint8_t*>(buffers.inputs[2]) : nullptr;
    params.function(rows);
  });
}

QuantizedRows rows_of(const QuantizedBinaryAttrs& attrs, const CallView& call) {
  const bool is_add = attrs.kind == QuantizedBinaryKind::add;
  return {.a_is_signed = call.input(0).dtype == DType::s8,
          .b_is_signed = call.input(1).dtype == DType::s8,
          .a_zero_point = static_cast<float>(is_add ? attrs.add.shift : attrs.a_zero_point),
          .b_zero_point = static_cast<float>(is_add ? attrs.add.shift : attrs.b_zero_point),
          .a_ratio = attrs.add.a_ratio,
          .b_ratio = attrs.add.b_ratio,
          .ratio = attrs.ratio,
          .fixed = is_add ? attrs.add.fixed : static_cast<float>(attrs.zero_point),
          .lowest = static_cast<float>(attrs.lowest),
          .highest = static_cast<float>(attrs.highest),
          .shift = is_add ? attrs.add.shift : attrs.shift,
          .a_multiplier = attrs.integer_add.a_multiplier,
          .b_multiplier = attrs.integer_add.b_multiplier,
          .bias = attrs.integer_add.bias,
          .right_shift = attrs.integer_add.right_shift,
          .zero_point = attrs.integer_add.zero_point,
          .integer_lowest = attrs.lowest,
          .integer_highest = attrs.highest};
}

auto function_of(QuantizedBinaryKind kind, const EltwiseFunctions& functions) {
  switch (kind) {
    case QuantizedBinaryKind::add: return functions.quantized_add;
    case QuantizedBinaryKind::mul: return functions.quantized_mul;
    case QuantizedBinaryKind::integer_add: break;
  }
  return functions.integer_add;
}

template <const EltwiseFunctions& functions>
Result<std::unique_ptr<Step>> make(const CallView& call, const StepSpec&) {
  const auto& attrs = call.attrs->as<QuantizedBinaryAttrs>();
  const Shape* const operands[] = {call.input(0).shape, call.input(1).shape};
  Broadcast broadcast(*call.output().shape, operands);
  const std::int64_t items = broadcast.items();
  return make_step(Params{std::move(broadcast), rows_of(attrs, call), function_of(attrs.kind, functions)}, items, run);
}

// Nanoseconds per element, measured on 16 KB chunks in L2.
template <Isa isa>
double cost(const OpCall& call, const Machine&) {
  constexpr double per_element = isa == Isa::scalar ? 4.0 : (isa == Isa::avx2 ? 0.25 : 0.15);
  const bool has_table = view_of(call).input(2).exists();
  return 100.0 + static_cast<double>(call.outputs[0].shape.elements()) * per_element * (has_table ? 3.0 : 1.0);
}

int in_place_input(const OpCall& call) {
  const Shape& result = call.outputs[0].shape;
  if (call.inputs[0]->shape == result) return 0;
  return call.inputs[1]->shape == result ? 1 : -1;
}

template <const EltwiseFunctions& functions, Isa isa>
constexpr KernelChoice kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "quantized_binary",
                   .needs = isa,
                   .prepare = prepare_by<refuse, make<functions>>,
                   .in_place_input = in_place_input},
          .refusal = refusal_by<refuse>,
          .cost = cost<isa>};
}

constexpr KernelChoice kChoices[] = {
    kernel<kEltwiseScalar, Isa::scalar>("eltwise_q8_portable"),
    kernel<kEltwiseAvx2, Isa::avx2>("eltwise_q8_avx2"),
    kernel<kEltwiseAvx512, Isa::avx512>("eltwise_q8_avx512"),
};
constexpr auto kCodes = codes_of(kChoices);

}  // namespace

std::span<const KernelCode> quantized_eltwise_codes() { return kCodes; }
std::span<const KernelChoice> quantized_eltwise_choices() { return kChoices; }

}  // namespace octavo
