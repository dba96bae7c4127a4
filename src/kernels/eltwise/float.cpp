// f32 binary and unary functions, and the choice between two tensors of any type. Part of kernels/.
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/broadcast.h"
#include "kernels/call.h"
#include "kernels/compiled_for.h"
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
    case BinaryKind::pow: return functions.pow;
    default: return nullptr;
  }
}

struct FloatEltwiseBinaryParams {
  Broadcast broadcast;
  RowFunction function;
};

void run_float_eltwise_binary(const FloatEltwiseBinaryParams& params, const StepBuffers& buffers, ItemRange range) {
  params.broadcast.for_blocks(range, [&](const RowBlock& block) {
    F32Rows rows;
    place_rows(rows, block, buffers);
    params.function(rows);
  });
}

std::string refuse_float_eltwise_binary(const CallView& call) {
  if (call.input(0).dtype != DType::f32) return "needs f32";
  return row_function(CompiledFor<EltwiseFunctions, Isa::scalar>::table, call.attrs->as<BinaryAttrs>().kind) == nullptr
             ? "computes add, sub, mul, div, pow, min, max and prelu"
             : "";
}

Broadcast broadcast_of(const CallView& call) {
  const Shape* const operands[] = {call.input(0).shape, call.input(1).shape};
  return {*call.output().shape, operands};
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_float_eltwise_binary(const CallView& call, const StepSpec&) {
  FloatEltwiseBinaryParams params{
      broadcast_of(call), row_function(CompiledFor<EltwiseFunctions, isa>::table, call.attrs->as<BinaryAttrs>().kind)};
  const std::int64_t items = params.broadcast.items();
  return make_step(std::move(params), items, run_float_eltwise_binary);
}

// ---- comparisons ----

struct ComparisonParams {
  Broadcast broadcast;
  void (*function)(const F32Comparison&);
  bool is_swapped;  // b < a in place of a > b
};

void run_comparison(const ComparisonParams& params, const StepBuffers& buffers, ItemRange range) {
  params.broadcast.for_blocks(range, [&](const RowBlock& block) {
    F32Comparison rows;
    place_rows(rows, block, buffers);
    if (params.is_swapped) {
      std::swap(rows.a, rows.b);
      std::swap(rows.a_row_stride, rows.b_row_stride);
      std::swap(rows.a_step, rows.b_step);
    }
    params.function(rows);
  });
}

std::string refuse_comparison(const CallView& call) {
  const BinaryKind kind = call.attrs->as<BinaryAttrs>().kind;
  if (call.input(0).dtype != DType::f32) return "needs f32";
  return kind >= BinaryKind::equal && kind <= BinaryKind::less_or_equal ? "" : "computes comparisons";
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_comparison(const CallView& call, const StepSpec&) {
  const EltwiseFunctions& functions = CompiledFor<EltwiseFunctions, isa>::table;
  const BinaryKind kind = call.attrs->as<BinaryAttrs>().kind;
  const bool is_strict = kind == BinaryKind::greater || kind == BinaryKind::less;
  const bool is_swapped = kind == BinaryKind::greater || kind == BinaryKind::greater_or_equal;
  const auto function =
      kind == BinaryKind::equal ? functions.equal : (is_strict ? functions.less : functions.less_or_equal);
  ComparisonParams params{broadcast_of(call), function, is_swapped};
  const std::int64_t items = params.broadcast.items();
  return make_step(std::move(params), items, run_comparison);
}

// ---- mod ----

struct ModParams {
  Broadcast broadcast;
};

// The remainder is exact, so that every C library has the same.
void run_mod(const ModParams& params, const StepBuffers& buffers, ItemRange range) {
  params.broadcast.for_blocks(range, [&](const RowBlock& block) {
    F32Rows rows;
    place_rows(rows, block, buffers);
    for (std::int64_t r = 0; r < rows.rows; ++r) {
      const float* a = rows.a + r * rows.a_row_stride;
      const float* b = rows.b + r * rows.b_row_stride;
      for (std::int64_t i = 0; i < rows.n; ++i)
        rows.y[r * rows.n + i] = std::fmod(a[i * rows.a_step], b[i * rows.b_step]);
    }
  });
}

std::string refuse_mod(const CallView& call) {
  if (call.input(0).dtype != DType::f32) return "needs f32";
  return call.attrs->as<BinaryAttrs>().kind == BinaryKind::mod ? "" : "computes mod";
}

Result<std::unique_ptr<Step>> make_mod(const CallView& call, const StepSpec&) {
  ModParams params{broadcast_of(call)};
  const std::int64_t items = params.broadcast.items();
  return make_step(std::move(params), items, run_mod);
}

// ---- unary ----

struct FloatEltwiseUnaryParams {
  Chunks chunks;
  UnaryNumbers numbers;
  UnaryLine line;
};

void run_float_eltwise_unary(const FloatEltwiseUnaryParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange units = params.chunks.units_of(range);
  params.line(reinterpret_cast<const float*>(buffers.inputs[0]) + units.begin,
              reinterpret_cast<float*>(buffers.outputs[0]) + units.begin, units.end - units.begin, params.numbers);
}

struct TestParams {
  Chunks chunks;
  const EltwiseFunctions* functions;
  UnaryAttrs attrs;
};

void run_test(const TestParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange units = params.chunks.units_of(range);
  const auto* x = reinterpret_cast<const float*>(buffers.inputs[0]) + units.begin;
  auto* y = reinterpret_cast<std::uint8_t*>(buffers.outputs[0]) + units.begin;
  const std::int64_t n = units.end - units.begin;
  if (params.attrs.kind == UnaryKind::is_nan) return params.functions->is_nan(x, y, n);
  // NaN equals nothing: it stands for an infinity that does not count.
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNone = std::numeric_limits<float>::quiet_NaN();
  params.functions->is_one_of(x, y, n, params.attrs.alpha != 0.0f ? -kInfinity : kNone,
                              params.attrs.beta != 0.0f ? kInfinity : kNone);
}

std::string refuse_unary(const CallView& call) { return call.input(0).dtype == DType::f32 ? "" : "needs f32"; }

template <Isa isa>
Result<std::unique_ptr<Step>> make_float_eltwise_unary(const CallView& call, const StepSpec&) {
  const EltwiseFunctions& functions = CompiledFor<EltwiseFunctions, isa>::table;
  const auto& attrs = call.attrs->as<UnaryAttrs>();
  const Chunks chunks = Chunks::of(call.output().elements(), 4);
  if (is_test(attrs.kind)) return make_step(TestParams{chunks, &functions, attrs}, chunks.items(), run_test);
  const UnaryLine line = functions.unary.of[static_cast<int>(attrs.kind)];
  return make_step(FloatEltwiseUnaryParams{chunks, {attrs.alpha, attrs.beta}, line}, chunks.items(),
                   run_float_eltwise_unary);
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

std::string refuse_float_eltwise_nothing(const CallView&) { return {}; }

Result<std::unique_ptr<Step>> make_where(const CallView& call, const StepSpec&) {
  const Shape* const operands[] = {call.input(0).shape, call.input(1).shape, call.input(2).shape};
  WhereParams params{Broadcast(*call.output().shape, operands), size_of(call.output().dtype)};
  const std::int64_t items = params.broadcast.items();
  return make_step(std::move(params), items, run_where);
}

// ---- the kernels ----

template <int kPicoseconds>
double float_eltwise_cost(const OpCall& call, const Machine&) {
  return 100.0 + kPicoseconds / 1000.0 * static_cast<double>(call.outputs[0].shape.elements());
}

int same_shape_input(const OpCall& call) {
  const Fact& y = call.outputs[0];
  if (call.inputs[0]->same_type(y)) return 0;
  return call.inputs.size() > 1 && call.inputs[1]->same_type(y) ? 1 : -1;
}

// Picoseconds per element, of powers and elementary functions kMany times as many.
template <int kPicoseconds, int kMany>
double binary_cost(const OpCall& call, const Machine& machine) {
  const bool is_power = call.attrs->as<BinaryAttrs>().kind == BinaryKind::pow;
  return is_power ? float_eltwise_cost<kPicoseconds * kMany>(call, machine)
                  : float_eltwise_cost<kPicoseconds>(call, machine);
}

bool is_elementary(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::sigmoid:
    case UnaryKind::tanh:
    case UnaryKind::exp:
    case UnaryKind::log:
    case UnaryKind::erf:
    case UnaryKind::gelu:
    case UnaryKind::gelu_tanh:
    case UnaryKind::softplus:
    case UnaryKind::mish:
    case UnaryKind::silu:
    case UnaryKind::elu:
    case UnaryKind::selu:
    case UnaryKind::celu:
    case UnaryKind::sin:
    case UnaryKind::cos:
    case UnaryKind::tan:
    case UnaryKind::asin:
    case UnaryKind::acos:
    case UnaryKind::atan:
    case UnaryKind::sinh:
    case UnaryKind::cosh:
    case UnaryKind::asinh:
    case UnaryKind::acosh:
    case UnaryKind::atanh: return true;
    default: return false;
  }
}
template <int kPicoseconds, int kMany>
double unary_cost(const OpCall& call, const Machine& machine) {
  return is_elementary(call.attrs->as<UnaryAttrs>().kind) ? float_eltwise_cost<kPicoseconds * kMany>(call, machine)
                                                          : float_eltwise_cost<kPicoseconds>(call, machine);
}

template <Isa isa, int kPicoseconds, int kMany>
constexpr KernelChoice binary_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "binary",
                   .needs = isa,
                   .prepare = prepare_on<isa, refuse_float_eltwise_binary, make_float_eltwise_binary<isa>>(),
                   .in_place_input = same_shape_input},
          .refusal = refusal_by<refuse_float_eltwise_binary>,
          .cost = binary_cost<kPicoseconds, kMany>};
}
template <Isa isa, int kPicoseconds>
constexpr KernelChoice comparison_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "binary",
                   .needs = isa,
                   .prepare = prepare_on<isa, refuse_comparison, make_comparison<isa>>()},
          .refusal = refusal_by<refuse_comparison>,
          .cost = float_eltwise_cost<kPicoseconds>};
}
template <Isa isa, int kPicoseconds, int kMany>
constexpr KernelChoice unary_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "unary",
                   .needs = isa,
                   .prepare = prepare_on<isa, refuse_unary, make_float_eltwise_unary<isa>>(),
                   .in_place_input = same_shape_input},
          .refusal = refusal_by<refuse_unary>,
          .cost = unary_cost<kPicoseconds, kMany>};
}

