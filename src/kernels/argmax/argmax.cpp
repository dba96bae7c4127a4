// argmax: lines that lie behind each other, or neighbours whose elements lie apart. Part of kernels/.
#include "kernels/argmax/argmax.h"

#include <algorithm>
#include <limits>

#include "kernels/argmax/functions.h"
#include "kernels/call.h"
#include "kernels/compiled_for.h"
#include "ops/argmax/argmax.h"

namespace octavo {
namespace {

struct ArgmaxParams {
  std::int64_t n = 1, inner = 1;
  std::int64_t element_bytes = 4;
  std::int64_t parts = 1;  // of `inner` neighbours
  ArgmaxFunction function = nullptr;
  Chunks chunks;  // of lines, or of parts
};

constexpr std::int64_t kPart = 512;  // neighbours

void run_argmax(const ArgmaxParams& p, const StepBuffers& buffers, ItemRange range) {
  const ItemRange units = p.chunks.units_of(range);
  auto* y = reinterpret_cast<std::int64_t*>(buffers.outputs[0]);
  if (p.inner == 1) {
    const std::byte* x = buffers.inputs[0] + units.begin * p.n * p.element_bytes;
    return p.function({x, y + units.begin, p.n, 1, units.end - units.begin});
  }
  for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
    const std::int64_t outer = unit / p.parts, first = unit % p.parts * kPart;
    const std::byte* x = buffers.inputs[0] + (outer * p.n * p.inner + first) * p.element_bytes;
    p.function({x, y + outer * p.inner + first, p.n, p.inner, std::min(kPart, p.inner - first)});
  }
}

int argmax_axis_of(const CallView& call) {
  const auto axis = static_cast<int>(call.attrs->as<ArgmaxAttrs>().axis);
  return axis < 0 ? axis + call.input(0).shape->rank() : axis;
}

std::string refuse_argmax(const CallView& call) {
  const DType dtype = call.input(0).dtype;
  if (dtype != DType::f32 && !is_8bit(dtype)) return "needs f32 or 8 bit";
  if ((*call.input(0).shape)[argmax_axis_of(call)] > std::numeric_limits<std::int32_t>::max())
    return "needs an axis of less than 2^31 elements";
  return {};
}

ArgmaxFunction function_of(const ArgmaxFunctions& functions, DType dtype, const ArgmaxAttrs& attrs) {
  const Takes takes = attrs.kind == ArgKind::max ? (attrs.select_last ? Takes::at_least : Takes::above)
                                                 : (attrs.select_last ? Takes::at_most : Takes::below);
  const auto i = static_cast<std::size_t>(takes);
  return dtype == DType::u8 ? functions.u8[i] : (dtype == DType::s8 ? functions.s8[i] : functions.f32[i]);
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_argmax(const CallView& call, const StepSpec&) {
  const Shape& x = *call.input(0).shape;
  const DType dtype = call.input(0).dtype;
  const int axis = argmax_axis_of(call);
  ArgmaxParams p{
      .n = x[axis],
      .inner = x.elements(axis + 1, x.rank()),
      .element_bytes = static_cast<std::int64_t>(size_of(dtype)),
      .function = function_of(CompiledFor<ArgmaxFunctions, isa>::table, dtype, call.attrs->as<ArgmaxAttrs>())};
  p.parts = (p.inner + kPart - 1) / kPart;
  const std::int64_t outer = x.elements() == 0 ? 0 : x.elements(0, axis);
  p.chunks = p.inner == 1 ? Chunks::of(outer, 4 * p.n * p.element_bytes)
                          : Chunks::of(outer * p.parts, 4 * p.n * std::min(kPart, p.inner) * p.element_bytes);
  const std::int64_t items = p.chunks.items();
  return make_step(std::move(p), items, run_argmax);
}

// Picoseconds per element; a line by itself takes some nanoseconds more.
template <int kPicoseconds>
double argmax_cost(const OpCall& call, const Machine&) {
  return 200.0 + 1e-3 * kPicoseconds * static_cast<double>(call.inputs[0]->shape.elements()) +
         10.0 * static_cast<double>(call.outputs[0].shape.elements());
}

template <Isa isa, int kPicoseconds>
constexpr KernelChoice argmax_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "argmax",
                   .needs = isa,
                   .prepare = prepare_on<isa, refuse_argmax, make_argmax<isa>>()},
          .refusal = refusal_by<refuse_argmax>,
          .cost = argmax_cost<kPicoseconds>};
}

constexpr KernelChoice kArgmaxChoices[] = {
    argmax_kernel<Isa::scalar, 1500>("argmax_portable"),
    argmax_kernel<Isa::avx2, 300>("argmax_avx2"),
    argmax_kernel<Isa::avx512, 200>("argmax_avx512"),
    argmax_kernel<Isa::neon, 600>("argmax_neon"),
};
constexpr auto kArgmaxCodes = codes_of(kArgmaxChoices);

}  // namespace

std::span<const KernelCode> argmax_codes() { return kArgmaxCodes; }
std::span<const KernelChoice> argmax_choices() { return kArgmaxChoices; }

}  // namespace octavo
