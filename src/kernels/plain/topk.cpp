// topk, line by line, and det, matrix by matrix. Part of kernels/.
#include "ops/topk/topk.h"

#include <algorithm>
#include <numeric>

#include "kernels/call.h"
#include "kernels/plain/plain.h"
#include "ops/det/det.h"
#include "ops/element_types.h"

namespace octavo {
namespace {

std::string refuse_topk_nothing(const CallView&) { return {}; }

// ---- topk ----

struct TopkParams {
  std::int64_t count = 0, inner = 1, k = 0;
  bool largest = true;
  DType dtype = DType::f32;
  Chunks chunks;  // of lines
};

// How many neighbours from x on, by eights, do not come before `last`, of which a vector finds many at a time. NaN may.
template <class Element, class Number>
std::int64_t skipped(const typename Element::Stored* x, std::int64_t count, bool largest, Number last) {
  constexpr std::int64_t kAtOnce = 8;
  std::int64_t done = 0;
  for (; done + kAtOnce <= count; done += kAtOnce) {
    int is_better = 0;
    for (std::int64_t i = done; i < done + kAtOnce; ++i) {
      const Number value = Element::load(x[i]);
      is_better |= static_cast<int>(largest ? !(value <= last) : !(value >= last));
    }
    if (is_better != 0) break;
  }
  return done;
}

// A line's k best positions so far are a heap in the thread's scratch, the last of them on top: most elements only meet
// that one.
template <class Element>
void pick_lines(const TopkParams& p, const StepBuffers& buffers, ItemRange lines) {
  using Stored = typename Element::Stored;
  const auto* x = reinterpret_cast<const Stored*>(buffers.inputs[0]);
  auto* values = reinterpret_cast<Stored*>(buffers.outputs[0]);
  auto* positions = reinterpret_cast<std::int64_t*>(buffers.outputs[1]);
  auto* best = reinterpret_cast<std::int64_t*>(buffers.scratch);
  for (std::int64_t line = lines.begin; line < lines.end; ++line) {
    const Stored* from = x + line / p.inner * p.count * p.inner + line % p.inner;
    const auto value = [&](std::int64_t i) { return Element::load(from[i * p.inner]); };
    const auto before = [&](std::int64_t i, std::int64_t j) {
      return comes_before(p.largest, value(i), i, value(j), j);
    };
    std::iota(best, best + p.k, std::int64_t{0});
    std::make_heap(best, best + p.k, before);
    auto last = value(best[0]);
    for (std::int64_t i = p.k; i < p.count; ++i) {
      if (p.inner == 1) i += skipped<Element>(from + i, p.count - i, p.largest, last);
      if (i == p.count) break;
      // NaN is for comes_before to judge.
      if (p.largest ? value(i) <= last : value(i) >= last) continue;
      if (!before(i, best[0])) continue;
      std::pop_heap(best, best + p.k, before);
      best[p.k - 1] = i;
      std::push_heap(best, best + p.k, before);
      last = value(best[0]);
    }
    std::sort_heap(best, best + p.k, before);
    const std::int64_t first = line / p.inner * p.k * p.inner + line % p.inner;
    for (std::int64_t i = 0; i < p.k; ++i) {
      values[first + i * p.inner] = from[best[i] * p.inner];
      positions[first + i * p.inner] = best[i];
    }
  }
}

void run_topk(const TopkParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange lines = params.chunks.units_of(range);
  with_element(params.dtype, [&]<class Element>(Element) { pick_lines<Element>(params, buffers, lines); });
}

Result<std::unique_ptr<Step>> make_topk(const CallView& call, const StepSpec&) {
  const auto& attrs = call.attrs->as<TopkAttrs>();
  const Shape& x = *call.input(0).shape;
  const auto axis = static_cast<int>(attrs.axis);
  TopkParams params{.count = x[axis],
                    .inner = x.elements(axis + 1, x.rank()),
                    .k = attrs.k,
                    .largest = attrs.largest,
                    .dtype = call.input(0).dtype};
  const std::int64_t lines = call.output().elements() == 0 ? 0 : x.elements(0, axis) * params.inner;
  params.chunks = Chunks::of(lines, 32 * params.count);
  const std::int64_t items = params.chunks.items();
  const std::size_t scratch = static_cast<std::size_t>(params.k) * sizeof(std::int64_t);
  return make_step(std::move(params), items, run_topk, scratch);
}

double cost_topk(const OpCall& call, const Machine&) {
  return 200.0 + 5.0 * static_cast<double>(call.inputs[0]->shape.elements());
}

// ---- det ----

struct DetParams {
  std::int64_t n = 0;
  DType dtype = DType::f32;
  Chunks chunks;  // of matrices
};

void run_det(const DetParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange matrices = params.chunks.units_of(range);
  const std::int64_t elements = params.n * params.n;
  auto* matrix = reinterpret_cast<double*>(buffers.scratch);
  with_element(params.dtype, [&]<class Element>(Element) {
    using Stored = typename Element::Stored;
    if constexpr (std::is_floating_point_v<typename Element::Number>) {
      const auto* x = reinterpret_cast<const Stored*>(buffers.inputs[0]);
      auto* y = reinterpret_cast<Stored*>(buffers.outputs[0]);
      for (std::int64_t i = matrices.begin; i < matrices.end; ++i) {
        for (std::int64_t k = 0; k < elements; ++k) matrix[k] = static_cast<double>(Element::load(x[i * elements + k]));
        y[i] = Element::store(static_cast<typename Element::Number>(determinant(matrix, params.n)));
      }
    }
  });
}

Result<std::unique_ptr<Step>> make_det(const CallView& call, const StepSpec&) {
  const Shape& x = *call.input(0).shape;
  DetParams params{.n = x[x.rank() - 1], .dtype = call.input(0).dtype};
  params.chunks = Chunks::of(call.output().elements(), 8 * params.n * params.n);
  const std::size_t scratch = static_cast<std::size_t>(params.n * params.n) * sizeof(double);
  return make_step(DetParams(params), params.chunks.items(), run_det, scratch);
}

double cost_det(const OpCall& call, const Machine&) {
  const Shape& x = call.inputs[0]->shape;
  return 200.0 + 0.5 * static_cast<double>(x.elements()) * static_cast<double>(x[x.rank() - 1]);
}

constexpr KernelChoice kTopkChoices[] = {
    {.code = {.name = "plain_det_portable", .op = "det", .prepare = prepare_by<refuse_topk_nothing, make_det>},
     .refusal = refusal_by<refuse_topk_nothing>,
     .cost = cost_det},
    {.code = {.name = "plain_topk_portable", .op = "topk", .prepare = prepare_by<refuse_topk_nothing, make_topk>},
     .refusal = refusal_by<refuse_topk_nothing>,
     .cost = cost_topk},
};
constexpr auto kTopkCodes = codes_of(kTopkChoices);

}  // namespace

std::span<const KernelCode> topk_codes() { return kTopkCodes; }
std::span<const KernelChoice> topk_choices() { return kTopkChoices; }

}  // namespace octavo
