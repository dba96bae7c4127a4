// integer_resize by lines: each line of x is spread out to the width of the result once for all results next to it.
// Part of kernels/.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cache_line.h"
#include "kernels/call.h"
#include "kernels/compiled_for.h"
#include "kernels/resize/integer_lines.h"
#include "kernels/resize/resize.h"
#include "ops/integer_resize/integer_resize.h"

namespace octavo {
namespace {

constexpr std::int64_t kFewChannels = 8;  // fewer are elements of their own: a loop over them would not pay

struct IntegerResizeParams {
  IntegerResizeAttrs attrs;
  ResizeRow row;  // without pointers and weight
  std::int64_t height = 1, from_height = 1;
  std::int64_t repeats = 1, channels = 1;  // row.channels, as positions or within one
  IntegerLineFunctions::OfType functions{};
  bool is_by_lines = true;
  Chunks chunks;  // of lines of the result

  bool is_real() const { return attrs.rounding == ResizeRounding::real; }
  std::int32_t one() const { return attrs.rounding == ResizeRounding::ten_bits ? 1 << 10 : 1 << 11; }
  std::int64_t positions() const { return row.width * repeats; }
  std::int64_t line_bytes() const { return whole_lines((is_real() ? 8 : 4) * row.width * row.channels); }
  std::int64_t list_bytes() const { return whole_lines(4 * positions()); }
};

// At an edge a sample may lie half a pixel outside the image. With weights up to there, sums of values up to 383 fit
// s32.
bool is_within(const IntegerResizeParams& params, float weight) {
  const float one = params.is_real() ? 1.0f : static_cast<float>(params.one());
  if (params.attrs.rounding == ResizeRounding::eleven_bits) return weight >= 0.0f && weight <= one;
  return weight >= -0.5f * one && weight <= 1.5f * one;
}

// Writes the columns' neighbours and weights into the scratch; false where a weight is out of bounds.
bool list_columns(const IntegerResizeParams& params, const ResizeRow& row, std::byte* scratch, ColumnTaps& taps) {
  auto* left = reinterpret_cast<std::int32_t*>(scratch);
  auto* right = reinterpret_cast<std::int32_t*>(scratch + params.list_bytes());
  std::byte* weights = scratch + 2 * params.list_bytes();
  const auto repeats = static_cast<std::int32_t>(params.repeats);
  std::int64_t at = 0;
  for (std::int64_t o = 0; o < row.width; ++o) {
    if (!is_within(params, row.column_weights[o])) return false;
    const auto last = static_cast<std::int32_t>(row.from_width - 1);
    const std::int32_t a = std::clamp(row.columns[2 * o], 0, last), b = std::clamp(row.columns[2 * o + 1], 0, last);
    for (std::int32_t i = 0; i < repeats; ++i, ++at) {
      left[at] = a * repeats + i;
      right[at] = b * repeats + i;
      if (params.is_real()) reinterpret_cast<float*>(weights)[at] = row.column_weights[o];
      else reinterpret_cast<std::int32_t*>(weights)[at] = static_cast<std::int32_t>(row.column_weights[o]);
    }
  }
  taps = {left,
          right,
          reinterpret_cast<const std::int32_t*>(weights),
          reinterpret_cast<const float*>(weights),
          params.positions(),
          params.channels};
  return true;
}

// The two lines of x that were spread out last.
class SpreadLines {
 public:
  SpreadLines(const IntegerResizeParams& params, const ColumnTaps& taps, std::byte* lines)
      : params_(params), taps_(taps), lines_(lines) {}

  // The line, spread out; `other` is needed at the same time and keeps its place.
  const void* of(const std::byte* line, const std::byte* other) {
    std::size_t slot = held_[1] == line || (held_[0] != line && held_[0] == other) ? 1 : 0;
    std::byte* to = lines_ + static_cast<std::int64_t>(slot) * params_.line_bytes();
    if (held_[slot] != line) spread(line, to);
    held_[slot] = line;
    return to;
  }

 private:
  void spread(const std::byte* line, std::byte* to) const {
    if (params_.is_real())
      params_.functions.spread_real(taps_, line, params_.attrs.shift, reinterpret_cast<float*>(to));
    else
      params_.functions.spread_whole(taps_, line, params_.one(), params_.attrs.shift,
                                     reinterpret_cast<std::int32_t*>(to));
  }

