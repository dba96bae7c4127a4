// ONNX readers: functions of two or more elements, broadcast. Part of import/.
#include "import/onnx/operators.h"
#include "ops/list.h"

namespace octavo::onnx_import {
namespace {

ValueId binary(NodeReader& in, BinaryKind kind, ValueId a, ValueId b, std::string_view suffix = {}) {
  return in.add(kBinary, BinaryAttrs{.kind = kind}, {a, b}, suffix);
}

// ((x0 f x1) f x2) ...
ValueId chain(NodeReader& in, BinaryKind kind) {
  ValueId result = in.value(0);
  for (int i = 1; i < in.input_count(); ++i) {
    const std::string suffix = i + 1 < in.input_count() ? std::to_string(i) : "";
    result = binary(in, kind, result, in.value(i), suffix);
  }
  return result;
}

}  // namespace

void read_binary(NodeReader& in, BinaryKind kind) {
  const ValueId a = in.value(0), b = in.value(1);
  in.output(0, binary(in, kind, a, b));
}

void read_variadic(NodeReader& in, BinaryKind kind) { in.output(0, chain(in, kind)); }

void read_mean(NodeReader& in) {
  const ValueId sum = chain(in, BinaryKind::add);
  if (in.failed()) return;
  const ValueId count = in.scalar_like(sum, in.input_count(), "count");
  in.output(0, in.input_count() == 1 ? sum : binary(in, BinaryKind::div, sum, count));
}

void read_mod(NodeReader& in) {
  const ValueId a = in.value(0), b = in.value(1);
  const bool is_c_like = in.attributes.flag("fmod", false);
  if (in.failed()) return;
  if (is_float(in.dtype(a)) && !is_c_like) return in.fail("attribute 'fmod'", "0 for floats", "1");
  if (is_float(in.dtype(a)) || !is_c_like) return in.output(0, binary(in, BinaryKind::mod, a, b));
  // The remainder with the sign of the dividend: a - trunc(a / b) * b.
  const ValueId whole = binary(in, BinaryKind::mul, binary(in, BinaryKind::div, a, b, "quotient"), b, "whole");
  in.output(0, binary(in, BinaryKind::sub, a, whole));
}

void read_pow(NodeReader& in) {
  ValueId base = in.value(0), exponent = in.value(1);
  if (in.failed()) return;
  const DType type = in.dtype(base);
  // The result has the type of the base; an integer base with a float exponent is raised in floats.
  const bool is_mixed = is_integer(type) && is_float(in.dtype(exponent));
  const DType inner = is_mixed ? in.dtype(exponent) : type;
  base = in.cast(base, inner, "base");
  exponent = in.cast(exponent, inner, "exponent");
  const ValueId power = binary(in, BinaryKind::pow, base, exponent, is_mixed ? "power" : "");
  in.output(0, in.cast(power, type, ""));
}

void read_prelu(NodeReader& in) {
  const ValueId x = in.value(0), slope = in.value(1);
  const ValueId y = binary(in, BinaryKind::prelu, x, slope);
  if (in.failed()) return;
  if (in.shape(y) != in.shape(x)) {
    return in.fail("input 'slope'", "shape " + in.shape(slope).to_string(),
                   "one that broadcasts to " + in.shape(x).to_string());
  }
  in.output(0, y);
}

void read_where(NodeReader& in) {
  const ValueId condition = in.value(0), a = in.value(1), b = in.value(2);
  in.output(0, in.add(kWhere, NoAttrs{}, {condition, a, b}));
}

}  // namespace octavo::onnx_import
