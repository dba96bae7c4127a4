// Small graphs of rows, sequences and decoders with open sizes. For the tests of api/.
#include "api/open_networks.h"
#include "api/size_graphs.h"

namespace octavo::testing {
namespace {

std::function<std::string()> with_rows(std::int64_t width, const std::function<void(Network&)>& make,
                                       std::int64_t opset = 17) {
  return onnx_of(
      [=](Network& net) {
        net.builder.input("x", DType::f32, {-1, -2, width});
        make(net);
      },
      opset);
}

void gemm(Network& net) {
  net.builder.input("x", DType::f32, {-1, 12});
  net.weights("w", Shape{8, 12}, 0.3f), net.weights("b", Shape{8}, 0.3f);
  net.builder.output(net.node("Gemm", {"x", "w", "b"}, "y", {{"transB", std::int64_t{1}}}));
}
void linear(Network& net) { net.builder.output(net.node("Relu", {net.linear("x", 12, 8, "a")}, "y")); }
void product_of_two(Network& net) {
  net.builder.input("b", DType::f32, {-1, 8, -3});
  net.builder.output(net.node("MatMul", {"x", "b"}, "y"));
}
void product_along_length(Network& net) {
  net.node("Transpose", {"x"}, "turned", {{"perm", Ints{0, 2, 1}}});
  net.builder.output(net.node("MatMul", {"turned", "x"}, "y"));
}
void softmax_over_length(Network& net) {
  net.builder.output(net.node("Softmax", {"x"}, "y", {{"axis", std::int64_t{1}}}));
}
void layer_norm(Network& net) {
  net.weights("w", Shape{12}, 1.0f), net.weights("b", Shape{12}, 1.0f);
  net.builder.output(net.node("LayerNormalization", {"x", "w", "b"}, "y"));
}
// x [L, N, 6]: torch's order.
void recurrent(Network& net, const std::string& op, std::int64_t gates, const std::string& direction) {
  const std::int64_t directions = direction == "bidirectional" ? 2 : 1;
  net.weights("w", Shape{directions, gates * 5, 6}, 0.5f), net.weights("r", Shape{directions, gates * 5, 5}, 0.5f);
  net.nodes(op, {"x", "w", "r"}, {"y", "last"}, {{"hidden_size", std::int64_t{5}}, {"direction", direction}});
  net.builder.output("y").output("last");
}
// The state begins as zeros of a computed shape.
void lstm_with_state(Network& net) {
  net.weights("w", Shape{1, 20, 6}, 0.5f), net.weights("r", Shape{1, 20, 5}, 0.5f);
  net.node("Concat", {net.ints("one", {1}), net.extent("x", 1, "n"), net.ints("five", {5})}, "shape",
           {{"axis", std::int64_t{0}}});
  net.node("ConstantOfShape", {"shape"}, "state");
  net.nodes("LSTM", {"x", "w", "r", "", "", "state", "state"}, {"y", "h", "c"}, {{"hidden_size", std::int64_t{5}}});
  net.node("Squeeze", {"y", net.ints("direction", {1})}, "rows");
  net.node("Transpose", {"rows"}, "by_sentence", {{"perm", Ints{1, 0, 2}}});
  net.builder.output("by_sentence").output("h").output("c");
}
// ids [N, L] -> embeddings and positions -> the mean of what a mask shows.
void sentence(Network& net) {
  net.builder.input("ids", DType::s64, {-1, -2}).input("mask", DType::s64, {-1, -2});
  net.weights("words", Shape{4, 8}, 1.0f), net.weights("places", Shape{1, 32, 8}, 1.0f);
  net.node("Gather", {"words", "ids"}, "word");
  net.extent("ids", 1, "l");
  net.node("Slice", {"places", net.ints("start", {0}), "l", net.ints("along", {1})}, "place");
  net.layer_norm(net.node("Add", {"word", "place"}, "sum"), 8, "normal");
  net.node("Cast", {net.node("Unsqueeze", {"mask", net.ints("last", {2})}, "column")}, "shown",
           {{"to", std::int64_t{1}}});
  net.node("ReduceSum", {net.node("Mul", {"normal", "shown"}, "kept"), "along"}, "total",
           {{"keepdims", std::int64_t{0}}});
  net.node("ReduceSum", {"shown", "along"}, "seen", {{"keepdims", std::int64_t{0}}});
  net.node("Clip", {"seen", net.number("little", 1e-9f)}, "count");
  net.builder.output(net.node("Div", {"total", "count"}, "y"));
}
// Keys and values of earlier tokens before those of new ones, heads of 4, positions that the past shifts, and a causal
// mask: what an exported decoder does with its cache.
void decoder_with_cache(Network& net) {
  net.builder.input("past", DType::f32, {-1, 2, -3, 4});
  net.weights("places", Shape{64, 8}, 1.0f);
  net.extent("x", 0, "n"), net.extent("x", 1, "l"), net.extent("past", 2, "p");
  net.node("Add", {"p_number", "l_number"}, "all");
  net.whole("one", 1), net.whole("zero", 0);
  net.node("Range", {"p_number", "all", "one"}, "positions"), net.node("Range", {"zero", "all", "one"}, "keys_at");
  net.node("Add", {"x", net.node("Gather", {"places", "positions"}, "place")}, "placed");
  net.node("Concat", {"n", "l", net.ints("heads", {2, 4})}, "split", {{"axis", std::int64_t{0}}});
  net.heads(net.linear("placed", 8, 8, "q"), "split", {0, 2, 1, 3}, "queries");
  net.heads(net.linear("placed", 8, 8, "k"), "split", {0, 2, 1, 3}, "new");
  net.node("Concat", {"past", "new"}, "present", {{"axis", std::int64_t{2}}});
  net.node("Transpose", {"present"}, "keys", {{"perm", Ints{0, 1, 3, 2}}});
  net.node("MatMul", {"queries", "keys"}, "scores");
  net.node("Unsqueeze", {"positions", net.ints("end", {1})}, "row");
  net.node("Where", {net.node("LessOrEqual", {"keys_at", "row"}, "sees"), "scores", net.number("never", -1e9f)},
           "masked");
  net.node("MatMul", {net.node("Softmax", {"masked"}, "weights", {{"axis", std::int64_t{-1}}}), "present"}, "mixed");
  net.node("Transpose", {"mixed"}, "by_row", {{"perm", Ints{0, 2, 1, 3}}});
  net.node("Concat", {"n", "l", net.ints("joined", {8})}, "as_x", {{"axis", std::int64_t{0}}});
  net.builder.output(net.node("Reshape", {"by_row", "as_x"}, "y")).output("present");
}
// Angles of positions, halves of x that are rotated by them.
void rotary(Network& net) {
  net.extent("x", 1, "l");
  net.node("Range", {net.whole("zero", 0), "l_number", net.whole("one", 1)}, "positions");
  net.node("Cast", {net.node("Unsqueeze", {"positions", net.ints("end", {1})}, "column")}, "at",
           {{"to", std::int64_t{1}}});
  net.builder.initializer("speeds", floats({1, 8}, {1, 0.5f, 0.25f, 0.125f, 1, 0.5f, 0.25f, 0.125f}));
  net.node("Mul", {"at", "speeds"}, "angles");
  const std::string far = net.ints("far", {1 << 20}), last = net.ints("last", {-1});
  net.node("Slice", {"x", net.ints("start", {0}), net.ints("half", {4}), last}, "a");
  net.node("Slice", {"x", "half", far, last}, "b");
  net.node("Concat", {net.node("Neg", {"b"}, "minus"), "a"}, "turned", {{"axis", std::int64_t{-1}}});
  net.node("Mul", {"x", net.node("Cos", {"angles"}, "cos")}, "c");
  net.node("Mul", {"turned", net.node("Sin", {"angles"}, "sin")}, "d");
  net.builder.output(net.node("Add", {"c", "d"}, "y"));
}
// T5's buckets of distances: a bias [1, 2, L, L] from a table of 8 buckets.
void relative_positions(Network& net) {
  net.extent("x", 1, "l");
  net.node("Range", {net.whole("zero", 0), "l_number", net.whole("one", 1)}, "positions");
  net.node("Unsqueeze", {"positions", net.ints("front", {0})}, "keys");
  net.node("Unsqueeze", {"positions", net.ints("end", {1})}, "queries");
  net.node("Sub", {"keys", "queries"}, "distance");
  net.node("Greater", {"distance", "zero"}, "is_after");
  net.node("Mul", {net.node("Cast", {"is_after"}, "after", {{"to", std::int64_t{7}}}), net.whole("four", 4)}, "base");
  net.node("Min", {net.node("Abs", {"distance"}, "far"), net.whole("three", 3)}, "near");
  net.weights("table", Shape{8, 2}, 1.0f);
  net.node("Gather", {"table", net.node("Add", {"base", "near"}, "bucket")}, "bias");
  net.node("Transpose", {"bias"}, "by_head", {{"perm", Ints{2, 0, 1}}});
  net.node("Transpose", {"x"}, "turned", {{"perm", Ints{0, 2, 1}}});
  net.node("Unsqueeze", {net.node("MatMul", {"x", "turned"}, "scores"), "end"}, "wide");
  net.builder.output(net.node("Softmax", {net.node("Add", {"wide", "by_head"}, "sum")}, "y"));
}
// The first token of each sentence, and the last.
void pooled_tokens(Network& net) {
  net.node("Gather", {"x", net.whole("first", 0)}, "a", {{"axis", std::int64_t{1}}});
  net.node("Slice", {"x", net.ints("start", {-1}), net.ints("end", {1 << 20}), net.ints("along", {1})}, "z");
  net.node("Squeeze", {"z", "along"}, "b");
  net.builder.output(net.node("Tanh", {net.linear("a", 8, 8, "c")}, "y"));
  net.builder.output(net.linear("b", 8, 4, "logits"));
}

}  // namespace

std::vector<SizeGraph> row_graphs() {
  const auto recurrence = [](const std::string& op, std::int64_t gates, const std::string& direction) {
    return with_rows(6, [=](Network& net) { recurrent(net, op, gates, direction); });
  };
  const auto no_rows = [](const SizeMap& sizes) { return sizes.at("N2") == 0; };
  return {
      {.name = "gemm", .bytes = onnx_of(gemm)},
      {.name = "linear", .bytes = with_rows(12, linear)},
      {.name = "product_of_two", .bytes = with_rows(8, product_of_two)},
      {.name = "product_along_length", .bytes = with_rows(8, product_along_length)},
      {.name = "softmax_over_length", .bytes = with_rows(8, softmax_over_length)},
      {.name = "layer_norm", .bytes = with_rows(12, layer_norm)},
      {.name = "lstm", .bytes = recurrence("LSTM", 4, "forward")},
      {.name = "lstm_both_ways", .bytes = recurrence("LSTM", 4, "bidirectional")},
      {.name = "gru_reversed", .bytes = recurrence("GRU", 3, "reverse")},
      {.name = "lstm_with_state", .bytes = with_rows(6, lstm_with_state)},
      {.name = "sentence", .bytes = onnx_of(sentence)},
      {.name = "decoder_with_cache", .bytes = with_rows(8, decoder_with_cache)},
      {.name = "rotary", .bytes = with_rows(8, rotary)},
      {.name = "relative_positions", .bytes = with_rows(8, relative_positions)},
      {.name = "pooled_tokens", .bytes = with_rows(8, pooled_tokens), .is_refused = no_rows},
      {.name = "encoder", .bytes = file_of(write_encoder)},
      {.name = "masked_encoder", .bytes = file_of(write_masked_encoder), .indices = 2},
      {.name = "positions", .bytes = file_of(write_positions)},
      {.name = "rows_with_additions", .bytes = file_of(write_rows_with_additions)},
      {.name = "decoder_step", .bytes = file_of(write_decoder_step)},
  };
}

}  // namespace octavo::testing
