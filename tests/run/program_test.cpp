// Programs of several parts: from ONNX files with control flow and shapes that depend on data to their answers. Part of
// tests/run/.
#include <gtest/gtest.h>

#include "octavo/compile.h"
#include "octavo/run.h"
#include "support/control_flow.h"

namespace octavo::testing {
namespace {

using Values = std::vector<float>;
using Numbers = std::vector<std::int64_t>;

v1::CompiledModel compiled(const ModelBuilder& model,
                           const v1::CompileOptions& options = {.precision = Precision::fp32}) {
  const std::string bytes = model.bytes();
  auto made = v1::compile(std::as_bytes(std::span(bytes)), "test.onnx", options);
  EXPECT_TRUE(made.ok()) << to_string(made.errors());
  return std::move(*made);
}

v1::Program loaded(const v1::CompiledModel& model, const v1::LoadOptions& options = {.threads = 1}) {
  auto made = v1::Program::load(model, options);
  EXPECT_TRUE(made.ok()) << to_string(made.errors());
  return std::move(*made);
}

Status run(v1::Program& program, const std::vector<Tensor>& inputs) {
  std::vector<v1::ConstTensorRef> refs;
  for (const Tensor& input : inputs) refs.push_back({input.dtype(), input.shape().dims(), input.data()});
  return program.run(refs);
}

std::vector<Tensor> results(const v1::Program& program) {
  std::vector<Tensor> tensors;
  for (const v1::ProgramOutput& output : program.outputs())
    tensors.push_back(Tensor::copy_of({output.dtype, Shape(output.shape), static_cast<const std::byte*>(output.data)}));
  return tensors;
}

std::vector<Tensor> answers_in(v1::Program& program, const std::vector<Tensor>& inputs) {
  const Status done = run(program, inputs);
  EXPECT_TRUE(done.ok()) << to_string(done.errors());
  return results(program);
}

// The positions of what is not 0, and the sum of the elements there.
ModelBuilder search() {
  ModelBuilder model(17);
  model.input("x", DType::f32, {2, 3}).output("where").output("sum");
  model.node({"NonZero", {"x"}, {"where"}, {}, "", "nonzero"})
      .node({"Transpose", {"where"}, {"rows"}, {{"perm", Numbers{1, 0}}}})
      .node({"GatherND", {"x", "rows"}, {"found"}})
      .node({"ReduceSum", {"found"}, {"sum"}, {{"keepdims", std::int64_t{0}}}});
  return model;
}

TEST(Program, HandsOnAsManyAsThereAre) {
  v1::Program program = loaded(compiled(search()));
  for (int i = 0; i < 2; ++i) {
    const auto some = answers_in(program, {floats({2, 3}, {0, 2, 0, 3, 0, 5})});
    EXPECT_EQ(some[0].shape(), (Shape{2, 3}));
    EXPECT_EQ(to_int64s(some[0].view()), (Numbers{0, 1, 1, 1, 0, 2}));
    EXPECT_EQ(as_floats(some[1]), Values{10});
    const auto one = answers_in(program, {floats({2, 3}, {0, 0, 0, 0, -4, 0})});
    EXPECT_EQ(to_int64s(one[0].view()), (Numbers{1, 1}));
    EXPECT_EQ(as_floats(one[1]), Values{-4});
  }
}

TEST(Program, OfNothingIsWhatTheOperatorsMakeOfNothing) {
  v1::Program program = loaded(compiled(search()));
  const auto none = answers_in(program, {floats({2, 3}, {0, 0, -0.0f, 0, 0, 0})});
  EXPECT_EQ(none[0].shape(), (Shape{2, 0}));
  EXPECT_EQ(as_floats(none[1]), Values{0});
}

// A file that asks whether anything was found is asked in the run.
TEST(Program, ABranchForNothingIsTakenWhereThereIsNothing) {
  ModelBuilder none(17), some(17), model(17);
  none.output("nothing").initializer("empty", Tensor(DType::f32, Shape{0})).node({"Identity", {"empty"}, {"nothing"}});
  some.output("shares")
      .node({"ReduceMax", {"found"}, {"most"}, {{"keepdims", std::int64_t{1}}}})
      .node({"Div", {"found", "most"}, {"shares"}});
  model.input("x", DType::f32, {4}).output("y").output("count");
  model.initializer("zero", integers({}, {0}))
      .node({"NonZero", {"x"}, {"where"}})
      .node({"Transpose", {"where"}, {"rows"}, {{"perm", Numbers{1, 0}}}})
      .node({"GatherND", {"x", "rows"}, {"found"}})
      .node({"Size", {"found"}, {"count"}})
      .node({"Equal", {"count", "zero"}, {"is_none"}});
  add_if(model, "is_none", {"y"}, none, some);
  v1::Program program = loaded(compiled(model));
  const auto found = answers_in(program, {floats({4}, {0, 2, 0, 4})});
  EXPECT_EQ(as_floats(found[0]), (Values{0.5f, 1}));
  EXPECT_EQ(to_int64s(found[1].view()), Numbers{2});
  const auto nothing = answers_in(program, {floats({4}, {0, 0, 0, 0})});
  EXPECT_EQ(nothing[0].shape(), Shape{0});
  EXPECT_EQ(to_int64s(nothing[1].view()), Numbers{0});
}

// One branch is for pieces of sound of 16 samples and more, the other for those of 8 and more.
ModelBuilder detector_of_speech() {
  const auto branch = [](std::int64_t window, const std::string& y) {
    ModelBuilder graph(17);
    graph.output(y)
        .initializer(y + "_w", Tensor(DType::f32, Shape{1, 1, window}))
        .initializer(y + "_axis", integers({1}, {1}))
        .node({"Unsqueeze", {"x", y + "_axis"}, {y + "_x"}})
        .node({"Conv", {y + "_x", y + "_w"}, {y + "_c"}, {{"strides", Numbers{window}}}})
        .initializer(y + "_ones", integers({3}, {0, 1, 2}))
        .node({"Squeeze", {y + "_c", y + "_ones"}, {y}});
    return graph;
  };
  ModelBuilder model(17);
  model.input("x", DType::f32, {1, -1}).input("is_fast", DType::boolean, {}).output("y");
  add_if(model, "is_fast", {"y"}, branch(512, "wide"), branch(256, "narrow"));
  return model;
}

Tensor sound(std::int64_t samples) { return Tensor(DType::f32, Shape{1, samples}); }

TEST(Program, BranchesForPiecesOfSoundOfTheirOwnLength) {
  v1::Program program = loaded(compiled(detector_of_speech()));
  EXPECT_EQ(answers_in(program, {sound(700), truth(true)})[0].shape(), Shape{});
  EXPECT_EQ(answers_in(program, {sound(300), truth(false)})[0].shape(), Shape{});
  const Status short_piece = run(program, {sound(100), truth(true)});
  EXPECT_FALSE(short_piece.ok());
}

TEST(Program, ABranchThatCannotBeAtThisSizeIsRefusedWhereItIsTaken) {
  v1::Program program =
      loaded(compiled(detector_of_speech(), {.precision = Precision::fp32, .shapes = {{"x", {1, 300}}}}));
  EXPECT_EQ(answers_in(program, {sound(300), truth(false)})[0].shape(), Shape{});
  const Status refused = run(program, {sound(300), truth(true)});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.errors()[0].kind, ErrorKind::usage);
  EXPECT_NE(to_string(refused.errors()).find("a window of 512 positions"), std::string::npos)
      << to_string(refused.errors());
}

// A detector's second stage: boxes above a threshold, those that are left of them, features of their regions, classes.
TEST(Program, OfNoBoxesThereAreNoClasses) {
  ModelBuilder model(17);
  model.input("boxes", DType::f32, {3, 4}).input("scores", DType::f32, {3}).input("image", DType::f32, {1, 2, 4, 4});
  model.output("best").output("classes").output("taken");
  Tensor weights(DType::f32, Shape{8, 2});
  for (std::int64_t i = 0; i < 16; ++i) weights.as<float>()[i] = i % 3 == 0 ? 1.0f : 0.0f;
  model.initializer("least", floats({}, {0.5f}))
      .initializer("row", integers({1}, {0}))
      .initializer("rows", integers({2}, {0, 1}))
      .initializer("column", integers({1}, {1}))
      .initializer("most", integers({1}, {2}))
      .initializer("iou", floats({1}, {0.5f}))
      .initializer("four", integers({1}, {4}))
      .initializer("w", weights);
  model.node({"Greater", {"scores", "least"}, {"is_high"}})
      .node({"NonZero", {"is_high"}, {"where"}})
      .node({"Squeeze", {"where", "row"}, {"high"}})
      .node({"Gather", {"boxes", "high"}, {"high_boxes"}})
      .node({"Gather", {"scores", "high"}, {"high_scores"}})
      .node({"Unsqueeze", {"high_boxes", "row"}, {"all_boxes"}})
      .node({"Unsqueeze", {"high_scores", "rows"}, {"all_scores"}})
      .node({"NonMaxSuppression", {"all_boxes", "all_scores", "most", "iou"}, {"left"}})
      .node({"Gather", {"left", "most"}, {"left_at"}, {{"axis", std::int64_t{1}}}})
      .node({"Squeeze", {"left_at", "column"}, {"at"}})
      .node({"Gather", {"high_boxes", "at"}, {"taken"}})
      .node({"Gather", {"high_scores", "at"}, {"taken_scores"}})
      .node({"Shape", {"taken_scores"}, {"count"}})
      .node({"Concat", {"count", "most"}, {"both"}, {{"axis", std::int64_t{0}}}})
      .node({"ReduceMin", {"both"}, {"k"}, {{"keepdims", std::int64_t{1}}}})
      .node({"TopK", {"taken_scores", "k"}, {"best", "best_at"}})
      .node({"ConstantOfShape", {"count"}, {"images"}, {{"value", integers({1}, {0})}}})
      .node({"RoiAlign",
             {"image", "taken", "images"},
             {"regions"},
             {{"output_height", std::int64_t{2}}, {"output_width", std::int64_t{2}}}})
      .node({"Shape", {"regions"}, {"regions_shape"}})
      .node({"Slice", {"regions_shape", "row", "most"}, {"kept"}})
      .node({"Concat", {"kept", "four", "four"}, {"sizes"}, {{"axis", std::int64_t{0}}}})
      .node({"Resize", {"regions", "", "", "sizes"}, {"large"}, {{"mode", std::string("linear")}}})
      .node({"MaxPool", {"large"}, {"small"}, {{"kernel_shape", Numbers{2, 2}}, {"strides", Numbers{2, 2}}}})
      .node({"Concat", {"kept", "most", "most"}, {"as_before"}, {{"axis", std::int64_t{0}}}})
      .node({"Reshape", {"small", "as_before"}, {"same"}})
      .node({"Flatten", {"same"}, {"features"}})
      .node({"MatMul", {"features", "w"}, {"classes"}});
  v1::Program program = loaded(compiled(model));
  const Tensor boxes = floats({3, 4}, {0, 0, 2, 2, 0, 0, 2, 2.1f, 1, 1, 3, 3}), image(DType::f32, Shape{1, 2, 4, 4});
  const auto some = answers_in(program, {boxes, floats({3}, {0.7f, 0.9f, 0.6f}), image});
  EXPECT_EQ(as_floats(some[0]), (Values{0.9f, 0.6f}));
  EXPECT_EQ(some[1].shape(), (Shape{2, 2}));
  const auto none = answers_in(program, {boxes, floats({3}, {0.1f, 0.2f, 0.3f}), image});
  EXPECT_EQ(none[0].shape(), Shape{0});
  EXPECT_EQ(none[1].shape(), (Shape{0, 2}));
  EXPECT_EQ(none[2].shape(), (Shape{0, 4}));
}

TEST(Program, IsTheSameFromItsFile) {
  const v1::CompiledModel model = compiled(search());
  const auto bytes = model.bytes();
  const auto opened = v1::open(bytes, "copy.octv");
  ASSERT_TRUE(opened.ok()) << to_string(opened.errors());
  EXPECT_EQ(opened->bytes(), bytes);
  EXPECT_EQ(opened->info().parts.size(), 2u);
  v1::Program program = loaded(*opened);
  EXPECT_EQ(as_floats(answers_in(program, {floats({2, 3}, {0, 2, 0, 3, 0, 5})})[1]), Values{10});
}

TEST(Program, RunsOrdinaryModelsTooButNotTheOtherWay) {
  ModelBuilder model(17);
  model.input("x", DType::f32, {1, 3}).output("y").node({"Relu", {"x"}, {"y"}});
  v1::Program program = loaded(compiled(model));
  EXPECT_EQ(as_floats(answers_in(program, {floats({1, 3}, {-1, 2, -3})})[0]), (Values{0, 2, 0}));
  const auto refused = v1::Model::load(compiled(search()));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.errors()[0].kind, ErrorKind::usage);
}

