// ATen readers: functions of two elements. Part of import/.
#include <algorithm>

#include "import/pt2/operators.h"
#include "import/pt2/parts.h"
#include "ops/list.h"

namespace octavo::pt2_import {
namespace {

// The type that both integers fit; a float and an integer meet in the float.
DType common_type(DType a, DType b) {
  if (is_float(a) != is_float(b)) return is_float(a) ? a : b;
  if (size_of(a) != size_of(b)) return size_of(a) > size_of(b) ? a : b;
  return a == b || is_float(a) ? a : DType::s16;  // u8 and s8
}

// A scalar tensor of another type does not widen the result: it takes part in the other operand's type.
ValueId in_type_of(NodeReader& in, ValueId scalar, ValueId other, std::string_view suffix) {
  const bool is_scalar = scalar.exists() && in.rank(scalar) == 0 && in.rank(other) > 0;
  const bool keeps_kind = is_float(in.dtype(other)) || is_integer(in.dtype(scalar));
  return is_scalar && keeps_kind ? in.cast(scalar, in.dtype(other), suffix) : scalar;
}

}  // namespace

void read_binary(NodeReader& in, BinaryKind kind) {
  const bool is_reversed_sub = base_name(in.target()) == "rsub";
  const std::string_view second = kind == BinaryKind::pow ? "exponent" : "other";
  // Either may be a number, the first one in programs that wrote "1 - x".
  const bool is_reversed = !in.is_tensor("self") && in.is_tensor(second);
  ValueId a = is_reversed ? ValueId{} : in.value("self");
  ValueId b = is_reversed ? in.value(second) : in.value_or_number(second, a);
  if (is_reversed) a = in.value_or_number("self", b);
  const double alpha = in.number("alpha", 1.0);
  if (in.failed()) return;
  a = in_type_of(in, a, b, "self");
  b = in_type_of(in, b, a, "other");
  const DType common = common_type(in.dtype(a), in.dtype(b));
  a = in.cast(a, common, "self");
  b = in.cast(b, common, "other");
  if (is_reversed_sub) std::swap(a, b);
  if (kind == BinaryKind::div && !is_float(in.dtype(a)))
    return in.unsupported("argument 'self'", std::string(name_of(in.dtype(a))), "floats");
  if (kind == BinaryKind::mul) {
    if (const auto real = dequantize_of_product(in, a, b)) return in.output(0, *real);
  }
  if (alpha != 1.0) {
    ValueId& scaled = is_reversed_sub ? a : b;
    scaled = in.add(kBinary, BinaryAttrs{.kind = BinaryKind::mul}, {scaled, in.scalar_like(scaled, alpha, "alpha")},
                    "scaled");
  }
  in.output(0, in.add(kBinary, BinaryAttrs{.kind = kind}, {a, b}));
}

void read_rsqrt(NodeReader& in) {
  const ValueId root = in.add(kUnary, UnaryAttrs{.kind = UnaryKind::sqrt}, {in.value("self")}, "root");
  in.output(0, in.add(kUnary, UnaryAttrs{.kind = UnaryKind::reciprocal}, {root}));
}

void read_where(NodeReader& in) {
  const ValueId condition = in.value("condition");
  ValueId a = in.value("self"), b = in.value("other");
  if (in.failed()) return;
  a = in_type_of(in, a, b, "self");
  b = in_type_of(in, b, a, "other");
  in.output(0, in.add(kWhere, NoAttrs{}, {condition, a, b}));
}

// One slope for all channels (axis 1), or one each.
void read_prelu(NodeReader& in) {
  const ValueId x = in.value("self"), slope = in.value("weight");
  in.require_rank("weight", slope, 0, 1);
  if (in.failed()) return;
  std::vector<std::int64_t> dims(static_cast<std::size_t>(std::max(in.rank(x) - 1, 1)), 1);
  dims[0] = in.shape(slope).elements();
  in.output(0, in.add(kBinary, BinaryAttrs{.kind = BinaryKind::prelu}, {x, in.reshape(slope, dims, "slope")}));
}

}  // namespace octavo::pt2_import
