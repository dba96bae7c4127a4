// TFLite readers: diagonals of matrices, and rows that are looked up by their keys. Part of import/.
#include "import/tflite/operators.h"
#include "ops/where/where.h"

namespace octavo::tflite_import {
namespace {

using B = BinaryKind;

// True where row and column of the last two axes are the same.
ValueId is_on_diagonal(OperatorReader& in, const OpenShape& shape) {
  const int rank = shape.rank();
  return diagonal_mask(in, B::equal, OpenShape(Extents{shape[rank - 2], shape[rank - 1]}), 0);
}

// Matrices with x along their diagonals, zeros elsewhere.
ValueId read_matrix_diag(OperatorReader& in) {
  const ValueId x = in.stored(0);
  in.require_rank(x, 1, kMaxRank - 1);
  if (in.failed()) return {};
  const int rank = in.rank(x);
  const ValueId rows = unsqueeze(in, x, Integers{rank}, "rows");
  if (in.failed()) return {};
  Extents dims = in.shape(x).to_vector();
  dims.push_back(dims.back());
  return in.add(kWhere, NoAttrs{}, {is_on_diagonal(in, OpenShape(dims)), rows, in.scalar_like(x, 0.0, "zero")});
}

// x with other diagonals, which are as long as the shorter of the two axes.
ValueId read_matrix_set_diag(OperatorReader& in) {
  const ValueId x = in.stored(0), diagonal = in.stored(1);
  in.require_rank(x, 2, kMaxRank);
  in.require_rank(diagonal, in.rank(x) - 1, in.rank(x) - 1);
  if (in.failed()) return {};
  const OpenShape shape = in.shape(x);
  const int last = shape.rank() - 1;
  Extents dims(shape.begin(), shape.end() - 1);
  dims.back() = smaller(shape[last - 1], shape[last]);
  if (in.shape(diagonal) != OpenShape(dims))
    return in.fail("input 1", "shape " + in.shape(diagonal).to_string(), OpenShape(dims).to_string());
  // By row: rows below a square have no element of it.
  Extents missing(static_cast<std::size_t>(last), 0);
  const Extents none = missing;
  missing.back() = shape[last - 1] - dims.back();
  const ValueId padded = pad(in, {.x = diagonal, .begin = none, .end = missing}, "by_row");
  const ValueId rows = unsqueeze(in, padded, Integers{last}, "rows");
  return in.add(kWhere, NoAttrs{}, {is_on_diagonal(in, shape), rows, x});
}

// Rows of values by their keys, zeros for keys that there are not, and which there are.
ValueId read_hashtable_lookup(OperatorReader& in) {
  const ValueId wanted = in.stored(0), keys = in.stored(1), values = in.stored(2);
  in.require_rank(wanted, 1, 1);
  in.require_rank(keys, 1, 1);
  in.require_rank(values, 1, kMaxRank);
  if (in.failed()) return {};
  if (!(in.shape(values)[0] == in.shape(keys)[0]) || in.shape(keys)[0] < 1)
    return in.fail("input 2", "shape " + in.shape(values).to_string(), "a row for each of the keys");
  const ValueId is_key = in.binary(B::equal, unsqueeze(in, wanted, Integers{1}, "wanted"), keys, "is_key");
  const ValueId ones = in.cast(is_key, DType::s32, "ones");
  const ValueId place = argmax(in, ones, 1, {.keep_dims = false}, "place");
  const ValueId is_found =
      reduce(in, {.x = ones, .kind = ReduceKind::max, .axes = Integers{1}, .keeps_dims = false}, "is_found");
  in.output(1, in.cast(is_found, DType::u8, "hits"));
  if (in.failed()) return {};
  Extents dims(static_cast<std::size_t>(in.rank(values)), 1);
  dims[0] = in.shape(wanted)[0];
  const ValueId mask = in.cast(in.reshape(is_found, dims, "found_rows"), DType::boolean, "mask");
  return in.add(kWhere, NoAttrs{}, {mask, gather(in, values, place, Number(0)), in.scalar_like(values, 0.0, "zero")});
}

constexpr OperatorEntry kMatricesTable[] = {
    {"HASHTABLE_LOOKUP", 3, 3, 2, kStored, read_hashtable_lookup},
    {"MATRIX_DIAG", 1, 1, 1, kStored, read_matrix_diag},
    {"MATRIX_SET_DIAG", 2, 2, 1, kStored, read_matrix_set_diag},
};

}  // namespace

const std::span<const OperatorEntry> kMatrices = kMatricesTable;

}  // namespace octavo::tflite_import
