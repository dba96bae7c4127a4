// ATen readers: changes of the element type, and operators that change nothing in inference. Part of import/.
#include "import/pt2/operators.h"
#include "import/pt2/parts.h"
#include "ops/list.h"

namespace octavo::pt2_import {

// _to_copy, to.dtype and prims.convert_element_type call their argument differently.
void read_cast(NodeReader& in) {
  const ValueId x = in.value(base_name(in.target()) == "convert_element_type" ? "a" : "self");
  for (const char* name : {"layout", "device", "pin_memory", "non_blocking", "copy", "memory_format"}) in.ignore(name);
  const DType to = in.element_type("dtype", in.dtype(x));
  if (in.failed()) return;
  if (const auto quantized = quantize_of_cast(in, x, to)) return in.output(0, *quantized);
  in.output(0, in.cast(x, to, ""));
}

void read_type_as(NodeReader& in) {
  const ValueId x = in.value("self"), other = in.value("other");
  in.output(0, in.cast(x, in.dtype(other), ""));
}

void read_identity(NodeReader& in) {
  in.ignore("memory_format");  // layouts are our own decision
  in.output(0, in.value("self"));
}

void read_dropout(NodeReader& in) {
  const ValueId x = in.value(in.has("input") ? "input" : "self");
  if (in.flag("train", false) && in.number("p", 0.5) != 0.0) {
    in.unsupported("argument 'train'", "true", "false; export the model in evaluation mode");
  }
  in.ignore("p");
  in.output(0, x);
}

// Assertions on sizes and types: ours are checked by other means, and a check that fails was made for other sizes.
void read_check(NodeReader& in) {
  for (const char* name : {"self", "assert_msg", "a", "size", "stride", "dtype", "device", "layout", "b"})
    in.ignore(name);
  in.output_size(0);
}

}  // namespace octavo::pt2_import
