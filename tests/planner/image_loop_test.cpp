// Which steps run image by image. Tests of planner/image_loop.
#include "planner/image_loop.h"

#include <gtest/gtest.h>

#include "ops/pad/pad.h"
#include "ops/slice/slice.h"
#include "ops/transpose/transpose.h"
#include "support/small_graphs.h"

namespace octavo {
namespace {

using testing::add_or_die;
using testing::random_bytes;

constexpr std::int64_t kImages = 64;
constexpr std::int64_t kMegabyte = 1 << 20;

Machine machine() { return {.l2_bytes = kMegabyte, .l3_bytes = 32 * kMegabyte}; }

// A step as fast one way as the other, but for what it fetches.
LoopCost step(std::int64_t image_bytes, std::int64_t constant_bytes) {
  return {
      .batch_ns = kImages * 1000.0, .image_ns = 1000.0, .image_bytes = image_bytes, .constant_bytes = constant_bytes};
}

TEST(StepsByImage, LargeImagesBeforeLargeWeights) {
  const std::vector<LoopCost> costs = {step(kMegabyte / 2, 1000), step(kMegabyte / 2, 10000),
                                       step(1000, 64 * kMegabyte), step(1000, 1000)};
  EXPECT_EQ(steps_by_image(costs, kImages, machine()), 2u);
}

TEST(StepsByImage, WhatFitsLevelTwoAnywayStaysABatch) {
  const std::vector<LoopCost> costs = {step(1000, 1000), step(1000, 1000)};
  EXPECT_EQ(steps_by_image(costs, kImages, machine()), 0u);
}

TEST(StepsByImage, AStepThatNeedsABatchEndsTheLoop) {
  std::vector<LoopCost> costs = {step(kMegabyte / 2, 1000), step(kMegabyte / 2, 1000)};
  costs[1].image_ns = 1e6;
  EXPECT_EQ(steps_by_image(costs, kImages, machine()), 1u);
  costs.push_back({.batch_ns = 1e9});
  EXPECT_EQ(steps_by_image(costs, kImages, machine()), 3u) << "unless what comes after makes up for it";
}

Graph graph_of(const OpSpec& spec, Attrs attrs, std::vector<Shape> inputs, const std::vector<Tensor>& constants = {}) {
  Graph graph;
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    values.push_back(graph.add_input("x" + std::to_string(i), DType::u8, inputs[i]));
  for (std::size_t i = 0; i < constants.size(); ++i)
    values.push_back(graph.add_constant("c" + std::to_string(i), constants[i]));
  graph.add_output(add_or_die(graph, spec, std::move(attrs), values, "node"), "y");
  return graph;
}

std::int64_t steps_in_loop(const Graph& graph) {
  ConstantPool pool;
  auto plan =
      make_plan(graph, host_machine(), {.batch = 4, .allow_reference = true, .batch_order = BatchOrder::images}, pool);
  if (!plan) ADD_FAILURE() << to_string(plan.errors());
  return !plan ? -1 : plan->regions.empty() ? 0 : plan->regions.front().steps;
}

TEST(ImageCalls, OnlyWhatKeepsImagesApart) {
  const Tensor table = random_bytes(Shape{256}, 1), row = random_bytes(Shape{6}, 2),
               batch_of_rows = random_bytes(Shape{4, 6}, 3);
  const auto sum = [] { return testing::weighted_sum(); };
  EXPECT_EQ(steps_in_loop(graph_of(kTable, NoAttrs{}, {Shape{4, 6}}, {table})), 1);
  EXPECT_EQ(steps_in_loop(graph_of(kTable, NoAttrs{}, {Shape{5, 6}}, {table})), 0) << "not the batch";
  EXPECT_EQ(steps_in_loop(graph_of(kQuantizedElementwise, sum(), {Shape{4, 6}, Shape{4, 6}})), 1);
  EXPECT_EQ(steps_in_loop(graph_of(kQuantizedElementwise, sum(), {Shape{4, 6}}, {row})), 1)
      << "a constant for every image";
  EXPECT_EQ(steps_in_loop(graph_of(kQuantizedElementwise, sum(), {Shape{4, 6}}, {batch_of_rows})), 0)
      << "a constant of each image";
  EXPECT_EQ(steps_in_loop(graph_of(kQuantizedElementwise, sum(), {Shape{4, 4}, Shape{4}})), 0)
      << "a row that only looks like a batch";
  EXPECT_EQ(steps_in_loop(graph_of(kTranspose, TransposeAttrs{.perm = {0, 2, 1}}, {Shape{4, 4, 6}})), 1);
  EXPECT_EQ(steps_in_loop(graph_of(kTranspose, TransposeAttrs{.perm = {1, 0, 2}}, {Shape{4, 4, 6}})), 0);
  EXPECT_EQ(steps_in_loop(graph_of(kConcat, ConcatAttrs{.axis = 1}, {Shape{4, 6}, Shape{4, 2}})), 1);
  EXPECT_EQ(steps_in_loop(graph_of(kConcat, ConcatAttrs{.axis = 0}, {Shape{4, 6}, Shape{4, 6}})), 0);
  EXPECT_EQ(
      steps_in_loop(graph_of(kSlice, SliceAttrs{.starts = {0, 2}, .steps = {1, 2}, .sizes = {4, 2}}, {Shape{4, 6}})),
      1);
  EXPECT_EQ(
      steps_in_loop(graph_of(kSlice, SliceAttrs{.starts = {3, 0}, .steps = {-1, 1}, .sizes = {4, 6}}, {Shape{4, 6}})),
      0);
  EXPECT_EQ(steps_in_loop(graph_of(kPad, PadAttrs{.begin = {0, 1}, .end = {0, 1}}, {Shape{4, 6}})), 1);
  EXPECT_EQ(steps_in_loop(graph_of(kPad, PadAttrs{.begin = {1, 0}, .end = {-1, 0}}, {Shape{4, 6}})), 0);
}

TEST(ImageLoop, WhatALaterStepReadsHasRoomForAllImages) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::u8, Shape{4, 100});
  const ValueId table = graph.add_constant("table", random_bytes(Shape{256}, 1));
  const ValueId first = add_or_die(graph, kTable, NoAttrs{}, {x, table}, "first");
  const ValueId second = add_or_die(graph, kTable, NoAttrs{}, {first, table}, "second");
  const ValueId flat = add_or_die(graph, kReshape, ReshapeAttrs{{400}}, {second}, "flat");
  graph.add_output(add_or_die(graph, kTable, NoAttrs{}, {flat, table}, "last"), "y");
  ConstantPool pool;
  const auto plan =
      make_plan(graph, host_machine(), {.batch = 4, .allow_reference = true, .batch_order = BatchOrder::images}, pool);
  ASSERT_TRUE(plan) << to_string(plan.errors());
  ASSERT_EQ(plan->regions.size(), 1u);
  const Region& loop = plan->regions.front();
  EXPECT_EQ(loop.first_step, 0);
  EXPECT_EQ(loop.steps, 2) << "the last one sees one row";
  EXPECT_EQ(loop.slices, 4);
  const auto input = [&](std::size_t step) { return plan->value(plan->steps[step].inputs[0]); };
  const auto output = [&](std::size_t step) { return plan->value(plan->steps[step].outputs[0]); };
  EXPECT_EQ(plan->steps[0].inputs[0], 1) << "a slice of the model's input";
  EXPECT_EQ(input(0).view_of, 0);
  EXPECT_EQ(output(0).place, Place::region);
  EXPECT_EQ(plan->steps[1].inputs[0], plan->steps[0].outputs[0]);
  EXPECT_EQ(output(1).place, Place::arena);
  EXPECT_EQ(output(1).shape, (std::vector<std::int64_t>{1, 100}));
  EXPECT_EQ(input(2).shape, (std::vector<std::int64_t>{400}));
  EXPECT_EQ(input(2).view_of, plan->steps[1].outputs[0]) << "all slices of it";
  EXPECT_GE(plan->arena_bytes, 400u);
  EXPECT_LT(loop.arena_bytes, 400u);
  EXPECT_EQ(plan->calls_of(1), 4);
  EXPECT_EQ(plan->calls_of(2), 1);
}

}  // namespace
}  // namespace octavo
