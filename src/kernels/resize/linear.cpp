// resize, linear between two neighbours on one axis or on two next to each other, in f32. Lines are spread out to the
// positions of the result once for all results between them. Part of kernels/.
#include "kernels/resize/linear.h"

#include <algorithm>
#include <array>

#include "kernels/cache_line.h"
#include "kernels/call.h"
#include "kernels/compiled_for.h"
#include "kernels/resize/resize.h"
#include "ops/resize/resize.h"
#include "ops/resize/taps.h"

namespace octavo {
namespace {

// An axis of the result; LineTaps of one that is a line.
struct LinearResizeAxis {
  std::vector<std::int32_t> first, second, two;
  std::vector<float> w0, w1;
  std::int64_t x_size = 1;

  std::int64_t size() const { return std::ssize(first); }
  LineTaps taps() const { return {first.data(), second.data(), w0.data(), w1.data(), two.data(), size()}; }
};

struct LinearResizeParams {
  LinearResizeAxis rows, line;
  std::int64_t inner = 1;  // elements behind the line, which stay
  std::int64_t element_bytes = 4;
  LinearFunctions::OfType functions{};
  Chunks chunks;  // of lines of the result
};

// The lines that were spread out last: of row r in slot r % 2.
struct Spread {
  float* lines = nullptr;  // [slot][2][positions]
  std::array<std::int64_t, 2> held{-1, -1};

  const float* of(const LinearResizeParams& params, const std::byte* x, std::int64_t row) {
    const std::int64_t slot = row % 2, positions = params.line.size();
    float* to = lines + slot * 2 * positions;
    if (held[static_cast<std::size_t>(slot)] != row)
      params.functions.spread(params.line.taps(), x + row * params.line.x_size * params.element_bytes, to);
    held[static_cast<std::size_t>(slot)] = row;
    return to;
  }
};

void run_linear_resize(const LinearResizeParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange units = params.chunks.units_of(range);
  const LinearResizeAxis& rows = params.rows;
  const std::int64_t line_bytes = params.line.x_size * params.inner * params.element_bytes,
                     y_bytes = params.line.size() * params.inner * params.element_bytes;
  Spread spread{.lines = reinterpret_cast<float*>(buffers.scratch)};
  for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
    const auto at = static_cast<std::size_t>(unit % rows.size());
    if (at == 0) spread.held = {-1, -1};  // another image
    const std::byte* x = buffers.inputs[0] + unit / rows.size() * rows.x_size * line_bytes;
    LinePair pair{.weight = {rows.w0[at], rows.w1[at]}, .has_second = rows.two[at] != 0};
    const std::int64_t index[] = {rows.first[at], rows.second[at]};
    for (int i = 0; i < (pair.has_second ? 2 : 1); ++i)
      pair.line[i] = params.inner == 1 ? static_cast<const void*>(spread.of(params, x, index[i]))
                                       : static_cast<const void*>(x + index[i] * line_bytes);
    std::byte* y = buffers.outputs[0] + unit * y_bytes;
    if (params.inner == 1) params.functions.join(params.line.taps(), pair, y);
    else params.functions.runs(params.line.taps(), params.inner, pair, y);
  }
}

// ---- making ----

LinearResizeAxis linear_resize_axis_of(const AxisTaps& taps, std::int64_t x_size, std::int64_t size) {
  LinearResizeAxis axis{.x_size = x_size};
  for (std::int64_t i = 0; i < size; ++i) {
    const auto some = taps.at(i);
    const bool has_two = some.size() > 1;
    axis.first.push_back(static_cast<std::int32_t>(some[0].index));
    axis.second.push_back(static_cast<std::int32_t>(some[has_two ? 1 : 0].index));
    axis.two.push_back(has_two ? 1 : 0);
    axis.w0.push_back(has_two ? static_cast<float>(some[0].weight) : 1.0f);
    axis.w1.push_back(has_two ? static_cast<float>(some[1].weight) : 0.0f);
  }
  return axis;
}

LinearResizeAxis one_row() { return {.first = {0}, .second = {0}, .two = {0}, .w0 = {1.0f}, .w1 = {0.0f}}; }

// The axes whose sizes change, [begin, end).
struct Changed {
  int begin = 0, end = 0;

