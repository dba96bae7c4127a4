// Networks with open sizes, node by node. For the tests of api/.
#include "api/open_networks.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>

#include "api/network.h"

namespace octavo::testing {
namespace {

std::string saved(const ModelBuilder& builder, const std::string& name) {
  const std::string path = (std::filesystem::temp_directory_path() / name).string();
  std::ofstream(path, std::ios::binary) << builder.bytes();
  return path;
}

}  // namespace

std::string write_pyramid(const std::string& name) {
  Network net;
  net.builder.input("x", DType::f32, {-1, 3, -2, -3});
  net.node("Relu", {net.conv("x", 3, 8, 3, 2, "a")}, "b");
  net.node("MaxPool", {"b"}, "c", {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  net.conv("c", 8, 8, 1, 1, "d");
  net.node("Add", {net.resized("d", "b", "e"), "b"}, "f");
  net.node("GlobalAveragePool", {"f"}, "g");
  net.node("Mul", {"f", "g"}, "y");
  net.builder.output("y");
  return saved(net.builder, name);
}

std::string write_flattened(const std::string& name) {
  Network net;
  net.builder.input("x", DType::f32, {-1, 3, 5, 4});
  net.node("Relu", {net.conv("x", 3, 8, 3, 1, "a")}, "b");
  net.node("Flatten", {"b"}, "c");
  Tensor weights(DType::f32, {6, 160});
  for (std::size_t i = 0; i < 960; ++i) weights.span<float>()[i] = static_cast<float>(i * 37 % 101) * 0.01f - 0.5f;
  net.builder.initializer("w", weights);
  net.node("Gemm", {"c", "w"}, "y", {{"transB", std::int64_t{1}}});
  net.builder.output("y");
  return saved(net.builder, name);
}

std::string write_segmenter(const std::string& name) {
  Network net;
  net.builder.input("x", DType::f32, {-1, 3, -2, -3});
  net.node("HardSwish", {net.conv("x", 3, 8, 3, 2, "a")}, "b");
  net.node("Relu", {net.conv("b", 8, 16, 3, 2, "c")}, "low");
  net.node("HardSwish", {net.conv("low", 16, 24, 3, 2, "d")}, "high");
  net.node("Relu", {net.conv("high", 24, 16, 1, 1, "e")}, "features");
  net.node("GlobalAveragePool", {"high"}, "mean");
  net.node("Sigmoid", {net.conv("mean", 24, 16, 1, 1, "f")}, "gate");
  net.node("Mul", {"features", "gate"}, "gated");
  net.conv(net.resized("gated", "low", "wide"), 16, 5, 1, 1, "from_high");
  net.conv("low", 16, 5, 1, 1, "from_low");
  net.node("Add", {"from_low", "from_high"}, "scores");
  net.resized("scores", "x", "y");
  net.builder.output("y");
  return saved(net.builder, name);
}

namespace {

// From input x [N, L, 32] to y. `hide` makes scores of those named "logits".
std::string add_encoder(Network& net, const std::function<std::string()>& hide) {
  net.builder.input("x", DType::f32, {-1, -2, 32});
  net.extent("x", 0, "n");
  net.extent("x", 1, "l");
  net.ints("split", {4, 8});
  net.ints("joined", {32});
  net.node("Concat", {"n", "l", "split"}, "by_head", {{"axis", std::int64_t{0}}});
  net.node("Concat", {"n", "l", "joined"}, "in_one", {{"axis", std::int64_t{0}}});
  net.heads(net.linear("x", 32, 32, "q"), "by_head", {0, 2, 1, 3}, "queries");
  net.heads(net.linear("x", 32, 32, "k"), "by_head", {0, 2, 3, 1}, "keys");
  net.heads(net.linear("x", 32, 32, "v"), "by_head", {0, 2, 1, 3}, "values");
  net.node("MatMul", {"queries", "keys"}, "products");
  net.node("Div", {"products", net.number("root", std::sqrt(8.0f))}, "logits");
  net.node("Softmax", {hide()}, "shares", {{"axis", std::int64_t{-1}}});
  net.node("MatMul", {"shares", "values"}, "mixed");
  net.node("Transpose", {"mixed"}, "by_row", {{"perm", Ints{0, 2, 1, 3}}});
  net.node("Reshape", {"by_row", "in_one"}, "rows");
  net.node("Add", {net.linear("rows", 32, 32, "out"), "x"}, "sum");
  net.layer_norm("sum", 32, "normal");
  net.gelu(net.linear("normal", 32, 64, "wide"), "active");
  net.node("Add", {net.linear("active", 64, 32, "narrow"), "normal"}, "end");
  return net.layer_norm("end", 32, "y");
}

}  // namespace

std::string write_encoder(const std::string& name) {
  Network net;
  net.builder.output(add_encoder(net, [] { return "logits"; }));
  return saved(net.builder, name);
}

std::string write_masked_encoder(const std::string& name) {
  Network net;
  net.builder.input("mask", DType::s64, {-1, -2});
  net.builder.output(add_encoder(net, [&] {
    net.node("Unsqueeze", {"mask", net.ints("between", {1, 2})}, "keys_shown");
    net.builder.initializer("nothing", integers(Shape{}, {0}));
    net.node("Equal", {"keys_shown", "nothing"}, "hidden");
    return net.node("Where", {"hidden", net.number("never", -3.4e38f), "logits"}, "masked");
  }));
  net.node("Cast", {"mask"}, "shown", {{"to", std::int64_t{1}}});
  net.node("Mul", {"y", net.node("Unsqueeze", {"shown", net.ints("last", {2})}, "column")}, "kept");
  net.node("ReduceSum", {"kept", net.ints("tokens", {1})}, "total", {{"keepdims", std::int64_t{0}}});
  net.node("ReduceSum", {"shown", "tokens"}, "count");
  net.builder.output(net.node("Div", {"total", "count"}, "mean"));
  return saved(net.builder, name);
}

std::string write_positions(const std::string& name) {
  Network net;
  net.builder.input("x", DType::f32, {-1, -2, 8});
  const auto scalar = [&](const std::string& called, std::int64_t value) {
    net.builder.initializer(called, integers(Shape{}, {value}));
    return called;
  };
  const auto unsqueezed = [&](const std::string& x, std::int64_t axis, const std::string& output) {
    return net.node("Unsqueeze", {x, net.ints(output + "_axes", {axis})}, output);
  };
  scalar("zero", 0), scalar("one", 1), scalar("two", 2);
  net.extent("x", 0, "n"), net.extent("x", 1, "l");
  // Row n * L + l of all rows.
  net.node("Range", {"zero", "n_number", "one"}, "rows");
  net.node("Range", {"zero", "l_number", "one"}, "columns");
  net.node("Mul", {unsqueezed("rows", 1, "row"), "l_number"}, "first");
  net.node("Add", {"first", "columns"}, "index");
  net.node("Reshape", {"x", net.ints("flat", {-1, 8})}, "all");
  net.node("Gather", {"all", "index"}, "picked");
  // A table's rows up to L.
  net.weights("table", Shape{600, 8}, 1.0f);
  net.node("Slice", {"table", net.ints("from", {0}), "l", net.ints("along", {0})}, "part");
  net.node("Add", {"picked", "part"}, "placed");
  // Every second position, counted from 2.
  net.node("Add", {"l_number", "two"}, "end");
  net.node("Range", {"two", "end", "one"}, "counted");
  net.node("Mod", {"counted", "two"}, "odd");
  net.node("Cast", {net.node("Equal", {"odd", "zero"}, "is_even")}, "even", {{"to", std::int64_t{1}}});
  net.node("Mul", {"placed", unsqueezed("even", 1, "mask")}, "y");
  net.builder.output("y");
  return saved(net.builder, name);
}

std::string write_rows_with_additions(const std::string& name) {
  Network net;
  net.builder.input("x", DType::f32, {-1, -2, 32});
  net.weights("a_w", Shape{32, 32}, 0.2f);
  net.weights("b_w", Shape{32, 32}, 0.2f);
  net.node("Add", {net.node("MatMul", {"x", "a_w"}, "a"), "x"}, "b");
  net.node("Add", {"b", net.node("MatMul", {"b", "b_w"}, "c")}, "y");
  net.builder.output("y");
  return saved(net.builder, name);
}

std::string write_decoder_step(const std::string& name) {
  Network net;
  net.builder.input("past", DType::f32, {-1, -2, 16});
  net.weights("token", Shape{1, 16}, 1.0f);
  net.node("ReduceSum", {"past", net.ints("along", {1})}, "so_far", {{"keepdims", std::int64_t{1}}});
  net.node("Add", {"so_far", "token"}, "x");
  net.weights("q_w", Shape{16, 16}, 0.3f);
  net.weights("k_w", Shape{16, 16}, 0.3f);
  net.node("MatMul", {"x", "q_w"}, "q");
  net.node("Concat", {"past", net.node("MatMul", {"x", "k_w"}, "k")}, "present", {{"axis", std::int64_t{1}}});
  net.node("Transpose", {"present"}, "keys", {{"perm", Ints{0, 2, 1}}});
  net.node("Softmax", {net.node("MatMul", {"q", "keys"}, "scores")}, "weights", {{"axis", std::int64_t{-1}}});
  net.node("Add", {net.node("MatMul", {"weights", "present"}, "mean"), "x"}, "y");
  net.builder.output("y");
  net.builder.output("present");
  return saved(net.builder, name);
}

std::string write_size_decisions(const std::string& name) {
  Network net;
  net.builder.input("x", DType::f32, {-1, -2, 16});
  net.weights("a_w", Shape{16, 16}, 0.3f);
  net.node("Add", {net.node("MatMul", {"x", "a_w"}, "a"), "x"}, "b");
  // Rows up to the eighth, as many as there are.
  net.node("Slice", {"b", net.ints("from", {0}), net.ints("to", {8}), net.ints("along", {1})}, "head");
  net.node("ReduceMax", {"head"}, "most", {{"axes", Ints{1}}, {"keepdims", std::int64_t{1}}});
  net.node("Sub", {"b", "most"}, "c");
  // Its own rows turned over, which is itself where there is one.
  net.node("Slice",
           {"c", net.ints("last", {-1}), net.ints("first", {-100000}), net.ints("rows", {1}), net.ints("back", {-1})},
           "turned");
  net.node("Add", {"turned", "b"}, "d");
  net.node("Transpose", {"d"}, "e", {{"perm", Ints{1, 0, 2}}});
  net.extent("x", 0, "n"), net.extent("x", 1, "l");
  net.node("Concat", {"n", "l", net.ints("channels", {16})}, "as_x", {{"axis", std::int64_t{0}}});
  net.node("Reshape", {"e", "as_x"}, "f");
  net.node("Add", {"f", "x"}, "y");
  net.builder.output("y");
  return saved(net.builder, name);
}

std::string write_patches(const std::string& name, int channels, int positions) {
  Network net;
  net.builder.input("x", DType::f32, {-1, -2, -3, -4});
  net.weights("w", Shape{8, channels, 8, 8}, 0.1f);
  net.node("Conv", {"x", "w"}, "a", {{"strides", Ints{8, 8}}});
  net.node("Reshape", {"a", net.ints("flat", {0, 0, -1})}, "b");
  net.node("Transpose", {"b"}, "rows", {{"perm", Ints{0, 2, 1}}});
  if (positions > 0) net.weights("table", Shape{1, positions, 8}, 1.0f);
  const std::string placed = positions > 0 ? net.node("Add", {"rows", "table"}, "placed") : "rows";
  net.node("Relu", {placed}, "y");
  net.builder.output("y");
  return saved(net.builder, name);
}

}  // namespace octavo::testing
