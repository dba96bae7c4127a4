// ONNX readers: changes of the element type. Part of import/.
#include "import/onnx/operators.h"
#include "import/onnx/types.h"
#include "ops/list.h"

namespace octavo::onnx_import {

void read_cast(NodeReader& in) {
  const ValueId x = in.value(0);
  const auto type = static_cast<int>(in.attributes.integer("to", 0));
  // Both only concern 8-bit floats.
  in.attributes.ignore("saturate");
  in.attributes.ignore("round_mode");
  const auto to = dtype_of_onnx(type);
  if (!to) return in.unsupported("attribute 'to'", onnx_type_name(type), "integers, floats of 16 to 64 bits or bool");
  in.output(0, in.cast(x, *to, ""));
}

void read_cast_like(NodeReader& in) {
  const ValueId x = in.value(0), like = in.value(1);
  in.attributes.ignore("saturate");
  in.attributes.ignore("round_mode");
  in.output(0, in.cast(x, in.dtype(like), ""));
}

void read_identity(NodeReader& in) { in.output(0, in.value(0)); }

}  // namespace octavo::onnx_import