TEST(Program, SuppressesBoxes) {
  ModelBuilder model(17);
  model.input("boxes", DType::f32, {1, 4, 4}).input("scores", DType::f32, {1, 1, 4}).output("scaled");
  model.initializer("most", integers({1}, {3}))
      .initializer("iou", floats({1}, {0.5f}))
      .initializer("least", floats({1}, {0.2f}))
      .node({"NonMaxSuppression", {"boxes", "scores", "most", "iou", "least"}, {"taken"}})
      .node({"Cast", {"taken"}, {"scaled"}, {{"to", std::int64_t{1}}}});
  v1::Program program = loaded(compiled(model));
  const Tensor boxes = floats({1, 4, 4}, {0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 0, 2, 1, 3, 0, 4, 1, 5});
  EXPECT_EQ(as_floats(answers_in(program, {boxes, floats({1, 1, 4}, {0.5f, 0.9f, 0.7f, 0.1f})})[0]),
            (Values{0, 0, 1, 0, 0, 2}));
  EXPECT_EQ(answers_in(program, {boxes, floats({1, 1, 4}, {0, 0, 0, 0})})[0].shape(), (Shape{0, 3}));
}

// y = x + 1 of one shape, or the sum of x in another.
ModelBuilder choice() {
  ModelBuilder yes(17), no(17), model(17);
  yes.output("more").initializer("one", floats({}, {1})).node({"Add", {"x", "one"}, {"more"}});
  no.output("less").node({"ReduceSum", {"x"}, {"less"}});
  model.input("x", DType::f32, {1, 3}).input("c", DType::boolean, {}).output("y");
  add_if(model, "c", {"picked"}, yes, no);
  model.node({"Neg", {"picked"}, {"y"}});
  return model;
}

