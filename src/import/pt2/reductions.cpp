// ATen readers: reductions. Part of import/.
#include <numeric>

#include "import/pt2/operators.h"
#include "import/pt2/parts.h"
#include "ops/list.h"

namespace octavo::pt2_import {
namespace {

ReduceKind kind_of(const std::string& name) {
  if (name == "mean") return ReduceKind::mean;
  if (name == "amax") return ReduceKind::max;
  return name == "amin" ? ReduceKind::min : ReduceKind::sum;
}

}  // namespace

void read_reduce(NodeReader& in) {
  const ValueId x = in.value("self");
  std::vector<std::int64_t> axes = in.integers("dim");
  const bool keeps_dims = in.flag("keepdim", false);
  const DType type = in.element_type("dtype", in.dtype(x));
  if (in.failed()) return;
  if (axes.empty()) {
    axes.resize(static_cast<std::size_t>(in.rank(x)));
    std::iota(axes.begin(), axes.end(), 0);
  }
  axes = in.axes("dim", axes, in.rank(x));
  const ReduceAttrs attrs{.kind = kind_of(base_name(in.target())), .axes = axes, .keep_dims = keeps_dims};
  in.output(0, in.add(kReduce, attrs, {in.cast(x, type, "x")}));
}

void read_argmax(NodeReader& in) {
  const ValueId x = in.value("self");
  const bool is_flat = !in.has("dim");
  const bool keeps_dims = in.flag("keepdim", false);
  const std::int64_t dim = in.integer("dim", 0);
  if (in.failed()) return;
  if (is_flat && keeps_dims) return in.unsupported("argument 'keepdim'", "true without 'dim'", "false");
  const ValueId values = is_flat ? in.reshape(x, {in.shape(x).elements()}, "flat") : x;
  const ArgmaxAttrs attrs{.kind = base_name(in.target()) == "argmin" ? ArgKind::min : ArgKind::max,
                          .axis = in.axis("dim", dim, in.rank(values)),
                          .keep_dims = keeps_dims};
  in.output(0, in.add(kArgmax, attrs, {values}));
}

}  // namespace octavo::pt2_import
