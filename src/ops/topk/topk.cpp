// topk: shape rule and reference. Part of ops/.
#include "ops/topk/topk.h"

#include <algorithm>
#include <numeric>

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/element_types.h"
#include "ops/one_image.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_topk(const Attrs& attrs, InputFacts inputs) {
  const auto& topk = attrs.as<TopkAttrs>();
  const Fact& x = *inputs[0];
  if (x.dtype == DType::boolean) return shape_error("x", "bool", "numbers");
  if (auto problem = check_range("axis", topk.axis, 0, std::int64_t{x.shape.rank()} - 1)) return *problem;
  OpenShape shape = x.shape;
  Dim& size = shape[static_cast<int>(topk.axis)];
  if (topk.k < 0 || size < topk.k)
    return shape_error("k", to_string(topk.k), "0 to " + to_string(size) + ", the size of the axis");
  size = topk.k;
  return std::vector<Fact>{{.dtype = x.dtype, .shape = shape}, {.dtype = DType::s64, .shape = shape}};
}

template <class Element>
void pick_first(const TopkAttrs& topk, const ConstTensorView& x, OutputViews outputs) {
  const auto axis = static_cast<int>(topk.axis);
  const std::int64_t count = x.shape[axis], inner = x.shape.elements(axis + 1, x.shape.rank());
  const std::int64_t k = topk.k;
  const auto* values = x.as<typename Element::Stored>();
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  for (std::int64_t line = 0; line < x.shape.elements(0, axis) * inner; ++line) {
    const auto at = [&](std::int64_t i) { return (line / inner * count + i) * inner + line % inner; };
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
      return comes_before(topk.largest, Element::load(values[at(i)]), i, Element::load(values[at(j)]), j);
    });
    for (std::int64_t i = 0; i < k; ++i) {
      const std::int64_t to = (line / inner * k + i) * inner + line % inner;
      const std::int64_t from = order[static_cast<std::size_t>(i)];
      outputs[0].as<typename Element::Stored>()[to] = values[at(from)];
      outputs[1].as<std::int64_t>()[to] = from;
    }
  }
}

void reference_topk(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  if (outputs[0].shape.elements() == 0) return;
  with_element(inputs[0].dtype,
               [&]<class Element>(Element) { pick_first<Element>(attrs.as<TopkAttrs>(), inputs[0], outputs); });
}

}  // namespace

const OpSpec kTopk{
    .name = "topk",
    .summary =
        "the k largest or smallest elements along an axis, sorted, and their positions; of equals the first one "
        "first",
    .inputs = {"x"},
    .outputs = 2,
    .infer = infer_topk,
    .reference = reference_topk,
    .decode_attrs = decode_attrs_as<TopkAttrs>,
    .for_one_image = same_for_one_image_along_axis<TopkAttrs>,
    .folds_at_import = true,
    .reordered = reordered_along_axis<TopkAttrs>,
    .read_from = "ONNX TopK; TFLite TOPK_V2; ATen topk",
};

template Attrs::Attrs(TopkAttrs);

}  // namespace octavo
