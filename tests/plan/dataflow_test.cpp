// Who writes and reads the values of plans. Tests of plan/dataflow.
#include "plan/dataflow.h"

#include <gtest/gtest.h>

#include "support/small_graphs.h"

namespace octavo {
namespace {

using Values = std::vector<ValueIndex>;
using Steps = std::vector<std::int32_t>;

// 0: input, 1: computed, 2: view of it, 3: computed in its memory, 4: constant, 5: output, 6: view of the view.
Plan small_plan() {
  Plan plan;
  plan.values.resize(7);
  plan.values[0].place = Place::input;
  plan.values[2].view_of = 1;
  plan.values[4].place = Place::constant;
  plan.values[5].place = Place::output;
  plan.values[6].view_of = 2;
  plan.steps.resize(3);
  plan.steps[0].inputs = {0, kNoValue}, plan.steps[0].outputs = {1};
  plan.steps[1].inputs = {6, 2, 4}, plan.steps[1].outputs = {3};
  plan.steps[2].inputs = {3, 0}, plan.steps[2].outputs = {5};
  return plan;
}

TEST(Dataflow, OfASmallPlan) {
  const Plan plan = small_plan();
  EXPECT_EQ(roots(plan), (Values{0, 1, 1, 3, 4, 5, 1}));
  EXPECT_EQ(producers(plan), (Steps{kNoStep, 0, 0, 1, kNoStep, 2, 0}));
  const std::vector<Steps> expected = {{0, 2}, {1}, {}, {2}, {1}, {}, {}};
  EXPECT_EQ(readers(plan), expected);
  const std::vector<Values> live = {{0, 1}, {0, 3}, {}};
  EXPECT_EQ(live_after(plan), live);
}

// Whatever plan is made: a step reads what an earlier one wrote, and nothing that is still to be read is written over.
TEST(Dataflow, OfPlansThatAreMade) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = testing::random_graph(seed, 30);
    const CompiledModel model = testing::compile_graphs({&graph});
    const Plan& plan = model.plans[0];
    ASSERT_TRUE(check_indices(plan));
    const Steps written_by = producers(plan);
    const auto live = live_after(plan);
    for (std::size_t step = 0; step < plan.steps.size(); ++step) {
      for (const ValueIndex input : plan.steps[step].inputs)
        EXPECT_LT(written_by[static_cast<std::size_t>(input)], static_cast<std::int32_t>(step));
      for (const ValueIndex output : plan.steps[step].outputs) {
        EXPECT_EQ(written_by[static_cast<std::size_t>(output)], static_cast<std::int32_t>(step));
        const PlanValue& made = plan.value(output);
        for (const ValueIndex other : live[step]) {
          const PlanValue& needed = plan.value(other);
          if (other == output || made.place != Place::arena || needed.place != Place::arena) continue;
          EXPECT_TRUE(made.offset + made.bytes() <= needed.offset || needed.offset + needed.bytes() <= made.offset);
        }
      }
    }
  }
}

}  // namespace
}  // namespace octavo
