// ONNX readers: operators that only rearrange. Part of import/.
#include <algorithm>

#include "base/fields.h"
#include "import/onnx/operators.h"
#include "ops/list.h"

namespace octavo::onnx_import {
namespace {

using Integers = std::vector<std::int64_t>;

// axes as an attribute before `since`, as an input from then on; nothing where left out.
Integers read_axes(NodeReader& in, int since) {
  if (in.opset() < since) return in.attributes.integers("axes");
  return in.has(1) ? in.constant_integers(1, "axes") : Integers{};
}

// The dimension written as -1: what is left of the elements.
std::int64_t inferred_dim(NodeReader& in, const Integers& dims, std::int64_t elements) {
  Integers known;
  std::copy_if(dims.begin(), dims.end(), std::back_inserter(known), [](std::int64_t dim) { return dim != -1; });
  const auto product = checked_elements(known);
  if (product && *product > 0 && elements % *product == 0 && known.size() + 1 == dims.size())
    return elements / *product;
  in.fail("input 'shape'", print(dims) + " for " + std::to_string(elements) + " elements",
          "at most one -1, and sizes that divide");
  return 0;
}

struct Blocks {
  std::int64_t n = 1, c = 1, h = 1, w = 1, size = 1;
};

Blocks read_blocks(NodeReader& in, ValueId x) {
  in.require_rank("input", x, 4, 4);
  const std::int64_t size = in.attributes.integer("blocksize", 0);
  if (in.failed()) return {};
  constexpr std::int64_t kLargest = 1 << 15;
  if (size < 1 || size > kLargest) {
    in.fail("attribute 'blocksize'", std::to_string(size), "1 to 32768");
    return {};
  }
  const Shape& shape = in.shape(x);
  return {shape[0], shape[1], shape[2], shape[3], size};
}

}  // namespace

void read_reshape(NodeReader& in) {
  const ValueId x = in.value(0);
  Integers dims = in.constant_integers(1, "shape");
  const bool keeps_zeros = in.opset() >= 14 && in.attributes.flag("allowzero", false);
  if (in.failed()) return;
  if (dims.size() > kMaxRank)
    return in.fail("input 'shape'", std::to_string(dims.size()) + " dimensions", "at most 64");
  for (std::size_t i = 0; i < dims.size() && !keeps_zeros; ++i) {
    if (dims[i] != 0) continue;
    if (static_cast<int>(i) >= in.rank(x))
      return in.fail("input 'shape'", print(dims), "0 only where the input has a dimension to copy");
    dims[i] = in.shape(x)[static_cast<int>(i)];
  }
  const auto open = std::find(dims.begin(), dims.end(), -1);
  if (open != dims.end()) *open = inferred_dim(in, dims, in.shape(x).elements());
  in.output(0, in.add(kReshape, ReshapeAttrs{.shape = dims}, {x}));
}

void read_flatten(NodeReader& in) {
  const ValueId x = in.value(0);
  const std::int64_t given = in.attributes.integer("axis", 1);
  const int rank = in.rank(x);
  if (given < -rank || given > rank)
    return in.fail("attribute 'axis'", std::to_string(given), "an axis of a value of rank " + std::to_string(rank));
  const auto axis = static_cast<int>(given < 0 ? given + rank : given);
  const Integers dims{in.shape(x).elements(0, axis), in.shape(x).elements(axis, rank)};
  in.output(0, in.add(kReshape, ReshapeAttrs{.shape = dims}, {x}));
}

void read_squeeze(NodeReader& in) {
  const ValueId x = in.value(0);
  Integers axes = read_axes(in, 13);
  const bool takes_all = in.opset() < 13 ? !in.attributes.has("axes") : !in.has(1);
  axes = in.axes("axes", axes, in.rank(x));
  if (in.failed()) return;
  Integers dims;
  for (int i = 0; i < in.rank(x); ++i) {
    const bool is_named = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (is_named && in.shape(x)[i] != 1)
      return in.fail("axes", "axis " + std::to_string(i) + " of " + in.shape(x).to_string(), "axes of size 1");
    if (!is_named && !(takes_all && in.shape(x)[i] == 1)) dims.push_back(in.shape(x)[i]);
  }
  in.output(0, in.add(kReshape, ReshapeAttrs{.shape = dims}, {x}));
}

void read_unsqueeze(NodeReader& in) {
  const ValueId x = in.value(0);
  const Integers given = read_axes(in, 13);
  if (in.failed() || given.size() > kMaxRank)
    return in.fail("axes", std::to_string(given.size()) + " axes", "up to 64 constant ones");
  const int rank = in.rank(x) + static_cast<int>(given.size());
  const Integers axes = in.axes("axes", given, rank);
  if (in.failed()) return;
  Integers dims;
  int next = 0;
  for (int i = 0; i < rank; ++i) {
    const bool is_new = std::find(axes.begin(), axes.end(), i) != axes.end();
    dims.push_back(is_new ? 1 : in.shape(x)[next++]);
  }
  in.output(0, in.add(kReshape, ReshapeAttrs{.shape = dims}, {x}));
}

void read_transpose(NodeReader& in) {
  const ValueId x = in.value(0);
  Integers reversed;
  for (int i = in.rank(x) - 1; i >= 0; --i) reversed.push_back(i);
  in.output(0, in.transpose(x, in.attributes.integers("perm", reversed), ""));
}

void read_expand(NodeReader& in) {
  const ValueId x = in.value(0);
  const Integers dims = in.constant_integers(1, "shape");
  if (in.failed()) return;
  const bool are_good = dims.size() <= kMaxRank && checked_elements(dims).has_value();
  const auto shape = are_good ? broadcast(in.shape(x), Shape(dims)) : std::nullopt;
  if (!shape) return in.fail("input 'shape'", print(dims), "a shape that broadcasts with " + in.shape(x).to_string());
  in.output(0, in.add(kExpand, ExpandAttrs{.shape = shape->to_vector()}, {x}));
}

// [a, b] -> [1, a, 1, b] -> [r, a, s, b] -> [r·a, s·b]
void read_tile(NodeReader& in) {
  const ValueId x = in.value(0);
  const Integers repeats = in.constant_integers(1, "repeats");
  if (in.failed()) return;
  if (static_cast<int>(repeats.size()) != in.rank(x))
    return in.fail("input 'repeats'", print(repeats), "one number per axis of " + in.shape(x).to_string());
  Integers split, expanded, joined;
  for (int i = 0; i < in.rank(x); ++i) {
    const std::int64_t repeat = repeats[static_cast<std::size_t>(i)], dim = in.shape(x)[i];
    split.insert(split.end(), {1, dim});
    expanded.insert(expanded.end(), {repeat, dim});
  }
  if (!checked_elements(expanded))
    return in.fail("input 'repeats'", print(repeats), "at least 0, and a result of at most 2^33 elements");
  for (std::size_t i = 0; i < expanded.size(); i += 2) joined.push_back(expanded[i] * expanded[i + 1]);
  const ValueId wide = in.add(kExpand, ExpandAttrs{.shape = expanded}, {in.reshape(x, split, "split")}, "expanded");
  in.output(0, in.add(kReshape, ReshapeAttrs{.shape = joined}, {wide}));
}

void read_depth_to_space(NodeReader& in) {
  const ValueId x = in.value(0);
  const auto [n, c, h, w, size] = read_blocks(in, x);
  const std::string mode = in.opset() >= 11 ? in.attributes.text("mode", "DCR") : "DCR";
  if (mode != "DCR" && mode != "CRD") in.fail("attribute 'mode'", "'" + mode + "'", "DCR or CRD");
  if (in.failed()) return;
  const std::int64_t depth = c / (size * size);
  if (depth * size * size != c)
    return in.fail("input", std::to_string(c) + " channels", "a multiple of " + std::to_string(size * size));
  const bool is_depth_first = mode == "DCR";
  const Integers split = is_depth_first ? Integers{n, size, size, depth, h, w} : Integers{n, depth, size, size, h, w};
  const Integers perm = is_depth_first ? Integers{0, 3, 4, 1, 5, 2} : Integers{0, 1, 4, 2, 5, 3};
  const ValueId moved = in.transpose(in.reshape(x, split, "split"), perm, "moved");
  in.output(0, in.add(kReshape, ReshapeAttrs{.shape = {n, depth, h * size, w * size}}, {moved}));
}

void read_space_to_depth(NodeReader& in) {
  const ValueId x = in.value(0);
  const auto [n, c, h, w, size] = read_blocks(in, x);
  if (in.failed()) return;
  if (h % size != 0 || w % size != 0)
    return in.fail("input", "shape " + in.shape(x).to_string(), "sizes that " + std::to_string(size) + " divides");
  const ValueId moved =
      in.transpose(in.reshape(x, {n, c, h / size, size, w / size, size}, "split"), {0, 3, 5, 1, 2, 4}, "moved");
  in.output(0, in.add(kReshape, ReshapeAttrs{.shape = {n, c * size * size, h / size, w / size}}, {moved}));
}

}  // namespace octavo::onnx_import