TEST(Program, TakesTheBranchThatTheConditionSays) {
  v1::Program program = loaded(compiled(choice()));
  const Tensor x = floats({1, 3}, {1, 2, 3});
  EXPECT_EQ(as_floats(answers_in(program, {x, truth(true)})[0]), (Values{-2, -3, -4}));
  const auto sum = answers_in(program, {x, truth(false)})[0];
  EXPECT_EQ(sum.shape(), (Shape{1, 1}));
  EXPECT_EQ(as_floats(sum), Values{-6});
}

// PaddlePaddle's exporter makes a condition a number in one branch and a list of one in the other.
TEST(Program, ANumberOfOneBranchIsAListOfOneWhereTheOtherHasThat) {
  ModelBuilder yes(17), no(17), model(17);
  yes.output("number").initializer("seven", floats({}, {7})).node({"Identity", {"seven"}, {"number"}});
  no.output("list").node({"Neg", {"x"}, {"list"}});
  model.input("x", DType::f32, {1}).input("c", DType::boolean, {}).output("y").output("z");
  ModelBuilder twice(17), outer(17);
  twice.output("doubled").node({"Add", {"s", "s"}, {"doubled"}});
  outer.output("x");
  model.initializer("axes", integers({1}, {0})).node({"Squeeze", {"x", "axes"}, {"s"}});
  add_if(model, "c", {"y"}, yes, no);
  add_if(model, "c", {"z"}, outer, twice);
  v1::Program program = loaded(compiled(model));
  const auto chosen = answers_in(program, {floats({1}, {3}), truth(true)});
  const auto other = answers_in(program, {floats({1}, {3}), truth(false)});
  for (const auto& answers : {chosen, other}) {
    EXPECT_EQ(answers[0].shape(), Shape{1});
    EXPECT_EQ(answers[1].shape(), Shape{1});
  }
  EXPECT_EQ(as_floats(chosen[0]), Values{7});
  EXPECT_EQ(as_floats(chosen[1]), Values{3});
  EXPECT_EQ(as_floats(other[0]), Values{-3});
  EXPECT_EQ(as_floats(other[1]), Values{6});
}

