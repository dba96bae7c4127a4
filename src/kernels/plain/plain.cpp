// conv_integer by rows of the result; cumsum many lines at a time, side by side in memory where there are elements
// behind the axis. Part of kernels/.
#include "kernels/plain/plain.h"

#include <iterator>
#include <type_traits>

#include "kernels/call.h"
#include "kernels/image_sizes.h"
#include "ops/conv_integer/conv_integer.h"
#include "ops/cumsum/cumsum.h"

namespace octavo {
namespace {

// ---- conv_integer ----

enum PlainInput : std::size_t { kPlainX = 0, kPlainW = 1, kPlainXZero = 2, kPlainWZero = 3 };

struct ConvParams {
  ImageSizes x, w, y;
  std::int64_t groups = 1;
  // Of height and width.
  std::int64_t kernel[2] = {1, 1}, stride[2] = {1, 1}, dilation[2] = {1, 1}, pad[2] = {0, 0};
  DType x_type = DType::u8, w_type = DType::u8;
  std::int64_t w_zero_points = 0;
};

std::int32_t plain_byte_at(const std::byte* data, DType dtype, std::int64_t i) {
  const auto value = std::to_integer<std::uint8_t>(data[i]);
  return dtype == DType::s8 ? static_cast<std::int32_t>(static_cast<std::int8_t>(value))
                            : static_cast<std::int32_t>(value);
}

struct PlainPosition {
  std::int64_t image, oh, ow, oc;
};

template <class X, class W>
std::uint32_t sum_position(const ConvParams& p, const PlainPosition& at, const StepBuffers& buffers,
                           std::int32_t x_zero, std::int32_t w_zero) {
  const std::int64_t group = at.oc / (p.y.channels / p.groups);
  const X* x = reinterpret_cast<const X*>(buffers.inputs[kPlainX]) + at.image * p.x.strides.image +
               group * p.w.channels * p.x.strides.channel;
  const W* w = reinterpret_cast<const W*>(buffers.inputs[kPlainW]) + at.oc * p.w.strides.image;
  std::uint32_t sum = 0;
  for (std::int64_t kh = 0; kh < p.kernel[0]; ++kh) {
    const std::int64_t ih = at.oh * p.stride[0] + kh * p.dilation[0] - p.pad[0];
    if (ih < 0 || ih >= p.x.height) continue;
    for (std::int64_t kw = 0; kw < p.kernel[1]; ++kw) {
      const std::int64_t iw = at.ow * p.stride[1] + kw * p.dilation[1] - p.pad[1];
      if (iw < 0 || iw >= p.x.width) continue;
      const X* from = x + ih * p.x.strides.row + iw * p.x.strides.column;
      const W* by = w + (kh * p.kernel[1] + kw) * p.w.strides.column;
      for (std::int64_t ic = 0; ic < p.w.channels; ++ic) {
        const std::int32_t left = static_cast<std::int32_t>(from[ic * p.x.strides.channel]) - x_zero;
        sum += static_cast<std::uint32_t>(left * (static_cast<std::int32_t>(by[ic * p.w.strides.channel]) - w_zero));
      }
    }
  }
  return sum;
}

void run_conv(const ConvParams& p, const StepBuffers& buffers, ItemRange rows) {
  const bool has_x_zero = buffers.inputs.size() > kPlainXZero && buffers.inputs[kPlainXZero] != nullptr;
  const std::int32_t x_zero = has_x_zero ? plain_byte_at(buffers.inputs[kPlainXZero], p.x_type, 0) : 0;
  const bool x_signed = p.x_type == DType::s8, w_signed = p.w_type == DType::s8;
  auto* sum = x_signed
                  ? (w_signed ? &sum_position<std::int8_t, std::int8_t> : &sum_position<std::int8_t, std::uint8_t>)
                  : (w_signed ? &sum_position<std::uint8_t, std::int8_t> : &sum_position<std::uint8_t, std::uint8_t>);
  auto* y = reinterpret_cast<std::int32_t*>(buffers.outputs[0]);
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    PlainPosition at{row / p.y.height, row % p.y.height, 0, 0};
    for (at.ow = 0; at.ow < p.y.width; ++at.ow) {
      const std::int64_t first = at.image * p.y.strides.image + at.oh * p.y.strides.row + at.ow * p.y.strides.column;
      for (at.oc = 0; at.oc < p.y.channels; ++at.oc) {
        const std::int32_t w_zero =
            p.w_zero_points == 0 ? 0 : plain_byte_at(buffers.inputs[kPlainWZero], p.w_type, at.oc % p.w_zero_points);
        y[first + at.oc * p.y.strides.channel] = static_cast<std::int32_t>(sum(p, at, buffers, x_zero, w_zero));
      }
    }
  }
}

std::string refuse_conv(const CallView& call) {
  const int rank = call.input(kPlainX).shape->rank();
  return rank == 3 || rank == 4 ? "" : "needs one or two spatial axes";
}

Result<std::unique_ptr<Step>> make_conv(const CallView& call, const StepSpec&) {
  const auto& attrs = call.attrs->as<ConvIntegerAttrs>();
  ConvParams p{.x = ImageSizes::of(*call.input(kPlainX).shape, attrs.layout),
               .w = ImageSizes::of(*call.input(kPlainW).shape, attrs.layout),
               .y = ImageSizes::of(*call.output().shape, attrs.layout),
               .groups = attrs.groups,
               .x_type = call.input(kPlainX).dtype,
               .w_type = call.input(kPlainW).dtype,
               .w_zero_points = call.input(kPlainWZero).elements()};
  const std::size_t axes = attrs.window.kernel.size();
  for (std::size_t i = 0; i < axes; ++i) {
    const std::size_t to = i + 2 - axes;
    p.kernel[to] = attrs.window.kernel[i], p.stride[to] = attrs.window.strides[i];
    p.dilation[to] = attrs.window.dilations[i], p.pad[to] = attrs.window.pad_begin[i];
  }
  const std::int64_t rows = call.output().elements() == 0 ? 0 : p.y.batch * p.y.height;
  return make_step(std::move(p), rows, run_conv);
}

double cost_conv(const OpCall& call, const Machine&) {
  const Shape& w = call.inputs[kPlainW]->shape;
  return 500.0 + 1.0 * static_cast<double>(call.outputs[0].shape.elements()) * static_cast<double>(w.elements()) /
                     std::max(1.0, static_cast<double>(w[0]));
}

// ---- cumsum ----

// Lines whose sums are kept at once: independent chains of additions, and whole vectors where they are neighbours.
constexpr std::int64_t kMostLanes = 32;

struct ScanParams {
  // x as [outer, count, inner], summed over the middle.
  std::int64_t outer = 1, count = 0, inner = 1;
  std::int64_t lines_apart = 1;  // elements between neighbouring lines of a block
  std::int64_t lines = 1;        // that are `lines_apart`: inner ones, or all where the axis is the last one
  bool exclusive = false, reverse = false, is_product = false;
  DType dtype = DType::f32;
  Chunks chunks;  // of blocks of kMostLanes lines
};

template <class T>
using SumOf = std::conditional_t<std::is_floating_point_v<T>, double, T>;

// `neighbours`: lines_apart is 1, known to the compiler. Sums of each line are made in its own order.
template <class T, bool neighbours, bool is_product>
void scan_block(const ScanParams& p, const T* x, T* y, std::int64_t lanes) {
  const std::int64_t apart = neighbours ? 1 : p.lines_apart;
  SumOf<T> sums[kMostLanes];
  std::fill(std::begin(sums), std::end(sums), SumOf<T>{is_product ? 1 : 0});
  for (std::int64_t k = 0; k < p.count; ++k) {
    const std::int64_t first = (p.reverse ? p.count - 1 - k : k) * p.inner;
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      const SumOf<T> before = sums[lane];
      const auto value = static_cast<SumOf<T>>(x[first + lane * apart]);
      sums[lane] = is_product ? before * value : before + value;
      y[first + lane * apart] = static_cast<T>(p.exclusive ? before : sums[lane]);
    }
  }
}

