// ATen readers: operators that only rearrange. Part of import/.
#include <algorithm>
#include <numeric>

#include "base/fields.h"
#include "import/pt2/operators.h"
#include "import/pt2/parts.h"
#include "ops/list.h"

namespace octavo::pt2_import {
namespace {

using Integers = std::vector<std::int64_t>;

// The dimension written as -1: what is left of the elements.
void infer_dim(NodeReader& in, Integers& dims, std::int64_t elements, std::string_view what) {
  const auto open = std::find(dims.begin(), dims.end(), -1);
  if (open == dims.end()) return;
  Integers known(dims.begin(), open);
  known.insert(known.end(), open + 1, dims.end());
  const auto product = checked_elements(known);
  if (product && *product > 0 && elements % *product == 0) *open = elements / *product;
  else
    in.fail("argument '" + std::string(what) + "'", print(dims) + " for " + std::to_string(elements) + " elements",
            "sizes that divide");
}

Integers first_to_last(int rank) {
  Integers perm(static_cast<std::size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  return perm;
}

bool is_among(const Integers& list, std::int64_t number) {
  return std::find(list.begin(), list.end(), number) != list.end();
}

}  // namespace

void read_reshape(NodeReader& in) {
  const ValueId x = in.value("self");
  const std::string_view name = in.has("shape") ? "shape" : "size";
  Integers dims = in.integers(name);
  if (in.failed()) return;
  infer_dim(in, dims, in.shape(x).elements(), name);
  if (in.failed()) return;
  in.output(0, in.add(kReshape, ReshapeAttrs{.shape = dims}, {x}));
}

void read_flatten(NodeReader& in) {
  const ValueId x = in.value("self");
  const std::int64_t start = in.integer("start_dim", 0), end = in.integer("end_dim", -1);
  if (in.failed()) return;
  if (in.rank(x) == 0) return in.output(0, in.add(kReshape, ReshapeAttrs{.shape = {1}}, {x}));
  const auto first = static_cast<int>(in.axis("start_dim", start, in.rank(x)));
  const auto last = static_cast<int>(in.axis("end_dim", end, in.rank(x)));
  if (in.failed()) return;
  if (first > last) return in.fail("argument 'end_dim'", std::to_string(end), "an axis after 'start_dim'");
  const Shape& shape = in.shape(x);
  Integers dims(shape.begin(), shape.begin() + first);
  dims.push_back(shape.elements(first, last + 1));
  dims.insert(dims.end(), shape.begin() + last + 1, shape.end());
  in.output(0, in.add(kReshape, ReshapeAttrs{.shape = dims}, {x}));
}

void read_unflatten(NodeReader& in) {
  const ValueId x = in.value("self");
  const std::int64_t dim = in.integer("dim");
  Integers sizes = in.integers("sizes");
  if (in.failed()) return;
  const auto axis = static_cast<int>(in.axis("dim", dim, in.rank(x)));
  if (in.failed()) return;
  infer_dim(in, sizes, in.shape(x)[axis], "sizes");
  if (in.failed()) return;
  Integers dims = in.shape(x).to_vector();
  dims.erase(dims.begin() + axis);
  dims.insert(dims.begin() + axis, sizes.begin(), sizes.end());
  in.output(0, in.add(kReshape, ReshapeAttrs{.shape = dims}, {x}));
}

// Axes that are named and do not have size 1 stay.
void read_squeeze(NodeReader& in) {
  const ValueId x = in.value("self");
  const bool takes_all = !in.has("dim");
  const Integers named = in.integers("dim");
  if (in.failed()) return;
  const Integers axes = in.axes("dim", named, in.rank(x));
  if (in.failed()) return;
  Integers dims;
  for (int i = 0; i < in.rank(x); ++i) {
    if (in.shape(x)[i] != 1 || !(takes_all || is_among(axes, i))) dims.push_back(in.shape(x)[i]);
  }
  in.output(0, in.add(kReshape, ReshapeAttrs{.shape = dims}, {x}));
}

void read_unsqueeze(NodeReader& in) {
  const ValueId x = in.value("self");
  const std::int64_t dim = in.integer("dim");
  if (in.failed()) return;
  const std::int64_t axis = in.axis("dim", dim, in.rank(x) + 1);
  if (in.failed()) return;
  Integers dims = in.shape(x).to_vector();
  dims.insert(dims.begin() + axis, 1);
  in.output(0, in.add(kReshape, ReshapeAttrs{.shape = dims}, {x}));
}

void read_permute(NodeReader& in) {
  const ValueId x = in.value("self");
  Integers perm;
  const Integers dims = in.integers("dims");
  if (in.failed()) return;
  for (std::int64_t dim : dims) {
    perm.push_back(in.axis("dims", dim, in.rank(x)));
    if (in.failed()) return;
  }
  in.output(0, in.add(kTranspose, TransposeAttrs{.perm = perm}, {x}));
}

// Two axes swapped; t() swaps the axes of a matrix.
void read_transpose(NodeReader& in) {
  const ValueId x = in.value("self");
  if (in.failed()) return;
  const bool is_t = base_name(in.target()) == "t";
  if (is_t) in.require_rank("self", x, 0, 2);
  if (is_t && in.rank(x) < 2) return in.output(0, x);
  const std::int64_t a = is_t ? 0 : in.axis("dim0", in.integer("dim0"), in.rank(x));
  const std::int64_t b = is_t ? 1 : in.axis("dim1", in.integer("dim1"), in.rank(x));
  if (in.failed()) return;
  Integers perm = first_to_last(in.rank(x));
  std::swap(perm[static_cast<std::size_t>(a)], perm[static_cast<std::size_t>(b)]);
  in.output(0, in.add(kTranspose, TransposeAttrs{.perm = perm}, {x}));
}

// -1 keeps a dimension.
void read_expand(NodeReader& in) {
  const ValueId x = in.value("self");
  Integers dims = in.integers("size");
  in.ignore("implicit");
  if (in.failed()) return;
  const std::int64_t added = static_cast<std::int64_t>(dims.size()) - in.rank(x);
  if (added < 0) return in.fail("argument 'size'", print(dims), "at least " + std::to_string(in.rank(x)) + " sizes");
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == -1 && static_cast<std::int64_t>(i) >= added)
      dims[i] = in.shape(x)[static_cast<int>(static_cast<std::int64_t>(i) - added)];
  }
  in.output(0, in.add(kExpand, ExpandAttrs{.shape = dims}, {x}));
}

