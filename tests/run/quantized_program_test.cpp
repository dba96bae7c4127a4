// Programs of several parts that are quantized by samples, and sizes that one part makes of another's. Part of
// tests/run/.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "api/inside.h"
#include "octavo/compile.h"
#include "octavo/run.h"
#include "support/control_flow.h"

namespace octavo::testing {
namespace {

using Values = std::vector<float>;
using Numbers = std::vector<std::int64_t>;

// Numbers between -1 and 1 in no order.
Tensor mixed(const Shape& shape, float seed) {
  Tensor tensor(DType::f32, shape);
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    tensor.as<float>()[i] = std::sin(seed + 12.9898f * static_cast<float>(i));
  return tensor;
}

Result<v1::CompiledModel> compile(const ModelBuilder& model, const v1::CompileOptions& options) {
  const std::string bytes = model.bytes();
  return v1::compile(std::as_bytes(std::span(bytes)), "test.onnx", options);
}

std::vector<Tensor> answers(const v1::CompiledModel& model, const std::vector<Tensor>& inputs) {
  auto program = v1::Program::load(model, {.threads = 1});
  EXPECT_TRUE(program.ok()) << to_string(program.errors());
  std::vector<v1::ConstTensorRef> refs;
  for (const Tensor& input : inputs) refs.push_back({input.dtype(), input.shape().dims(), input.data()});
  const Status done = program->run(refs);
  EXPECT_TRUE(done.ok()) << to_string(done.errors());
  std::vector<Tensor> tensors;
  for (const v1::ProgramOutput& output : program->outputs())
    tensors.push_back(Tensor::copy_of({output.dtype, Shape(output.shape), static_cast<const std::byte*>(output.data)}));
  return tensors;
}

// Rows of features, those whose score is positive, and a product of these: two parts with weights.
ModelBuilder detector() {
  ModelBuilder model(17);
  model.input("x", DType::f32, {6, 16}).output("found").output("rows");
  model.initializer("w", mixed({16, 8}, 1))
      .initializer("s", mixed({8, 1}, 2))
      .initializer("v", mixed({8, 4}, 3))
      .initializer("zero", floats({1}, {0}))
      .initializer("column", integers({1}, {1}));
  model.node({"MatMul", {"x", "w"}, {"h"}, {}, "", "features"})
      .node({"MatMul", {"h", "s"}, {"scores"}, {}, "", "score"})
      .node({"Squeeze", {"scores", "column"}, {"flat"}})
      .node({"Greater", {"flat", "zero"}, {"is_found"}})
      .node({"NonZero", {"is_found"}, {"where"}})
      .node({"Transpose", {"where"}, {"rows"}, {{"perm", Numbers{1, 0}}}})
      .node({"GatherND", {"h", "rows"}, {"taken"}})
      .node({"MatMul", {"taken", "v"}, {"found"}, {}, "", "head"});
  return model;
}

v1::CompileOptions by_samples(float seed = 5) {
  v1::CompileOptions options;
  options.samples = {8, [seed](std::int64_t index, std::span<const v1::TensorRef> inputs) {
                       const Tensor sample = mixed({6, 16}, seed + static_cast<float>(index));
                       std::memcpy(inputs[0].data, sample.data(), sample.bytes());
                       return ok_status();
                     }};
  return options;
}

// What plans that a run makes compute in, too, is written in the notes of the plans that there are.
int integer_networks(const v1::CompiledModel& model) {
  int count = 0;
  for (const v1::ModelInfo& network : model.info().networks) {
    for (const v1::PlanInfo& plan : network.plans) count += plan.precision == Precision::int8 ? 1 : 0;
  }
  return count;
}

TEST(QuantizedProgram, ComputesItsPartsInIntegers) {
  const auto fp32 = compile(detector(), {.precision = Precision::fp32});
  const auto int8 = compile(detector(), by_samples());
  ASSERT_TRUE(fp32.ok()) << to_string(fp32.errors());
  ASSERT_TRUE(int8.ok()) << to_string(int8.errors());
  EXPECT_EQ(integer_networks(*fp32), 0);
  EXPECT_EQ(integer_networks(*int8), 1);
  EXPECT_LT(int8->info().constant_bytes, fp32->info().constant_bytes);
  const std::vector<Tensor> x = {mixed({6, 16}, 9)};
  const auto expected = answers(*fp32, x), found = answers(*int8, x);
  ASSERT_EQ(found[1], expected[1]);  // the same rows
  ASSERT_GT(found[0].elements(), 0);
  double error = 0.0, signal = 0.0;
  for (std::int64_t i = 0; i < found[0].elements(); ++i) {
    const double wanted = expected[0].as<float>()[i];
    signal += wanted * wanted;
    error += (found[0].as<float>()[i] - wanted) * (found[0].as<float>()[i] - wanted);
  }
  EXPECT_GT(error, 0.0);  // rounded
  EXPECT_LT(error, 1e-3 * signal);
}

// As a level of a pyramid in which nothing is found: the head reads two lists, one of which is always empty.
TEST(QuantizedProgram, LearnsFromSamplesOfWhichAPartIsEmpty) {
  ModelBuilder model = detector();
  model.output("all").initializer("u", mixed({8, 256}, 4)).initializer("never", floats({1}, {1e9f}));
  model.node({"Greater", {"flat", "never"}, {"is_more"}})
      .node({"NonZero", {"is_more"}, {"more_where"}})
      .node({"Transpose", {"more_where"}, {"more_rows"}, {{"perm", Numbers{1, 0}}}})
      .node({"GatherND", {"h", "more_rows"}, {"more"}})
      .node({"Concat", {"taken", "more"}, {"both"}, {{"axis", std::int64_t{0}}}})
      .node({"MatMul", {"both", "u"}, {"all"}, {}, "", "second_head"});
  const auto fp32 = compile(model, {.precision = Precision::fp32}), int8 = compile(model, by_samples());
  ASSERT_TRUE(fp32.ok()) << to_string(fp32.errors());
  ASSERT_TRUE(int8.ok()) << to_string(int8.errors());
  EXPECT_LT(int8->info().constant_bytes, 8 * 256 * sizeof(float)) << "the second head is still in fp32";
  const std::vector<Tensor> x = {mixed({6, 16}, 9)};
  const auto expected = answers(*fp32, x), found = answers(*int8, x);
  ASSERT_EQ(found[2].shape(), expected[2].shape());
  EXPECT_NE(found[2], expected[2]);  // rounded
}

TEST(QuantizedProgram, GivesTheSameBytesOnEveryTarget) {
  v1::CompileOptions options = by_samples();
  const auto host = compile(detector(), options);
  options.target = "scalar";
  const auto scalar = compile(detector(), options);
  ASSERT_TRUE(host.ok() && scalar.ok());
  const std::vector<Tensor> x = {mixed({6, 16}, 9)};
  EXPECT_EQ(answers(*host, x), answers(*scalar, x));
}

TEST(QuantizedProgram, LeavesOutWhatIsSkipped) {
  v1::CompileOptions options = by_samples();
  options.skip = {"no_such_node"};
  EXPECT_FALSE(compile(detector(), options).ok());
  options.skip = {"features", "score"};
  const auto mixed_precision = compile(detector(), options), fp32 = compile(detector(), {.precision = Precision::fp32});
  ASSERT_TRUE(mixed_precision.ok()) << to_string(mixed_precision.errors());
  ASSERT_TRUE(fp32.ok());
  // Its scores are those in fp32 but for the last bits.
  const std::vector<Tensor> x = {mixed({6, 16}, 11)};
  EXPECT_EQ(answers(*mixed_precision, x)[1], answers(*fp32, x)[1]);
}

// A decoder that goes on with what it made before, or begins: x of some rows, past of some or none.
ModelBuilder decoder() {
  ModelBuilder model(17), begins(17), goes_on(17);
  model.input("x", DType::f32, {-1, 16}).input("past", DType::f32, {-2, 16}).input("has_past", DType::boolean, {});
  model.output("y").initializer("w", mixed({16, 32}, 1)).initializer("v", mixed({16, 32}, 2));
  begins.output("first").node({"MatMul", {"x", "v"}, {"first"}, {}, "", "begins"});
  goes_on.output("next").node({"Concat", {"past", "x"}, {"all"}, {{"axis", std::int64_t{0}}}});
  goes_on.node({"MatMul", {"all", "w"}, {"next"}, {}, "", "goes_on"});
  add_if(model, "has_past", {"y"}, goes_on, begins);
  return model;
}

std::vector<Tensor> decoder_inputs(std::int64_t rows, std::int64_t past, bool has_past) {
  std::vector<Tensor> inputs;
  inputs.push_back(mixed({rows, 16}, 3));
  inputs.push_back(mixed({past, 16}, 4));
  inputs.push_back(truth(has_past));
  return inputs;
}

// Each part has products in integers, taught at the sizes that its samples have, one of which is 0.
TEST(QuantizedProgram, LearnsFromSamplesOfSeveralSizes) {
  class Steps final : public SampleSource {
   public:
    std::int64_t size() const override { return 4; }
    Result<std::vector<Tensor>> sample(std::int64_t i) const override { return decoder_inputs(5 - i, i / 2, i != 3); }
  };
  const std::string bytes = decoder().bytes();
  const v1::ModelSource source("test.onnx", std::as_bytes(std::span(bytes)));
  const auto int8 = v1::compile(source, {}, {.samples = std::make_shared<const Steps>()});
  const auto fp32 = compile(decoder(), {.precision = Precision::fp32});
  ASSERT_TRUE(int8.ok()) << to_string(int8.errors());
  ASSERT_TRUE(fp32.ok());
  EXPECT_LT(int8->info().constant_bytes, fp32->info().constant_bytes / 2);
  for (const bool has_past : {false, true}) {
    const std::vector<Tensor> inputs = decoder_inputs(7, 2, has_past);
    const Tensor expected = answers(*fp32, inputs)[0], found = answers(*int8, inputs)[0];
    ASSERT_EQ(found.shape(), expected.shape());
    EXPECT_NE(found, expected) << "rounded";
    for (std::int64_t i = 0; i < found.elements(); ++i) {
      EXPECT_NEAR(found.as<float>()[i], expected.as<float>()[i], 0.1f);
    }
  }
}

// No sample reaches the second product: it stays in fp32, and is right where a run reaches it.
TEST(QuantizedProgram, KeepsInFloatWhatNoSampleReaches) {
  v1::CompileOptions options;
  options.samples = {2, [](std::int64_t, std::span<const v1::TensorRef> inputs) {
                       std::memset(inputs[0].data, 0, 6 * 16 * sizeof(float));
                       return ok_status();
                     }};
  const auto int8 = compile(detector(), options), fp32 = compile(detector(), {.precision = Precision::fp32});
  ASSERT_TRUE(int8.ok()) << to_string(int8.errors());
  ASSERT_TRUE(fp32.ok());
  EXPECT_EQ(answers(*int8, {Tensor(DType::f32, Shape{6, 16})})[0].shape(), (Shape{0, 4}));
}

// The k largest of however many there are, and what of these is above a number: sizes made of sizes, from part to part.
ModelBuilder best_of() {
  ModelBuilder model(17);
  model.input("x", DType::f32, {8}).output("best").output("high");
  model.initializer("zero", floats({1}, {0}))
      .initializer("limit", floats({1}, {5}))
      .initializer("most", integers({1}, {3}))
      .initializer("axis", integers({1}, {0}));
  model.node({"Greater", {"x", "zero"}, {"is_found"}})
      .node({"NonZero", {"is_found"}, {"where"}})
      .node({"Transpose", {"where"}, {"rows"}, {{"perm", Numbers{1, 0}}}})
      .node({"GatherND", {"x", "rows"}, {"found"}})
      .node({"Shape", {"found"}, {"count"}})
      .node({"Concat", {"most", "count"}, {"both"}, {{"axis", std::int64_t{0}}}})
      .node({"ReduceMin", {"both"}, {"k"}, {{"keepdims", std::int64_t{1}}}})
      .node({"TopK", {"found", "k"}, {"best", "at"}})
      .node({"Greater", {"best", "limit"}, {"is_high"}})
      .node({"NonZero", {"is_high"}, {"high_at"}})
      .node({"Transpose", {"high_at"}, {"high_rows"}, {{"perm", Numbers{1, 0}}}})
      .node({"GatherND", {"best", "high_rows"}, {"high"}});
  return model;
}

TEST(ProgramSizes, AreTheLeastOfTwo) {
  const auto model = compile(best_of(), {.precision = Precision::fp32});
  ASSERT_TRUE(model.ok()) << to_string(model.errors());
  const auto of = [&](const Values& x) {
    const auto found = answers(*model, {floats({8}, x)});
    return std::pair(as_floats(found[0]), as_floats(found[1]));
  };
  EXPECT_EQ(of({1, -1, 9, 7, 0, 3, 8, 2}), std::pair(Values({9, 8, 7}), Values({9, 8, 7})));
  EXPECT_EQ(of({0, -1, 6, 0, 0, 3, 0, 0}), std::pair(Values({6, 3}), Values({6})));
  EXPECT_EQ(of({0, -1, 0, 0, 0, 0, 0, 0}), std::pair(Values(), Values()));
}

// Shapes that are inputs, or made of them: known in the run, as sizes of the part that needs them.
TEST(ProgramSizes, AreWhatTheDataSays) {
  ModelBuilder model(17);
  model.input("x", DType::f32, {1, 1, 2, 2}).input("n", DType::s64, {2}).input("k", DType::s64, {1});
  model.output("image").output("zeros").output("wide").output("best");
  model.initializer("ones", integers({2}, {1, 1})).initializer("row", floats({1, 3}, {4, 6, 5}));
  model.node({"Concat", {"ones", "n"}, {"sizes"}, {{"axis", std::int64_t{0}}}})
      .node({"Resize", {"x", "", "", "sizes"}, {"image"}, {{"mode", std::string("nearest")}}})
      .node({"ConstantOfShape", {"n"}, {"zeros"}})
      .node({"Concat", {"k", "ones"}, {"tall"}, {{"axis", std::int64_t{0}}}})
      .node({"Expand", {"row", "tall"}, {"wide"}})
      .node({"TopK", {"row", "k"}, {"best", "at"}});
  const auto compiled = compile(model, {.precision = Precision::fp32});
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.errors());
  const Tensor x = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  const auto some = answers(*compiled, {x, integers({2}, {4, 2}), integers({1}, {2})});
  EXPECT_EQ(some[0].shape(), (Shape{1, 1, 4, 2}));
  EXPECT_EQ(as_floats(some[0]), (Values{1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(some[1], Tensor(DType::f32, Shape{4, 2}));
  EXPECT_EQ(some[2].shape(), (Shape{2, 1, 3}));
  EXPECT_EQ(as_floats(some[3]), (Values{6, 5}));
  const auto one = answers(*compiled, {x, integers({2}, {1, 1}), integers({1}, {1})});
  EXPECT_EQ(as_floats(one[0]), Values{1});
  EXPECT_EQ(as_floats(one[3]), Values{6});
}

// A row of x, of which data say how much, between zeros, of which they say how many: pasted, the width is that of the
// others by what the file computes, which nobody knows before the run.
TEST(ProgramSizes, AreEqualByWhatTheFileComputes) {
  ModelBuilder body(17), model(17);
  body.input("i", DType::s64, {}).input("go", DType::boolean, {}).input("rows", DType::f32, {-1, 6});
  body.output("go2").output("more");
  body.initializer("flat", integers({1}, {1}))
      .initializer("zero", integers({1}, {0}))
      .initializer("two", integers({1}, {2}))
      .initializer("four", integers({1}, {4}))
      .initializer("columns", integers({1}, {1}))
      .initializer("bottom", integers({1}, {6}));
  body.node({"Identity", {"go"}, {"go2"}})
      .node({"Reshape", {"i", "flat"}, {"before"}})
      .node({"Sub", {"four", "before"}, {"after"}})
      .node({"Add", {"before", "two"}, {"end"}})
      .node({"Slice", {"x", "before", "end", "columns"}, {"part"}})
      .node({"Shape", {"part"}, {"shape"}})
      .node({"Slice", {"shape", "zero", "flat"}, {"height"}})
      .node({"Concat", {"height", "before"}, {"left_shape"}, {{"axis", std::int64_t{0}}}})
      .node({"Concat", {"height", "after"}, {"right_shape"}, {{"axis", std::int64_t{0}}}})
      .node({"ConstantOfShape", {"left_shape"}, {"left"}})
      .node({"ConstantOfShape", {"right_shape"}, {"right"}})
      .node({"Concat", {"left", "part", "right"}, {"pasted"}, {{"axis", std::int64_t{1}}}})
      .node({"Slice", {"pasted", "zero", "bottom", "columns"}, {"row"}})
      .node({"Concat", {"rows", "row"}, {"more"}, {{"axis", std::int64_t{0}}}});
  model.input("x", DType::f32, {1, 6}).input("n", DType::s64, {}).output("y");
  model.initializer("none", Tensor(DType::f32, Shape{0, 6}));
  add_loop(model, {"n", "", "none"}, {"y"}, body);
  const auto compiled = compile(model, {.precision = Precision::fp32});
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.errors());
  const Tensor x = floats({1, 6}, {1, 2, 3, 4, 5, 6});
  const auto some = answers(*compiled, {x, integers({}, {3})})[0];
  EXPECT_EQ(some.shape(), (Shape{3, 6}));
  EXPECT_EQ(as_floats(some), (Values{1, 2, 0, 0, 0, 0, 0, 2, 3, 0, 0, 0, 0, 0, 3, 4, 0, 0}));
  EXPECT_EQ(answers(*compiled, {x, integers({}, {0})})[0].shape(), (Shape{0, 6}));
}

// Of a shape that is computed the extents that are another tensor's stay its.
TEST(ProgramSizes, AreThoseOfTheTensorWhereTheFileSaysSo) {
  ModelBuilder model(17);
  model.input("x", DType::f32, {-1, 2}).input("n", DType::s64, {1}).output("zeros");
  model.initializer("first", integers({1}, {0})).initializer("second", integers({1}, {1}));
  model.node({"Shape", {"x"}, {"shape"}})
      .node({"Slice", {"shape", "first", "second"}, {"rows"}})
      .node({"Concat", {"rows", "n"}, {"sizes"}, {{"axis", std::int64_t{0}}}})
      .node({"ConstantOfShape", {"sizes"}, {"zeros"}});
  const auto imported = model.import({.keeps_open = true});
  ASSERT_TRUE(imported.ok() && imported->program) << to_string(imported.errors());
  const Program& program = imported->program->program;
  const auto shape_of = [&](std::int32_t value) { return program.values[static_cast<std::size_t>(value)].shape; };
  const auto& block = program.blocks[0];
  EXPECT_EQ(shape_of(block.outputs[0])[0], shape_of(block.inputs[0])[0]);
  EXPECT_NE(shape_of(block.outputs[0])[1], "2");
}

TEST(ProgramSizes, MustNotBeNegative) {
  ModelBuilder model(17);
  model.input("n", DType::s64, {2}).output("zeros").node({"ConstantOfShape", {"n"}, {"zeros"}, {}, "", "made"});
  const auto compiled = compile(model, {.precision = Precision::fp32});
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.errors());
  auto program = v1::Program::load(*compiled, {.threads = 1});
  ASSERT_TRUE(program.ok());
  const Tensor n = integers({2}, {3, -1});
  const std::vector<v1::ConstTensorRef> refs = {{n.dtype(), n.shape().dims(), n.data()}};
  const Status done = program->run(refs);
  ASSERT_FALSE(done.ok());
  EXPECT_NE(to_string(done.errors()).find("made"), std::string::npos) << to_string(done.errors());
}

}  // namespace
}  // namespace octavo::testing
