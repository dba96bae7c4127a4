// binary and unary of integers and booleans: indices, masks and lengths that a network computes; binary of f64. Part of
// kernels/.
#include "ops/binary/integers.h"

#include "kernels/broadcast.h"
#include "kernels/call.h"
#include "kernels/eltwise/eltwise.h"
#include "ops/unary/integers.h"

namespace octavo {
namespace {

// Calls `body` with a value of the element type, booleans as bytes.
template <class Body>
void with_type(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::s8: return body(std::int8_t{});
    case DType::u16: return body(std::uint16_t{});
    case DType::s16: return body(std::int16_t{});
    case DType::u32: return body(std::uint32_t{});
    case DType::s32: return body(std::int32_t{});
    case DType::u64: return body(std::uint64_t{});
    case DType::s64: return body(std::int64_t{});
    case DType::f64: return body(double{});
    default: return body(std::uint8_t{});
  }
}

std::string refuse_integer_eltwise(const CallView& call) {
  const DType dtype = call.input(0).dtype;
  return is_integer(dtype) || dtype == DType::boolean ? "" : "needs integers or booleans";
}
std::string refuse_integer_eltwise_binary(const CallView& call) {
  return call.input(0).dtype == DType::f64 || refuse_integer_eltwise(call).empty() ? ""
                                                                                   : "needs integers, booleans or f64";
}

template <class T>
T value_of(BinaryKind kind, T a, T b) {
  if constexpr (std::is_same_v<T, double>) return binary_f64(kind, a, b);
  else return integer_binary<T>(kind, a, b);
}

struct IntegerEltwiseBinaryParams {
  Broadcast broadcast;
  BinaryKind kind;
  DType dtype, to;
};

template <class T>
void run_integer_eltwise_rows(const IntegerEltwiseBinaryParams& params, const RowBlock& block,
                              const StepBuffers& buffers) {
  for (std::int64_t r = 0; r < block.rows; ++r) {
    const T* a = reinterpret_cast<const T*>(buffers.inputs[0]) + block.offset[0] + r * block.row_stride[0];
    const T* b = reinterpret_cast<const T*>(buffers.inputs[1]) + block.offset[1] + r * block.row_stride[1];
    const std::int64_t first = block.y_offset + r * block.n;
    for (std::int64_t i = 0; i < block.n; ++i) {
      const T left = a[i * block.step[0]], right = b[i * block.step[1]];
      if (params.to == DType::boolean)
        reinterpret_cast<std::uint8_t*>(buffers.outputs[0])[first + i] = compare<T>(params.kind, left, right) ? 1 : 0;
      else reinterpret_cast<T*>(buffers.outputs[0])[first + i] = value_of<T>(params.kind, left, right);
    }
  }
}

void run_integer_eltwise_binary(const IntegerEltwiseBinaryParams& params, const StepBuffers& buffers, ItemRange range) {
  with_type(params.dtype, [&]<class T>(T) {
    params.broadcast.for_blocks(range,
                                [&](const RowBlock& block) { run_integer_eltwise_rows<T>(params, block, buffers); });
  });
}

Result<std::unique_ptr<Step>> make_integer_eltwise_binary(const CallView& call, const StepSpec&) {
  const Shape* const operands[] = {call.input(0).shape, call.input(1).shape};
  IntegerEltwiseBinaryParams params{Broadcast(*call.output().shape, operands), call.attrs->as<BinaryAttrs>().kind,
                                    call.input(0).dtype, call.output().dtype};
  const std::int64_t items = params.broadcast.items();
  return make_step(std::move(params), items, run_integer_eltwise_binary);
}

struct IntegerEltwiseUnaryParams {
  Chunks chunks;
  UnaryAttrs attrs;
  DType dtype;
};

template <class T>
void run_integer_eltwise_integers(const IntegerEltwiseUnaryParams& params, const StepBuffers& buffers,
                                  ItemRange elements) {
  const T* x = reinterpret_cast<const T*>(buffers.inputs[0]);
  T* y = reinterpret_cast<T*>(buffers.outputs[0]);
  for (std::int64_t i = elements.begin; i < elements.end; ++i) y[i] = integer_unary<T>(params.attrs, x[i]);
}

void run_integer_eltwise_unary(const IntegerEltwiseUnaryParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange units = params.chunks.units_of(range);
  with_type(params.dtype, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>) run_integer_eltwise_integers<T>(params, buffers, units);
  });
}

void run_boolean(const IntegerEltwiseUnaryParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange units = params.chunks.units_of(range);
  const auto* x = reinterpret_cast<const std::uint8_t*>(buffers.inputs[0]);
  auto* y = reinterpret_cast<std::uint8_t*>(buffers.outputs[0]);
  for (std::int64_t i = units.begin; i < units.end; ++i) y[i] = boolean_unary(params.attrs, x[i]);
}

Result<std::unique_ptr<Step>> make_integer_eltwise_unary(const CallView& call, const StepSpec&) {
  const IntegerEltwiseUnaryParams params{Chunks::of(call.output().elements(), 4), call.attrs->as<UnaryAttrs>(),
                                         call.input(0).dtype};
  return make_step(IntegerEltwiseUnaryParams(params), params.chunks.items(),
                   params.dtype == DType::boolean ? run_boolean : run_integer_eltwise_unary);
}

double integer_eltwise_cost(const OpCall& call, const Machine&) {
  return 100.0 + 3.0 * static_cast<double>(call.outputs[0].shape.elements());
}

constexpr KernelChoice kIntegerEltwiseChoices[] = {
    {.code = {.name = "eltwise_integer_binary_portable",
              .op = "binary",
              .prepare = prepare_by<refuse_integer_eltwise_binary, make_integer_eltwise_binary>},
     .refusal = refusal_by<refuse_integer_eltwise_binary>,
     .cost = integer_eltwise_cost},
    {.code = {.name = "eltwise_integer_unary_portable",
              .op = "unary",
              .prepare = prepare_by<refuse_integer_eltwise, make_integer_eltwise_unary>},
     .refusal = refusal_by<refuse_integer_eltwise>,
     .cost = integer_eltwise_cost},
};
constexpr auto kIntegerEltwiseCodes = codes_of(kIntegerEltwiseChoices);

}  // namespace

std::span<const KernelCode> integer_eltwise_codes() { return kIntegerEltwiseCodes; }
std::span<const KernelChoice> integer_eltwise_choices() { return kIntegerEltwiseChoices; }

}  // namespace octavo