// [a, b] -> [1, a, 1, b] -> [r, a, s, b] -> [r·a, s·b]
void read_repeat(NodeReader& in) {
  const ValueId x = in.value("self");
  const Integers repeats = in.integers("repeats");
  if (in.failed()) return;
  const std::int64_t added = static_cast<std::int64_t>(repeats.size()) - in.rank(x);
  if (added < 0 || repeats.size() > kMaxRank / 2 || !checked_elements(repeats)) {
    return in.fail("argument 'repeats'", print(repeats),
                   "at least " + std::to_string(in.rank(x)) + " and at most 32 sizes");
  }
  Integers apart, repeated, joined;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    const std::int64_t own =
        static_cast<std::int64_t>(i) < added ? 1 : in.shape(x)[static_cast<int>(static_cast<std::int64_t>(i) - added)];
    apart.insert(apart.end(), {1, own});
    repeated.insert(repeated.end(), {repeats[i], own});
    if (!checked_elements(std::vector<std::int64_t>{repeats[i], own}))
      return in.fail("argument 'repeats'", print(repeats), "a smaller result");
    joined.push_back(repeats[i] * own);
  }
  if (!checked_elements(joined)) return in.fail("argument 'repeats'", print(repeats), "a smaller result");
  const ValueId expanded = in.add(kExpand, ExpandAttrs{.shape = repeated}, {in.reshape(x, apart, "apart")}, "expanded");
  in.output(0, in.add(kReshape, ReshapeAttrs{.shape = joined}, {expanded}));
}

// Strides are about memory, which a graph does not have. Read is what the decomposition of an average pool writes
// behind a mean: the same sizes, densely.
void read_as_strided(NodeReader& in) {
  const ValueId x = in.value("self");
  const Integers sizes = in.integers("size"), strides = in.integers("stride");
  const std::int64_t offset = in.integer("storage_offset", 0);
  if (in.failed()) return;
  const Integers dense = in.shape(x).strides();
  bool is_same = in.building().graph.producer_if(x, kReduce) != nullptr && sizes == in.shape(x).to_vector() &&
                 strides.size() == sizes.size() && offset == 0;
  for (std::size_t i = 0; i < sizes.size() && is_same; ++i) is_same = sizes[i] == 1 || strides[i] == dense[i];
  if (!is_same)
    return in.unsupported("argument 'stride'", print(strides) + " of sizes " + print(sizes), "a mean as it is");
  in.output(0, x);
}

// [n, g·c, ...] -> [n, g, c, ...] -> [n, c, g, ...] -> [n, c·g, ...]
void read_channel_shuffle(NodeReader& in) {
  const ValueId x = in.value("self");
  const std::int64_t groups = in.integer("groups");
  in.require_rank("self", x, 3, kMaxRank - 1);
  if (in.failed()) return;
  const Integers dims = in.shape(x).to_vector();
  if (groups < 1 || dims[1] % groups != 0)
    return in.fail("argument 'groups'", std::to_string(groups), "a divisor of " + std::to_string(dims[1]));
  Integers apart = dims;
  apart[1] = groups;
  apart.insert(apart.begin() + 2, dims[1] / groups);
  Integers perm = first_to_last(static_cast<int>(apart.size()));
  std::swap(perm[1], perm[2]);
  in.output(0, in.reshape(in.transpose(in.reshape(x, apart, "apart"), perm, "turned"), dims));
}

}  // namespace octavo::pt2_import
