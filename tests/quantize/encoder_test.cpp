// The quantizer on an encoder: where residual streams are s16, what stays in float, and how near the answers are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "lower/lower.h"
#include "ops/attention/attention.h"
#include "ops/binary/binary.h"
#include "ops/conv/conv.h"
#include "ops/evaluate.h"
#include "ops/gather/gather.h"
#include "ops/hybrid_conv/hybrid_conv.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/matmul/matmul.h"
#include "ops/quantize/quantize.h"
#include "ops/quantized_attention/quantized_attention.h"
#include "ops/quantized_conv/quantized_conv.h"
#include "ops/quantized_layer_norm/quantized_layer_norm.h"
#include "ops/row_quantize/row_quantize.h"
#include "ops/row_requantize/row_requantize.h"
#include "ops/softmax/softmax.h"
#include "ops/unary/unary.h"
#include "quantize/drawn_ids.h"
#include "quantize/placement.h"
#include "quantize/quantize.h"
#include "quantize/smooth.h"

namespace octavo {
namespace {

constexpr std::int64_t kEncoderTokens = 6, kEncoderWidth = 16, kInner = 32, kWords = 5000;

// Token ids -> embeddings and positions -> normalisation -> one block of attention and a product pair -> f32.
class Encoder {
 public:
  Graph graph;

  Encoder() {
    const ValueId ids = graph.add_input("ids", DType::s64, Shape{1, kEncoderTokens});
    const ValueId words = add(kGather, GatherAttrs{0}, {constant("words", {kWords, kEncoderWidth}), ids}, "lookup");
    const ValueId x =
        norm(binary(words, constant("positions", {1, kEncoderTokens, kEncoderWidth}), "embedded"), "norm0");
    const AttentionAttrs heads{.heads = 2, .kv_heads = 2, .head_size = 8, .value_size = 8, .scale = 0.35f};
    const ValueId seen =
        add(kAttention, heads,
            {linear(x, kEncoderWidth, "q"), linear(x, kEncoderWidth, "k"), linear(x, kEncoderWidth, "v")}, "attention");
    const ValueId y = norm(binary(linear(seen, kEncoderWidth, "out"), x, "sum1"), "norm1");
    const ValueId inner = add(kUnary, UnaryAttrs{UnaryKind::gelu}, {linear(y, kInner, "up")}, "gelu");
    graph.add_output(norm(binary(linear(inner, kEncoderWidth, "down"), y, "sum2"), "norm2"), "y");
  }

  ValueId named(const std::string& name) const {
    for (int i = 0; i < graph.value_count(); ++i) {
      if (graph.value({i}).name == name) return {i};
    }
    ADD_FAILURE() << "no value " << name;
    return {};
  }

 private:
  ValueId constant(const std::string& name, Shape shape, float spread = 1.0f) {
    std::normal_distribution<float> normal(0.0f, spread);
    Tensor values(DType::f32, std::move(shape));
    for (float& value : values.span<float>()) value = normal(random_);
    return graph.add_constant(name, std::move(values));
  }
  ValueId add(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs, const std::string& name) {
    const auto made = graph.add(spec, std::move(attrs), std::move(inputs), name);
    EXPECT_TRUE(made) << to_string(made.errors());
    return made ? *made : ValueId{};
  }
  ValueId binary(ValueId a, ValueId b, const std::string& name) {
    return add(kBinary, BinaryAttrs{BinaryKind::add}, {a, b}, name);
  }
  ValueId linear(ValueId x, std::int64_t columns, const std::string& name) {
    const std::int64_t rows = graph.fact(x).shape[2];
    const ValueId product = add(kMatmul, NoAttrs{}, {x, constant(name + ".w", {rows, columns}, 0.3f)}, name);
    return binary(product, constant(name + ".b", {columns}), name + ".sum");
  }
  ValueId norm(ValueId x, const std::string& name) {
    return add(kLayerNorm, LayerNormAttrs{2, 1e-5f},
               {x, constant(name + ".scale", {kEncoderWidth}), constant(name + ".bias", {kEncoderWidth})}, name);
  }

