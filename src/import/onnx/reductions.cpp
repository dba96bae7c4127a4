// ONNX readers: reductions. Part of import/.
#include <algorithm>
#include <numeric>

#include "import/onnx/operators.h"
#include "ops/list.h"

namespace octavo::onnx_import {
void read_reduce(NodeReader& in, ReduceKind kind) {
  const ValueId x = in.value(0);
  const bool has_input_form = in.opset() >= (kind == ReduceKind::sum ? 13 : 18);
  if (!has_input_form && in.input_count() > 1) return in.fail("", "2 inputs", "1 and the attribute 'axes'");
  std::vector<std::int64_t> axes;
  if (!has_input_form) axes = in.attributes.integers("axes");
  else if (in.has(1)) axes = in.constant_integers(1, "axes");
  const bool keeps_dims = in.attributes.flag("keepdims", true);
  const bool keeps_all = has_input_form && in.attributes.flag("noop_with_empty_axes", false);
  if (in.failed()) return;
  if (axes.empty() && !keeps_all) {
    axes.resize(static_cast<std::size_t>(in.rank(x)));
    std::iota(axes.begin(), axes.end(), 0);
  }
  axes = in.axes("axes", axes, in.rank(x));
  std::sort(axes.begin(), axes.end());
  in.output(0, in.add(kReduce, ReduceAttrs{.kind = kind, .axes = axes, .keep_dims = keeps_dims}, {x}));
}

void read_argmax(NodeReader& in) {
  const ValueId x = in.value(0);
  const ArgmaxAttrs attrs{.kind = in.op() == "ArgMin" ? ArgKind::min : ArgKind::max,
                          .axis = in.axis("attribute 'axis'", in.attributes.integer("axis", 0), in.rank(x)),
                          .keep_dims = in.attributes.flag("keepdims", true),
                          .select_last = in.opset() >= 12 && in.attributes.flag("select_last_index", false)};
  in.output(0, in.add(kArgmax, attrs, {x}));
}

}  // namespace octavo::onnx_import
