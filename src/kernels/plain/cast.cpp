// cast between the types that networks count and compare in, in loops that compilers vectorize. Part of kernels/.
#include "ops/cast/cast.h"

#include "kernels/call.h"
#include "kernels/plain/converted.h"
#include "kernels/plain/plain.h"

namespace octavo {
namespace {

using Convert = void (*)(const std::byte* x, std::byte* y, std::int64_t count);

template <class From, class To>
void convert(const std::byte* x, std::byte* y, std::int64_t count) {
  const auto* from = reinterpret_cast<const StoredAs<From>*>(x);
  auto* to = reinterpret_cast<StoredAs<To>*>(y);
  for (std::int64_t i = 0; i < count; ++i) to[i] = converted<From, To>(from[i]);
}

// Null for other types; s64 of floats has no bound that is exact in f64.
template <class From>
Convert convert_to(DType to) {
  switch (to) {
    case DType::boolean: return convert<From, Truth>;
    case DType::u8: return convert<From, std::uint8_t>;
    case DType::s8: return convert<From, std::int8_t>;
    case DType::s32: return convert<From, std::int32_t>;
    case DType::f32: return convert<From, float>;
    case DType::s64:
      if constexpr (!std::is_same_v<From, float>) return convert<From, std::int64_t>;
      else return nullptr;
    default: return nullptr;
  }
}

Convert convert_of(DType from, DType to) {
  switch (from) {
    case DType::boolean: return convert_to<Truth>(to);
    case DType::u8: return convert_to<std::uint8_t>(to);
    case DType::s8: return convert_to<std::int8_t>(to);
    case DType::s32: return convert_to<std::int32_t>(to);
    case DType::s64: return convert_to<std::int64_t>(to);
    case DType::f32: return convert_to<float>(to);
    default: return nullptr;
  }
}

struct CastParams {
  Convert convert;
  std::int64_t x_bytes = 1, y_bytes = 1;
  Chunks chunks;
};

void run_cast(const CastParams& p, const StepBuffers& buffers, ItemRange range) {
  const ItemRange elements = p.chunks.units_of(range);
  p.convert(buffers.inputs[0] + elements.begin * p.x_bytes, buffers.outputs[0] + elements.begin * p.y_bytes,
            elements.end - elements.begin);
}

std::string refuse_cast(const CallView& call) {
  return convert_of(call.input(0).dtype, call.output().dtype) == nullptr
             ? "needs bytes, s32, s64 or f32, and no s64 from f32"
             : "";
}

Result<std::unique_ptr<Step>> make_cast(const CallView& call, const StepSpec&) {
  const DType from = call.input(0).dtype, to = call.output().dtype;
  CastParams params{.convert = convert_of(from, to),
                    .x_bytes = static_cast<std::int64_t>(size_of(from)),
                    .y_bytes = static_cast<std::int64_t>(size_of(to))};
  params.chunks = Chunks::of(call.output().elements(), params.x_bytes + params.y_bytes);
  const std::int64_t items = params.chunks.items();
  return make_step(std::move(params), items, run_cast);
}

double cost_cast(const OpCall& call, const Machine&) {
  return 100.0 + 0.5 * static_cast<double>(call.inputs[0]->shape.elements());
}

constexpr KernelChoice kCastChoices[] = {
    {.code = {.name = "plain_cast_portable", .op = "cast", .prepare = prepare_by<refuse_cast, make_cast>},
     .refusal = refusal_by<refuse_cast>,
     .cost = cost_cast},
};
constexpr auto kCastCodes = codes_of(kCastChoices);

}  // namespace

std::span<const KernelCode> cast_codes() { return kCastCodes; }
std::span<const KernelChoice> cast_choices() { return kCastChoices; }

}  // namespace octavo
