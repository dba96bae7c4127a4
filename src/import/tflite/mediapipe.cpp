// TFLite readers: custom operators on images of MediaPipe's models. Part of import/.
#include <algorithm>

#include "base/fields.h"
#include "import/tflite/custom_options.h"
#include "import/tflite/operators.h"
#include "ops/where/where.h"

namespace octavo::tflite_import {
namespace {

using B = BinaryKind;

// In these structs 1 is SAME and 2 is VALID; in the format's own options 0 and 1.
int padding_of(OperatorReader& in, std::int32_t padding) {
  if (padding == 1 || padding == 2) return padding - 1;
  in.fail("custom option 'padding'", std::to_string(padding), "SAME (1) or VALID (2)");
  return 0;
}

ValueId read_transposed_conv(OperatorReader& in) {
  const auto given = struct_options(in, 3);
  const int padding = padding_of(in, given[0]);
  const std::int64_t strides[] = {given[2], given[1]};
  const ValueId x = in.placed(in.value(0), "input 'x'"), w = in.placed(in.value(1), "input 'weights'");
  in.require_rank(x, 4, 4);
  in.require_rank(w, 4, 4);
  if (in.failed()) return {};
  if (strides[0] < 1 || strides[1] < 1)
    return in.fail("custom option 'stride'", print(Integers(strides, strides + 2)), "numbers from 1 on");
  ConvTransposeArgs args{.x = x, .w = w, .bias = in.value(2), .layout = Layout::channels_last};
  args.window.strides = Integers{strides[0], strides[1]};
  Extents pads(4, 0);
  for (std::size_t i = 0; i < 2 && padding == 0; ++i) {
    const int axis = static_cast<int>(1 + i);
    const Dim total = larger(0, in.shape(w)[axis] - (in.shape(x)[axis] - 1) % strides[i] - 1);
    pads[i] = total / 2, pads[2 + i] = total - total / 2;
  }
  args.window.pads = pads;
  return conv_transpose(in, args);
}

// What both operators of a pooling and its inverse say of it.
struct Pooling {
  int padding = 0;
  Pair stride, filter;
  int activation = 0;
};
Pooling read_pooling(OperatorReader& in) {
  const auto given = struct_options(in, 6);
  Pooling made{padding_of(in, given[0]), {given[2], given[1]}, {given[4], given[3]}, given[5]};
  constexpr std::int64_t kLimit = 1 << 12;
  for (const std::int64_t number : {made.stride.h, made.stride.w, made.filter.h, made.filter.w}) {
    if (number >= 1 && number <= kLimit) continue;
    in.fail("custom options", print(Integers(given.begin() + 1, given.begin() + 5)),
            "strides and sizes from 1 to " + std::to_string(kLimit));
    return {};
  }
  return made;
}

// The maxima, and for each the number of its element within the window, row by row, plus a tenth, as a float.
ValueId read_max_pool_with_argmax(OperatorReader& in) {
  const Pooling given = read_pooling(in);
  const ValueId x = in.placed(in.value(0), "input 'x'");
  in.require_rank(x, 4, 4);
  if (in.failed()) return {};
  PoolArgs args{.x = x, .window = window_args(in, given.padding, given.stride), .layout = Layout::channels_last};
  args.window.kernel = Integers{given.filter.h, given.filter.w};
  const ValueId y = in.activation(max_pool(in, args, "maxima"), given.activation);
  args.x = transpose(in, x, Integers{0, 3, 1, 2}, "planes");
  args.layout = Layout::channels_first;
  const ValueId where = transpose(in, argmax_pool(in, args, false, "places"), Integers{0, 2, 3, 1}, "places.last");
  if (in.failed()) return {};
  const std::int64_t height = in.shape(x)[1], width = in.shape(x)[2];
  // Rows and columns of the image, then those of the window, which begins before the image by the padding.
  const ValueId number = in.cast(where, DType::s64, "numbers");
  const ValueId line = in.binary(B::div, number, in.scalar_like(number, static_cast<double>(width), "width"), "lines");
  const ValueId of_image[] = {
      in.binary(B::mod, line, in.scalar_like(line, static_cast<double>(height), "height"), "rows"),
      in.binary(B::mod, number, in.scalar_like(number, static_cast<double>(width), "width"), "columns")};
  ValueId of_window[2];
  for (int i = 0; i < 2 && !in.failed(); ++i) {
    const std::int64_t size = i == 0 ? height : width, stride = i == 0 ? given.stride.h : given.stride.w;
    const std::int64_t filter = i == 0 ? given.filter.h : given.filter.w, count = in.shape(y)[1 + i];
    const std::int64_t pad = std::max<std::int64_t>(0, (count - 1) * stride + filter - size) / 2;
    Tensor begins(DType::s64, i == 0 ? Shape{count, 1, 1} : Shape{count, 1});
    for (std::int64_t k = 0; k < count; ++k) begins.as<std::int64_t>()[k] = k * stride - (given.padding == 0 ? pad : 0);
    const std::string name = i == 0 ? "row" : "column";
    of_window[i] = in.binary(B::sub, of_image[i], in.constant(std::move(begins), name + ".begins"), name);
  }
  const ValueId columns = in.scalar_like(of_window[0], static_cast<double>(given.filter.w), "filter");
  const ValueId place = in.binary(B::add, in.binary(B::mul, of_window[0], columns, "row.first"), of_window[1], "place");
  in.output(1, in.binary(B::add, in.cast(place, DType::f32, "place.real"), in.scalar(0.1f, "tenth"), "indices"));
  return y;
}

// Each element at its place within its window, zeros elsewhere.
ValueId read_max_unpool(OperatorReader& in) {
  const Pooling given = read_pooling(in);
  const ValueId x = in.placed(in.value(0), "input 'x'"), indices = in.placed(in.value(1), "input 'indices'");
  in.require_rank(x, 4, 4);
  in.require_rank(indices, 4, 4);
  if (in.failed()) return {};
  const auto [h, w] = given.filter;
  if (given.stride.h != h || given.stride.w != w)
    return in.unsupported("custom option 'stride'", print(Integers{given.stride.h, given.stride.w}),
                          print(Integers{h, w}) + ", the window: windows that neither overlap nor leave gaps");
  const OpenShape s = in.shape(x);
  const Extents apart{s[0], s[1], 1, s[2], 1, s[3]};
  if (!is_same(s, in.shape(indices)))
    return in.fail("input 'indices'", in.shape(indices).to_string(), "the shape of x, " + s.to_string());
  Tensor places(DType::s32, Shape{h, 1, w, 1});
  for (std::int64_t i = 0; i < h * w; ++i) places.as<std::int32_t>()[i] = static_cast<std::int32_t>(i);
  const ValueId chosen = in.cast(in.reshape(indices, apart, "indices"), DType::s32, "chosen");
  const ValueId is_there = in.binary(B::equal, chosen, in.constant(std::move(places), "places"), "is_there");
  const ValueId y =
      in.add(kWhere, NoAttrs{}, {is_there, in.reshape(x, apart, "apart"), in.scalar(0.0f, "zero")}, "spread");
  return in.reshape(y, {s[0], s[1] * h, s[2] * w, s[3]});
}

constexpr OperatorEntry kMediapipeTable[] = {
    {"Convolution2DTransposeBias", 3, 3, 1, kReal, read_transposed_conv},
    {"MaxPoolingWithArgmax2D", 1, 1, 2, kReal, read_max_pool_with_argmax},
    {"MaxUnpooling2D", 2, 2, 1, kReal, read_max_unpool},
};

}  // namespace

const std::span<const OperatorEntry> kMediaPipe = kMediapipeTable;

}  // namespace octavo::tflite_import
