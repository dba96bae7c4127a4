// Graphs written as ONNX and read again: the same answers, the same integer network, the same names. Part of
// tests/export/.
#include "export/onnx.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "import/import.h"
#include "import/onnx/proto.h"
#include "lower/lower.h"
#include "ops/argmax/argmax.h"
#include "ops/attention/attention.h"
#include "ops/average_pool/average_pool.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/binary/binary.h"
#include "ops/cast/cast.h"
#include "ops/concat/concat.h"
#include "ops/conv/conv.h"
#include "ops/cumsum/cumsum.h"
#include "ops/det/det.h"
#include "ops/evaluate.h"
#include "ops/expand/expand.h"
#include "ops/gather/gather.h"
#include "ops/gather_elements/gather_elements.h"
#include "ops/gather_nd/gather_nd.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/lrn/lrn.h"
#include "ops/matmul/matmul.h"
#include "ops/max_pool/max_pool.h"
#include "ops/pad/pad.h"
#include "ops/reduce/reduce.h"
#include "ops/reshape/reshape.h"
#include "ops/resize/resize.h"
#include "ops/scatter_elements/scatter_elements.h"
#include "ops/scatter_nd/scatter_nd.h"
#include "ops/slice/slice.h"
#include "ops/softmax/softmax.h"
#include "ops/topk/topk.h"
#include "ops/transpose/transpose.h"
#include "ops/unary/unary.h"
#include "ops/where/where.h"
#include "quantize/quantize.h"

