// reduce of integers, line by line. Part of kernels/.
#include "ops/reduce/reduce.h"

#include "kernels/call.h"
#include "kernels/plain/plain.h"
#include "ops/reduce/fold_integers.h"

namespace octavo {
namespace {

struct Params {
  // x as [outer, count, inner], reduced over the middle.
  std::int64_t count = 0, inner = 1;
  ReduceKind kind = ReduceKind::sum;
  DType dtype = DType::s32;
  Chunks chunks;  // of lines
};

template <class T>
void reduce(const Params& p, const StepBuffers& buffers, ItemRange lines) {
  for (std::int64_t i = lines.begin; i < lines.end; ++i) {
    const T* line = reinterpret_cast<const T*>(buffers.inputs[0]) + i / p.inner * p.count * p.inner + i % p.inner;
    reinterpret_cast<T*>(buffers.outputs[0])[i] =
        fold_integers<T>(p.kind, p.count, [&](std::int64_t k) { return line[k * p.inner]; });
  }
}

void run(const Params& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange lines = params.chunks.units_of(range);
  switch (params.dtype) {
    case DType::boolean:
    case DType::u8: return reduce<std::uint8_t>(params, buffers, lines);
    case DType::s8: return reduce<std::int8_t>(params, buffers, lines);
    case DType::u32: return reduce<std::uint32_t>(params, buffers, lines);
    case DType::s32: return reduce<std::int32_t>(params, buffers, lines);
    case DType::u64: return reduce<std::uint64_t>(params, buffers, lines);
    default: return reduce<std::int64_t>(params, buffers, lines);
  }
}

std::string refuse(const CallView& call) {
  const auto& axes = call.attrs->as<ReduceAttrs>().axes;
  if (is_float(call.input(0).dtype)) return "takes no floats";
  const bool are_neighbours = axes.empty() || axes.back() - axes.front() + 1 == static_cast<std::int64_t>(axes.size());
  return are_neighbours ? "" : "needs axes that are neighbours";
}

Result<std::unique_ptr<Step>> make(const CallView& call, const StepSpec&) {
  const auto& attrs = call.attrs->as<ReduceAttrs>();
  const Shape& x = *call.input(0).shape;
  const int first = attrs.axes.empty() ? x.rank() : static_cast<int>(attrs.axes.front());
  const int end = first + static_cast<int>(attrs.axes.size());
  Params params{.count = x.elements(first, end),
                .inner = x.elements(end, x.rank()),
                .kind = attrs.kind,
                .dtype = call.input(0).dtype};
  const auto element_bytes = static_cast<std::int64_t>(size_of(params.dtype));
  params.chunks = Chunks::of(call.output().elements(), 8 * (params.count + 1) * element_bytes);
  const std::int64_t items = params.chunks.items();
  return make_step(std::move(params), items, run);
}

double cost(const OpCall& call, const Machine&) {
  return 200.0 + 2.0 * static_cast<double>(call.inputs[0]->shape.elements());
}

constexpr KernelChoice kChoices[] = {
    {.code = {.name = "plain_reduce_integers_portable", .op = "reduce", .prepare = prepare_by<refuse, make>},
     .refusal = refusal_by<refuse>,
     .cost = cost},
};
constexpr auto kCodes = codes_of(kChoices);

}  // namespace

std::span<const KernelCode> plain_reduce_codes() { return kCodes; }
std::span<const KernelChoice> plain_reduce_choices() { return kChoices; }

}  // namespace octavo
