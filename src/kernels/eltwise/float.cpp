// f32 binary and unary functions, and the choice between two tensors of any type. Part of kernels/.
#include <cmath>

#include "base/math.h"
#include "kernels/broadcast.h"
#include "kernels/call.h"
#include "kernels/eltwise/eltwise.h"
#include "kernels/eltwise/rows.h"
#include "ops/binary/binary.h"
#include "ops/unary/unary.h"

namespace octavo {
namespace {

// ---- binary ----

// Kinds with a function of rows; null for the others.
using RowFunction = void (*)(const F32Rows&);
RowFunction row_function(const EltwiseFunctions& functions, BinaryKind kind) {
  switch (kind) {
    case BinaryKind::add: return functions.add;
    case BinaryKind::sub: return functions.sub;
    case BinaryKind::mul: return functions.mul;
    case BinaryKind::div: return functions.div;
    case BinaryKind::min: return functions.min;
    case BinaryKind::max: return functions.max;
    case BinaryKind::prelu: return functions.prelu;
    default: return nullptr;
  }
}

struct BinaryParams {
  Broadcast broadcast;
  RowFunction function;
};

void run_binary(const BinaryParams& params, const StepBuffers& buffers, ItemRange range) {
  params.broadcast.for_blocks(range, [&](const RowBlock& block) {
    F32Rows rows;
    place_rows(rows, block, buffers);
    params.function(rows);
  });
}

std::string refuse_binary(const CallView& call) {
  if (call.input(0).dtype != DType::f32) return "needs f32";
  return row_function(kEltwiseScalar, call.attrs->as<BinaryAttrs>().kind) == nullptr
             ? "computes add, sub, mul, div, min, max and prelu"
             : "";
}

Broadcast broadcast_of(const CallView& call) {
  const Shape* const operands[] = {call.input(0).shape, call.input(1).shape};
  return {*call.output().shape, operands};
}

template <const EltwiseFunctions& functions>
Result<std::unique_ptr<Step>> make_binary(const CallView& call, const StepSpec&) {
  BinaryParams params{broadcast_of(call), row_function(functions, call.attrs->as<BinaryAttrs>().kind)};
  const std::int64_t items = params.broadcast.items();
  return make_step(std::move(params), items, run_binary);
}

// The kinds that give booleans, and those that need scalar functions.
struct OtherParams {
  Broadcast broadcast;
  BinaryKind kind;
};

bool compare(BinaryKind kind, float a, float b) {
  switch (kind) {
    case BinaryKind::equal: return a == b;
    case BinaryKind::greater: return a > b;
    case BinaryKind::greater_or_equal: return a >= b;
    case BinaryKind::less: return a < b;
    default: return a <= b;
  }
}

void run_other(const OtherParams& params, const StepBuffers& buffers, ItemRange range) {
  params.broadcast.for_blocks(range, [&](const RowBlock& block) {
    for (std::int64_t r = 0; r < block.rows; ++r) {
      const float* a = reinterpret_cast<const float*>(buffers.inputs[0]) + block.offset[0] + r * block.row_stride[0];
      const float* b = reinterpret_cast<const float*>(buffers.inputs[1]) + block.offset[1] + r * block.row_stride[1];
      const std::int64_t first = block.y_offset + r * block.n;
      for (std::int64_t i = 0; i < block.n; ++i) {
        const float left = a[i * block.step[0]], right = b[i * block.step[1]];
        if (params.kind == BinaryKind::pow)
          reinterpret_cast<float*>(buffers.outputs[0])[first + i] = static_cast<float>(math_pow(left, right));
        else if (params.kind == BinaryKind::mod)
          reinterpret_cast<float*>(buffers.outputs[0])[first + i] = std::fmod(left, right);
        else buffers.outputs[0][first + i] = static_cast<std::byte>(compare(params.kind, left, right) ? 1 : 0);
      }
    }
  });
}

std::string refuse_other(const CallView& call) {
  const BinaryKind kind = call.attrs->as<BinaryAttrs>().kind;
  const bool is_comparison = kind >= BinaryKind::equal && kind <= BinaryKind::less_or_equal;
  if (call.input(0).dtype != DType::f32) return "needs f32";
  return is_comparison || kind == BinaryKind::pow || kind == BinaryKind::mod ? "" : "computes pow, mod and comparisons";
}

Result<std::unique_ptr<Step>> make_other(const CallView& call, const StepSpec&) {
  OtherParams params{broadcast_of(call), call.attrs->as<BinaryAttrs>().kind};
  const std::int64_t items = params.broadcast.items();
  return make_step(std::move(params), items, run_other);
}

// ---- unary ----

F32Function line_function(const EltwiseFunctions& functions, UnaryKind kind) {
  switch (kind) {
    case UnaryKind::relu: return functions.relu;
    case UnaryKind::clip: return functions.clip;
    case UnaryKind::leaky_relu: return functions.leaky_relu;
    case UnaryKind::hard_sigmoid: return functions.hard_sigmoid;
    case UnaryKind::hard_swish: return functions.hard_swish;
    case UnaryKind::abs: return functions.abs;
    case UnaryKind::neg: return functions.neg;
    case UnaryKind::sqrt: return functions.sqrt;
    case UnaryKind::reciprocal: return functions.reciprocal;
    default: return nullptr;
  }
}

struct UnaryParams {
  Chunks chunks;
  UnaryAttrs attrs;
  F32Function function;
};

void run_unary(const UnaryParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange units = params.chunks.units_of(range);
  const auto* x = reinterpret_cast<const float*>(buffers.inputs[0]) + units.begin;
  auto* y = reinterpret_cast<float*>(buffers.outputs[0]) + units.begin;
  params.function(
      {.x = x, .y = y, .n = units.end - units.begin, .alpha = params.attrs.alpha, .beta = params.attrs.beta});
}

std::string refuse_unary(const CallView& call) {
  if (call.input(0).dtype != DType::f32) return "needs f32";
  return line_function(kEltwiseScalar, call.attrs->as<UnaryAttrs>().kind) == nullptr
             ? "computes no elementary functions"
             : "";
}

template <const EltwiseFunctions& functions>
Result<std::unique_ptr<Step>> make_unary(const CallView& call, const StepSpec&) {
  const auto& attrs = call.attrs->as<UnaryAttrs>();
  const Chunks chunks = Chunks::of(call.output().elements(), 4);
  return make_step(UnaryParams{chunks, attrs, line_function(functions, attrs.kind)}, chunks.items(), run_unary);
}

// ---- where ----

struct WhereParams {
  Broadcast broadcast;
  std::size_t element_bytes;
};

template <class T>
void pick_rows(const RowBlock& block, const StepBuffers& buffers) {
  for (std::int64_t r = 0; r < block.rows; ++r) {
    const auto* condition =
        reinterpret_cast<const std::uint8_t*>(buffers.inputs[0]) + block.offset[0] + r * block.row_stride[0];
    const T* a = reinterpret_cast<const T*>(buffers.inputs[1]) + block.offset[1] + r * block.row_stride[1];
    const T* b = reinterpret_cast<const T*>(buffers.inputs[2]) + block.offset[2] + r * block.row_stride[2];
    T* y = reinterpret_cast<T*>(buffers.outputs[0]) + block.y_offset + r * block.n;
    for (std::int64_t i = 0; i < block.n; ++i)
      y[i] = condition[i * block.step[0]] != 0 ? a[i * block.step[1]] : b[i * block.step[2]];
  }
}

void run_where(const WhereParams& params, const StepBuffers& buffers, ItemRange range) {
  params.broadcast.for_blocks(range, [&](const RowBlock& block) {
    switch (params.element_bytes) {
      case 1: return pick_rows<std::uint8_t>(block, buffers);
      case 2: return pick_rows<std::uint16_t>(block, buffers);
      case 4: return pick_rows<std::uint32_t>(block, buffers);
      default: return pick_rows<std::uint64_t>(block, buffers);
    }
  });
}

std::string refuse_nothing(const CallView&) { return {}; }

Result<std::unique_ptr<Step>> make_where(const CallView& call, const StepSpec&) {
  const Shape* const operands[] = {call.input(0).shape, call.input(1).shape, call.input(2).shape};
  WhereParams params{Broadcast(*call.output().shape, operands), size_of(call.output().dtype)};
  const std::int64_t items = params.broadcast.items();
  return make_step(std::move(params), items, run_where);
}

// ---- the kernels ----

template <int kPicoseconds>
double cost(const OpCall& call, const Machine&) {
  return 100.0 + kPicoseconds / 1000.0 * static_cast<double>(call.outputs[0].shape.elements());
}

int same_shape_input(const OpCall& call) {
  const Fact& y = call.outputs[0];
  if (call.inputs[0]->same_type(y)) return 0;
  return call.inputs.size() > 1 && call.inputs[1]->same_type(y) ? 1 : -1;
}

template <const EltwiseFunctions& functions, Isa isa, int kPicoseconds>
constexpr KernelChoice binary_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "binary",
                   .needs = isa,
                   .prepare = prepare_by<refuse_binary, make_binary<functions>>,
                   .in_place_input = same_shape_input},
          .refusal = refusal_by<refuse_binary>,
          .cost = cost<kPicoseconds>};
}
template <const EltwiseFunctions& functions, Isa isa, int kPicoseconds>
constexpr KernelChoice unary_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "unary",
                   .needs = isa,
                   .prepare = prepare_by<refuse_unary, make_unary<functions>>,
                   .in_place_input = same_shape_input},
          .refusal = refusal_by<refuse_unary>,
          .cost = cost<kPicoseconds>};
}