  const IntegerResizeParams& params_;
  const ColumnTaps& taps_;
  std::byte* lines_;
  std::array<const std::byte*, 2> held_{};
};

void run_integer_resize(const IntegerResizeParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange units = params.chunks.units_of(range);
  ResizeRow row = params.row;
  const auto* rows = reinterpret_cast<const std::int32_t*>(buffers.inputs[1]);
  const auto* row_weights = reinterpret_cast<const float*>(buffers.inputs[2]);
  row.columns = reinterpret_cast<const std::int32_t*>(buffers.inputs[3]);
  row.column_weights = reinterpret_cast<const float*>(buffers.inputs[4]);
  const auto element = static_cast<std::int64_t>(size_of(row.dtype));
  const std::int64_t stride = row.from_width * row.channels * element, width = row.width * row.channels;
  ColumnTaps taps;
  const bool has_taps = params.is_by_lines && list_columns(params, row, buffers.scratch, taps);
  SpreadLines lines(params, taps, buffers.scratch + (has_taps ? 3 * params.list_bytes() : 0));
  for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
    const std::int64_t oh = unit % params.height;
    const std::byte* image = buffers.inputs[0] + unit / params.height * params.from_height * stride;
    std::byte* y = buffers.outputs[0] + unit * width * element;
    row.first = image + std::clamp<std::int64_t>(rows[2 * oh], 0, params.from_height - 1) * stride;
    row.second = image + std::clamp<std::int64_t>(rows[2 * oh + 1], 0, params.from_height - 1) * stride;
    row.weight = row_weights[oh];
    if (!has_taps || !is_within(params, row.weight)) {
      resize_row(params.attrs, row, y);
      continue;
    }
    LinesBetween between{.whole_weight = static_cast<std::int32_t>(row.weight),
                         .real_weight = row.weight,
                         .shift = params.attrs.shift,
                         .rounding = params.attrs.rounding};
    between.above = lines.of(row.first, row.second);
    between.below = lines.of(row.second, row.first);
    if (params.is_real()) params.functions.join_real(taps, between, y);
    else params.functions.join_whole(between, width, y);
  }
}

// Sums of s16 values do not fit s32, and lines are in the scratch: what does not fit is computed as the reference does.
bool fits_lines(const CallView& call) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 26;
  const Shape &from = *call.input(0).shape, &to = *call.output().shape;
  return is_8bit(call.input(0).dtype) && from[2] * from[3] <= kMostElements && to[2] * to[3] <= kMostElements;
}

std::string refuse_no_resize(const CallView&) { return {}; }
std::string refuse_integer_resize(const CallView& call) {
  return fits_lines(call) ? "" : "needs bytes, and lines of at most 2^26 elements";
}

Result<std::unique_ptr<Step>> make_integer_resize_by(const IntegerLineFunctions& functions, const CallView& call) {
  const Shape& from = *call.input(0).shape;
  const Shape& to = *call.output().shape;
  const DType dtype = call.input(0).dtype;
  const bool has_few = from[3] < kFewChannels;
  IntegerResizeParams params{.attrs = call.attrs->as<IntegerResizeAttrs>(),
                             .row = {.from_width = from[2], .width = to[2], .channels = from[3], .dtype = dtype},
                             .height = to[1],
                             .from_height = from[1],
                             .repeats = has_few ? from[3] : 1,
                             .channels = has_few ? 1 : from[3],
                             .functions = dtype == DType::u8 ? functions.u8 : functions.s8,
                             .is_by_lines = fits_lines(call)};
  params.chunks = Chunks::of(call.output().elements() == 0 ? 0 : to[0] * to[1], 4 * to[2] * to[3]);
  const auto scratch = static_cast<std::size_t>(params.is_by_lines ? 3 * params.list_bytes() + 2 * params.line_bytes()
                                                                   : std::int64_t{0});
  const std::int64_t items = params.chunks.items();
  return make_step(params, items, run_integer_resize, scratch);
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_integer_resize(const CallView& call, const StepSpec&) {
  return make_integer_resize_by(CompiledFor<IntegerLineFunctions, isa>::table, call);
}

template <int kPicoseconds>
double integer_resize_cost(const OpCall& call, const Machine&) {
  return 300.0 + 1e-3 * kPicoseconds * static_cast<double>(call.outputs[0].shape.elements());
}

template <Isa isa, int kPicoseconds, Refuse refuse = refuse_integer_resize>
constexpr KernelChoice integer_resize_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "integer_resize",
                   .needs = isa,
                   .prepare = prepare_on<isa, refuse, make_integer_resize<isa>>()},
          .refusal = refusal_by<refuse>,
          .cost = integer_resize_cost<kPicoseconds>};
}

constexpr KernelChoice kIntegerResizeChoices[] = {
    integer_resize_kernel<Isa::scalar, 2500, refuse_no_resize>("integer_resize_portable"),
    integer_resize_kernel<Isa::avx2, 400>("integer_resize_avx2"),
    integer_resize_kernel<Isa::avx512, 250>("integer_resize_avx512"),
    integer_resize_kernel<Isa::neon, 800>("integer_resize_neon"),
};
constexpr auto kIntegerResizeCodes = codes_of(kIntegerResizeChoices);

}  // namespace

std::span<const KernelCode> integer_resize_codes() { return kIntegerResizeCodes; }
std::span<const KernelChoice> integer_resize_choices() { return kIntegerResizeChoices; }

}  // namespace octavo
