// TFLite readers: functions of one or two elements, and conversions between types. Part of import/.
#include <cmath>

#include "base/fixed_point.h"
#include "import/rare_verbs.h"
#include "import/tflite/fixed_scaling.h"
#include "import/tflite/operators.h"
#include "ops/bitcast/bitcast.h"
#include "ops/table/table.h"

namespace octavo::tflite_import {
namespace {

using B = BinaryKind;
using U = UnaryKind;

template <U kind>
ValueId read_unary(OperatorReader& in) {
  return in.unary({.kind = kind}, in.value(0));
}

ValueId read_elu(OperatorReader& in) { return in.unary({.kind = U::elu, .alpha = 1.0f}, in.value(0)); }

ValueId read_gelu(OperatorReader& in) {
  const auto* given = in.options<file::GeluOptions>();
  return gelu(in, in.value(0), given != nullptr && given->approximate() ? "tanh" : "none", "option 'approximate'");
}

ValueId read_leaky_relu(OperatorReader& in) {
  const float alpha = in.required_options<file::LeakyReluOptions>().alpha();
  return in.unary({.kind = U::leaky_relu, .alpha = alpha}, in.value(0));
}

template <int lowest, int highest>
ValueId read_clip(OperatorReader& in) {
  return clip(in, in.value(0), static_cast<float>(lowest), static_cast<float>(highest));
}

template <B kind>
ValueId read_binary(OperatorReader& in) {
  const ValueId a = in.value(0);
  return in.binary(kind, a, in.value(1));
}

// What LiteRT compares of bytes: 256 times the scale, in fixed point. It shifts to the right alone; to the left by the
// lowest five bits of the count, as on x86, with which scales from 1 on compare as something else.
std::int32_t compared_product(const FixedMultiplier& scale, Profile profile, std::int32_t units) {
  if (scale.shift <= 0) return scale.apply(profile, units);
  const std::int32_t high = rounding_high_product(units, scale.multiplier);
  return (high >> (32 - scale.shift)) + (high >= 0 ? 1 : 0);
}

// As a table, in all profiles of the format. Of s16 LiteRT asks for the scales of what may be equal alone; else it
// compares the integers that are stored.
ValueId comparable(OperatorReader& in, int index) {
  const FileTensor& source = in.tensor(index);
  const Profile profile = in.profile();
  if (!source.stands_for_reals() || !source.quant || source.quant->axis >= 0 || !is_of_tflite(profile))
    return in.value(index);
  const bool asks_for_equality = in.type() == "EQUAL" || in.type() == "NOT_EQUAL";
  if (source.dtype == DType::s16 && !asks_for_equality) return in.stored(index);
  const std::int64_t entries = table_entries(source.dtype);
  std::int64_t& budget = in.building().fold_budget;
  if (entries > budget) return in.value(index);
  budget -= entries;
  const FixedMultiplier scale = FixedMultiplier::of(static_cast<double>(source.quant->scale[0]));
  Tensor table(DType::f32, Shape{entries});
  const IntegerRange range = range_of(source.dtype);
  for (auto q = static_cast<std::int32_t>(range.lowest); q <= range.highest; ++q) {
    const std::int32_t units = (q - source.quant->zero_point[0]) * 256;
    table.as<float>()[q & (entries - 1)] = static_cast<float>(compared_product(scale, profile, units));
  }
  const std::string suffix = "compared." + std::to_string(index);
  return in.add(kTable, NoAttrs{}, {in.stored(index), in.constant(std::move(table), suffix + ".table")}, suffix);
}

template <B kind>
ValueId read_comparison(OperatorReader& in) {
  const ValueId a = comparable(in, 0);
  return in.binary(kind, a, comparable(in, 1));
}

ValueId read_not_equal(OperatorReader& in) {
  const ValueId a = comparable(in, 0);
  return in.unary({.kind = U::logical_not}, in.binary(B::equal, a, comparable(in, 1), "equal"));
}

ValueId floored_quotient(OperatorReader& in, ValueId a, ValueId b, std::string_view suffix) {
  return in.unary({.kind = U::floor}, in.binary(B::div, a, b, "quotient"), suffix);
}

// LiteRT divides s8 and s16 as the integers that are stored, whatever their scales.
bool divides_stored(const OperatorReader& in) {
  const DType type = in.tensor(0).dtype;
  return (type == DType::s8 || type == DType::s16) && in.tensor(1).dtype == type && is_of_tflite(in.profile());
}
ValueId dividend(OperatorReader& in, int index) {
  if (!divides_stored(in)) return in.value(index);
  return in.cast(in.stored(index), DType::s32, "integer." + std::to_string(index));
}

// As s8: -128 / -1 is 127; as s16 likewise.
ValueId saturated_quotient(OperatorReader& in, ValueId y) {
  const DType type = in.tensor(0).dtype;
  const auto highest = static_cast<double>(range_of(type).highest);
  return in.cast(in.binary(B::min, y, in.scalar_like(y, highest, "highest"), "bounded"), type);
}

template <ValueId (*divide)(OperatorReader&, ValueId, ValueId, std::string_view)>
ValueId read_division(OperatorReader& in) {
  const ValueId a = dividend(in, 0), b = dividend(in, 1);
  if (!divides_stored(in)) return divide(in, a, b, "");
  return saturated_quotient(in, divide(in, a, b, "integers"));
}

// The quotient rounded down; of integers without their remainder, which then has the divisor's sign.
ValueId floored_division(OperatorReader& in, ValueId a, ValueId b, std::string_view suffix) {
  if (in.failed() || is_float(in.dtype(a))) return floored_quotient(in, a, b, suffix);
  return in.binary(B::div, in.binary(B::sub, a, in.binary(B::mod, a, b, "rest"), "whole"), b, suffix);
}

ValueId floored_rest(OperatorReader& in, ValueId a, ValueId b, std::string_view suffix) {
  if (in.failed() || !is_float(in.dtype(a))) return in.binary(B::mod, a, b, suffix);
  return in.binary(B::sub, a, in.binary(B::mul, floored_quotient(in, a, b, "floored"), b, "whole"), suffix);
}

ValueId read_rsqrt(OperatorReader& in) {
  return in.unary({.kind = U::reciprocal}, in.unary({.kind = U::sqrt}, in.value(0), "root"));
}

ValueId read_square(OperatorReader& in) {
  const ValueId x = in.value(0);
  return in.binary(B::mul, x, x);
}

ValueId read_squared_difference(OperatorReader& in) {
  const ValueId a = in.value(0), difference = in.binary(B::sub, a, in.value(1), "difference");
  return in.binary(B::mul, difference, difference);
}

ValueId read_atan2(OperatorReader& in) {
  const ValueId y = in.value(0);
  return angle(in, y, in.value(1));
}

// Rounded to one of 2^bits numbers between two, of which 0 is one.
ValueId read_fake_quant(OperatorReader& in) {
  const auto& given = in.required_options<file::FakeQuantOptions>();
  const ValueId x = in.value(0);
  const bool is_range = std::isfinite(given.min()) && std::isfinite(given.max()) && given.min() < given.max();
  if (!is_range || given.num_bits() < 2 || given.num_bits() > 16)
    in.fail("options",
            std::to_string(given.num_bits()) + " bits from " + std::to_string(given.min()) + " to " +
                std::to_string(given.max()),
            "2 to 16 bits between two numbers");
  if (in.failed()) return {};
  const float lowest = given.narrow_range() ? 1.0f : 0.0f;
  const auto highest = static_cast<float>((1 << given.num_bits()) - 1);
  const float scale = (given.max() - given.min()) / (highest - lowest);
  const float from_zero = lowest - given.min() / scale;
  const float zero = from_zero < lowest ? lowest : from_zero > highest ? highest : std::round(from_zero);
  const float first = (lowest - zero) * scale, last = (highest - zero) * scale;
  const ValueId inside =
      in.binary(B::sub, clip(in, x, first, last, "clipped"), in.scalar(first, "first"), "from_first");
  const ValueId steps = in.binary(B::mul, inside, in.scalar(1.0f / scale, "steps"), "in_steps");
  const ValueId whole =
      in.unary({.kind = U::floor}, in.binary(B::add, steps, in.scalar(0.5f, "half"), "halves"), "whole");
  return in.binary(B::add, in.binary(B::mul, whole, in.scalar(scale, "scale"), "scaled"), in.scalar(first, "offset"));
}

ValueId read_add_n(OperatorReader& in) {
  const std::vector<ValueId> values = in.values();
  ValueId sum = values[0];
  for (std::size_t i = 1; i < values.size(); ++i)
    sum = in.binary(B::add, sum, values[i], i + 1 < values.size() ? std::to_string(i) : "");
  return sum;
}

ValueId read_bitcast(OperatorReader& in) {
  return in.add_exactly(kBitcast, BitcastAttrs{in.output_tensor(0).dtype}, {in.value(0)}).front();
}

// Of truths, or bit by bit.
ValueId read_stablehlo_and(OperatorReader& in) {
  const ValueId a = in.value(0);
  return in.binary(in.dtype(a) == DType::boolean ? B::logical_and : B::bitwise_and, a, in.value(1));
}

// With a fused activation.
template <B kind, class Options>
ValueId read_activated(OperatorReader& in) {
  const Options* given = in.options<Options>();
  return in.activation(read_binary<kind>(in), given == nullptr ? 0 : given->fused_activation_function());
}

// From floats, or from one scale to another.
ValueId read_quantize(OperatorReader& in) {
  const FileTensor &source = in.tensor(0), &target = in.output_tensor(0);
  const bool from_words = source.word_quant && (is_8bit(target.dtype) || target.dtype == DType::s16) && target.quant;
  const bool to_words = target.word_quant && source.dtype == DType::s16 && source.quant;
  if ((from_words && target.quant->axis < 0) || (to_words && source.quant->axis < 0))
    return requantized_words(in, from_words ? *source.word_quant : *source.quant,
                             from_words ? *target.quant : *target.word_quant, target.dtype);
  const ValueId x = in.value(0);
  if (in.failed()) return {};
  if (in.dtype(x) != DType::f32)
    return in.unsupported("input", std::string(octavo::name_of(in.dtype(x))), "f32, u8, s8, s16 or s32 with one scale");
  const std::string place = "output '" + target.name + "'", type(octavo::name_of(target.dtype));
  if (!is_8bit(target.dtype) && target.dtype != DType::s16) return in.unsupported(place, type, "u8, s8 or s16");
  if (!target.quant) return in.fail(place, type + " without scale and zero point", "both");
  // XNNPACK takes no s16: the reference kernel converts it.
  if (source.dtype == DType::s16 && is_8bit(target.dtype)) in.rounds_by(Profile::tflite_double);
  return x;
}

// Also what stores weights as 16-bit floats and computes in f32.
ValueId read_dequantize(OperatorReader& in) {
  const FileTensor& source = in.tensor(0);
  if (source.dtype == DType::f16 || source.dtype == DType::bf16) return in.cast(in.stored(0), DType::f32);
  if (source.stands_for_reals()) return in.value(0);
  return in.unsupported("input '" + source.name + "'", std::string(octavo::name_of(source.dtype)),
                        "u8, s8, s16 with a scale, or f16");
}

// Of a complex number its real part; a real number becomes the pair of it and 0.
ValueId read_cast(OperatorReader& in) {
  const ValueId x = in.value(0);
  const FileTensor& to = in.output_tensor(0);
  if (in.failed() || in.tensor(0).is_complex == to.is_complex) return in.cast(x, to.dtype);
  if (in.tensor(0).is_complex) return in.cast(pick(in, x, in.rank(x) - 1, 0, "real"), to.dtype);
  const ValueId real = unsqueeze(in, in.cast(x, to.dtype, "real"), Integers{in.rank(x)}, "pair");
  if (in.failed()) return {};
  Integers none(static_cast<std::size_t>(in.rank(real)), 0), one = none;
  one.back() = 1;
  return zero_padding(in, real, 0, none, one, "");
}

constexpr OperatorEntry kElementwiseTable[] = {
    {"ABS", 1, 1, 1, kReal, read_unary<U::abs>},
    {"ADD", 2, 2, 1, kReal, read_activated<B::add, file::AddOptions>},
    {"ADD_N", 1, kAnyNumber, 1, kReal, read_add_n},
    {"ATAN2", 2, 2, 1, kReal, read_atan2},
    {"BITCAST", 1, 1, 1, kStored, read_bitcast},
    {"BITWISE_XOR", 2, 2, 1, kStored, read_binary<B::bitwise_xor>},
    {"CAST", 1, 1, 1, Operands::pairs, read_cast},
    {"CEIL", 1, 1, 1, kReal, read_unary<U::ceil>},
    {"COS", 1, 1, 1, kReal, read_unary<U::cos>},
    {"DEQUANTIZE", 1, 1, 1, kReal, read_dequantize},
    {"DIV", 2, 2, 1, kReal, read_activated<B::div, file::DivOptions>},
    {"ELU", 1, 1, 1, kReal, read_elu},
    {"EQUAL", 2, 2, 1, kReal, read_comparison<B::equal>},
    {"EXP", 1, 1, 1, kReal, read_unary<U::exp>},
    {"FAKE_QUANT", 1, 1, 1, kReal, read_fake_quant},
    {"FLOOR", 1, 1, 1, kReal, read_unary<U::floor>},
    {"FLOOR_DIV", 2, 2, 1, kReal, read_division<floored_division>},
    {"FLOOR_MOD", 2, 2, 1, kReal, read_division<floored_rest>},
    {"GELU", 1, 1, 1, kReal, read_gelu},
    {"GREATER", 2, 2, 1, kReal, read_comparison<B::greater>},
    {"GREATER_EQUAL", 2, 2, 1, kReal, read_comparison<B::greater_or_equal>},
    {"HARD_SWISH", 1, 1, 1, kReal, read_unary<U::hard_swish>},
    {"LEAKY_RELU", 1, 1, 1, kReal, read_leaky_relu},
    {"LESS", 2, 2, 1, kReal, read_comparison<B::less>},
    {"LESS_EQUAL", 2, 2, 1, kReal, read_comparison<B::less_or_equal>},
    {"LOG", 1, 1, 1, kReal, read_unary<U::log>},
    {"LOGICAL_AND", 2, 2, 1, kReal, read_binary<B::logical_and>},
    {"LOGICAL_NOT", 1, 1, 1, kReal, read_unary<U::logical_not>},
    {"LOGICAL_OR", 2, 2, 1, kReal, read_binary<B::logical_or>},
    {"LOGISTIC", 1, 1, 1, kReal, read_unary<U::sigmoid>},
    {"MAXIMUM", 2, 2, 1, kReal, read_binary<B::max>},
    {"MINIMUM", 2, 2, 1, kReal, read_binary<B::min>},
    {"MUL", 2, 2, 1, kReal, read_activated<B::mul, file::MulOptions>},
    {"NEG", 1, 1, 1, kReal, read_unary<U::neg>},
    {"NOT_EQUAL", 2, 2, 1, kReal, read_not_equal},
    {"POW", 2, 2, 1, kReal, read_binary<B::pow>},
    {"PRELU", 2, 2, 1, kReal, read_binary<B::prelu>},
    {"QUANTIZE", 1, 1, 1, kReal, read_quantize},
    {"RELU", 1, 1, 1, kReal, read_unary<U::relu>},
    {"RELU6", 1, 1, 1, kReal, read_clip<0, 6>},
    {"RELU_0_TO_1", 1, 1, 1, kReal, read_clip<0, 1>},
    {"RELU_N1_TO_1", 1, 1, 1, kReal, read_clip<-1, 1>},
    {"RIGHT_SHIFT", 2, 2, 1, kStored, read_binary<B::shift_right>},
    {"ROUND", 1, 1, 1, kReal, read_unary<U::round>},
    {"RSQRT", 1, 1, 1, kReal, read_rsqrt},
    {"SIGN", 1, 1, 1, kReal, read_unary<U::sign>},
    {"SIN", 1, 1, 1, kReal, read_unary<U::sin>},
    {"SQRT", 1, 1, 1, kReal, read_unary<U::sqrt>},
    {"SQUARE", 1, 1, 1, kReal, read_square},
    {"SQUARED_DIFFERENCE", 2, 2, 1, kReal, read_squared_difference},
    {"STABLEHLO_ADD", 2, 2, 1, kReal, read_binary<B::add>},
    {"STABLEHLO_AND", 2, 2, 1, kReal, read_stablehlo_and},
    {"STABLEHLO_MAXIMUM", 2, 2, 1, kReal, read_binary<B::max>},
    {"STABLEHLO_MINIMUM", 2, 2, 1, kReal, read_binary<B::min>},
    {"STABLEHLO_MULTIPLY", 2, 2, 1, kReal, read_binary<B::mul>},
    {"STABLEHLO_SHIFT_LEFT", 2, 2, 1, kStored, read_binary<B::shift_left>},
    {"SUB", 2, 2, 1, kReal, read_activated<B::sub, file::SubOptions>},
    {"TANH", 1, 1, 1, kReal, read_unary<U::tanh>},
};

}  // namespace

const std::span<const OperatorEntry> kElementwise = kElementwiseTable;

}  // namespace octavo::tflite_import
