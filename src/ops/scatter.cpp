// What scatter_elements and scatter_nd share. Part of ops/.
#include "ops/scatter.h"

#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>

#include "ops/binary/integers.h"
#include "ops/element_types.h"

namespace octavo {
namespace {

template <ScatterKind kind, class Number>
Number joined(Number a, Number b) {
  if constexpr (std::is_floating_point_v<Number>) {
    switch (kind) {
      case ScatterKind::assign: return b;
      case ScatterKind::add: return a + b;
      case ScatterKind::mul: return a * b;
      case ScatterKind::max: return a > b || std::isnan(a) ? a : b;
      case ScatterKind::min: return a < b || std::isnan(a) ? a : b;
    }
  } else {
    switch (kind) {
      case ScatterKind::assign: return b;
      case ScatterKind::add: return integer_binary(BinaryKind::add, a, b);
      case ScatterKind::mul: return integer_binary(BinaryKind::mul, a, b);
      case ScatterKind::max: return a > b ? a : b;
      case ScatterKind::min: return a < b ? a : b;
    }
  }
  return b;
}

template <ScatterKind kind, class Element>
void join_row(std::byte* y, const std::byte* updates, std::int64_t n) {
  using Stored = typename Element::Stored;
  auto* to = reinterpret_cast<Stored*>(y);
  const auto* from = reinterpret_cast<const Stored*>(updates);
  for (std::int64_t i = 0; i < n; ++i) {
    if constexpr (kind == ScatterKind::assign) to[i] = from[i];
    else to[i] = Element::store(joined<kind>(Element::load(to[i]), Element::load(from[i])));
  }
}

template <ScatterKind kind>
ScatterRow scatter_row_of(DType dtype) {
  return with_element(dtype, []<class Element>(Element) -> ScatterRow { return &join_row<kind, Element>; });
}

}  // namespace

ScatterRow scatter_row(ScatterKind kind, DType dtype) {
  switch (kind) {
    case ScatterKind::add: return scatter_row_of<ScatterKind::add>(dtype);
    case ScatterKind::mul: return scatter_row_of<ScatterKind::mul>(dtype);
    case ScatterKind::max: return scatter_row_of<ScatterKind::max>(dtype);
    case ScatterKind::min: return scatter_row_of<ScatterKind::min>(dtype);
    default: return scatter_row_of<ScatterKind::assign>(dtype);
  }
}

Problem check_scatter(ScatterKind kind, const Fact& x, const Fact& indices, const Fact& updates) {
  if (auto problem = check_dtype("indices", indices, {DType::s32, DType::s64})) return problem;
  if (auto problem = check_same_dtype("updates", updates, x.dtype)) return problem;
  if (kind != ScatterKind::assign && x.dtype == DType::boolean)
    return shape_error("x", "bool", "numbers for " + std::string(name_of(kind)));
  return std::nullopt;
}

}  // namespace octavo