TEST(Program, WithAKnownConditionIsOneNetwork) {
  ModelBuilder yes(17), no(17), model(17);
  yes.output("more").node({"Abs", {"x"}, {"more"}});
  no.output("less").node({"Neg", {"x"}, {"less"}});
  model.input("x", DType::f32, {1, 3}).output("y").initializer("c", truth(false));
  add_if(model, "c", {"y"}, yes, no);
  const auto imported = model.import();
  ASSERT_TRUE(imported.ok()) << to_string(imported.errors());
  EXPECT_FALSE(imported->program.has_value());
  EXPECT_EQ(imported->graph.node_count(), 1);
  EXPECT_EQ(as_floats(answers(model, {floats({1, 3}, {1, -2, 3})})[0]), (Values{-1, 2, -3}));
}

// Appends the iteration to a list, and stacks twice the iteration, while the condition of the body holds.
ModelBuilder counter() {
  ModelBuilder body(17), model(17);
  body.input("i", DType::s64, {}).input("go", DType::boolean, {}).input("list", DType::s64, {-1});
  body.output("next").output("longer").output("twice");
  body.initializer("flat", integers({1}, {1}))
      .node({"Less", {"i", "last"}, {"next"}})
      .node({"Reshape", {"i", "flat"}, {"entry"}})
      .node({"Concat", {"list", "entry"}, {"longer"}, {{"axis", std::int64_t{0}}}})
      .node({"Add", {"i", "i"}, {"twice"}});
  model.input("trips", DType::s64, {}).input("last", DType::s64, {}).output("all").output("doubled");
  model.initializer("none", Tensor(DType::s64, Shape{0}));
  add_loop(model, {"trips", "", "none"}, {"all", "doubled"}, body);
  return model;
}