namespace octavo {
namespace {

Tensor onnx_noise(const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Tensor tensor(DType::f32, shape);
  for (float& value : tensor.span<float>()) value = normal(random);
  return tensor;
}

onnx::ModelProto parsed(const std::string& bytes) {
  const auto proto = onnx_import::parse_model_bytes(std::as_bytes(std::span(bytes)), "test.onnx");
  EXPECT_TRUE(proto) << to_string(proto.errors());
  return proto ? *proto : onnx::ModelProto();
}

Graph onnx_imported(const std::string& bytes, std::int64_t batch = 1) {
  auto model = import_onnx(std::as_bytes(std::span(bytes)), "", "test.onnx", {.batch = batch});
  EXPECT_TRUE(model) << to_string(model.errors());
  return model ? std::move(model->graph) : Graph();
}

std::string exported(const Graph& graph, const Graph* other = nullptr) {
  auto bytes = export_onnx(graph, {.name = "test", .other_batch = other});
  EXPECT_TRUE(bytes) << to_string(bytes.errors());
  return bytes ? *bytes : "";
}

// Networks of one input "x"; every node and value has the name it is given.
class Net {
 public:
  Graph graph;
  explicit Net(Shape shape) : x(graph.add_input("x", DType::f32, std::move(shape))) {}
  ValueId add(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs, const std::string& name) {
    const auto id = graph.add(spec, std::move(attrs), std::move(inputs), name);
    EXPECT_TRUE(id) << to_string(id.errors());
    if (id) graph.set_name(*id, name + "_out");
    return id ? *id : x;
  }
  ValueId constant(const std::string& name, Shape shape, unsigned seed = 7) {
    return graph.add_constant(name, onnx_noise(shape, seed));
  }
  ValueId conv(const std::string& name, ValueId from, std::int64_t channels) {
    Window window = unit_window({3, 3});
    window.pad_begin = window.pad_end = {1, 1};
    const std::int64_t in = graph.fact(from).shape[1];
    return add(kConv, ConvAttrs{.window = window},
               {from, constant(name + ".w", {channels, in, 3, 3}), constant(name + ".b", {channels})}, name);
  }
  Graph& output(ValueId value) {
    graph.add_output(value, "y");
    return graph;
  }
  ValueId x;
};

// Exact: the operators are the same.
void expect_same_answers(const Graph& graph, unsigned seed = 3) {
  const Graph again = onnx_imported(exported(graph));
  std::vector<Tensor> inputs;
  for (const ValueId input : graph.inputs()) inputs.push_back(onnx_noise(graph.fact(input).shape, seed++));
  const auto before = evaluate(graph, inputs), after = evaluate(again, inputs);
  ASSERT_TRUE(before && after);
  ASSERT_EQ(before->size(), after->size());
  for (std::size_t i = 0; i < before->size(); ++i)
    EXPECT_TRUE((*before)[i] == (*after)[i]) << to_string(graph) << to_string(again);
}

void expect_one(const Shape& shape, const OpSpec& spec, Attrs attrs, const std::vector<Shape>& constants = {}) {
  Net net(shape);
  std::vector<ValueId> inputs = {net.x};
  for (const Shape& constant : constants) inputs.push_back(net.constant("c" + std::to_string(inputs.size()), constant));
  net.output(net.add(spec, std::move(attrs), inputs, "node"));
  expect_same_answers(net.graph);
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(ExportOnnx, FunctionsOfOneElement) {
  for (int i = 0; i < count_of(UnaryKind{}); ++i) {
    const auto kind = static_cast<UnaryKind>(i);
    const bool has_several_nodes =
        kind == UnaryKind::silu || kind == UnaryKind::gelu || kind == UnaryKind::gelu_tanh || kind == UnaryKind::mish;
    if (kind == UnaryKind::logical_not || kind == UnaryKind::bitwise_not || has_several_nodes) continue;
    SCOPED_TRACE(std::string(name_of(kind)));
    expect_one({2, 3, 5}, kUnary, UnaryAttrs{.kind = kind, .alpha = 0.25f, .beta = 0.75f});
  }
  expect_one({2, 3}, kUnary, UnaryAttrs{.kind = UnaryKind::clip, .alpha = -kInfinity, .beta = 0.5f});
  expect_one({2, 3}, kUnary, UnaryAttrs{.kind = UnaryKind::clip, .alpha = -0.5f, .beta = kInfinity});
  expect_one({2, 3}, kUnary, UnaryAttrs{.kind = UnaryKind::clip, .alpha = -kInfinity, .beta = kInfinity});
}

// They are written as several nodes, which simplify() finds again.
TEST(ExportOnnx, ActivationsOfSeveralNodes) {
  for (const UnaryKind kind : {UnaryKind::silu, UnaryKind::gelu, UnaryKind::gelu_tanh, UnaryKind::mish}) {
    SCOPED_TRACE(std::string(name_of(kind)));
    Net net({2, 3, 5});
    net.output(net.add(kUnary, UnaryAttrs{.kind = kind}, {net.x}, "node"));
    Graph again = onnx_imported(exported(net.graph));
    const std::vector<Tensor> inputs = {onnx_noise({2, 3, 5}, 1)};
    const auto before = evaluate(net.graph, inputs), after = evaluate(again, inputs);
    ASSERT_TRUE(before && after);
    for (std::int64_t i = 0; i < 30; ++i) EXPECT_NEAR((*before)[0].as<float>()[i], (*after)[0].as<float>()[i], 1e-6f);
    ASSERT_TRUE(simplify(again));
    if (kind == UnaryKind::mish) continue;
    ASSERT_EQ(again.node_count(), 1);
    EXPECT_EQ(again.node(again.order()[0]).attrs.as<UnaryAttrs>().kind, kind);
  }
}

TEST(ExportOnnx, FunctionsOfTwoElements) {
  for (int i = 0; i <= static_cast<int>(BinaryKind::less_or_equal); ++i) {
    const auto kind = static_cast<BinaryKind>(i);
    SCOPED_TRACE(std::string(name_of(kind)));
    expect_one({2, 3, 5}, kBinary, BinaryAttrs{.kind = kind}, {{3, 1}});
  }
  Net net({2, 3});
  const ValueId less = net.add(kBinary, BinaryAttrs{.kind = BinaryKind::less}, {net.x, net.constant("c", {3})}, "less");
  const ValueId greater =
      net.add(kBinary, BinaryAttrs{.kind = BinaryKind::greater}, {net.x, net.constant("d", {2, 1}, 8)}, "greater");
  const ValueId both = net.add(kBinary, BinaryAttrs{.kind = BinaryKind::logical_xor}, {less, greater}, "both");
  const ValueId no = net.add(kUnary, UnaryAttrs{.kind = UnaryKind::logical_not}, {both}, "not");
  const ValueId picked = net.add(kWhere, NoAttrs{}, {no, net.x, net.constant("e", {1})}, "where");
  net.output(net.add(kCast, CastAttrs{.to = DType::s32}, {picked}, "cast"));
  expect_same_answers(net.graph);
}

TEST(ExportOnnx, BitsOfIntegers) {
  Net net({2, 3});
  const ValueId whole = net.add(kCast, CastAttrs{.to = DType::u8}, {net.x}, "whole");
  const ValueId by = net.add(kCast, CastAttrs{.to = DType::u8}, {net.constant("c", {3})}, "by");
  const ValueId left = net.add(kBinary, BinaryAttrs{.kind = BinaryKind::shift_left}, {whole, by}, "left");
  net.output(net.add(kBinary, BinaryAttrs{.kind = BinaryKind::shift_right}, {left, by}, "right"));
  expect_same_answers(net.graph);
}

TEST(ExportOnnx, SelectionByIndex) {
  const auto indices = [](Net& net, Shape shape) {
    Tensor tensor(DType::s64, std::move(shape));
    for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.as<std::int64_t>()[i] = i % 2;
    return net.graph.add_constant("indices", std::move(tensor));
  };
  const auto expect_pick = [&](const OpSpec& spec, const Attrs& attrs, Shape shape, const std::vector<Shape>& updates) {
    Net net({2, 3, 4});
    std::vector<ValueId> inputs{net.x, indices(net, std::move(shape))};
    for (const Shape& update : updates) inputs.push_back(net.constant("updates", update));
    net.output(net.add(spec, attrs, inputs, "node"));
    expect_same_answers(net.graph);
  };
  expect_pick(kGatherNd, GatherNdAttrs{1}, {2, 5, 1}, {});
  for (const ScatterKind kind : {ScatterKind::assign, ScatterKind::add, ScatterKind::mul}) {
    expect_pick(kScatterElements, ScatterElementsAttrs{1, kind}, {2, 2, 3}, {{2, 2, 3}});
    expect_pick(kScatterNd, ScatterNdAttrs{kind}, {5, 2}, {{5, 4}});
  }
  expect_one({5, 3, 3}, kDet, NoAttrs{});
  Net net({2, 5});
  const auto made = net.graph.add_node(kTopk, TopkAttrs{.axis = 1, .k = 3, .largest = false}, {net.x}, "node");
  ASSERT_TRUE(made) << to_string(made.errors());
  const std::vector<ValueId> results = net.graph.node(*made).outputs;
  net.graph.add_output(results[0], "values");
  net.graph.add_output(results[1], "positions");
  expect_same_answers(net.graph);
}

TEST(ExportOnnx, Windows) {
  Window window = unit_window({3, 2});
  window.strides = {2, 1};
  window.pad_begin = {1, 0};
  window.pad_end = {0, 1};
  expect_one({2, 4, 7, 6}, kMaxPool, MaxPoolAttrs{.window = window, .rounding = Rounding::ceil});
  expect_one({2, 4, 7, 6}, kAveragePool, AveragePoolAttrs{.window = window, .count_include_pad = true});
  expect_one({2, 4, 7, 6}, kAveragePool, AveragePoolAttrs{.window = window, .rounding = Rounding::ceil});
  window.dilations = {2, 1};
  expect_one({2, 4, 7, 6}, kConv, ConvAttrs{.window = window, .groups = 2}, {{6, 2, 3, 2}, {6}});
  expect_one({2, 4, 7, 6}, kConv, ConvAttrs{.window = window, .groups = 4}, {{4, 1, 3, 2}});
  expect_one({1, 4, 7}, kConv, ConvAttrs{.window = unit_window({3})}, {{5, 4, 3}});
}

TEST(ExportOnnx, ChannelsLastBecomesFirst) {
  Window window = unit_window({3, 2});
  window.pad_begin = {1, 0};
  window.pad_end = {1, 1};
  expect_one({2, 7, 6, 4}, kConv, ConvAttrs{.window = window, .groups = 2, .layout = Layout::channels_last},
             {{6, 3, 2, 2}, {6}});
  expect_one({2, 7, 6, 4}, kMaxPool, MaxPoolAttrs{.window = window, .layout = Layout::channels_last});
  expect_one({2, 7, 6, 4}, kAveragePool, AveragePoolAttrs{.window = window, .layout = Layout::channels_last});
  expect_one({2, 7, 4}, kConv, ConvAttrs{.window = unit_window({3}), .layout = Layout::channels_last}, {{5, 3, 4}});
}

TEST(ExportOnnx, Reductions) {
  for (int i = 0; i < count_of(ReduceKind{}); ++i) {
    const auto kind = static_cast<ReduceKind>(i);
    SCOPED_TRACE(std::string(name_of(kind)));
    expect_one({2, 3, 4, 5}, kReduce, ReduceAttrs{.kind = kind, .axes = {2, 3}});
    expect_one({2, 3, 4, 5}, kReduce, ReduceAttrs{.kind = kind, .axes = {0, 2}, .keep_dims = false});
  }
  expect_one({2, 3, 5}, kArgmax, ArgmaxAttrs{.axis = 1, .keep_dims = false});
  expect_one({2, 3, 5}, kArgmax, ArgmaxAttrs{.kind = ArgKind::min, .axis = 2, .select_last = true});
  expect_one({2, 3, 5}, kCumsum, CumsumAttrs{.axis = 1});
  expect_one({2, 3, 5}, kCumsum, CumsumAttrs{.axis = 2, .exclusive = true, .reverse = true});
}

TEST(ExportOnnx, Normalisations) {
  expect_one({2, 3, 4}, kSoftmax, SoftmaxAttrs{.axis = 1});
  expect_one({2, 3, 4}, kSoftmax, SoftmaxAttrs{.kind = SoftmaxKind::log_softmax, .axis = 2});
  expect_one({2, 3, 4}, kLayerNorm, LayerNormAttrs{.axis = 1, .epsilon = 1e-3f}, {{3, 4}, {3, 4}});
  expect_one({2, 6, 4}, kLrn, LrnAttrs{.size = 3, .alpha = 0.1f, .beta = 0.5f, .bias = 2.0f});
  Net net({2, 3, 4});
  const ValueId variance = net.graph.add_constant("variance", Tensor::of<float>({3}, {0.5f, 1.0f, 2.0f}));
  net.output(net.add(kBatchNorm, BatchNormAttrs{.epsilon = 1e-3f},
                     {net.x, net.constant("a", {3}), net.constant("b", {3}), net.constant("c", {3}), variance},
                     "norm"));
  expect_same_answers(net.graph);
}

// Written as products around a softmax, which simplify() finds again.
void expect_same_attention(Net& net, const AttentionAttrs& attrs, std::vector<ValueId> inputs, const Shape& result) {
  ValueId y = net.add(kAttention, attrs, std::move(inputs), "attention");
  if (net.graph.fact(y).shape != result) y = net.add(kReshape, ReshapeAttrs{{result.begin(), result.end()}}, {y}, "y");
  net.output(y);
  Graph again = onnx_imported(exported(net.graph));
  const std::vector<Tensor> x = {onnx_noise(net.graph.fact(net.x).shape, 3)};
  const auto before = evaluate(net.graph, x), plain = evaluate(again, x);
  ASSERT_TRUE(simplify(again));
  const auto after = evaluate(again, x);
  ASSERT_TRUE(before && plain && after);
  for (std::int64_t i = 0; i < before->front().elements(); ++i) {
    EXPECT_NEAR(before->front().as<float>()[i], plain->front().as<float>()[i], 1e-5);
    EXPECT_NEAR(before->front().as<float>()[i], after->front().as<float>()[i], 1e-5);
  }
  const auto& order = again.order();
  const auto found =
      std::find_if(order.begin(), order.end(), [&](const NodeId id) { return again.node(id).spec == &kAttention; });
  ASSERT_NE(found, order.end()) << to_string(again);
  AttentionAttrs expected = attrs;
  expected.is_causal = false;  // a mask says so
  EXPECT_EQ(again.node(*found).attrs.as<AttentionAttrs>(), expected);
}

TEST(ExportOnnx, Attention) {
  AttentionAttrs attrs{.heads = 4,
                       .kv_heads = 2,
                       .head_size = 3,
                       .value_size = 5,
                       .q_first = 1,
                       .k_first = 13,
                       .v_first = 19,
                       .scale = 0.5f};
  for (const bool is_causal : {false, true}) {
    Net net({2, 6, 30});
    attrs.is_causal = is_causal;
    expect_same_attention(net, attrs, {net.x, net.x, net.x}, {2, 6, 20});
  }
  attrs.is_causal = false;
  Tensor kept(DType::boolean, {2, 1, 6, 6});
  for (std::int64_t i = 12; i < kept.elements(); ++i)
    kept.as<std::uint8_t>()[i] = i % 3 != 0;  // two rows without a key
  Net net({2, 6, 30});
  expect_same_attention(net, attrs, {net.x, net.x, net.x, net.graph.add_constant("mask", kept)}, {2, 6, 20});
  Net added({2, 6, 30});
  expect_same_attention(added, attrs, {added.x, added.x, added.x, added.constant("mask", {4, 6, 6})}, {2, 6, 20});
}

TEST(ExportOnnx, Movements) {
  expect_one({2, 3, 4}, kReshape, ReshapeAttrs{.shape = {4, 6}});
  expect_one({2, 3, 4}, kTranspose, TransposeAttrs{.perm = {2, 0, 1}});
  expect_one({3, 1}, kExpand, ExpandAttrs{.shape = {2, 3, 4}});
  expect_one({6, 7}, kSlice, SliceAttrs{.starts = {1, 6}, .steps = {2, -3}, .sizes = {2, 3}});
  expect_one({6, 7}, kSlice,
             SliceAttrs{.starts = {5, 0}, .steps = {-1, 1}, .sizes = {6, 7}});  // ends before the first element
  expect_one({6, 7}, kSlice, SliceAttrs{.starts = {0, 3}, .steps = {1, 1}, .sizes = {6, 0}});
  expect_one({2, 3}, kPad, PadAttrs{.begin = {1, 0}, .end = {0, 2}}, {});
  expect_one({4, 5}, kPad, PadAttrs{.mode = PadMode::reflect, .begin = {1, 2}, .end = {3, 0}});
  expect_one({4, 5}, kPad, PadAttrs{.mode = PadMode::edge, .begin = {1, -2}, .end = {0, 1}});
  expect_one({4, 5}, kPad, PadAttrs{.begin = {1, 2}, .end = {3, 0}}, {Shape{}});
  expect_one({2, 3}, kConcat, ConcatAttrs{.axis = 1}, {{2, 2}, {2, 5}});
  Net net({4, 3});
  net.output(net.add(kGather, GatherAttrs{.axis = 0},
                     {net.x, net.graph.add_constant("i", Tensor::of<std::int64_t>({2}, {3, -4}))}, "gather"));
  expect_same_answers(net.graph);
  Net elements({4, 3});
  elements.output(elements.add(
      kGatherElements, GatherElementsAttrs{.axis = 0},
      {elements.x, elements.graph.add_constant("i", Tensor::of<std::int64_t>({2, 2}, {3, -4, 0, 1}))}, "gather"));
  expect_same_answers(elements.graph);
}

TEST(ExportOnnx, Resizes) {
  for (const ResizeMode mode : {ResizeMode::nearest, ResizeMode::linear, ResizeMode::cubic}) {
    for (const ResizeCoordinates coordinates :
         {ResizeCoordinates::half_pixel, ResizeCoordinates::align_corners, ResizeCoordinates::asymmetric}) {
      expect_one(
          {1, 2, 4, 5}, kResize,
          ResizeAttrs{
              .mode = mode, .coordinates = coordinates, .sizes = {1, 2, 8, 7}, .scales = {1.0f, 1.0f, 2.0f, 1.5f}});
      // Not what the scales would give: sizes came with the file.
      expect_one({1, 2, 4, 5}, kResize,
                 ResizeAttrs{.mode = mode,
                             .coordinates = coordinates,
                             .sizes = {1, 2, 7, 3},
                             .scales = {1.0f, 1.0f, 7.0f / 4.0f, 3.0f / 5.0f}});
    }
  }
}

TEST(ExportOnnx, ProductsAndGemm) {
  expect_one({2, 3, 4}, kMatmul, NoAttrs{}, {{4, 5}});
  Net net({3, 4});
  const ValueId product = net.add(kMatmul, NoAttrs{}, {net.x, net.constant("w", {4, 5})}, "product");
  net.output(net.add(kBinary, BinaryAttrs{.kind = BinaryKind::add}, {net.constant("b", {5}), product}, "fc"));
  expect_same_answers(net.graph);
  const onnx::ModelProto proto = parsed(exported(net.graph));
  ASSERT_EQ(proto.graph().node_size(), 1);
  EXPECT_EQ(proto.graph().node(0).op_type(), "Gemm");
  EXPECT_EQ(proto.graph().node(0).name(), "fc");
}

// Two readers: the product must be there by itself.
TEST(ExportOnnx, ProductThatIsReadTwiceStaysAlone) {
  Net net({3, 4});
  const ValueId product = net.add(kMatmul, NoAttrs{}, {net.x, net.constant("w", {4, 5})}, "product");
  const ValueId sum = net.add(kBinary, BinaryAttrs{.kind = BinaryKind::add}, {product, net.constant("b", {5})}, "sum");
  net.output(net.add(kBinary, BinaryAttrs{.kind = BinaryKind::mul}, {product, sum}, "last"));
  expect_same_answers(net.graph);
  EXPECT_EQ(parsed(exported(net.graph)).graph().node(0).op_type(), "MatMul");
}

TEST(ExportOnnx, NamesAreKeptAndMadeUnique) {
  Net net({1, 4});
  const ValueId first = net.add(kUnary, UnaryAttrs{.kind = UnaryKind::relu}, {net.x}, "relu");
  const ValueId second = net.add(kUnary, UnaryAttrs{.kind = UnaryKind::abs}, {first}, "abs");
  net.graph.set_name(second, "relu_out");  // the name of another value
  const ValueId third = net.add(kUnary, UnaryAttrs{.kind = UnaryKind::neg}, {second}, "neg");
  net.graph.set_name(third, "");
  net.graph.add_output(net.add(kUnary, UnaryAttrs{.kind = UnaryKind::abs}, {third}, "relu"), "twice");
  net.graph.add_output(third, "y");
  net.graph.add_output(third, "again");
  net.graph.add_output(net.x, "input as it is");
  net.graph.add_output(net.constant("c", {2}), "constant");
  expect_same_answers(net.graph);
  const onnx::ModelProto proto = parsed(exported(net.graph));
  EXPECT_EQ(proto.graph().input(0).name(), "x");
  EXPECT_EQ(proto.graph().node(0).name(), "relu");
  EXPECT_EQ(proto.graph().node(0).output(0), "relu_out");
  EXPECT_EQ(proto.graph().node(1).output(0), "relu_out_1");
  EXPECT_EQ(proto.graph().node(2).output(0), "y");
  EXPECT_EQ(proto.graph().node(3).name(), "relu_1");
  ASSERT_EQ(proto.graph().output_size(), 5);
  EXPECT_EQ(proto.graph().output(3).name(), "input as it is");
}

TEST(ExportOnnx, WhatOnnxDoesNotHaveIsRefusedByName) {
  Net net({1, 2, 4, 4});
  Window window = unit_window({2, 2});
  window.dilations = {2, 2};
  const ValueId pool = net.add(kAveragePool, AveragePoolAttrs{.window = window}, {net.x}, "dilated");
  const ValueId pad =
      net.add(kPad, PadAttrs{.mode = PadMode::wrap, .begin = {0, 0, 1, 1}, .end = {0, 0, 1, 1}}, {pool}, "wrapped");
  net.output(pad);
  const auto bytes = export_onnx(net.graph, {});
  ASSERT_FALSE(bytes);
  ASSERT_EQ(bytes.errors().size(), 2u) << to_string(bytes.errors());
  EXPECT_EQ(bytes.errors()[0].kind, ErrorKind::unsupported);
  EXPECT_NE(bytes.errors()[0].where.find("dilated"), std::string::npos);
  EXPECT_NE(bytes.errors()[1].where.find("wrapped"), std::string::npos);
}

// ---- batches ----

// Everything whose size follows the batch.
Graph batched(std::int64_t batch) {
  Net net({batch, 2, 4, 4});
  const ValueId mean = net.add(kReduce, ReduceAttrs{.kind = ReduceKind::mean, .axes = {2, 3}, .keep_dims = false},
                               {net.conv("conv", net.x, 4)}, "mean");
  const ValueId split = net.add(kReshape, ReshapeAttrs{.shape = {batch, 2, 2}}, {mean}, "split");
  const ValueId wide = net.add(kExpand, ExpandAttrs{.shape = {3, batch, 2, 2}}, {split}, "wide");
  const ValueId cut = net.add(
      kSlice, SliceAttrs{.starts = {1, 0, 0, 0}, .steps = {1, 1, 1, 1}, .sizes = {2, batch, 2, 1}}, {wide}, "cut");
  const ValueId front = net.add(kTranspose, TransposeAttrs{.perm = {1, 0, 2, 3}}, {cut}, "front");
  net.output(
      net.add(kResize, ResizeAttrs{.sizes = {batch, 2, 4, 1}, .scales = {1.0f, 1.0f, 2.0f, 1.0f}}, {front}, "large"));
  return net.graph;
}

TEST(ExportOnnx, BatchIsSymbolicWhereTheNetworkFollowsIt) {
  const Graph one = batched(1), two = batched(2), five = batched(5);
  const std::string bytes = exported(one, &two);
  EXPECT_EQ(parsed(bytes).graph().input(0).type().tensor_type().shape().dim(0).dim_param(), "batch");
  const Graph again = onnx_imported(bytes, 5);
  const std::vector<Tensor> inputs = {onnx_noise({5, 2, 4, 4}, 2)};
  const auto before = evaluate(five, inputs), after = evaluate(again, inputs);
  ASSERT_TRUE(before && after);
  EXPECT_TRUE((*before)[0] == (*after)[0]);
}

TEST(ExportOnnx, BatchIsFixedWhereItCannotBeSaid) {
  const auto network = [](std::int64_t batch) {
    Net net({batch, 4});
    // Two sizes follow the batch: no shape says that.
    const ValueId square = net.add(kExpand, ExpandAttrs{.shape = {batch, batch, 4}}, {net.x}, "square");
    net.output(net.add(kReshape, ReshapeAttrs{.shape = {batch, 4, batch}}, {square}, "moved"));
    return net.graph;
  };
  const Graph one = network(1), two = network(2);
  const std::string bytes = exported(one, &two);
  EXPECT_EQ(parsed(bytes).graph().input(0).type().tensor_type().shape().dim(0).dim_value(), 1);
  expect_same_answers(one);
}

// ---- quantized networks ----

class OnnxNoise final : public SampleSource {
 public:
  explicit OnnxNoise(Shape shape) : shape_(std::move(shape)) {}
  std::int64_t size() const override { return 6; }
  Result<std::vector<Tensor>> sample(std::int64_t index) const override {
    return std::vector<Tensor>{onnx_noise(shape_, static_cast<unsigned>(index + 100))};
  }

 private:
  Shape shape_;
};

// Convolutions with ReLU, SiLU and a residual, a depthwise one, pools, concatenation, squeeze-excite, a classifier.
Graph small_network() {
  Net net({1, 3, 8, 8});
  const ValueId stem = net.add(kUnary, UnaryAttrs{.kind = UnaryKind::relu}, {net.conv("stem", net.x, 8)}, "relu");
  const ValueId branch = net.add(kUnary, UnaryAttrs{.kind = UnaryKind::silu}, {net.conv("branch", stem, 8)}, "silu");
  Window window = unit_window({3, 3});
  window.pad_begin = window.pad_end = {1, 1};
  const ValueId depthwise =
      net.add(kConv, ConvAttrs{.window = window, .groups = 8}, {branch, net.constant("dw", {8, 1, 3, 3})}, "depthwise");
  const ValueId sum = net.add(kBinary, BinaryAttrs{.kind = BinaryKind::add}, {depthwise, stem}, "sum");
  const ValueId gate =
      net.add(kUnary, UnaryAttrs{.kind = UnaryKind::sigmoid},
              {net.conv("excite",
                        net.add(kReduce, ReduceAttrs{.kind = ReduceKind::mean, .axes = {2, 3}}, {sum}, "squeeze"), 8)},
              "gate");
  const ValueId gated = net.add(kBinary, BinaryAttrs{.kind = BinaryKind::mul}, {sum, gate}, "gated");
  Window two = unit_window({2, 2});
  two.strides = {2, 2};
  const ValueId largest = net.add(kMaxPool, MaxPoolAttrs{.window = two}, {gated}, "largest");
  const ValueId average = net.add(kAveragePool, AveragePoolAttrs{.window = two}, {gated}, "average");
  const ValueId joined = net.add(kConcat, ConcatAttrs{.axis = 1}, {largest, average}, "joined");
  const ValueId mean =
      net.add(kReduce, ReduceAttrs{.kind = ReduceKind::mean, .axes = {2, 3}}, {net.conv("last", joined, 16)}, "mean");
  const ValueId flat = net.add(kReshape, ReshapeAttrs{.shape = {1, 16}}, {mean}, "flat");
  const ValueId product = net.add(kMatmul, NoAttrs{}, {flat, net.constant("fc.w", {16, 5})}, "product");
  net.output(net.add(kBinary, BinaryAttrs{.kind = BinaryKind::add}, {product, net.constant("fc.b", {5})}, "fc"));
  return net.graph;
}

// Operators of the lowered graph in their order.
std::vector<std::string> lowered_operators(const Graph& graph) {
  std::vector<std::string> names;
  for (const NodeId id : graph.order())
    names.push_back(std::string(graph.node(id).spec->name) + " " + graph.node(id).attrs.to_string());
  return names;
}

void expect_same_network(Graph graph, const QuantizeOptions& options) {
  ASSERT_TRUE(quantize(graph, OnnxNoise({1, 3, 8, 8}), options));
  Graph again = onnx_imported(exported(graph));
  const std::vector<Tensor> inputs = {onnx_noise({1, 3, 8, 8}, 55)};
  ASSERT_TRUE(lower(graph, {}) && lower(again, {}));
  EXPECT_EQ(lowered_operators(graph), lowered_operators(again));
  const auto before = evaluate(graph, inputs), after = evaluate(again, inputs);
  ASSERT_TRUE(before && after);
  EXPECT_TRUE((*before)[0] == (*after)[0]);
}

TEST(ExportOnnx, QuantizedNetworkIsTheSameWhenReadAgain) {
  expect_same_network(small_network(), {});
  expect_same_network(small_network(), {.calibration = CalibrationMethod::mse, .corrects_biases = false});
  expect_same_network(small_network(), {.global_scale = 8.0f});  // s8 activations
  expect_same_network(small_network(), {.skip = {"branch", "type:matmul", "largest"}});
}

TEST(ExportOnnx, WeightsAreIntegersPerChannel) {
  Graph graph = small_network();
  ASSERT_TRUE(quantize(graph, OnnxNoise({1, 3, 8, 8}), {}));
  const onnx::ModelProto proto = parsed(exported(graph));
  const auto find = [&](const std::string& name) {
    for (const auto& tensor : proto.graph().initializer()) {
      if (tensor.name() == name) return tensor;
    }
    ADD_FAILURE() << name;
    return onnx::TensorProto();
  };
  EXPECT_EQ(find("stem.w").data_type(), onnx::TensorProto::INT8);
  EXPECT_EQ(find("stem.w/scale").dims(0), 8);
  EXPECT_EQ(find("stem.b").data_type(), onnx::TensorProto::INT32);
  EXPECT_EQ(proto.opset_import(0).version(), 17);
}

}  // namespace
}  // namespace octavo