constexpr KernelChoice kFloatEltwiseChoices[] = {
    binary_kernel<Isa::scalar, 1000, 100>("eltwise_binary_f32_portable"),
    binary_kernel<Isa::avx2, 500, 10>("eltwise_binary_f32_avx2"),
    binary_kernel<Isa::avx512, 400, 8>("eltwise_binary_f32_avx512"),
    binary_kernel<Isa::neon, 1000, 20>("eltwise_binary_f32_neon"),
    comparison_kernel<Isa::scalar, 1000>("eltwise_compare_f32_portable"),
    comparison_kernel<Isa::avx2, 300>("eltwise_compare_f32_avx2"),
    comparison_kernel<Isa::avx512, 250>("eltwise_compare_f32_avx512"),
    comparison_kernel<Isa::neon, 600>("eltwise_compare_f32_neon"),
    {.code = {.name = "eltwise_mod_f32_portable", .op = "binary", .prepare = prepare_by<refuse_mod, make_mod>},
     .refusal = refusal_by<refuse_mod>,
     .cost = float_eltwise_cost<20000>},
    unary_kernel<Isa::scalar, 1000, 40>("eltwise_unary_f32_portable"),
    unary_kernel<Isa::avx2, 250, 5>("eltwise_unary_f32_avx2"),
    unary_kernel<Isa::avx512, 200, 4>("eltwise_unary_f32_avx512"),
    unary_kernel<Isa::neon, 500, 10>("eltwise_unary_f32_neon"),
    {.code = {.name = "eltwise_where_portable",
              .op = "where",
              .prepare = prepare_by<refuse_float_eltwise_nothing, make_where>},
     .refusal = refusal_by<refuse_float_eltwise_nothing>,
     .cost = float_eltwise_cost<1500>},
};
constexpr auto kFloatEltwiseCodes = codes_of(kFloatEltwiseChoices);

}  // namespace

std::span<const KernelCode> float_eltwise_codes() { return kFloatEltwiseCodes; }
std::span<const KernelChoice> float_eltwise_choices() { return kFloatEltwiseChoices; }

}  // namespace octavo
