// TFLite readers: operators whose results' extents depend on data. Part of import/.
#include "import/tflite/operators.h"
#include "ops/nonzero/nonzero.h"
#include "ops/unique/unique.h"

namespace octavo::tflite_import {
namespace {

using B = BinaryKind;

// The positions of all elements that are not 0, row by row: found as numbers of elements, which the first ones of a
// list with room for all are, and taken apart into one number per axis.
ValueId read_where(OperatorReader& in) {
  const ValueId condition = in.stored(0);
  in.require_rank(condition, 1, kMaxRank);
  if (in.failed()) return {};
  const OpenShape shape = in.shape(condition);
  const Dim elements = shape.elements();
  const auto found = in.add_exactly(kNonzero, NoAttrs{}, {in.reshape(condition, {elements}, "flat")}, "found");
  if (in.failed()) return {};
  const auto size = [&](const Dim& dim, const std::string& name) {
    return in.reshape(in.extents({dim}, name + ".list"), {}, name);
  };
  ValueId rest = in.reshape(found[0], {elements, 1}, "numbers");
  std::vector<ValueId> axes(static_cast<std::size_t>(shape.rank()));
  for (int axis = shape.rank() - 1; axis > 0; --axis) {
    const std::string name = "axis" + std::to_string(axis);
    const ValueId of_axis = size(shape[axis], name + ".size");
    axes[static_cast<std::size_t>(axis)] = in.binary(B::mod, rest, of_axis, name);
    rest = in.binary(B::div, rest, of_axis, name + ".rest");
  }
  axes[0] = rest;
  const ValueId rows = axes.size() == 1 ? rest : concat(in, axes, 1, "rows");
  const ValueId rank = in.constant(Tensor::of<std::int64_t>(Shape{1}, {std::int64_t{shape.rank()}}), "rank");
  const ValueId count = slice(in, found[1], 0, {.start = 1, .size = 1}, "count");
  return in.with_shape(rows, concat(in, {count, rank}, 0, "extents"), {0});
}

// Each value once, in the order of their first places, and for each element which of them it is.
ValueId read_unique(OperatorReader& in) {
  const ValueId x = in.stored(0);
  in.require_rank(x, 1, 1);
  if (in.failed()) return {};
  const auto made = in.add_exactly(kUnique, UniqueAttrs{.is_sorted = false}, {x}, "unique");
  if (in.failed()) return {};
  in.output(1, in.cast(made[2], in.output_tensor(1).dtype, "places"));
  return in.with_shape(made[0], made[4], {0});
}

constexpr OperatorEntry kCountedTable[] = {
    {"UNIQUE", 1, 1, 2, kStored, read_unique},
    {"WHERE", 1, 1, 1, kStored, read_where},
};

}  // namespace

const std::span<const OperatorEntry> kCounted = kCountedTable;

}  // namespace octavo::tflite_import