TEST(Program, LoopsUntilTheCountOrTheCondition) {
  v1::Program program = loaded(compiled(counter()));
  const auto run_counter = [&](std::int64_t trips, std::int64_t last) {
    return answers_in(program, {integers({}, {trips}), integers({}, {last})});
  };
  const auto by_count = run_counter(3, 100);
  EXPECT_EQ(to_int64s(by_count[0].view()), (Numbers{0, 1, 2}));
  EXPECT_EQ(to_int64s(by_count[1].view()), (Numbers{0, 2, 4}));
  EXPECT_EQ(to_int64s(run_counter(100, 1)[0].view()), (Numbers{0, 1}));
  for (const std::int64_t trips : {std::int64_t{0}, std::int64_t{-5}, std::numeric_limits<std::int64_t>::min()}) {
    const auto none = run_counter(trips, 100);
    EXPECT_EQ(none[0].shape(), Shape{0});
    EXPECT_EQ(none[1].shape(), Shape{0});
  }
}

// What its exporter carries into a loop for values that the body makes.
TEST(Program, ANumberThatALoopBeginsWithIsAListWhereAnIterationMakesOne) {
  ModelBuilder body(17), model(17);
  body.input("i", DType::s64, {}).input("go", DType::boolean, {});
  body.input("a", DType::s64, {}).input("b", DType::s64, {1}).output("go2").output("a2").output("b2");
  body.initializer("flat", integers({1}, {1}))
      .node({"Identity", {"go"}, {"go2"}})
      .node({"Reshape", {"i", "flat"}, {"entry"}})
      .node({"Concat", {"entry", "entry"}, {"a2"}, {{"axis", std::int64_t{0}}}})
      .node({"Add", {"i", "i"}, {"b2"}});
  model.input("trips", DType::s64, {}).input("nothing", DType::s64, {}).output("pair").output("last");
  model.initializer("start", integers({1}, {5}));
  add_loop(model, {"trips", "", "nothing", "start"}, {"pair", "last"}, body);
  v1::Program program = loaded(compiled(model));
  const auto some = answers_in(program, {integers({}, {4}), integers({}, {9})});
  EXPECT_EQ(to_int64s(some[0].view()), (Numbers{3, 3}));
  EXPECT_EQ(to_int64s(some[1].view()), Numbers{6});
  const auto none = answers_in(program, {integers({}, {0}), integers({}, {9})});
  EXPECT_EQ(to_int64s(none[0].view()), Numbers{9});
  EXPECT_EQ(to_int64s(none[1].view()), Numbers{5});
}

