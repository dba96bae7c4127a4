// Small graphs that move, cut and join what has open sizes. For the tests of api/.
#include <limits>

#include "api/size_graphs.h"

namespace octavo::testing {
namespace {

constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();

// x [N, L, width] of floats.
void rows(Network& net, std::int64_t width) { net.builder.input("x", DType::f32, {-1, -2, width}); }

std::string axis_of(Network& net, const std::string& output, std::int64_t axis) {
  return net.ints(output + "_axes", {axis});
}

std::string unsqueezed(Network& net, const std::string& x, std::int64_t axis, const std::string& output) {
  return net.node("Unsqueeze", {x, axis_of(net, output, axis)}, output);
}

// x[:, from:to:step], an output.
void slice(Network& net, const std::string& output, std::int64_t from, std::int64_t to, std::int64_t step = 1) {
  net.node("Slice",
           {"x", net.ints(output + "_from", {from}), net.ints(output + "_to", {to}), axis_of(net, output, 1),
            net.ints(output + "_step", {step})},
           output);
  net.builder.output(output);
}

// [N, L] of positions along L.
std::string positions(Network& net) {
  net.extent("x", 1, "l");
  return net.node("Range", {net.whole("zero", 0), "l_number", net.whole("one", 1)}, "positions");
}

std::function<std::string()> with_shaped_rows(std::int64_t width, const std::function<void(Network&)>& make,
                                              std::int64_t opset = 17) {
  return onnx_of(
      [=](Network& net) {
        rows(net, width);
        make(net);
      },
      opset);
}

// One operator of x, and its constants.
std::function<std::string()> one(const std::string& op, std::int64_t width, const std::vector<Tensor>& constants,
                                 const std::vector<NamedAttribute>& attributes = {}, std::int64_t opset = 17) {
  return with_shaped_rows(
      width,
      [=](Network& net) {
        std::vector<std::string> inputs{"x"};
        for (const Tensor& constant : constants) {
          inputs.push_back("c" + std::to_string(inputs.size()));
          net.builder.initializer(inputs.back(), constant);
        }
        net.builder.output(net.node(op, inputs, "y", attributes));
      },
      opset);
}

bool none(const SizeMap& sizes, const char* name) { return sizes.at(name) == 0; }
std::int64_t length(const SizeMap& sizes) { return sizes.at("N2"); }

void reshape_by_numbers(Network& net) {
  net.node("Reshape", {"x", net.ints("joined", {0, 0, 2, -1})}, "split");
  net.node("Transpose", {"split"}, "turned", {{"perm", Ints{0, 2, 1, 3}}});
  net.builder.output(net.node("Reshape", {"turned", net.ints("heads", {0, 0, -1, 4})}, "y"));
}

// To half as many rows, where 0 is the first extent of x.
void reshape_to_halves(Network& net) {
  net.extent("x", 1, "l");
  net.node("Div", {"l", net.ints("two", {2})}, "half");
  net.node("Concat", {"half", net.ints("rest", {-1, 6})}, "to", {{"axis", std::int64_t{0}}});
  net.builder.output(net.node("Reshape", {"x", "to"}, "y"));
}

void flatten(Network& net) {
  for (const std::int64_t axis : {0, 1, 2, 3})
    net.builder.output(net.node("Flatten", {"x"}, "y" + std::to_string(axis), {{"axis", axis}}));
}

void transposes(Network& net) {
  for (const Ints& perm : {Ints{1, 0, 2}, Ints{2, 1, 0}, Ints{0, 2, 1}, Ints{1, 2, 0}})
    net.builder.output(
        net.node("Transpose", {"x"}, "y" + std::to_string(perm[0]) + std::to_string(perm[1]), {{"perm", perm}}));
}

// New rows behind those of an input of another length, and the number of all.
void concat_with_past(Network& net) {
  net.builder.input("past", DType::f32, {-1, -3, 8});
  net.builder.output(net.node("Concat", {"past", "x"}, "present", {{"axis", std::int64_t{1}}}));
  net.builder.output(net.node("Concat", {"present", "present", "x"}, "again", {{"axis", std::int64_t{1}}}));
  net.builder.output(net.node("Shape", {"present"}, "shape"));
}

void slices_from_one(Network& net) { slice(net, "y", 1, kEnd); }
void slices_of_ends(Network& net) {
  slice(net, "last", -1, kEnd);
  slice(net, "but_last", 0, -1);
  slice(net, "within", -5, -2);
  slice(net, "first", 0, 3);
  slice(net, "between", 2, 7);
}
// The last 4, 8 and 10 rows, or all that there are: borders are computed, and count from the end where they are below
// 0.
void slices_of_tails(Network& net) {
  net.extent("x", 1, "l");
  net.ints("end", {kEnd}), net.ints("along", {1});
  for (const std::int64_t rows : {4, 8, 10}) {
    const std::string name = "last" + std::to_string(rows);
    net.node("Sub", {"l", net.ints(name + "_rows", {rows})}, name + "_from");
    net.builder.output(net.node("Slice", {"x", name + "_from", "end", "along"}, name));
  }
}
void slices_with_steps(Network& net) {
  slice(net, "even", 0, kEnd, 2);
  slice(net, "odd", 1, kEnd, 2);
  slice(net, "backwards", -1, -kEnd, -1);
  slice(net, "some", 9, 1, -3);
}
// The first of L * 0.3 and L * 0.6 rows, products in f32, of the nearest integer to L / 2, and those behind L * 0.7,
// rounded up.
void slices_by_factors(Network& net) {
  net.extent("x", 1, "l");
  net.node("Cast", {"l"}, "float", {{"to", std::int64_t{1}}});
  const auto rows = [&](const std::string& name, const std::string& op, float factor, const std::string& rounding) {
    net.builder.initializer(name + "_factor", floats({1}, {factor}));
    net.node(op, {"float", name + "_factor"}, name + "_float");
    if (!rounding.empty()) net.node(rounding, {name + "_float"}, name + "_whole");
    net.node("Cast", {name + (rounding.empty() ? "_float" : "_whole")}, name, {{"to", std::int64_t{7}}});
  };
  net.ints("start", {0}), net.ints("end", {kEnd}), net.ints("along", {1});
  rows("few", "Mul", 0.3f, ""), rows("many", "Mul", 0.6f, "Floor"), rows("half", "Div", 2.0f, "Round");
  rows("last", "Mul", 0.7f, "Ceil");
  for (const std::string name : {"few", "many", "half"})
    net.builder.output(net.node("Slice", {"x", "start", name, "along"}, name + "_rows"));
  net.builder.output(net.node("Slice", {"x", "last", "end", "along"}, "last_rows"));
}
// The halves of x along L, rounded, whose border is computed.
void slices_by_shape(Network& net) {
  net.extent("x", 1, "l");
  net.node("Div", {"l", net.ints("two", {2})}, "half");
  net.node("Slice", {"x", net.ints("start", {0}), "half", net.ints("along", {1})}, "a");
  net.node("Slice", {"x", "half", "l", "along"}, "b");
  net.builder.output("a").output("b");
}
// The last rows of a table, as many as x has.
void slices_of_tables(Network& net) {
  net.weights("table", Shape{16, 4}, 1.0f);
  net.extent("x", 1, "l");
  net.node("Neg", {"l"}, "minus");
  net.node("Slice", {"table", "minus", net.ints("end", {kEnd}), net.ints("along", {0})}, "last");
  net.node("Slice", {"table", net.ints("start", {0}), "l", "along"}, "first");
  net.builder.output(net.node("Add", {"x", "first"}, "y")).output("last");
}

void gathers_rows(Network& net) {
  net.builder.output(net.node("Gather", {"x", net.whole("last", -1)}, "y", {{"axis", std::int64_t{1}}}));
}
void gathers_by_ids(Network& net) {
  net.builder.input("ids", DType::s64, {-1, -3});
  net.weights("table", Shape{4, 6}, 1.0f);
  net.builder.output(net.node("Gather", {"table", "ids"}, "y"));
}
void gathers_positions(Network& net) {
  net.weights("table", Shape{32, 4}, 1.0f);
  net.node("Gather", {"table", unsqueezed(net, positions(net), 0, "row")}, "embedding");
  net.builder.output(net.node("Add", {"x", "embedding"}, "y"));
}
void gathers_elements(Network& net) {
  net.node("Shape", {"x"}, "shape");
  net.node("ConstantOfShape", {"shape"}, "zeros", {{"value", integers({1}, {0})}});
  net.builder.output(net.node("GatherElements", {"x", "zeros"}, "y", {{"axis", std::int64_t{2}}}));
}

void expands(Network& net) {
  net.weights("token", Shape{1, 1, 5}, 1.0f);
  net.extent("x", 0, "n");
  net.node("Concat", {"n", net.ints("rest", {-1, -1})}, "to", {{"axis", std::int64_t{0}}});
  net.node("Equal", {"to", net.ints("minus", {-1})}, "is_left");
  net.node("Where", {"is_left", net.ints("ones", {1}), "to"}, "sizes");
  net.node("Expand", {"token", "sizes"}, "tokens");
  net.builder.output(net.node("Concat", {"tokens", "x"}, "y", {{"axis", std::int64_t{1}}}));
}
void tiles_by_shape(Network& net) {
  net.extent("x", 1, "l");
  net.node("Concat", {net.ints("one", {1}), "l", net.ints("two", {2})}, "times", {{"axis", std::int64_t{0}}});
  net.builder.output(net.node("Tile", {"x", "times"}, "y"));
}
// Up to a multiple of 4, and away again.
void pads_to_windows(Network& net) {
  net.extent("x", 1, "l");
  net.ints("four", {4});
  net.node("Mod", {"l", "four"}, "rest");
  net.node("Sub", {"four", "rest"}, "missing");
  net.node("Mod", {"missing", "four"}, "more");
  net.node("Concat", {net.ints("before", {0, 0, 0, 0}), "more", net.ints("after", {0})}, "pads",
           {{"axis", std::int64_t{0}}});
  net.node("Pad", {"x", "pads"}, "whole");
  net.node("Slice", {"whole", net.ints("start", {0}), "l", net.ints("along", {1})}, "back");
  net.builder.output("whole").output("back");
}
void views(Network& net) {
  net.extent("x", 0, "n"), net.extent("x", 1, "l");
  net.node("Mul", {"l", net.ints("two", {2})}, "twice");
  net.node("Concat", {"n", "twice", net.ints("rest", {3})}, "to", {{"axis", std::int64_t{0}}});
  net.node("Reshape", {"x", "to"}, "y");
  net.node("Mul", {"n", "l"}, "all");
  net.node("Concat", {"all", net.ints("six", {6})}, "flat", {{"axis", std::int64_t{0}}});
  net.builder.output("y").output(net.node("Reshape", {"x", "flat"}, "z", {{"allowzero", std::int64_t{1}}}));
}
void zeros_of_shape(Network& net) {
  net.node("Shape", {"x"}, "shape");
  net.node("ConstantOfShape", {"shape"}, "twos", {{"value", floats({1}, {2})}});
  net.builder.output(net.node("Mul", {"x", "twos"}, "y"));
  net.builder.output(net.node("Size", {"x"}, "size"));
}
// Scores [N, L, L] that see no later position.
void causal_mask(Network& net) {
  positions(net);
  net.node("LessOrEqual", {unsqueezed(net, "positions", 0, "column"), unsqueezed(net, "positions", 1, "row")}, "sees");
  net.node("MatMul", {"x", net.node("Transpose", {"x"}, "turned", {{"perm", Ints{0, 2, 1}}})}, "scores");
  net.node("Where", {"sees", "scores", net.number("never", -1e9f)}, "masked");
  net.builder.output(net.node("Softmax", {"masked"}, "y", {{"axis", std::int64_t{-1}}}));
}
void where_broadcasts(Network& net) {
  net.builder.input("b", DType::f32, {-1, 1, 5});
  net.node("Less", {"x", net.number("zero", 0.0f)}, "is_less");
  net.builder.output(net.node("Where", {"is_less", "b", "x"}, "y"));
}
// Of lengths that broadcast where they are equal or one of them is 1.
void two_lengths(Network& net) {
  net.builder.input("b", DType::f32, {-1, -3, 5});
  net.builder.output(net.node("Add", {"x", "b"}, "y"));
}
void splits_channels(Network& net) {
  net.nodes("Split", {"x", net.ints("sizes", {1, 2, 3})}, {"a", "b", "c"}, {{"axis", std::int64_t{2}}});
  net.builder.output("a").output("c").output(net.node("Relu", {"b"}, "y"));
}
// Of equal and other sizes that are numbers: 9 rows.
void splits_by_numbers(Network& net) {
  net.nodes("Split", {"x", net.ints("sizes", {2, 3, 4})}, {"a", "b", "c"}, {{"axis", std::int64_t{1}}});
  net.builder.output("a").output("b").output("c");
}
// The first, and the rest, whose size is computed.
void splits_the_rest(Network& net) {
  net.extent("x", 1, "l");
  net.node("Sub", {"l", net.ints("one", {1})}, "rest");
  net.node("Concat", {"one", "rest"}, "sizes", {{"axis", std::int64_t{0}}});
  net.nodes("Split", {"x", "sizes"}, {"first", "others"}, {{"axis", std::int64_t{1}}});
  net.builder.output("first").output("others");
}
void splits_unevenly(Network& net) {
  net.nodes("Split", {"x"}, {"a", "b", "c"}, {{"axis", std::int64_t{1}}, {"num_outputs", std::int64_t{3}}});
  net.builder.output("a").output("b").output("c");
}
void squeezes(Network& net) {
  net.node("Unsqueeze", {"x", net.ints("added", {0, 3})}, "wide");
  net.node("Relu", {"wide"}, "z");
  net.builder.output(net.node("Squeeze", {"z", net.ints("gone", {0, 3})}, "y"));
}
void squeezes_batch(Network& net) { net.builder.output(net.node("Squeeze", {"x", net.ints("first", {0})}, "y")); }
void squeezes_ones(Network& net) {
  net.node("Relu", {"x"}, "z");
  net.builder.output(net.node("Squeeze", {"z"}, "y"));
}
void top_of_rows(Network& net) {
  net.nodes("TopK", {"x", net.ints("k", {3})}, {"values", "places"}, {{"axis", std::int64_t{1}}});
  net.builder.output("values").output("places");
}
void top_of_columns(Network& net) {
  net.nodes("TopK", {"x", net.ints("k", {3})}, {"values", "places"}, {{"axis", std::int64_t{2}}});
  net.builder.output("values").output("places");
}
// As many as there are, at most 4.
void top_of_all(Network& net) {
  net.extent("x", 1, "l");
  net.node("Min", {"l", net.ints("four", {4})}, "k");
  net.nodes("TopK", {"x", "k"}, {"values", "places"}, {{"axis", std::int64_t{1}}});
  net.builder.output("values").output("places");
}
void sums_so_far(Network& net) {
  net.node("CumSum", {"x", net.whole("along", 1)}, "y");
  net.node("CumSum", {"x", "along"}, "z", {{"reverse", std::int64_t{1}}, {"exclusive", std::int64_t{1}}});
  net.builder.output("y").output("z");
}
void triangle(Network& net) {
  net.node("Trilu", {"x", net.whole("k", 1)}, "upper");
  net.node("Trilu", {"x"}, "lower", {{"upper", std::int64_t{0}}});
  net.builder.output("upper").output("lower");
}
void one_hot(Network& net) {
  net.builder.input("ids", DType::s64, {-1, -2});
  net.node("OneHot", {"ids", net.whole("depth", 4), "values"}, "y");
  net.builder.initializer("values", floats({2}, {0, 1})).output("y");
}
// Of as many classes as x has rows, and one more.
void one_hot_of_rows(Network& net) {
  net.builder.input("ids", DType::s64, {-1});
  net.extent("x", 1, "l");
  net.node("OneHot", {"ids", net.node("Add", {"l", net.ints("one", {1})}, "depth"), "values"}, "y");
  net.builder.initializer("values", floats({2}, {0, 1})).output("y");
}
// Every x.shape[0]-th row.
void strided_range(Network& net) {
  net.extent("x", 0, "n"), net.extent("x", 1, "l");
  net.node("Range", {net.whole("zero", 0), "l_number", "n_number"}, "places");
  net.builder.output(net.node("Gather", {"x", "places"}, "y", {{"axis", std::int64_t{1}}}));
}
void scatters(Network& net) {
  net.extent("x", 0, "n");
  net.node("Range", {net.whole("zero", 0), "n_number", net.whole("one", 1)}, "images");
  net.node("Unsqueeze", {"images", net.ints("last", {1})}, "places");
  net.node("ReduceSum", {"x", net.ints("along", {1})}, "sums", {{"keepdims", std::int64_t{1}}});
  net.node("Transpose", {"sums"}, "t", {{"perm", Ints{0, 2, 1}}});
  net.node("ScatterND", {"t", "places", "t"}, "y");
  net.builder.output("y");
}
void reductions(Network& net) {
  const std::vector<NamedAttribute> along = {{"axes", Ints{1}}, {"keepdims", std::int64_t{0}}};
  net.builder.output(net.node("ReduceMean", {"x"}, "mean", along));
  net.builder.output(net.node("ReduceSum", {"x", net.ints("one", {1})}, "sum"));
  net.builder.output(net.node("ReduceL2", {"x"}, "norm", along));
}
void extremes(Network& net) {
  net.builder.output(net.node("ReduceMax", {"x"}, "most", {{"axes", Ints{1}}}));
  net.builder.output(net.node("ArgMax", {"x"}, "place", {{"axis", std::int64_t{1}}}));
}
void einsum(Network& net) {
  net.builder.input("b", DType::f32, {-1, -3, 5});
  net.builder.output(net.node("Einsum", {"x", "b"}, "y", {{"equation", std::string("bij,bkj->bik")}}));
}
void nonzero(Network& net) {
  net.node("Relu", {"x"}, "z");
  net.builder.output(net.node("NonZero", {"z"}, "y"));
}
// A model of two parts, of which the second asks for a size, too.
void nonzero_beside_halves(Network& net) {
  nonzero(net);
  net.node("Mul", {net.node("Cast", {"y"}, "places", {{"to", std::int64_t{1}}}), net.number("two", 2)}, "twice");
  net.extent("x", 1, "l");
  net.node("Div", {"l", net.ints("halves", {2})}, "half");
  net.node("Concat", {"half", net.ints("rest", {-1, 6})}, "to", {{"axis", std::int64_t{0}}});
  net.node("Transpose", {"x"}, "turned", {{"perm", Ints{0, 2, 1}}});
  net.builder.output("twice").output(net.node("Reshape", {"turned", "to"}, "rows"));
}

}  // namespace

std::vector<SizeGraph> shaping_graphs() {
  const auto no_rows = [](const SizeMap& sizes) { return none(sizes, "N2"); };
  const auto nothing = [](const SizeMap& sizes) { return none(sizes, "N") || none(sizes, "N2"); };
  const auto no_halves = [](const SizeMap& sizes) {
    const std::int64_t rows = length(sizes) > 1 ? length(sizes) / 2 : sizes.at("N");
    return rows == 0 || sizes.at("N") * length(sizes) % rows != 0;
  };
  return {
      {.name = "reshape_by_numbers", .bytes = with_shaped_rows(16, reshape_by_numbers), .is_refused = nothing},
      {.name = "reshape_to_rows", .bytes = one("Reshape", 6, {integers({2}, {-1, 6})})},
      {.name = "reshape_to_fours",
       .bytes = one("Reshape", 6, {integers({2}, {4, -1})}),
       .is_refused = [](const SizeMap& sizes) { return sizes.at("N") * sizes.at("N2") % 2 != 0; }},
      {.name = "reshape_to_halves", .bytes = with_shaped_rows(6, reshape_to_halves), .is_refused = no_halves},
      {.name = "flatten", .bytes = with_shaped_rows(6, flatten)},
      {.name = "transposes", .bytes = with_shaped_rows(6, transposes)},
      {.name = "concat_with_past", .bytes = with_shaped_rows(8, concat_with_past)},
      {.name = "slices_from_one", .bytes = with_shaped_rows(5, slices_from_one)},
      {.name = "slices_of_ends", .bytes = with_shaped_rows(5, slices_of_ends)},
      {.name = "slices_of_tails", .bytes = with_shaped_rows(5, slices_of_tails), .most = {{"N2", 15}}},
      {.name = "slices_with_steps", .bytes = with_shaped_rows(5, slices_with_steps)},
      {.name = "slices_by_factors", .bytes = with_shaped_rows(5, slices_by_factors), .most = {{"N2", 200}}},
      {.name = "slices_by_shape", .bytes = with_shaped_rows(5, slices_by_shape)},
      {.name = "slices_of_tables", .bytes = with_shaped_rows(4, slices_of_tables)},
      {.name = "gathers_rows", .bytes = with_shaped_rows(5, gathers_rows), .is_refused = no_rows},
      {.name = "gathers_by_ids", .bytes = onnx_of(gathers_by_ids)},
      {.name = "gathers_positions", .bytes = with_shaped_rows(4, gathers_positions)},
      {.name = "gathers_elements", .bytes = with_shaped_rows(4, gathers_elements)},
      {.name = "expands", .bytes = with_shaped_rows(5, expands)},
      {.name = "tiles", .bytes = one("Tile", 3, {integers({3}, {2, 3, 1})})},
      {.name = "tiles_by_shape", .bytes = with_shaped_rows(3, tiles_by_shape)},
      {.name = "pads", .bytes = one("Pad", 3, {integers({6}, {0, 2, 1, 1, 0, 2}), floats({}, {7})})},
      {.name = "pads_to_windows", .bytes = with_shaped_rows(3, pads_to_windows)},
      {.name = "pads_with_edges",
       .bytes = one("Pad", 3, {integers({6}, {0, 2, 0, 0, 1, 0})}, {{"mode", std::string("edge")}}),
       .is_refused = no_rows},
      {.name = "views", .bytes = with_shaped_rows(6, views)},
      {.name = "zeros_of_shape", .bytes = with_shaped_rows(6, zeros_of_shape)},
      {.name = "causal_mask", .bytes = with_shaped_rows(4, causal_mask)},
      {.name = "where_broadcasts", .bytes = with_shaped_rows(5, where_broadcasts)},
      {.name = "two_lengths",
       .bytes = with_shaped_rows(5, two_lengths),
       .most = {{"N2", 3}, {"N3", 3}},
       .is_refused = [](const SizeMap& s) { return s.at("N2") != s.at("N3") && s.at("N2") != 1 && s.at("N3") != 1; }},
      {.name = "splits_channels", .bytes = with_shaped_rows(6, splits_channels)},
      {.name = "splits_by_numbers",
       .bytes = with_shaped_rows(5, splits_by_numbers),
       .is_refused = [](const SizeMap& sizes) { return length(sizes) != 9; }},
      {.name = "splits_the_rest", .bytes = with_shaped_rows(5, splits_the_rest), .is_refused = no_rows},
      {.name = "splits_unevenly", .bytes = with_shaped_rows(5, splits_unevenly, 18)},
      {.name = "squeezes", .bytes = with_shaped_rows(5, squeezes)},
      {.name = "squeezes_batch",
       .bytes = with_shaped_rows(5, squeezes_batch),
       .is_refused = [](const SizeMap& sizes) { return sizes.at("N") != 1; }},
      {.name = "squeezes_ones", .bytes = with_shaped_rows(5, squeezes_ones)},
      {.name = "top_of_rows",
       .bytes = with_shaped_rows(5, top_of_rows),
       .is_refused = [](const SizeMap& sizes) { return length(sizes) < 3; }},
      {.name = "top_of_columns", .bytes = with_shaped_rows(5, top_of_columns)},
      {.name = "top_of_all", .bytes = with_shaped_rows(5, top_of_all)},
      {.name = "sums_so_far", .bytes = with_shaped_rows(5, sums_so_far)},
      {.name = "triangle", .bytes = with_shaped_rows(5, triangle)},
      {.name = "one_hot", .bytes = onnx_of(one_hot)},
      {.name = "one_hot_of_rows", .bytes = with_shaped_rows(5, one_hot_of_rows)},
      {.name = "strided_range",
       .bytes = with_shaped_rows(5, strided_range),
       .is_refused = [](const SizeMap& sizes) { return none(sizes, "N"); }},
      {.name = "scatters", .bytes = with_shaped_rows(5, scatters)},
      {.name = "reductions", .bytes = with_shaped_rows(5, reductions)},
      {.name = "extremes", .bytes = with_shaped_rows(5, extremes), .is_refused = no_rows},
      {.name = "einsum", .bytes = with_shaped_rows(5, einsum)},
      {.name = "nonzero_beside_halves", .bytes = with_shaped_rows(6, nonzero_beside_halves), .is_refused = no_halves},
      {.name = "nonzero", .bytes = with_shaped_rows(5, nonzero)},
  };
}

}  // namespace octavo::testing