  static Changed of(const CallView& call) {
    const Shape &x = *call.input(0).shape, &y = *call.output().shape;
    const auto& attrs = call.attrs->as<ResizeAttrs>();
    // Equal sizes may still be moved by a scale of the file.
    const auto stays = [&](int axis) {
      return x[axis] == y[axis] && attrs.scales[static_cast<std::size_t>(axis)] == 1.0f;
    };
    Changed found{0, x.rank()};
    while (found.end > 0 && stays(found.end - 1)) --found.end;
    while (found.begin < found.end && stays(found.begin)) ++found.begin;
    return found;
  }
};

std::string refuse_linear_resize(const CallView& call) {
  const auto& attrs = call.attrs->as<ResizeAttrs>();
  const DType dtype = call.input(0).dtype;
  if (!is_plain_linear(attrs)) return "computes plain linear";
  if (attrs.coordinates == ResizeCoordinates::tf_crop_and_resize) return "computes nothing outside of x";
  if (dtype != DType::f32 && !is_8bit(dtype)) return "needs f32 or 8 bit";
  const Changed changed = Changed::of(call);
  if (changed.end - changed.begin < 1 || changed.end - changed.begin > 2)
    return "needs one or two axes next to each other that change";
  for (int axis = changed.begin; axis < changed.end; ++axis) {
    if ((*call.input(0).shape)[axis] > std::int64_t{1} << 24) return "needs axes of at most 2^24 indices";
  }
  return refuse_long_axes(call);
}

LinearFunctions::OfType of_type(const LinearFunctions& functions, DType dtype) {
  return dtype == DType::u8 ? functions.u8 : (dtype == DType::s8 ? functions.s8 : functions.f32);
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_linear_resize(const CallView& call, const StepSpec&) {
  const auto& attrs = call.attrs->as<ResizeAttrs>();
  const Shape &x = *call.input(0).shape, &y = *call.output().shape;
  const Changed changed = Changed::of(call);
  const auto axis = [&](int i) { return linear_resize_axis_of(AxisTaps::of(attrs, x[i], i), x[i], y[i]); };
  LinearResizeParams params{.rows = changed.end - changed.begin == 2 ? axis(changed.begin) : one_row(),
                            .line = axis(changed.end - 1),
                            .inner = y.elements(changed.end, y.rank()),
                            .element_bytes = static_cast<std::int64_t>(size_of(call.input(0).dtype)),
                            .functions = of_type(CompiledFor<LinearFunctions, isa>::table, call.input(0).dtype)};
  const std::int64_t lines = y.elements() == 0 ? 0 : y.elements(0, changed.begin) * params.rows.size();
  params.chunks = Chunks::of(lines, 4 * params.line.size() * params.inner * params.element_bytes);
  const std::size_t scratch =
      params.inner == 1 ? static_cast<std::size_t>(whole_lines(4 * params.line.size() * std::int64_t{sizeof(float)}))
                        : 0;
  const std::int64_t items = params.chunks.items();
  return make_step(std::move(params), items, run_linear_resize, scratch);
}

template <int kPicoseconds>
double linear_resize_cost(const OpCall& call, const Machine&) {
  return 300.0 + 1e-3 * kPicoseconds * static_cast<double>(call.outputs[0].shape.elements());
}

template <Isa isa, int kPicoseconds>
constexpr KernelChoice linear_resize_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "resize",
                   .needs = isa,
                   .prepare = prepare_on<isa, refuse_linear_resize, make_linear_resize<isa>>()},
          .refusal = refusal_by<refuse_linear_resize>,
          .cost = linear_resize_cost<kPicoseconds>};
}

constexpr KernelChoice kLinearResizeChoices[] = {
    linear_resize_kernel<Isa::scalar, 2500>("resize_lines_portable"),
    linear_resize_kernel<Isa::avx2, 700>("resize_lines_avx2"),
    linear_resize_kernel<Isa::avx512, 500>("resize_lines_avx512"),
    linear_resize_kernel<Isa::neon, 1400>("resize_lines_neon"),
};
constexpr auto kLinearResizeCodes = codes_of(kLinearResizeChoices);

}  // namespace

std::span<const KernelCode> resize_linear_codes() { return kLinearResizeCodes; }
std::span<const KernelChoice> resize_linear_choices() { return kLinearResizeChoices; }

}  // namespace octavo
