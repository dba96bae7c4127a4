// ONNX readers: QONNX's Quant (Brevitas, QKeras): a tensor rounded to integers of any width, and real again. Part of
// import/.
#include <algorithm>
#include <cmath>

#include "base/requantize.h"
#include "import/onnx/operators.h"

namespace octavo::onnx_import {
namespace {

// The integers that a Quant rounds to, and the type that holds them.
struct Integer {
  DType type = DType::s8;
  IntegerRange range{};
  std::optional<IntegerRange> bounds() const {
    const IntegerRange whole = range_of(type);
    const bool is_whole = whole.lowest == range.lowest && whole.highest == range.highest;
    return is_whole ? std::nullopt : std::optional(range);
  }
};

Integer read_integer(NodeReader& in) {
  const auto given = in.constant_of(3, "bitwidth");
  const bool is_signed = in.flag("signed", true), is_narrow = in.flag("narrow");
  const std::string rounding = in.text("rounding_mode", "ROUND");
  if (in.failed()) return {};
  const std::vector<float> widths = to_floats(given->view());
  if (rounding != "ROUND" && rounding != "HALF_EVEN")
    in.unsupported("attribute 'rounding_mode'", "'" + rounding + "'", "'ROUND' or 'HALF_EVEN'");
  const float width = widths.size() == 1 ? widths[0] : 0.0f;
  if (width != std::floor(width) || width < 2.0f || width > 32.0f || (width > 16.0f && !is_signed)) {
    in.unsupported("input 3 (bitwidth)", widths.size() == 1 ? print(width) : std::to_string(widths.size()) + " numbers",
                   "a whole number from 2 to 16, or to 32 where signed");
    return {};
  }
  const auto bits = static_cast<int>(width);
  const std::int64_t half = std::int64_t{1} << (bits - 1);
  if (!is_signed) return {bits <= 8 ? DType::u8 : DType::u16, {0, 2 * half - 1 - is_narrow}};
  return {bits <= 8 ? DType::s8 : bits <= 16 ? DType::s16 : DType::s32, {is_narrow - half, half - 1}};
}

// One scale, or one for each index of an axis of x, as a tensor that meets it.
Scales read_qonnx_scales(NodeReader& in, ValueId x, DType type) {
  const ValueId given = in.value(1);
  const auto scales = in.constant_of(1, "scale"), zeros = in.constant_of(2, "zeropt");
  if (in.failed()) return {};
  const std::vector<float> scale = to_floats(scales->view()), zero = to_floats(zeros->view());
  const OpenShape& shape = in.shape(given);
  std::int64_t axis = -1;
  int axes = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    if (is_one(shape[i])) continue;
    axis = i + in.rank(x) - shape.rank();
    ++axes;
  }
  if (axes > 1 || axis < -1 || (axis >= 0 && !is_same(in.shape(x)[static_cast<int>(axis)], in.shape(given).elements())))
    in.unsupported("input 1 (scale)", "shape " + shape.to_string(), "one number, or one per index of an axis");
  if (zero.size() != 1 && zero.size() != scale.size())
    in.fail("input 2 (zeropt)", std::to_string(zero.size()) + " numbers", "one, or one per scale");
  Integers zero_points(scale.size(), 0);
  for (std::size_t i = 0; i < scale.size() && !in.failed(); ++i) {
    const float each = zero[zero.size() == 1 ? 0 : i];
    if (each != std::floor(each)) in.unsupported("input 2 (zeropt)", print(each), "whole numbers");
    else zero_points[i] = static_cast<std::int64_t>(each);
  }
  return in.failed() ? Scales{} : constant_scales(in, scale, zero_points, type, axis, "input 1 (scale)");
}

// A constant in s32, whose quantize node there is none of: a bias.
ValueId quantized_constant(NodeReader& in, ValueId x, const Scales& to, IntegerRange range) {
  const std::vector<float> values = to_floats(in.fact(x).constant->view());
  const std::vector<float> scales = to_floats(in.fact(to.scale).constant->view());
  const Integers zeros = to_int64s(in.fact(to.zero_point).constant->view());
  Tensor q(DType::s32, in.fact(x).constant->shape());
  std::size_t inner = 1;
  for (int i = static_cast<int>(to.axis) + 1; to.axis >= 0 && i < q.shape().rank(); ++i)
    inner *= static_cast<std::size_t>(q.shape()[i]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t j = to.axis < 0 ? 0 : i / inner % scales.size();
    const double whole = std::nearbyint(values[i] / scales[j]) + static_cast<double>(zeros[j]);
    const double inside = std::clamp(whole, static_cast<double>(range.lowest), static_cast<double>(range.highest));
    q.span<std::int32_t>()[i] = static_cast<std::int32_t>(inside);
  }
  return in.constant(std::move(q), "quantized");
}

ValueId read_quant(NodeReader& in) {
  const ValueId x = in.value(0);
  const Integer integer = read_integer(in);
  if (!in.failed() && in.dtype(x) != DType::f32)
    in.unsupported("input 0", std::string(octavo::name_of(in.dtype(x))), "f32");
  if (in.failed()) return {};
  const Scales scales = read_qonnx_scales(in, x, integer.type);
  if (in.failed()) return {};
  if (integer.type != DType::s32)
    return dequantize(in, quantize(in, x, scales, integer.type, "quantized", integer.bounds()), scales);
  if (!in.is_constant(x))
    return in.unsupported("input 3 (bitwidth)", "more than 16 bits of what is computed", "constants of so many bits");
  return dequantize(in, quantized_constant(in, x, scales, integer.range), scales);
}

constexpr Operator kQonnxTable[] = {
    {"finn.custom_op.general.Quant", 1, 4, 4, read_quant},
    {"onnx.brevitas.Quant", 1, 4, 4, read_quant},
    {"qonnx.custom_op.general.IntQuant", 1, 4, 4, read_quant},
    {"qonnx.custom_op.general.Quant", 1, 4, 4, read_quant},
};

}  // namespace

const std::span<const Operator> kQonnx = kQonnxTable;

}  // namespace octavo::onnx_import
