// TFLite readers: conversions between types. Part of import/.
#include "import/tflite/operators.h"
#include "ops/list.h"

namespace octavo::tflite_import {

// From floats, or from one scale to another.
void read_quantize(OperatorReader& in) {
  const ValueId x = in.operand(0);
  const FileTensor& target = in.output_tensor(0);
  if (in.failed()) return;
  if (in.dtype(x) != DType::f32) return in.unsupported("input", std::string(name_of(in.dtype(x))), "f32, u8 or s8");
  if (!is_8bit(target.dtype))
    return in.unsupported("output '" + target.name + "'", std::string(name_of(target.dtype)), "u8 or s8");
  if (!target.quant)
    return in.fail("output '" + target.name + "'", std::string(name_of(target.dtype)) + " without scale and zero point",
                   "both");
  in.output(0, x);
}

// Also what stores weights as 16-bit floats and computes in f32.
void read_dequantize(OperatorReader& in) {
  const FileTensor& source = in.tensor(0);
  if (source.dtype == DType::f16 || source.dtype == DType::bf16) {
    const ValueId x = in.stored(0);
    return in.output_stored(0, in.add(kCast, CastAttrs{.to = DType::f32}, {x}));
  }
  if (!is_8bit(source.dtype))
    return in.unsupported("input '" + source.name + "'", std::string(name_of(source.dtype)), "u8, s8 or f16");
  in.output_stored(0, in.operand(0));
}

void read_cast(OperatorReader& in) {
  const ValueId x = in.stored(0);
  const DType to = in.output_tensor(0).dtype;
  if (!x.exists() || in.dtype(x) == to) return in.output_stored(0, x);
  in.output_stored(0, in.add(kCast, CastAttrs{.to = to}, {x}));
}

}  // namespace octavo::tflite_import