constexpr KernelChoice kChoices[] = {
    binary_kernel<kEltwiseScalar, Isa::scalar, 1000>("eltwise_binary_f32_portable"),
    binary_kernel<kEltwiseAvx2, Isa::avx2, 500>("eltwise_binary_f32_avx2"),
    binary_kernel<kEltwiseAvx512, Isa::avx512, 400>("eltwise_binary_f32_avx512"),
    {.code = {.name = "eltwise_compare_f32_portable", .op = "binary", .prepare = prepare_by<refuse_other, make_other>},
     .refusal = refusal_by<refuse_other>,
     .cost = cost<3000>},
    unary_kernel<kEltwiseScalar, Isa::scalar, 2000>("eltwise_unary_f32_portable"),
    unary_kernel<kEltwiseAvx2, Isa::avx2, 700>("eltwise_unary_f32_avx2"),
    unary_kernel<kEltwiseAvx512, Isa::avx512, 600>("eltwise_unary_f32_avx512"),
    {.code = {.name = "eltwise_where_portable", .op = "where", .prepare = prepare_by<refuse_nothing, make_where>},
     .refusal = refusal_by<refuse_nothing>,
     .cost = cost<1500>},
};
constexpr auto kCodes = codes_of(kChoices);

}  // namespace

std::span<const KernelCode> float_eltwise_codes() { return kCodes; }
std::span<const KernelChoice> float_eltwise_choices() { return kChoices; }

}  // namespace octavo
