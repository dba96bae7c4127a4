// Order, aliases, in-place reuse, copies and constants of a plan. Tests of planner/.
#include "planner/planner.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ops/binary/binary.h"
#include "ops/conv/conv.h"
#include "ops/matmul/matmul.h"
#include "ops/quantized_elementwise/quantized_elementwise.h"
#include "ops/reshape/reshape.h"
#include "ops/table/table.h"
#include "planner/macs.h"
#include "support/small_graphs.h"

namespace octavo {
namespace {

using testing::add_or_die;
using testing::chain_graph;
using testing::random_bytes;

Plan plan_of(const Graph& graph, ConstantPool& pool) {
  auto plan = make_plan(graph, host_machine(), {.allow_reference = true}, pool);
  if (!plan) ADD_FAILURE() << to_string(plan.errors());
  return plan ? *plan : Plan{};
}

Plan plan_of(const Graph& graph) {
  ConstantPool pool;
  return plan_of(graph, pool);
}

TEST(ConstantPool, EqualContentIsStoredOnce) {
  ConstantPool pool;
  const Tensor a = random_bytes(Shape{100}, 1), b = random_bytes(Shape{100}, 2);
  const std::uint64_t first = pool.add(a.view());
  const std::uint64_t second = pool.add(b.view());
  EXPECT_NE(first, second);
  EXPECT_EQ(pool.add(Tensor::copy_of(a.view()).view()), first);
  EXPECT_EQ(pool.add(a.reshaped(Shape{10, 10}).view()), first) << "shape is not content";
  EXPECT_NE(pool.add(ConstTensorView{DType::u8, Shape{99}, a.data()}), first) << "a prefix is another content";
  EXPECT_EQ(second % kAlignment, 0u);
  EXPECT_EQ(std::memcmp(pool.bytes().data() + second, b.data(), 100), 0);
  EXPECT_GE(pool.bytes().size(), second + 100 + kReadSlack);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pool.bytes().data()) % kAlignment, 0u);
  const std::size_t size = pool.bytes().size();
  EXPECT_EQ(pool.take().size(), size);
  EXPECT_TRUE(pool.bytes().empty());
}

TEST(Plan, AConsumedGraphGivesTheSame) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::f32, Shape{1, 32});
  const ValueId shared = graph.add_constant("w", Tensor(DType::f32, Shape{32, 32}));
  const ValueId first = add_or_die(graph, kMatmul, NoAttrs{}, {x, shared}, "first");
  const ValueId second = add_or_die(graph, kMatmul, NoAttrs{}, {first, shared}, "second");
  graph.add_output(second, "y");
  graph.add_output(shared, "weights");
  ConstantPool kept, consumed;
  const Plan expected = plan_of(graph, kept);
  const auto plan = make_plan(Graph(graph), host_machine(), {.allow_reference = true}, consumed);
  ASSERT_TRUE(plan) << to_string(plan.errors());
  EXPECT_TRUE(*plan == expected);
  EXPECT_TRUE(kept.bytes() == consumed.bytes());
}

TEST(Plan, InputsAndOutputsAreUsedInTheCallersMemory) {
  const Plan plan = plan_of(chain_graph());
  ASSERT_EQ(plan.steps.size(), 3u);
  EXPECT_EQ(plan.steps[0].inputs[0], plan.inputs[0].value);
  EXPECT_EQ(plan.steps[1].inputs[1], plan.inputs[0].value);
  EXPECT_EQ(plan.steps[2].outputs[0], plan.outputs[0].value);
  EXPECT_EQ(plan.input(0).place, Place::input);
  EXPECT_EQ(plan.output(0).place, Place::output);
  EXPECT_EQ(plan.inputs.size(), 1u);
  EXPECT_EQ(plan.inputs[0].name, "x");
  EXPECT_EQ(plan.outputs[0].name, "y");
  EXPECT_EQ(plan.output(0).shape, (std::vector<std::int64_t>{1, 8, 64}));
}

const PlanValue& input_of(const Plan& plan, std::size_t step, std::size_t i = 0) {
  return plan.value(plan.steps[step].inputs[i]);
}

const PlanValue& output_of(const Plan& plan, std::size_t step) { return plan.value(plan.steps[step].outputs[0]); }

