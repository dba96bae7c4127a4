// unique: shape rule and reference. Part of ops/.
#include "ops/unique/unique.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/element_types.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_unique(const Attrs& attrs, InputFacts inputs) {
  const std::int64_t axis = attrs.as<UniqueAttrs>().axis;
  const Fact& x = *inputs[0];
  if (auto problem = check_range("axis", axis, -1, std::int64_t{x.shape.rank()} - 1)) return *problem;
  const OpenShape shape = axis < 0 ? OpenShape({x.shape.elements()}) : x.shape;
  const OpenShape slices({shape[axis < 0 ? 0 : static_cast<int>(axis)]});
  return std::vector<Fact>{{.dtype = x.dtype, .shape = shape},
                           {.dtype = DType::s64, .shape = slices},
                           {.dtype = DType::s64, .shape = slices},
                           {.dtype = DType::s64, .shape = slices},
                           {.dtype = DType::s64, .shape = OpenShape({Dim(shape.rank())})},
                           {.dtype = DType::s64, .shape = OpenShape({Dim(1)})}};
}

// x as [outer, slices, inner].
struct Slices {
  std::int64_t outer = 1, count = 0, inner = 1;
};

// -1, 0 or 1.
template <class Element>
int compared(const Slices& s, const typename Element::Stored* x, std::int64_t a, std::int64_t b) {
  for (std::int64_t o = 0; o < s.outer; ++o) {
    for (std::int64_t i = 0; i < s.inner; ++i) {
      const auto p = Element::load(x[(o * s.count + a) * s.inner + i]);
      const auto q = Element::load(x[(o * s.count + b) * s.inner + i]);
      // Of integers both are false.
      const bool p_is_nan = p != p, q_is_nan = q != q;
      if (p_is_nan || q_is_nan) {
        if (p_is_nan != q_is_nan) return p_is_nan ? 1 : -1;
      } else if (p != q) {
        return p < q ? -1 : 1;
      }
    }
  }
  return 0;
}

template <class Element>
void find(const UniqueAttrs& attrs, const Slices& s, const ConstTensorView& x, OutputViews outputs,
          std::int64_t* scratch) {
  const auto* values = x.as<typename Element::Stored>();
  std::int64_t *order = scratch, *starts = scratch + s.count;
  std::iota(order, order + s.count, std::int64_t{0});
  std::sort(order, order + s.count, [&](std::int64_t a, std::int64_t b) {
    const int way = compared<Element>(s, values, a, b);
    return way != 0 ? way < 0 : a < b;
  });
  const auto begins = [&](std::int64_t i) {
    return i == 0 || compared<Element>(s, values, order[i - 1], order[i]) != 0;
  };
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < s.count; ++i) {
    if (begins(i)) starts[count++] = i;
  }
  if (!attrs.is_sorted)
    std::sort(starts, starts + count, [&](std::int64_t a, std::int64_t b) { return order[a] < order[b]; });
  auto* y = outputs[0].as<typename Element::Stored>();
  std::int64_t *first = outputs[1].as<std::int64_t>(), *inverse = outputs[2].as<std::int64_t>();
  std::int64_t* times = outputs[3].as<std::int64_t>();
  for (std::int64_t k = 0; k < count; ++k) {
    std::int64_t end = starts[k];
    first[k] = order[end];
    do {
      inverse[order[end]] = k;
    } while (++end < s.count && !begins(end));
    times[k] = end - starts[k];
    for (std::int64_t o = 0; o < s.outer; ++o) {
      for (std::int64_t i = 0; i < s.inner; ++i)
        y[(o * count + k) * s.inner + i] = values[(o * s.count + first[k]) * s.inner + i];
    }
  }
  auto* extents = outputs[4].as<std::int64_t>();
  for (int axis = 0; axis < outputs[0].shape.rank(); ++axis) extents[axis] = outputs[0].shape[axis];
  extents[std::max<std::int64_t>(attrs.axis, 0)] = count;
  outputs[5].as<std::int64_t>()[0] = count;
}

void reference_unique(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  std::vector<std::int64_t> scratch(static_cast<std::size_t>(unique_scratch(outputs[2].shape.elements())));
  find_unique(attrs.as<UniqueAttrs>(), inputs[0], outputs, scratch.data());
}

}  // namespace

void find_unique(const UniqueAttrs& attrs, const ConstTensorView& x, OutputViews outputs, std::int64_t* scratch) {
  Slices slices{.count = x.shape.elements()};
  if (attrs.axis >= 0) {
    const int axis = static_cast<int>(attrs.axis);
    slices = {x.shape.elements(0, axis), x.shape[axis], x.shape.elements(axis + 1, x.shape.rank())};
  }
  for (const std::size_t i : {0, 1, 3}) {
    if (const std::size_t bytes = outputs[i].bytes(); bytes > 0) std::memset(outputs[i].data, 0, bytes);
  }
  with_element(x.dtype, [&]<class Element>(Element) { find<Element>(attrs, slices, x, outputs, scratch); });
}

const OpSpec kUnique{
    .name = "unique",
    .summary =
        "the different elements or slices, where each is first, which one each of x is and how often it is there, "
        "and how many there are; the rest of the results is 0",
    .inputs = {"x"},
    .outputs = 6,
    .infer = infer_unique,
    .reference = reference_unique,
    .decode_attrs = decode_attrs_as<UniqueAttrs>,
    .folds_at_import = true,
    .read_from = "ONNX Unique; TFLite UNIQUE",
};

template Attrs::Attrs(UniqueAttrs);

}  // namespace octavo