  std::mt19937 random_{3};
};

class Tokens final : public SampleSource {
 public:
  std::int64_t size() const override { return 16; }
  Result<std::vector<Tensor>> sample(std::int64_t index) const override {
    std::mt19937 random(static_cast<unsigned>(index + 1));
    Tensor ids(DType::s64, {1, kEncoderTokens});
    for (std::int64_t& id : ids.span<std::int64_t>()) id = static_cast<std::int64_t>(random() % kWords);
    return std::vector<Tensor>{ids};
  }
};

TEST(EncoderPlacement, StreamsAreWideAndProductsReadBytes) {
  const Encoder encoder;
  const Placement placement = place_pairs(encoder.graph, {});
  for (const char* stream : {"embedded", "norm0", "sum1", "norm1", "sum2"}) {
    EXPECT_TRUE(placement.pair(encoder.named(stream))) << stream;
    EXPECT_TRUE(placement.wide(encoder.named(stream))) << stream;
  }
  for (const char* both : {"norm0", "norm1"}) EXPECT_TRUE(placement.bytes_follow(encoder.named(both))) << both;
  for (const char* wide : {"embedded", "sum1", "sum2"})
    EXPECT_FALSE(placement.bytes_follow(encoder.named(wide))) << wide;
  for (const char* bytes : {"q.sum", "k.sum", "v.sum", "attention"}) {
    EXPECT_TRUE(placement.pair(encoder.named(bytes))) << bytes;
    EXPECT_FALSE(placement.wide(encoder.named(bytes))) << bytes;
  }
  // Between the products, GELU reads s16 and gives rows with scales of their own.
  EXPECT_TRUE(placement.pair(encoder.named("up.sum")) && placement.wide(encoder.named("up.sum")));
  EXPECT_FALSE(placement.bytes_follow(encoder.named("up.sum")));
  EXPECT_TRUE(placement.row_scales(encoder.named("gelu")));
  EXPECT_FALSE(placement.pair(encoder.named("gelu")));
  // Sums of products and streams are rounded once, and what only f32 readers want is not rounded.
  for (const char* none : {"out.sum", "down.sum", "norm2", "lookup"})
    EXPECT_FALSE(placement.pair(encoder.named(none))) << none;
}

// Without one of the products, or for other programs, GELU is a table of bytes.
TEST(EncoderPlacement, RowsNeedBothProducts) {
  const Encoder encoder;
  for (const char* skipped : {"up.sum", "down", "gelu"})
    EXPECT_FALSE(place_pairs(encoder.graph, {skipped}).row_scales(encoder.named("gelu"))) << skipped;
  const Placement standard = place_pairs(encoder.graph, {}, {.vocabulary = Vocabulary::standard});
  EXPECT_FALSE(standard.row_scales(encoder.named("gelu")));
  EXPECT_TRUE(standard.pair(encoder.named("gelu")));
}

// Streams are read as rows of s16, what attention gives as f32; without ranges there are no pairs at all.
TEST(EncoderPlacement, AllProductsMayReadRows) {
  const Encoder encoder;
  const Placement all = place_pairs(encoder.graph, {}, {.rows = RowProducts::all});
  for (const char* stream : {"norm0", "norm1"}) {
    EXPECT_EQ(all.row_source(encoder.named(stream)), RowSource::stream) << stream;
    EXPECT_TRUE(all.pair(encoder.named(stream)) && all.wide(encoder.named(stream))) << stream;
    EXPECT_FALSE(all.bytes_follow(encoder.named(stream))) << stream;
  }
  EXPECT_EQ(all.row_source(encoder.named("gelu")), RowSource::gelu);
  EXPECT_EQ(all.row_source(encoder.named("attention")), RowSource::floats);
  EXPECT_FALSE(all.pair(encoder.named("attention")));

  const Placement alone = place_pairs(encoder.graph, {}, {.rows = RowProducts::alone});
  for (const char* read : {"norm0", "attention", "norm1", "gelu"})
    EXPECT_EQ(alone.row_source(encoder.named(read)), RowSource::floats) << read;
  for (int i = 0; i < encoder.graph.value_count(); ++i) EXPECT_FALSE(alone.pair({i})) << encoder.graph.value({i}).name;
}

// What is kept in float gives rows of floats; a product that is kept reads none.
TEST(EncoderPlacement, RowsBesideWhatIsSkipped) {
  const Encoder encoder;
  const Placement seen = place_pairs(encoder.graph, {"attention"}, {.rows = RowProducts::all});
  EXPECT_EQ(seen.row_source(encoder.named("attention")), RowSource::floats);
  for (const char* product : {"q.sum", "k.sum", "v.sum", "attention"})
    EXPECT_FALSE(seen.pair(encoder.named(product))) << product;
  const Placement kept = place_pairs(encoder.graph, {"up", "down"}, {.rows = RowProducts::all});
  EXPECT_EQ(kept.row_source(encoder.named("norm1")), RowSource::none);
  EXPECT_EQ(kept.row_source(encoder.named("gelu")), RowSource::none);
}

TEST(EncoderPlacement, SkippedTablesStayInFloat) {
  const Encoder encoder;
  const NodeId lookup = encoder.graph.value(encoder.named("lookup")).producer;
  EXPECT_TRUE(place_pairs(encoder.graph, {}).looks_up_rows[static_cast<std::size_t>(lookup.index)]);
  EXPECT_FALSE(place_pairs(encoder.graph, {"lookup"}).looks_up_rows[static_cast<std::size_t>(lookup.index)]);
}

int count(const Graph& graph, const OpSpec& spec) {
  int found = 0;
  for (NodeId id : graph.order()) found += graph.node(id).spec == &spec ? 1 : 0;
  return found;
}

TEST(Encoder, QuantizesToIntegersThatAgree) {
  Encoder encoder;
  Graph graph = encoder.graph;
  const auto report = quantize(graph, Tokens(), {});
  ASSERT_TRUE(report) << to_string(report.errors());
  const auto lowered = lower(graph, {});
  ASSERT_TRUE(lowered) << to_string(lowered.errors());
  EXPECT_EQ(count(graph, kQuantizedConv), 5);
  EXPECT_EQ(count(graph, kRowRequantize), 1);
  EXPECT_EQ(count(graph, kHybridConv), 1);
  EXPECT_EQ(count(graph, kQuantizedAttention), 1);
  EXPECT_EQ(count(graph, kQuantizedLayerNorm), 5);  // two of them again for the products behind them
  EXPECT_EQ(count(graph, kLayerNorm) + count(graph, kSoftmax) + count(graph, kMatmul) + count(graph, kConv), 0);
  EXPECT_EQ(count(graph, kQuantize), 1) << to_string(graph);  // of the embeddings
  double signal = 0.0, noise = 0.0;
  for (std::int64_t i = 0; i < 16; ++i) {
    const auto inputs = Tokens().sample(i);
    const auto exact = evaluate(encoder.graph, *inputs), rounded = evaluate(graph, *inputs);
    ASSERT_TRUE(exact && rounded);
    for (std::int64_t j = 0; j < (*exact)[0].elements(); ++j) {
      const double value = (*exact)[0].as<float>()[j], found = (*rounded)[0].as<float>()[j];
      signal += value * value, noise += (value - found) * (value - found);
    }
  }
  EXPECT_GT(10.0 * std::log10(signal / noise), 30.0);
}

double sqnr_of(const Encoder& encoder, const Graph& graph) {
  double signal = 0.0, noise = 0.0;
  for (std::int64_t i = 0; i < 16; ++i) {
    const auto inputs = Tokens().sample(i);
    const auto exact = evaluate(encoder.graph, *inputs), rounded = evaluate(graph, *inputs);
    for (std::int64_t j = 0; j < (*exact)[0].elements(); ++j) {
      const double value = (*exact)[0].as<float>()[j], found = (*rounded)[0].as<float>()[j];
      signal += value * value, noise += (value - found) * (value - found);
    }
  }
  return 10.0 * std::log10(signal / noise);
}

double sqnr(const Encoder& encoder, const QuantizeOptions& options) {
  Graph graph = encoder.graph;
  const auto report = quantize(graph, Tokens(), options);
  EXPECT_TRUE(report) << to_string(report.errors());
  return sqnr_of(encoder, graph);
}

// With samples everything is in integers, and one operator makes the rows of a stream, factors included.
TEST(Encoder, RowsOfAllProductsAgree) {
  const Encoder encoder;
  Graph graph = encoder.graph;
  const auto report = quantize(graph, Tokens(), {.rows = RowProducts::all});
  ASSERT_TRUE(report) << to_string(report.errors());
  const auto lowered = lower(graph, {});
  ASSERT_TRUE(lowered) << to_string(lowered.errors());
  EXPECT_EQ(count(graph, kRowRequantize), 3);
  EXPECT_EQ(count(graph, kRowQuantize), 1);  // behind attention
  EXPECT_EQ(count(graph, kHybridConv), 6);
  EXPECT_EQ(count(graph, kQuantizedConv), 0);
  EXPECT_EQ(count(graph, kQuantizedLayerNorm), 3);
  EXPECT_EQ(count(graph, kLayerNorm) + count(graph, kMatmul) + count(graph, kConv), 0);
  EXPECT_EQ(count(graph, kQuantize), 1) << to_string(graph);  // of the embeddings
  EXPECT_GT(sqnr_of(encoder, graph), 32.0);
}

class NoSamples final : public SampleSource {
 public:
  std::int64_t size() const override { return 0; }
  Result<std::vector<Tensor>> sample(std::int64_t) const override { return std::vector<Tensor>{}; }
};

TEST(Encoder, RowsNeedNoSamples) {
  const Encoder encoder;
  Graph graph = encoder.graph;
  const auto report = quantize(graph, NoSamples(), {.rows = RowProducts::alone});
  ASSERT_TRUE(report) << to_string(report.errors());
  EXPECT_EQ(report->notes.size(), 2u);
  const auto lowered = lower(graph, {});
  ASSERT_TRUE(lowered) << to_string(lowered.errors());
  EXPECT_EQ(count(graph, kRowQuantize), 4);  // queries, keys and values read the same
  EXPECT_EQ(count(graph, kHybridConv), 6);
  EXPECT_EQ(count(graph, kQuantize) + count(graph, kMatmul), 0);
  EXPECT_GT(sqnr_of(encoder, graph), 32.0);
}

TEST(Encoder, WithoutProductsThereAreNoRows) {
  const Encoder encoder;
  Graph graph = encoder.graph;
  const auto report = quantize(graph, NoSamples(), {.skip = {"type:matmul"}, .rows = RowProducts::alone});
  ASSERT_FALSE(report);
  EXPECT_NE(to_string(report.errors()).find("no product of activations"), std::string::npos);
}

// Ids are drawn from all rows of the table that they index, masks are ones, and floats cannot be drawn.
TEST(DrawnIds, AreOfTheTable) {
  Encoder encoder;
  const ValueId mask = encoder.graph.add_input("mask", DType::s64, Shape{1, kEncoderTokens});
  ASSERT_TRUE(mask.exists());
  const auto drawn = drawn_ids(encoder.graph);
  ASSERT_TRUE(drawn);
  std::int64_t highest = 0;
  for (std::int64_t i = 0; i < drawn->size(); ++i) {
    const auto sample = drawn->sample(i);
    ASSERT_TRUE(sample && sample->size() == 2);
    for (const std::int64_t id : (*sample)[0].span<std::int64_t>()) {
      EXPECT_TRUE(id >= 0 && id < kWords) << id;
      highest = std::max(highest, id);
    }
    for (const std::int64_t one : (*sample)[1].span<std::int64_t>()) EXPECT_EQ(one, 1);
  }
  EXPECT_GT(highest, kWords / 2);
  EXPECT_EQ(*drawn->sample(3), *drawn->sample(3));
  encoder.graph.add_input("pictures", DType::f32, Shape{1, 3});
  EXPECT_FALSE(drawn_ids(encoder.graph));
}

// A channel far larger than the others costs bytes of one scale most of their precision.
TEST(Smoothing, KeepsTheNetworkAndMendsLoudChannels) {
  Encoder encoder;
  for (const char* name : {"norm0.scale", "norm1.scale"}) {
    Tensor scale = Tensor::copy_of(encoder.graph.fact(encoder.named(name)).constant->view());
    scale.as<float>()[3] = 60.0f;
    encoder.graph.replace_uses(encoder.named(name), encoder.graph.add_constant(std::string(name) + "/loud", scale));
  }
  for (const char* name : {"q.w", "k.w", "v.w", "up.w"}) {  // what is loud is read quietly
    Tensor weights = Tensor::copy_of(encoder.graph.fact(encoder.named(name)).constant->view());
    const std::int64_t columns = weights.shape()[1];
    for (std::int64_t c = 0; c < columns; ++c) weights.as<float>()[3 * columns + c] *= 0.02f;
    encoder.graph.replace_uses(encoder.named(name), encoder.graph.add_constant(std::string(name) + "/quiet", weights));
  }
  const auto factors = find_smoothing(encoder.graph, {}, {Tokens()});
  ASSERT_TRUE(factors) << to_string(factors.errors());
  ASSERT_EQ(factors->size(), 2u);
  const std::vector<float>& own = factors->at("norm0");
  EXPECT_EQ(std::max_element(own.begin(), own.end()) - own.begin(), 3);

  Graph smoothed = encoder.graph;
  const auto changed = smooth(smoothed, {}, *factors);
  ASSERT_TRUE(changed) << to_string(changed.errors());
  EXPECT_TRUE(changed->contains("norm0/smoothed") && changed->contains("norm1/smoothed"));
  EXPECT_EQ(count(smoothed, kLayerNorm), 5);
  const auto inputs = Tokens().sample(0);
  const auto exact = evaluate(encoder.graph, *inputs), same = evaluate(smoothed, *inputs);
  for (std::int64_t j = 0; j < (*exact)[0].elements(); ++j)
    EXPECT_NEAR((*same)[0].as<float>()[j], (*exact)[0].as<float>()[j], 1e-3f);

  EXPECT_GT(sqnr(encoder, {}), sqnr(encoder, {.smooths = false}) + 3.0);
}

// What smoothing makes may be left in f32 by its name, as a choice by time does; other such names are mistakes.
TEST(Smoothing, LeavesInFloatsWhatItMakesByName) {
  Encoder encoder;
  const auto named = [&](const std::vector<std::string>& names) {
    Graph graph = encoder.graph;
    return quantize(graph, Tokens(), {.skip = names});
  };
  EXPECT_TRUE(named({"norm0/smoothed"}).ok());
  EXPECT_TRUE(named({"norm0/smoothed", "*"}).ok());  // where nothing is left that would need it
  const auto refused = named({"nobody/smoothed"});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.errors()[0].where, "--skip");
}

TEST(Smoothing, LeavesWhatIsSkippedAndUnknown) {
  const Encoder encoder;
  const auto all = find_smoothing(encoder.graph, {}, {Tokens()});
  const auto some = find_smoothing(encoder.graph, {"norm0"}, {Tokens()});
  ASSERT_TRUE(all && some);
  EXPECT_EQ(some->size(), 1u);
  Graph graph = encoder.graph;
  ASSERT_TRUE(smooth(graph, {"q", "k", "v"}, *all));
  EXPECT_EQ(count(graph, kLayerNorm), 4);
  graph = encoder.graph;
  ASSERT_TRUE(smooth(graph, {}, {{"norm0", {1.0f, 2.0f}}, {"nobody", {1.0f}}}));
  EXPECT_EQ(count(graph, kLayerNorm), 3);
}

}  // namespace
}  // namespace octavo