// x -> a table of a -> ... -> output; every intermediate value has one reader.
Graph table_chain(int length) {
  Graph graph;
  ValueId value = graph.add_input("x", DType::u8, Shape{1000});
  const ValueId table = graph.add_constant("table", random_bytes(Shape{256}, 1));
  for (int i = 0; i < length; ++i)
    value = add_or_die(graph, kTable, NoAttrs{}, {value, table}, "t" + std::to_string(i));
  graph.add_output(value, "y");
  return graph;
}

TEST(Plan, AStepMayTakeOverTheBufferOfADyingInput) {
  if (!host_machine().isa.has(Isa::avx2)) GTEST_SKIP() << "needs avx2: the table kernels that work in place";
  const Plan plan = plan_of(table_chain(4));
  EXPECT_EQ(output_of(plan, 1).offset, input_of(plan, 1).offset);
  EXPECT_EQ(output_of(plan, 2).offset, input_of(plan, 1).offset);
  EXPECT_NE(plan.steps[1].outputs[0], plan.steps[1].inputs[0]) << "another value in the same memory";
  EXPECT_LT(plan.arena_bytes, 2 * 1000u);
}

TEST(Plan, AnInputThatIsStillNeededIsNotTakenOver) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::u8, Shape{1000});
  const ValueId table = graph.add_constant("table", random_bytes(Shape{256}, 1));
  const ValueId a = add_or_die(graph, kTable, NoAttrs{}, {x, table}, "a");
  const ValueId b = add_or_die(graph, kTable, NoAttrs{}, {a, table}, "b");
  const ValueId c = add_or_die(graph, kQuantizedElementwise, testing::weighted_sum(), {a, b}, "c");
  graph.add_output(c, "y");
  const Plan plan = plan_of(graph);
  EXPECT_NE(output_of(plan, 1).offset, input_of(plan, 1).offset);
}

TEST(Plan, AnInputThatIsReadTwiceIsNotTakenOver) {
  if (!host_machine().isa.has(Isa::avx2)) GTEST_SKIP() << "needs avx2: the kernels that work in place";
  Graph graph;
  const ValueId x = graph.add_input("x", DType::u8, Shape{1000});
  const ValueId table = graph.add_constant("table", random_bytes(Shape{256}, 1));
  const ValueId a = add_or_die(graph, kTable, NoAttrs{}, {x, table}, "a");
  const ValueId b = add_or_die(graph, kQuantizedElementwise, testing::weighted_sum(), {a, a}, "b");
  const ValueId c = add_or_die(graph, kQuantizedElementwise, testing::weighted_sum(), {b, x}, "c");
  graph.add_output(add_or_die(graph, kTable, NoAttrs{}, {c, table}, "d"), "y");
  const Plan plan = plan_of(graph);
  EXPECT_NE(output_of(plan, 1).offset, input_of(plan, 1).offset) << "a kernel may read one operand ahead of the other";
  EXPECT_EQ(output_of(plan, 2).offset, input_of(plan, 2).offset) << "the same kernel, with operands of their own";
}

TEST(Plan, AReshapeIsAnAlias) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::u8, Shape{4, 25});
  const ValueId table = graph.add_constant("table", random_bytes(Shape{256}, 1));
  const ValueId a = add_or_die(graph, kTable, NoAttrs{}, {x, table}, "a");
  const ValueId flat = add_or_die(graph, kReshape, ReshapeAttrs{{100}}, {a}, "flat");
  const ValueId b = add_or_die(graph, kTable, NoAttrs{}, {flat, table}, "b");
  graph.add_output(add_or_die(graph, kReshape, ReshapeAttrs{{10, 10}}, {b}, "square"), "y");
  const Plan plan = plan_of(graph);
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(input_of(plan, 1).view_of, plan.steps[0].outputs[0]);
  EXPECT_EQ(input_of(plan, 1).offset, output_of(plan, 0).offset);
  EXPECT_EQ(input_of(plan, 1).shape, (std::vector<std::int64_t>{100}));
  EXPECT_EQ(output_of(plan, 1).place, Place::output) << "through the alias, straight into the caller's memory";
  EXPECT_EQ(plan.output(0).view_of, plan.steps[1].outputs[0]);
  EXPECT_EQ(plan.output(0).shape, (std::vector<std::int64_t>{10, 10}));
}

