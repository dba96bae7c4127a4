// fixed_binary on rows: any broadcasting. Part of kernels/.
#include "kernels/broadcast.h"
#include "kernels/call.h"
#include "kernels/fixed/fixed.h"
#include "kernels/fixed/rows.h"
#include "ops/fixed_binary/fixed_binary.h"
#include "ops/integers.h"

namespace octavo {
namespace {

struct Params {
  Broadcast broadcast;
  FixedBinaryAttrs attrs;
  DType a = DType::u8, b = DType::u8;
};

std::string refuse(const CallView& call) {
  return is_8bit(call.input(0).dtype) && is_8bit(call.input(1).dtype) ? "" : "needs 8-bit operands";
}

void run(const Params& params, const StepBuffers& buffers, ItemRange range) {
  // By value: stores of bytes may alias anything reached through a pointer.
  const FixedBinaryAttrs attrs = params.attrs;
  params.broadcast.for_blocks(range, [&](const RowBlock& block) {
    for (std::int64_t row = 0; row < block.rows; ++row) {
      const std::byte* a = buffers.inputs[0] + block.offset[0] + row * block.row_stride[0];
      const std::byte* b = buffers.inputs[1] + block.offset[1] + row * block.row_stride[1];
      std::byte* y = buffers.outputs[0] + block.y_offset + row * block.n;
      for (std::int64_t i = 0; i < block.n; ++i) {
        store_8bit(y, i,
                   attrs.apply(load_8bit(a, params.a, i * block.step[0]), load_8bit(b, params.b, i * block.step[1])));
      }
    }
  });
}

Result<std::unique_ptr<Step>> make(const CallView& call, const StepSpec&) {
  const Shape* const operands[] = {call.input(0).shape, call.input(1).shape};
  Broadcast broadcast(*call.output().shape, operands);
  const std::int64_t items = broadcast.items();
  return make_step(
      Params{std::move(broadcast), call.attrs->as<FixedBinaryAttrs>(), call.input(0).dtype, call.input(1).dtype}, items,
      run);
}

// Scalar code: three products of 64 bits per element.
double cost(const OpCall& call, const Machine&) {
  return 100.0 + 6.0 * static_cast<double>(call.outputs[0].shape.elements());
}

// ---- vectors: sums, differences and products of u8 ----

using PairsFunction = void (*)(const FixedPairs&);

struct PairParams {
  Broadcast broadcast;
  FixedPairs pairs;  // without pointers, rows and steps
  PairsFunction function = nullptr;
};

std::string refuse_pairs(const CallView& call) {
  if (call.attrs->as<FixedBinaryAttrs>().form.kind == FixedBinaryKind::prelu) return "has no prelu";
  return call.input(0).dtype == DType::u8 && call.input(1).dtype == DType::u8 ? "" : "needs u8 operands";
}

void run_pairs(const PairParams& params, const StepBuffers& buffers, ItemRange range) {
  params.broadcast.for_blocks(range, [&](const RowBlock& block) {
    FixedPairs pairs = params.pairs;
    place_rows(pairs, block, buffers);
    params.function(pairs);
  });
}

PairsFunction function_of(const FixedFunctions& functions, const FixedBinaryAttrs& attrs) {
  const bool is_once = attrs.profile == Profile::tflite_single;
  switch (attrs.form.kind) {
    case FixedBinaryKind::add: return is_once ? functions.add_once : functions.add_twice;
    case FixedBinaryKind::sub: return is_once ? functions.sub_once : functions.sub_twice;
    default: return is_once ? functions.mul_once : functions.mul_twice;
  }
}

FixedRowFactor row_factor(const FixedMultiplier& factor) { return {factor.multiplier, factor.shift}; }

template <const FixedFunctions& functions>
Result<std::unique_ptr<Step>> make_pairs(const CallView& call, const StepSpec&) {
  const auto& attrs = call.attrs->as<FixedBinaryAttrs>();
  const Shape* const operands[] = {call.input(0).shape, call.input(1).shape};
  Broadcast broadcast(*call.output().shape, operands);
  const std::int64_t items = broadcast.items();
  const FixedPairs pairs{.a_factor = row_factor(attrs.form.a),
                         .b_factor = row_factor(attrs.form.b),
                         .y_factor = row_factor(attrs.form.y),
                         .a_zero_point = attrs.a_zero_point,
                         .b_zero_point = attrs.b_zero_point,
                         .zero_point = attrs.zero_point,
                         .lowest = attrs.lowest,
                         .highest = attrs.highest};
  return make_step(PairParams{std::move(broadcast), pairs, function_of(functions, attrs)}, items, run_pairs);
}

template <Isa isa>
double cost_of_pairs(const OpCall& call, const Machine&) {
  return 100.0 + (isa == Isa::avx2 ? 1.2 : 0.7) * static_cast<double>(call.outputs[0].shape.elements());
}

template <const FixedFunctions& functions, Isa isa>
constexpr KernelChoice pairs_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "fixed_binary",
                   .needs = isa,
                   .prepare = prepare_by<refuse_pairs, make_pairs<functions>>},
          .refusal = refusal_by<refuse_pairs>,
          .cost = cost_of_pairs<isa>};
}

constexpr KernelChoice kChoices[] = {
    {.code = {.name = "fixed_binary_portable", .op = "fixed_binary", .prepare = prepare_by<refuse, make>},
     .refusal = refusal_by<refuse>,
     .cost = cost},
    pairs_kernel<kFixedAvx2, Isa::avx2>("fixed_binary_u8_avx2"),
    pairs_kernel<kFixedAvx512, Isa::avx512>("fixed_binary_u8_avx512"),
};
constexpr auto kCodes = codes_of(kChoices);

}  // namespace

std::span<const KernelCode> fixed_binary_codes() { return kCodes; }
std::span<const KernelChoice> fixed_binary_choices() { return kChoices; }

}  // namespace octavo
