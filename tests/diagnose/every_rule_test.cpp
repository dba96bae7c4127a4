// Every rule of every engine, in a network that has its pattern and in the same one without: the first is found, the
// second is not. A rule without a row fails, and so does a cause without a rule.
#include <gtest/gtest.h>

#include <set>

#include "diagnose/rules.h"
#include "sketch.h"

namespace octavo::diagnose {
namespace {

struct Row {
  Cause cause{};
  std::vector<Engine> engines;  // none: a rule about answers
  Dialect dialect = Dialect::qdq;
  void (*draw)(Sketch& sketch, bool is_spoiled) = nullptr;
};
constexpr Engine kOrt = Engine::ort, kLitert = Engine::litert, kOpenvino = Engine::openvino, kTvm = Engine::tvm,
                 kTorch = Engine::torch;

FileFormat format_for(Engine engine) {
  if (engine == kLitert) return FileFormat::tflite;
  return engine == kTorch ? FileFormat::zip : FileFormat::onnx;
}

// ---- what draws ----

// A convolution between pairs, whose weights and results are stored as given.
void conv_of(Sketch& s, Stored activations, Stored weights) {
  s.pair(s.conv(s.pair(s.input(), activations), s.weights(weights)), activations);
}

// An operator of one value between two pairs.
void every_rule_between_pairs(Sketch& s, const std::string& op, float scale_behind = 0.1f) {
  s.pair(s.node(op, {s.pair(s.input())}), {.scale = scale_behind});
}

// An operator of integers on bytes of that type.
void integer_conv(Sketch& s, const std::string& op, DType activations) {
  const int x = s.input(activations), w = s.constant(DType::s8);
  if (op == "QLinearConv") s.node(op, {x, -1, -1, w}, s.tensor(activations));
  else s.node(op, {x, w}, s.tensor(DType::s32));
}

// TFLite: a convolution on such activations and weights.
void tflite_conv(Sketch& s, DType activations, DType weights) {
  const bool is_float = activations == DType::f32;
  const auto stored = is_float ? std::nullopt : std::optional(Stored{.dtype = activations, .zero_point = 0});
  const int x = s.input(activations, stored);
  s.node("CONV_2D", {x, s.constant(weights, weights == DType::f32 ? std::nullopt : std::optional(kWeights))},
         s.tensor(activations, stored));
  s.last().is_integer = !is_float;
}

void norm_behind_conv(Sketch& s, bool is_spoiled) {
  int x = s.conv(s.pair(s.input()), s.weights());
  if (is_spoiled) x = s.node(s.word(Kind::batch_norm), {x});
  s.pair(x);
}

void conv_of_float_weights(Sketch& s, bool is_spoiled) {
  s.pair(s.conv(s.pair(s.input()), is_spoiled ? s.constant() : s.weights()));
}

void pairs_twice(Sketch& s, bool is_spoiled) {
  const int x = s.pair(s.node("Tanh", {s.input()}));
  s.conv(is_spoiled ? s.pair(x) : x, s.weights());
}

void pairs_around_conv(Sketch& s, bool is_spoiled) {
  if (is_spoiled) conv_of(s, kBytes, kWeights);
  else s.conv(s.input(), s.constant());
}

void scale_of_result(Sketch& s, float scale, std::int32_t zero_point) {
  s.pair(s.conv(s.pair(s.input()), s.weights()), {.scale = scale, .zero_point = zero_point});
}

// Weights of one scale whose first channel has such values, the others 50.
void conv_of_values(Sketch& s, int first_channel, int others) {
  Tensor values(DType::s8, Shape{8, 8, 3, 3});
  for (std::int64_t i = 0; i < values.elements(); ++i)
    store_double(values.view(), i, i < values.elements() / 8 ? first_channel : others);
  const Stored stored{.dtype = DType::s8, .zero_point = 0};
  s.pair(s.conv(s.pair(s.input()), s.dequantized(s.constant(std::move(values), stored))));
}

// ---- the rows ----

const std::vector<Row>& time_rows() {
  static const std::vector<Row> rows = {
      {Cause::signed_activations,
       {kOrt},
       Dialect::qoperator,
       [](Sketch& s, bool bad) { integer_conv(s, "QLinearConv", bad ? DType::s8 : DType::u8); }},
      {Cause::dynamic_quantize,
       {kOrt},
       Dialect::dynamic,
       [](Sketch& s, bool bad) { integer_conv(s, bad ? "ConvInteger" : "QLinearConv", DType::u8); }},
      {Cause::sixteen_bit_activations,
       {kOrt},
       Dialect::qdq,
       [](Sketch& s, bool bad) { conv_of(s, {.dtype = bad ? DType::u16 : DType::u8}, kWeights); }},
      {Cause::unsigned_weights,
       {kOrt},
       Dialect::qdq,
       [](Sketch& s, bool bad) {
         conv_of(s, kBytes, {.dtype = bad ? DType::u8 : DType::s8, .channels = 8, .axis = 0});
       }},
      {Cause::per_channel_axis,
       {kOrt},
       Dialect::qdq,
       [](Sketch& s, bool bad) {
         conv_of(s, kBytes, {.dtype = DType::s8, .zero_point = 0, .channels = 8, .axis = bad ? 1 : 0});
       }},
      {Cause::range_behind_relu,
       {kOrt},
       Dialect::qdq,
       [](Sketch& s, bool bad) {
         s.pair(s.node("Relu", {s.conv(s.pair(s.input()), s.weights())}), {.zero_point = bad ? 128 : 0});
       }},
      {Cause::missing_output_pair,
       {kOrt},
       Dialect::qdq,
       [](Sketch& s, bool bad) {
         const int y = s.conv(s.pair(s.input()), s.weights());
         s.node("Softmax", {bad ? y : s.pair(y)});
       }},
      {Cause::requantized_branches,
       {kOrt},
       Dialect::qdq,
       [](Sketch& s, bool bad) {
         const int y = s.conv(s.pair(s.input()), s.weights());
         if (bad) s.pair(y, {.scale = 0.2f});
         s.pair(y);
       }},
      {Cause::batch_norm_unfolded, {kOrt, kOpenvino, kTvm, kTorch}, Dialect::qdq, norm_behind_conv},
      {Cause::float_weights, {kOrt, kOpenvino, kTvm, kTorch}, Dialect::qdq, conv_of_float_weights},
      {Cause::dynamic_range,
       {kOrt, kOpenvino},
       Dialect::qdq,
       [](Sketch& s, bool bad) { s.pair(s.conv(bad ? s.input() : s.pair(s.input()), s.weights())); }},
      {Cause::float_island,
       {kOrt},
       Dialect::qdq,
       [](Sketch& s, bool bad) {
         if (bad) every_rule_between_pairs(s, "LayerNormalization");
         else every_rule_between_pairs(s, "LeakyRelu");
       }},
      {Cause::unfused_activation,
       {kOrt},
       Dialect::qdq,
       [](Sketch& s, bool bad) {
         const int y = s.conv(s.pair(s.input()), s.weights());
         s.pair(s.node("Relu", {bad ? s.pair(y) : y}));
       }},
      {Cause::qdq_around_silu,
       {kOrt},
       Dialect::qdq,
       [](Sketch& s, bool bad) { every_rule_between_pairs(s, bad ? "HardSwish" : "LeakyRelu"); }},
      {Cause::qdq_around_mean,
       {kOrt},
       Dialect::qdq,
       [](Sketch& s, bool bad) { every_rule_between_pairs(s, bad ? "ReduceMean" : "GlobalAveragePool"); }},
      {Cause::qdq_around_resize,
       {kOrt},
       Dialect::qdq,
       [](Sketch& s, bool bad) {
         const int y = s.node("Resize", {s.pair(s.input())});
         s.last().attributes["mode"] = std::string(bad ? "linear" : "nearest");
         s.pair(y);
       }},
      {Cause::moved_scales,
       {kOrt},
       Dialect::qdq,
       [](Sketch& s, bool bad) { every_rule_between_pairs(s, "MaxPool", bad ? 0.2f : 0.1f); }},
      {Cause::qdq_around_excite,
       {kOrt},
       Dialect::qdq,
       [](Sketch& s, bool bad) {
         const int gate = s.input();
         s.pair(s.node("Mul", {s.pair(s.input()), bad ? gate : s.pair(gate)}));
       }},
      {Cause::double_pairs, {kOrt, kOpenvino, kTorch}, Dialect::qdq, pairs_twice},
      {Cause::redundant_pairs,
       {kOrt},
       Dialect::qdq,
       [](Sketch& s, bool bad) {
         const int x = s.pair(s.node("Tanh", {s.input()}));
         bad ? s.node("Softmax", {x}) : s.conv(x, s.weights());
       }},
      {Cause::constants_in_run,
       {kOrt},
       Dialect::qdq,
       [](Sketch& s, bool bad) {
         s.pair(s.conv(s.pair(s.input()), bad ? s.pair(s.constant(), kWeights) : s.weights()));
       }},
      {Cause::unscheduled_products, {kTvm}, Dialect::qdq, [](Sketch& s, bool) { conv_of(s, kBytes, kWeights); }},
      {Cause::unlowered_graph, {kTvm, kTorch}, Dialect::qdq, pairs_around_conv},
      // ---- TFLite's words ----
      {Cause::dynamic_range,
       {kLitert},
       Dialect::dynamic_range,
       [](Sketch& s, bool bad) { tflite_conv(s, DType::f32, bad ? DType::s8 : DType::f32); }},
      // Weights alone are bytes.
      {Cause::dynamic_range,
       {kLitert},
       Dialect::dynamic_range,
       [](Sketch& s, bool bad) { s.conv(s.input(), bad ? s.weights() : s.constant()); }},
      {Cause::float_weights,
       {kLitert},
       Dialect::full_integer,
       [](Sketch& s, bool bad) { tflite_conv(s, DType::f32, bad ? DType::f32 : DType::s8); }},
      {Cause::sixteen_bit_activations,
       {kLitert},
       Dialect::full_integer,
       [](Sketch& s, bool bad) { tflite_conv(s, bad ? DType::s16 : DType::s8, DType::s8); }},
      {Cause::unsigned_weights,
       {kLitert},
       Dialect::full_integer,
       [](Sketch& s, bool bad) { tflite_conv(s, bad ? DType::u8 : DType::s8, DType::s8); }},
      {Cause::slow_bytes,
       {kLitert},
       Dialect::full_integer,
       [](Sketch& s, bool bad) {
         s.node(bad ? "HARD_SWISH" : "LOGISTIC", {s.input(DType::s8, kBytes)}, s.tensor(DType::s8, kBytes));
         s.last().is_integer = true;
       }},
      {Cause::double_pairs,
       {kLitert},
       Dialect::full_integer,
       [](Sketch& s, bool bad) {
         const int x = s.quantized(s.input());
         s.dequantized(bad ? s.quantized(x, {.scale = 0.2f}) : x);
       }},
      {Cause::float_island,
       {kLitert},
       Dialect::full_integer,
       [](Sketch& s, bool bad) {
         const int x = s.dequantized(s.input(DType::u8, kBytes));
         s.quantized(bad ? s.node("ELU", {x}) : x);
       }},
  };
  return rows;
}

const std::vector<Row>& answer_rows() {
  static const std::vector<Row> rows = {
      {Cause::zero_scale, {}, Dialect::qdq, [](Sketch& s, bool bad) { scale_of_result(s, bad ? 0.0f : 0.1f, 128); }},
      {Cause::denormal_scale,
       {},
       Dialect::qdq,
       [](Sketch& s, bool bad) { scale_of_result(s, bad ? 1e-40f : 0.1f, 128); }},
      {Cause::mask_in_range,
       {},
       Dialect::qdq,
       [](Sketch& s, bool bad) { scale_of_result(s, bad ? 1.3e36f : 0.1f, 128); }},
      {Cause::uncalibrated_range,
       {},
       Dialect::qdq,
       [](Sketch& s, bool bad) { scale_of_result(s, bad ? 1.0f : 0.9f, 0); }},
      {Cause::saturated_weights,
       {},
       Dialect::qdq,
       [](Sketch& s, bool bad) { conv_of_values(s, bad ? 127 : 50, bad ? 127 : 50); }},
      {Cause::wide_channels, {}, Dialect::qdq, [](Sketch& s, bool bad) { conv_of_values(s, bad ? 1 : 50, 100); }},
      {Cause::per_tensor_weights,
       {},
       Dialect::qdq,
       [](Sketch& s, bool bad) {
         const int y =
             s.conv(s.pair(s.input()), s.weights(bad ? Stored{.dtype = DType::s8, .zero_point = 0} : kWeights));
         s.last().kind = Kind::depthwise_conv;
         s.pair(y);
       }},
      {Cause::saturating_sums,
       {},
       Dialect::qdq,
       [](Sketch& s, bool bad) { bad ? conv_of(s, kBytes, kWeights) : conv_of_float_weights(s, true); }},
  };
  return rows;
}

// ---- what asks ----

std::size_t found(const Rule& rule, const Row& row, Engine engine, bool is_spoiled) {
  Sketch sketch(format_for(engine), row.dialect);
  row.draw(sketch, is_spoiled);
  const FileView& view = sketch.view();
  const EngineRates& rates = rates_of(engine);
  const auto costs = costs_in(view, engine, rates);
  IsaSet old;  // without VNNI
  old.add(Isa::avx2);
  JoinedProfile slow;
  for (std::size_t i = 0; i < view.nodes.size(); ++i) slow.ms_of_node[static_cast<int>(i)] = 1e3;
  const bool is_profiled = is_spoiled && row.cause == Cause::unscheduled_products;
  return rule.find({view, rates, costs, old, is_profiled ? &slow : nullptr}).size();
}

void check(const Rule& rule, const std::vector<Row>& rows, std::optional<Engine> engine) {
  const std::string name = std::string(engine ? name_of(*engine) : "answers") + ": " + std::string(name_of(rule.cause));
  const auto row = std::ranges::find_if(rows, [&](const Row& each) {
    return each.cause == rule.cause && (!engine || std::ranges::count(each.engines, *engine) > 0);
  });
  ASSERT_NE(row, rows.end()) << name << " has no row here";
  EXPECT_GT(found(rule, *row, engine.value_or(kOrt), true), 0u) << name << ": not found where it is";
  EXPECT_EQ(found(rule, *row, engine.value_or(kOrt), false), 0u) << name << ": found where it is not";
  for (const std::string_view text : {rule.source, rule.advice, rule.octavo}) EXPECT_FALSE(text.empty()) << name;
}

TEST(EveryRule, FindsItsPatternAndNotTheSameNetworkWithout) {
  std::set<Cause> causes;
  for (const Engine engine : kEngines) {
    for (const Rule& rule : rules_of(engine)) {
      check(rule, time_rows(), engine);
      causes.insert(rule.cause);
    }
  }
  for (const Rule& rule : answer_rules()) {
    check(rule, answer_rows(), {});
    causes.insert(rule.cause);
  }
  EXPECT_EQ(causes.size(), static_cast<std::size_t>(Cause::count)) << "a cause that no rule has";
}

// Machines with VNNI, or of another kind, have sums of 32 bits.
TEST(EveryRule, SumsSaturateOnOldMachinesAlone) {
  const auto rules = answer_rules();
  const auto rule = std::ranges::find(rules, Cause::saturating_sums, &Rule::cause);
  Sketch sketch(FileFormat::onnx, Dialect::qdq);
  conv_of(sketch, kBytes, kWeights);
  const FileView& view = sketch.view();
  const auto costs = costs_in(view, kOrt, rates_of(kOrt));
  for (const Isa isa : {Isa::avxvnni, Isa::neon}) {
    IsaSet machine;
    machine.add(isa);
    if (isa == Isa::avxvnni) machine.add(Isa::avx2);
    EXPECT_TRUE(rule->find({.view = view, .rates = rates_of(kOrt), .costs = costs, .isa = machine}).empty());
  }
}

}  // namespace
}  // namespace octavo::diagnose