template <class T, bool is_product>
void scan_blocks(const ScanParams& p, const StepBuffers& buffers, ItemRange blocks) {
  const std::int64_t blocks_of_outer = (p.lines + kMostLanes - 1) / kMostLanes;
  for (std::int64_t block = blocks.begin; block < blocks.end; ++block) {
    const std::int64_t line = block % blocks_of_outer * kMostLanes;
    const std::int64_t lanes = std::min(kMostLanes, p.lines - line);
    const std::int64_t first = block / blocks_of_outer * p.count * p.inner + line * p.lines_apart;
    const T* x = reinterpret_cast<const T*>(buffers.inputs[0]) + first;
    T* y = reinterpret_cast<T*>(buffers.outputs[0]) + first;
    if (p.lines_apart == 1) scan_block<T, true, is_product>(p, x, y, lanes);
    else scan_block<T, false, is_product>(p, x, y, lanes);
  }
}
template <class T>
void scan(const ScanParams& p, const StepBuffers& buffers, ItemRange blocks) {
  if (p.is_product) scan_blocks<T, true>(p, buffers, blocks);
  else scan_blocks<T, false>(p, buffers, blocks);
}

void run_scan(const ScanParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange blocks = params.chunks.units_of(range);
  switch (params.dtype) {
    case DType::f32: return scan<float>(params, buffers, blocks);
    case DType::f64: return scan<double>(params, buffers, blocks);
    case DType::s32:
    case DType::u32: return scan<std::uint32_t>(params, buffers, blocks);
    default: return scan<std::uint64_t>(params, buffers, blocks);
  }
}

