// argmax: index of the extreme along an axis. Part of ops/.
#include "ops/argmax/argmax.h"

#include "graph/attrs_of.h"
#include "ops/one_image.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_argmax(const Attrs& attrs, InputFacts inputs) {
  const Fact& x = *inputs[0];
  const auto& argmax = attrs.as<ArgmaxAttrs>();
  const auto axis = normalize_axis(argmax.axis, x.shape.rank());
  if (!axis) return shape_error("", "axis " + std::to_string(argmax.axis), "an axis of " + x.shape.to_string());
  if (x.shape[*axis] == 0) return shape_error("", "an empty axis in " + x.shape.to_string(), "elements to compare");
  std::vector<Dim> dims = x.shape.to_vector();
  if (argmax.keep_dims) dims[static_cast<std::size_t>(*axis)] = 1;
  else dims.erase(dims.begin() + *axis);
  return std::vector<Fact>{{.dtype = DType::s64, .shape = OpenShape(std::move(dims))}};
}

// Index of the extreme of value(0), ..., value(count - 1).
template <class Value>
std::int64_t find_extreme(const ArgmaxAttrs& attrs, std::int64_t count, Value value) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < count; ++i) {
    const auto candidate = value(i);
    const auto held = value(best);
    const bool is_better = attrs.kind == ArgKind::max ? candidate > held : candidate < held;
    if (is_better || (attrs.select_last && candidate == held)) best = i;
  }
  return best;
}

void reference_argmax(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& argmax = attrs.as<ArgmaxAttrs>();
  const ConstTensorView& x = inputs[0];
  const int axis = *normalize_axis(argmax.axis, x.shape.rank());
  const std::int64_t inner = x.shape.elements(axis + 1, x.shape.rank());
  const std::int64_t count = x.shape[axis];
  const std::int64_t results = outputs[0].shape.elements();
  for (std::int64_t r = 0; r < results; ++r) {
    const std::int64_t base = r / inner * inner * count + r % inner;
    const auto at = [&](std::int64_t i) { return base + i * inner; };
    std::int64_t& y = outputs[0].as<std::int64_t>()[r];
    // 64-bit integers are compared as they are: an f64 cannot tell them all apart.
    if (x.dtype == DType::s64)
      y = find_extreme(argmax, count, [&](std::int64_t i) { return x.as<std::int64_t>()[at(i)]; });
    else if (x.dtype == DType::u64)
      y = find_extreme(argmax, count, [&](std::int64_t i) { return x.as<std::uint64_t>()[at(i)]; });
    else y = find_extreme(argmax, count, [&](std::int64_t i) { return element_as_double(x, at(i)); });
  }
}

std::optional<Reordered> reordered_argmax(const Attrs& attrs, InputFacts, const Axes& axes) {
  auto changed = attrs.as<ArgmaxAttrs>();
  const Axes kept = changed.keep_dims ? axes : without_axes(axes, {changed.axis});
  changed.axis = axes[static_cast<std::size_t>(changed.axis)];
  return Reordered{changed, kept};
}

}  // namespace

const OpSpec kArgmax{
    .name = "argmax",
    .summary = "index of the largest or smallest element along an axis, the first of equals unless asked for the last",
    .inputs = {"x"},
    .infer = infer_argmax,
    .reference = reference_argmax,
    .decode_attrs = decode_attrs_as<ArgmaxAttrs>,
    .for_one_image = same_for_one_image_along_axis<ArgmaxAttrs>,
    .elements = elements_are<Elements::ranked>,
    .folds_at_import = true,
    .reordered = reordered_argmax,
    .read_from = "ONNX ArgMax; TFLite ARG_MAX; ATen argmax",
    .integer_form = "itself",
};

template Attrs::Attrs(ArgmaxAttrs);

}  // namespace octavo
