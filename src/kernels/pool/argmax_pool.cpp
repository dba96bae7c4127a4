// argmax_pool by rows of the result. Part of kernels/.
#include "ops/argmax_pool/argmax_pool.h"

#include <cmath>

#include "kernels/call.h"
#include "kernels/pool/geometry.h"
#include "kernels/pool/pool.h"

namespace octavo {
namespace {

struct ArgmaxPoolParams {
  PoolGeometry geometry;
  bool is_column_major = false;
  DType dtype = DType::f32;
  Chunks chunks;  // of rows
};

template <class T>
bool is_further(T value, T best) {
  return value > best || value != value;
}

// The number of an element of x that lies `position` elements behind the first one of its plane.
std::int64_t number_of(const ArgmaxPoolParams& p, std::int64_t plane, std::int64_t position) {
  const auto& [depth, height, width] = p.geometry.in;
  const std::int64_t first = plane * depth * height * width;
  if (!p.is_column_major) return first + position;
  const std::int64_t w = position % width, h = position / width % height, d = position / (width * height);
  return first + (w * height + h) * depth + d;
}

template <class T>
void run_as(const ArgmaxPoolParams& p, const StepBuffers& buffers, ItemRange range) {
  const PoolGeometry& g = p.geometry;
  const ItemRange rows = p.chunks.units_of(range);
  const auto** taps = reinterpret_cast<const std::byte**>(buffers.scratch);
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const PoolRow place = g.row_at(row);
    const std::byte* plane =
        buffers.inputs[0] + place.image * g.in[0] * g.in[1] * g.in[2] * static_cast<std::int64_t>(sizeof(T));
    auto* y = reinterpret_cast<std::int64_t*>(buffers.outputs[0]) + row * g.out[2];
    std::int64_t count = 0;
    for (std::int64_t ow = 0; ow < g.out[2]; ++ow) {
      count = g.next_taps(place, ow, buffers.inputs[0], sizeof(T), taps, count);
      const std::byte* best = taps[0];
      for (std::int64_t t = 0; t < count; ++t) {
        if (is_further(*reinterpret_cast<const T*>(taps[t]), *reinterpret_cast<const T*>(best))) best = taps[t];
      }
      y[ow] = number_of(p, place.image, (best - plane) / static_cast<std::int64_t>(sizeof(T)));
    }
  }
}

void run_argmax_pool(const ArgmaxPoolParams& p, const StepBuffers& buffers, ItemRange range) {
  switch (p.dtype) {
    case DType::u8: return run_as<std::uint8_t>(p, buffers, range);
    case DType::s8: return run_as<std::int8_t>(p, buffers, range);
    case DType::f64: return run_as<double>(p, buffers, range);
    default: return run_as<float>(p, buffers, range);
  }
}

std::string refuse_argmax_pool(const CallView& call) {
  return call.input(0).shape->rank() <= 5 ? "" : "needs one to three spatial axes";
}

Result<std::unique_ptr<Step>> make_argmax_pool(const CallView& call, const StepSpec&) {
  const auto& attrs = call.attrs->as<ArgmaxPoolAttrs>();
  ArgmaxPoolParams p{
      .geometry = PoolGeometry::of(attrs.window, Layout::channels_first, *call.input(0).shape, *call.output().shape),
      .is_column_major = attrs.is_column_major,
      .dtype = call.input(0).dtype};
  const std::int64_t taps = p.geometry.most_taps();
  const std::int64_t rows = call.output().elements() == 0 ? 0 : p.geometry.rows();
  p.chunks = Chunks::of(rows, 8 * taps * p.geometry.out[2]);
  const std::int64_t items = p.chunks.items();
  return make_step(std::move(p), items, run_argmax_pool, static_cast<std::size_t>(taps) * sizeof(void*));
}

double argmax_pool_cost(const OpCall& call, const Machine&) {
  double taps = 1.0;
  for (const std::int64_t size : call.attrs->as<ArgmaxPoolAttrs>().window.kernel) taps *= static_cast<double>(size);
  return 100.0 + (3.0 + 0.7 * taps) * static_cast<double>(call.outputs[0].shape.elements());
}

constexpr KernelChoice kArgmaxPoolChoices[] = {
    {.code = {.name = "pool_argmax_portable",
              .op = "argmax_pool",
              .prepare = prepare_by<refuse_argmax_pool, make_argmax_pool>},
     .refusal = refusal_by<refuse_argmax_pool>,
     .cost = argmax_pool_cost},
};
constexpr auto kArgmaxPoolCodes = codes_of(kArgmaxPoolChoices);

}  // namespace

std::span<const KernelCode> argmax_pool_codes() { return kArgmaxPoolCodes; }
std::span<const KernelChoice> argmax_pool_choices() { return kArgmaxPoolChoices; }

}  // namespace octavo