TEST(Plan, OutputsThatCannotBeComputedInPlaceAreCopied) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::u8, Shape{4, 25});
  const ValueId table = graph.add_constant("table", random_bytes(Shape{256}, 1));
  const ValueId read = add_or_die(graph, kTable, NoAttrs{}, {x, table}, "read");
  const ValueId last = add_or_die(graph, kTable, NoAttrs{}, {read, table}, "last");
  graph.add_output(read, "also read");
  graph.add_output(last, "plain");
  graph.add_output(x, "input");
  graph.add_output(table, "constant");
  graph.add_output(add_or_die(graph, kReshape, ReshapeAttrs{{100}}, {x}, "flat"), "reshaped input");
  const Plan plan = plan_of(graph);
  std::vector<int> written(5, 0);
  int copies = 0;
  for (const PlanStep& step : plan.steps) {
    if (step.op == "reshape") ++copies;
    for (const ValueIndex output : step.outputs) {
      if (plan.value(output).place == Place::output) ++written[plan.value(output).offset];
    }
    for (const ValueIndex input : step.inputs)
      EXPECT_NE(plan.value(input).place, Place::output) << "the caller's output is never read";
  }
  EXPECT_EQ(written, std::vector<int>(5, 1));
  EXPECT_EQ(copies, 4);
}

TEST(Plan, TheSameGraphGivesTheSamePlan) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    ConstantPool first, second;
    EXPECT_EQ(plan_of(testing::random_graph(seed, 30), first), plan_of(testing::random_graph(seed, 30), second));
    EXPECT_EQ(first.bytes(), second.bytes());
  }
}

TEST(Plan, AMachineWithoutKernelsListsEveryNode) {
  const Graph graph = chain_graph();
  ConstantPool pool;
  const std::vector<const KernelChoice*> none = {find_choice("reference")};
  const auto plan = make_plan(graph, *machine_for_target("avx2"), {.kernels = none}, pool);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.errors().size(), 3u);
  EXPECT_EQ(plan.errors()[0].where, "node 'first'");
  EXPECT_EQ(plan.errors()[0].kind, ErrorKind::unsupported);
}

std::vector<Tensor> pack_second(const OpCall& call) {
  return {Tensor::copy_of(std::as_const(*call.inputs[1]->constant).view())};
}

TEST(Plan, PackedConstantsAreKeptOnlyInPackedForm) {
  const Graph graph = table_chain(2);
  ConstantPool pool;
  KernelChoice packer = *find_choice("reference");
  packer.code.name = "packer";
  packer.code.op = "table";
  packer.code.packs = true;
  packer.pack = pack_second;
  const std::vector<const KernelChoice*> kernels = {&packer};
  const auto plan = make_plan(graph, *machine_for_target("avx2"), {.kernels = kernels}, pool);
  ASSERT_TRUE(plan) << to_string(plan.errors());
  EXPECT_EQ(input_of(*plan, 0, 1).place, Place::packed);
  ASSERT_EQ(plan->steps[0].packed.size(), 1u);
  EXPECT_EQ(plan->value(plan->steps[0].packed[0]), plan->value(plan->steps[1].packed[0]));
  EXPECT_EQ(pool.bytes().size(), 256 + kReadSlack);
}

TEST(Macs, CountConvolutionsAndProducts) {
  const Fact x{.shape = Shape{2, 3, 10, 10}}, w{.shape = Shape{8, 3, 3, 3}}, y{.shape = Shape{2, 8, 8, 8}};
  const Attrs attrs = NoAttrs{};
  EXPECT_EQ(macs_of({.spec = &kConv, .attrs = &attrs, .inputs = {&x, &w}, .outputs = {y}}), 2 * 8 * 64 * 27);
  const Fact a{.shape = Shape{5, 7}}, b{.shape = Shape{7, 11}}, product{.shape = Shape{5, 11}};
  EXPECT_EQ(macs_of({.spec = &kMatmul, .attrs = &attrs, .inputs = {&a, &b}, .outputs = {product}}), 5 * 7 * 11);
  EXPECT_EQ(macs_of({.spec = &kBinary, .attrs = &attrs, .inputs = {&a, &a}, .outputs = {a}}), 0);
}

}  // namespace
}  // namespace octavo