TEST(Program, CountsFromAndByWhatARunSays) {
  ModelBuilder model(17);
  for (const char* name : {"first", "end", "step"}) model.input(name, DType::s64, {});
  model.output("y").node({"Range", {"first", "end", "step"}, {"y"}});
  v1::Program program = loaded(compiled(model));
  const auto count = [&](std::int64_t first, std::int64_t end, std::int64_t step) {
    return to_int64s(answers_in(program, {integers({}, {first}), integers({}, {end}), integers({}, {step})})[0].view());
  };
  EXPECT_EQ(count(2, 7, 2), (Numbers{2, 4, 6}));
  EXPECT_EQ(count(2, 8, 2), (Numbers{2, 4, 6}));
  EXPECT_EQ(count(-9, -7, 1), (Numbers{-9, -8}));
  EXPECT_EQ(count(5, -4, -3), (Numbers{5, 2, -1}));
  EXPECT_EQ(count(0, 1, 100), (Numbers{0}));
  EXPECT_EQ(count(4, 4, 1), (Numbers{}));
  EXPECT_EQ(count(5, 4, 1), (Numbers{}));
  EXPECT_EQ(count(3, 9, -1), (Numbers{}));
}

TEST(Program, RefusesLoopsWithoutEndByName) {
  v1::Program program = loaded(compiled(counter()), {.threads = 1, .max_iterations = 50});
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const Status endless = run(program, {integers({}, {most}), integers({}, {most})});
  ASSERT_FALSE(endless.ok());
  EXPECT_EQ(endless.errors()[0].kind, ErrorKind::resource);
  EXPECT_NE(endless.errors()[0].where.find("'search' (Loop"), std::string::npos) << endless.errors()[0].where;
  EXPECT_TRUE(program.outputs().empty());
  const auto after = answers_in(program, {integers({}, {2}), integers({}, {9})});
  EXPECT_EQ(to_int64s(after[0].view()), (Numbers{0, 1}));
}

TEST(Program, KeepsToTheMemoryThatItMayHave) {
  ModelBuilder body(17), model(17);
  body.input("i", DType::s64, {}).input("go", DType::boolean, {}).input("list", DType::f32, {-1});
  body.output("go2").output("longer");
  body.node({"Identity", {"go"}, {"go2"}}).node({"Concat", {"list", "list"}, {"longer"}, {{"axis", std::int64_t{0}}}});
  model.input("x", DType::f32, {4}).input("trips", DType::s64, {}).output("y");
  add_loop(model, {"trips", "", "x"}, {"y"}, body);
  v1::Program program = loaded(compiled(model), {.threads = 1, .context_bytes = 1 << 20});
  EXPECT_EQ(answers_in(program, {floats({4}, {1, 2, 3, 4}), integers({}, {3})})[0].shape(), Shape{32});
  const Status large = run(program, {floats({4}, {1, 2, 3, 4}), integers({}, {40})});
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.errors()[0].kind, ErrorKind::resource) << to_string(large.errors());
  EXPECT_LE(program.memory_bytes(), std::uint64_t{1} << 20);
}

// As exporters write it that name what is carried like what it begins with.
TEST(Program, NamesOfABodyHideThoseAroundIt) {
  ModelBuilder body(17), model(17);
  body.input("i", DType::s64, {}).input("go", DType::boolean, {}).input("x", DType::f32, {2});
  body.output("go2").output("twice");
  body.node({"Identity", {"go"}, {"go2"}}).node({"Add", {"x", "x"}, {"twice"}});
  model.input("x", DType::f32, {2}).input("trips", DType::s64, {}).output("y");
  add_loop(model, {"trips", "", "x"}, {"z"}, body);
  model.node({"Add", {"z", "x"}, {"y"}});
  v1::Program program = loaded(compiled(model));
  const auto answers = answers_in(program, {floats({2}, {1, 2}), integers({}, {3})});
  EXPECT_EQ(as_floats(answers[0]), (std::vector<float>{9, 18}));
}