std::string refuse_scan(const CallView& call) {
  return call.input(0).dtype == DType::f16 ? "does not compute in f16" : "";
}

Result<std::unique_ptr<Step>> make_scan(const CallView& call, const StepSpec&) {
  const auto& attrs = call.attrs->as<CumsumAttrs>();
  const Shape& x = *call.input(0).shape;
  const int axis = static_cast<int>(attrs.axis);
  ScanParams params{.outer = x.elements(0, axis),
                    .count = x[axis],
                    .inner = x.elements(axis + 1, x.rank()),
                    .exclusive = attrs.exclusive,
                    .reverse = attrs.reverse,
                    .is_product = attrs.kind == CumsumKind::product,
                    .dtype = call.input(0).dtype};
  params.lines = params.inner;
  if (params.inner == 1) {
    params.lines = params.outer;
    params.lines_apart = params.count;
    params.outer = 1;
  }
  const std::int64_t blocks = x.elements() == 0 ? 0 : params.outer * ((params.lines + kMostLanes - 1) / kMostLanes);
  const std::int64_t block_bytes = std::min(kMostLanes, params.lines) * params.count * 8;
  params.chunks = Chunks::of(blocks, block_bytes);
  const std::int64_t items = params.chunks.items();
  return make_step(std::move(params), items, run_scan);
}

double cost_scan(const OpCall& call, const Machine&) {
  return 200.0 + 1.0 * static_cast<double>(call.inputs[0]->shape.elements());
}

int scan_in_place(const OpCall&) { return 0; }

constexpr KernelChoice kPlainChoices[] = {
    {.code = {.name = "plain_conv_integer_portable",
              .op = "conv_integer",
              .prepare = prepare_by<refuse_conv, make_conv>},
     .refusal = refusal_by<refuse_conv>,
     .cost = cost_conv},
    {.code = {.name = "plain_cumsum_portable",
              .op = "cumsum",
              .prepare = prepare_by<refuse_scan, make_scan>,
              .in_place_input = scan_in_place},
     .refusal = refusal_by<refuse_scan>,
     .cost = cost_scan},
};
constexpr auto kPlainCodes = codes_of(kPlainChoices);

}  // namespace

std::span<const KernelCode> plain_codes() { return kPlainCodes; }
std::span<const KernelChoice> plain_choices() { return kPlainChoices; }

}  // namespace octavo
