// TFLite readers: functions of two values. Part of import/.
#include "import/tflite/operators.h"
#include "ops/list.h"

namespace octavo::tflite_import {
namespace {

template <class Options>
void read_binary(OperatorReader& in, BinaryKind kind) {
  const Options* given = in.options<Options>();
  const ValueId a = in.operand(0), b = in.operand(1);
  const ValueId y = in.add(kBinary, BinaryAttrs{.kind = kind}, {a, b});
  in.output(0, in.activation(y, given == nullptr ? 0 : given->fused_activation_function()));
}

}  // namespace

void read_add(OperatorReader& in) { read_binary<file::AddOptions>(in, BinaryKind::add); }
void read_sub(OperatorReader& in) { read_binary<file::SubOptions>(in, BinaryKind::sub); }
void read_mul(OperatorReader& in) { read_binary<file::MulOptions>(in, BinaryKind::mul); }
void read_div(OperatorReader& in) { read_binary<file::DivOptions>(in, BinaryKind::div); }

void read_extreme(OperatorReader& in) {
  const ValueId a = in.operand(0), b = in.operand(1);
  in.output(0,
            in.add(kBinary, BinaryAttrs{.kind = in.type() == "MAXIMUM" ? BinaryKind::max : BinaryKind::min}, {a, b}));
}

}  // namespace octavo::tflite_import
