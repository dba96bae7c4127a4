// ATen readers: parts of tensors, and tensors from parts. Part of import/.
#include <algorithm>
#include <limits>

#include "base/fields.h"
#include "import/pt2/operators.h"
#include "import/pt2/parts.h"
#include "ops/list.h"

namespace octavo::pt2_import {
namespace {

using Integers = std::vector<std::int64_t>;

ValueId slice(NodeReader& in, ValueId x, int axis, std::int64_t start, std::int64_t size, std::string_view suffix,
              std::int64_t step = 1) {
  if (in.failed()) return {};
  SliceAttrs attrs{.starts = Integers(static_cast<std::size_t>(in.rank(x)), 0),
                   .steps = Integers(static_cast<std::size_t>(in.rank(x)), 1),
                   .sizes = in.shape(x).to_vector()};
  const auto index = static_cast<std::size_t>(axis);
  if (start == 0 && step == 1 && size == attrs.sizes[index]) return x;
  attrs.starts[index] = size == 0 ? 0 : start;
  attrs.steps[index] = step;
  attrs.sizes[index] = size;
  return in.add(kSlice, attrs, {x}, suffix);
}

// A slice of one index without its axis.
ValueId pick(NodeReader& in, ValueId x, int axis, std::int64_t index, std::string_view suffix) {
  const ValueId part = slice(in, x, axis, index, 1, std::string(suffix) + "slice");
  if (in.failed()) return {};
  Integers dims = in.shape(x).to_vector();
  dims.erase(dims.begin() + axis);
  return in.add(kReshape, ReshapeAttrs{.shape = dims}, {part}, suffix);
}

struct Axis {
  ValueId x;
  int axis = 0;
  std::int64_t size = 0;
};

Axis read_axis(NodeReader& in) {
  const ValueId x = in.value("self");
  const std::int64_t dim = in.integer("dim", 0);
  if (in.failed()) return {};
  const auto axis = static_cast<int>(in.axis("dim", dim, in.rank(x)));
  return {x, axis, in.failed() ? 0 : in.shape(x)[axis]};
}

void split_into(NodeReader& in, const Axis& from, const Integers& sizes) {
  if (sizes.size() != in.output_count()) {
    return in.fail("", std::to_string(in.output_count()) + " results", std::to_string(sizes.size()));
  }
  std::int64_t start = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    in.output(i, slice(in, from.x, from.axis, start, sizes[i], std::to_string(i)));
    start += sizes[i];
  }
}

// Parts of `each`, the last one smaller.
void split_evenly(NodeReader& in, const Axis& from, std::int64_t each) {
  const std::int64_t count = each < 1 ? 0 : (from.size + each - 1) / each;
  // Before memory is taken for them.
  if (count != static_cast<std::int64_t>(in.output_count())) {
    return in.fail("", std::to_string(in.output_count()) + " results",
                   std::to_string(count) + " parts of " + std::to_string(each));
  }
  Integers sizes(static_cast<std::size_t>(count), each);
  if (count > 0) sizes.back() = from.size - each * (count - 1);
  split_into(in, from, sizes);
}

}  // namespace

void read_slice(NodeReader& in) {
  const Axis from = read_axis(in);
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  std::int64_t start = in.integer("start", 0), end = in.integer("end", kEnd);
  const std::int64_t step = in.integer("step", 1);
  if (in.failed()) return;
  if (step < 1) return in.fail("argument 'step'", std::to_string(step), "at least 1");
  const auto inside = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + from.size : at, 0, from.size);
  };
  start = inside(start);
  end = std::max(inside(end), start);
  const std::int64_t size = (end - start) / step + ((end - start) % step != 0 ? 1 : 0);
  in.output(0, slice(in, from.x, from.axis, start, size, "", step));
}

void read_select(NodeReader& in) {
  const Axis from = read_axis(in);
  const std::int64_t index = in.integer("index");
  if (in.failed()) return;
  if (index < -from.size || index >= from.size)
    return in.fail("argument 'index'", std::to_string(index), "less than " + std::to_string(from.size));
  in.output(0, pick(in, from.x, from.axis, index < 0 ? index + from.size : index, ""));
}

