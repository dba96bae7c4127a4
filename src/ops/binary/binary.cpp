// binary: functions of two elements, broadcast. Part of ops/.
#include "ops/binary/binary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/elementary_pow.h"
#include "base/math.h"
#include "graph/attrs_of.h"
#include "ops/binary/integers.h"
#include "ops/in_tables.h"
#include "ops/movement.h"
#include "ops/one_image.h"
#include "ops/traits.h"

namespace octavo {
namespace {

bool is_logic(BinaryKind kind) { return kind >= BinaryKind::logical_and && kind <= BinaryKind::logical_xor; }
bool is_bitwise(BinaryKind kind) { return kind >= BinaryKind::shift_left; }
bool is_comparison(BinaryKind kind) { return kind >= BinaryKind::equal && kind <= BinaryKind::less_or_equal; }

bool binary_takes(BinaryKind kind, DType dtype) {
  if (dtype == DType::boolean) return is_logic(kind) || kind == BinaryKind::equal;
  return !is_logic(kind) && (is_integer(dtype) || !is_bitwise(kind));
}

Result<std::vector<Fact>> infer_binary(const Attrs& attrs, InputFacts inputs) {
  const BinaryKind kind = attrs.as<BinaryAttrs>().kind;
  const Fact& a = *inputs[0];
  const Fact& b = *inputs[1];
  const std::string op(name_of(kind));
  if (a.dtype != b.dtype)
    return shape_error(op, std::string(name_of(a.dtype)) + " and " + std::string(name_of(b.dtype)),
                       "two inputs of one type");
  if (!binary_takes(kind, a.dtype))
    return shape_error(op, std::string(name_of(a.dtype)) + " inputs", "another element type");
  const auto shape = broadcast(a.shape, b.shape);
  if (!shape)
    return shape_error(op, "shapes " + a.shape.to_string() + " and " + b.shape.to_string(), "shapes that broadcast");
  const bool gives_boolean = is_comparison(kind) || is_logic(kind);
  return std::vector<Fact>{{.dtype = gives_boolean ? DType::boolean : a.dtype, .shape = *shape}};
}

// f32 in f32, tables excepted: base/elementary_pow.h. f16 and bf16 come as f32, to be rounded once.
enum class Power { in_f32, in_f64 };

// NaN in either operand of min and max comes through.
template <class T, Power power>
T float_binary(BinaryKind kind, T a, T b) {
  switch (kind) {
    case BinaryKind::add: return a + b;
    case BinaryKind::sub: return a - b;
    case BinaryKind::mul: return a * b;
    case BinaryKind::div: return a / b;
    case BinaryKind::pow:
      if constexpr (power == Power::in_f32) return pow_f32<Lane>(a, b);
      else return static_cast<T>(math_pow(a, b));
    case BinaryKind::min: return a < b || std::isnan(a) ? a : b;
    case BinaryKind::max: return a > b || std::isnan(a) ? a : b;
    case BinaryKind::mod: return std::fmod(a, b);  // exact, sign of a
    case BinaryKind::prelu: return a < 0 ? a * b : a;
    default: return a;
  }
}

// Calls f(i, offset of a, offset of b) for every element of the result.
template <class Function>
void for_each_pair(const Shape& a, const Shape& b, const Shape& y, Function f) {
  std::vector<std::int64_t> offsets_a;
  offsets_a.reserve(static_cast<std::size_t>(y.elements()));
  for_each_offset(y, broadcast_strides(a, y), 0, [&](std::int64_t offset) { offsets_a.push_back(offset); });
  std::int64_t i = 0;
  for_each_offset(y, broadcast_strides(b, y), 0, [&](std::int64_t offset) {
    f(i, offsets_a[static_cast<std::size_t>(i)], offset);
    ++i;
  });
}

template <class T, Power power = Power::in_f64>
void apply(BinaryKind kind, InputViews inputs, const TensorView& y) {
  const T* a = inputs[0].as<T>();
  const T* b = inputs[1].as<T>();
  for_each_pair(inputs[0].shape, inputs[1].shape, y.shape, [&](std::int64_t i, std::int64_t ia, std::int64_t ib) {
    if (y.dtype == DType::boolean) y.as<std::uint8_t>()[i] = compare<T>(kind, a[ia], b[ib]) ? 1 : 0;
    else if constexpr (std::is_floating_point_v<T>) y.as<T>()[i] = float_binary<T, power>(kind, a[ia], b[ib]);
    else y.as<T>()[i] = integer_binary<T>(kind, a[ia], b[ib]);
  });
}

// f16 and bf16: in f32, whose sums, products and quotients of such numbers round to the same half as the exact ones.
void apply_half(BinaryKind kind, InputViews inputs, const TensorView& y) {
  for_each_pair(inputs[0].shape, inputs[1].shape, y.shape, [&](std::int64_t i, std::int64_t ia, std::int64_t ib) {
    const auto a = static_cast<float>(element_as_double(inputs[0], ia));
    const auto b = static_cast<float>(element_as_double(inputs[1], ib));
    const bool is_boolean = y.dtype == DType::boolean;
    store_double(y, i,
                 is_boolean ? (compare(kind, a, b) ? 1.0 : 0.0)
                            : static_cast<double>(float_binary<float, Power::in_f64>(kind, a, b)));
  });
}

void reference_binary(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const BinaryKind kind = attrs.as<BinaryAttrs>().kind;
  switch (inputs[0].dtype) {
    case DType::boolean:
    case DType::u8: return apply<std::uint8_t>(kind, inputs, outputs[0]);
    case DType::s8: return apply<std::int8_t>(kind, inputs, outputs[0]);
    case DType::u16: return apply<std::uint16_t>(kind, inputs, outputs[0]);
    case DType::s16: return apply<std::int16_t>(kind, inputs, outputs[0]);
    case DType::u32: return apply<std::uint32_t>(kind, inputs, outputs[0]);
    case DType::s32: return apply<std::int32_t>(kind, inputs, outputs[0]);
    case DType::u64: return apply<std::uint64_t>(kind, inputs, outputs[0]);
    case DType::s64: return apply<std::int64_t>(kind, inputs, outputs[0]);
    case DType::f16:
    case DType::bf16: return apply_half(kind, inputs, outputs[0]);
    case DType::f32: return apply<float, Power::in_f32>(kind, inputs, outputs[0]);
    case DType::f64: return apply<double>(kind, inputs, outputs[0]);
  }
}

// Powers of f32 from f64.
void binary_reference_in_tables(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  if (inputs[0].dtype != DType::f32) return reference_binary(attrs, inputs, outputs);
  apply<float, Power::in_f64>(attrs.as<BinaryAttrs>().kind, inputs, outputs[0]);
}

NodeRole role_of_binary(const Attrs& attrs, InputFacts inputs) {
  const BinaryKind kind = attrs.as<BinaryAttrs>().kind;
  const bool is_scalar = std::any_of(inputs.begin(), inputs.end(), [](const Fact* input) {
    return is_f32_constant(*input) && input->shape.elements() == 1;
  });
  if (is_scalar) return {Role::pointwise, {}};
  if (kind == BinaryKind::add || kind == BinaryKind::mul) return {Role::kernel, {}};
  return stays_floating("no integer form of " + std::string(name_of(kind)));
}

}  // namespace

double binary_f64(BinaryKind kind, double a, double b) { return float_binary<double, Power::in_f64>(kind, a, b); }

const OpSpec kBinary{
    .name = "binary",
    .summary = "y = f(a, b), element by element with broadcasting",
    .inputs = {"a", "b"},
    .infer = infer_binary,
    .reference = reference_binary,
    .decode_attrs = decode_attrs_as<BinaryAttrs>,
    .for_one_image = same_for_one_image,
    .pointwise = pointwise_in<2>,
    .folds_at_import = true,
    .reordered = reordered_as_is,
    .role = role_of_binary,
    .read_from = "ONNX Add; TFLite ADD; ATen add",
    .integer_form = "quantized_elementwise; table with one varying input; into quantized_conv",
};

const OpSpec kBinaryInTables{
    .name = "binary_in_tables",
    .summary = "binary, powers from f64 rounded once",
    .inputs = {"a", "b"},
    .infer = infer_binary,
    .reference = binary_reference_in_tables,
};

template Attrs::Attrs(BinaryAttrs);

}  // namespace octavo