// A loop in a loop, whose inner body has a branch and reads values of both bodies around it.
TEST(Program, NestsLoopsAndBranches) {
  ModelBuilder odd(17), even(17), inner(17), outer(17), model(17);
  odd.output("o").node({"Add", {"sum", "j"}, {"o"}});
  even.output("e").node({"Add", {"sum", "i"}, {"e"}});
  inner.input("j", DType::s64, {}).input("g", DType::boolean, {}).input("sum", DType::s64, {});
  inner.output("g2").output("sum2").initializer("two", integers({}, {2})).initializer("one", integers({}, {1}));
  inner.node({"Identity", {"g"}, {"g2"}})
      .node({"Mod", {"j", "two"}, {"rest"}})
      .node({"Equal", {"rest", "one"}, {"is_odd"}});
  add_if(inner, "is_odd", {"sum2"}, odd, even);
  outer.input("i", DType::s64, {}).input("h", DType::boolean, {}).input("total", DType::s64, {});
  outer.output("h2").output("total2");
  outer.node({"Identity", {"h"}, {"h2"}});
  add_loop(outer, {"n", "", "total"}, {"total2"}, inner);
  model.input("n", DType::s64, {}).output("y").initializer("zero", integers({}, {0}));
  add_loop(model, {"n", "", "zero"}, {"y"}, outer);
  v1::Program program = loaded(compiled(model));
  std::int64_t expected = 0;
  for (std::int64_t i = 0; i < 5; ++i) {
    for (std::int64_t j = 0; j < 5; ++j) expected += j % 2 == 1 ? j : i;
  }
  EXPECT_EQ(to_int64s(answers_in(program, {integers({}, {5})})[0].view()), Numbers{expected});
}

// Running sums along an axis, read from its end, written from its end along another.
TEST(Program, ScansAlongAxes) {
  ModelBuilder body(17), model(17);
  body.input("state", DType::f32, {2}).input("slice", DType::f32, {2}).output("next").output("seen");
  body.node({"Add", {"state", "slice"}, {"next"}}).node({"Identity", {"next"}, {"seen"}});
  model.input("start", DType::f32, {2}).input("x", DType::f32, {2, 3}).output("last").output("all");
  add_with_graphs(model,
                  {"Scan",
                   {"start", "x"},
                   {"last", "all"},
                   {{"num_scan_inputs", std::int64_t{1}},
                    {"scan_input_axes", Numbers{1}},
                    {"scan_input_directions", Numbers{1}},
                    {"scan_output_axes", Numbers{-1}}},
                   "",
                   "sums"},
                  {{"body", body}});
  v1::Program program = loaded(compiled(model));
  const auto sums = answers_in(program, {floats({2}, {10, 20}), floats({2, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(as_floats(sums[0]), (Values{16, 35}));
  EXPECT_EQ(sums[1].shape(), (Shape{2, 3}));
  EXPECT_EQ(as_floats(sums[1]), (Values{13, 15, 16, 26, 31, 35}));
}

// Sizes that a file leaves open are those of every part.
TEST(Program, CarriesOpenSizesFromPartToPart) {
  ModelBuilder yes(17), no(17), model(17);
  yes.output("a").node({"Concat", {"x", "x"}, {"a"}, {{"axis", std::int64_t{1}}}});
  no.output("b").node({"Concat", {"m", "x"}, {"b"}, {{"axis", std::int64_t{1}}}});
  model.input("x", DType::f32, {-1, 2}).input("c", DType::boolean, {}).output("y").output("rows");
  model.node({"Neg", {"x"}, {"m"}});
  add_if(model, "c", {"y"}, yes, no);
  model.node({"Shape", {"x"}, {"rows"}});
  v1::Program program = loaded(compiled(model));
  for (const std::int64_t rows : {1, 3}) {
    const Tensor x = floats({rows, 2}, Values(static_cast<std::size_t>(2 * rows), 7));
    const auto taken = answers_in(program, {x, truth(false)});
    EXPECT_EQ(taken[0].shape(), (Shape{rows, 4}));
    EXPECT_EQ(as_floats(taken[0])[0], -7);
    EXPECT_EQ(to_int64s(taken[1].view()), (Numbers{rows, 2}));
  }
}

}  // namespace
}  // namespace octavo::testing