void read_unbind(NodeReader& in) {
  const Axis from = read_axis(in);
  if (in.failed()) return;
  if (static_cast<std::int64_t>(in.output_count()) != from.size) {
    return in.fail("", std::to_string(in.output_count()) + " results", std::to_string(from.size));
  }
  for (std::size_t i = 0; i < in.output_count(); ++i) {
    in.output(i, pick(in, from.x, from.axis, static_cast<std::int64_t>(i), std::to_string(i)));
  }
}

void read_chunk(NodeReader& in) {
  const Axis from = read_axis(in);
  const std::int64_t chunks = in.integer("chunks");
  if (in.failed()) return;
  if (chunks < 1) return in.fail("argument 'chunks'", std::to_string(chunks), "at least 1");
  split_evenly(in, from, from.size / chunks + (from.size % chunks != 0 ? 1 : 0));
}

void read_split(NodeReader& in) {
  const Axis from = read_axis(in);
  const bool is_list = in.has("split_sizes");
  const Integers sizes = in.integers(is_list ? "split_sizes" : "split_size");
  if (in.failed()) return;
  if (!is_list && sizes.size() == 1) return split_evenly(in, from, sizes[0]);
  std::int64_t left = from.size;
  for (std::int64_t size : sizes) left = size < 0 || size > left ? -1 : left - size;
  if (left != 0)
    return in.fail("argument 'split_sizes'", print(sizes), "sizes that add up to " + std::to_string(from.size));
  split_into(in, from, sizes);
}

void read_cat(NodeReader& in) {
  const std::vector<ValueId> parts = in.values("tensors");
  const std::int64_t dim = in.integer("dim", 0);
  if (in.failed()) return;
  if (parts.empty()) return in.fail("argument 'tensors'", "no tensors", "at least one");
  const std::int64_t axis = in.axis("dim", dim, in.rank(parts[0]));
  in.output(0, in.add(kConcat, ConcatAttrs{.axis = axis}, parts));
}

void read_stack(NodeReader& in) {
  std::vector<ValueId> parts = in.values("tensors");
  const std::int64_t dim = in.integer("dim", 0);
  if (in.failed()) return;
  if (parts.empty()) return in.fail("argument 'tensors'", "no tensors", "at least one");
  const std::int64_t axis = in.axis("dim", dim, in.rank(parts[0]) + 1);
  if (in.failed()) return;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Integers dims = in.shape(parts[i]).to_vector();
    if (static_cast<std::int64_t>(dims.size()) < axis)
      return in.fail("argument 'tensors'", "different ranks", "one rank");
    dims.insert(dims.begin() + axis, 1);
    parts[i] = in.reshape(parts[i], dims, std::to_string(i));
  }
  in.output(0, in.add(kConcat, ConcatAttrs{.axis = axis}, parts));
}

// Pairs of begin and end, from the last axis on.
void read_pad(NodeReader& in) {
  const ValueId x = in.value("self");
  const Integers pads = in.integers("pad");
  const std::string mode = in.text("mode", "constant");
  const double value = in.number("value", 0.0);
  if (in.failed()) return;
  const auto rank = static_cast<std::size_t>(in.rank(x));
  if (pads.size() % 2 != 0 || pads.size() > 2 * rank)
    return in.fail("argument 'pad'", print(pads), "two numbers for each of the last axes");
  PadAttrs attrs{.begin = Integers(rank, 0), .end = Integers(rank, 0)};
  for (std::size_t i = 0; i < pads.size() / 2; ++i) {
    attrs.begin[rank - 1 - i] = pads[2 * i];
    attrs.end[rank - 1 - i] = pads[2 * i + 1];
  }
  if (mode == "constant") return in.output(0, in.add(kPad, attrs, {x, in.scalar_like(x, value, "value")}));
  if (mode != "reflect" && mode != "replicate" && mode != "circular") {
    return in.fail("argument 'mode'", "'" + mode + "'", "'constant', 'reflect', 'replicate' or 'circular'");
  }
  attrs.mode = mode == "reflect" ? PadMode::reflect : mode == "replicate" ? PadMode::edge : PadMode::wrap;
  in.output(0, in.add(kPad, attrs, {x}));
}

}  // namespace octavo::pt2_import
