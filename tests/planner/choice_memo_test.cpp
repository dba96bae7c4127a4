// Kernels are chosen once for a layer and a range of sizes. Tests of planner/choice_memo.
#include "planner/choice_memo.h"

#include <gtest/gtest.h>

#include "ops/table/table.h"

namespace octavo {
namespace {

int costs_asked = 0;
template <int most>
std::string takes_rows(const OpCall& call) {
  ++costs_asked;
  return call.inputs[0]->shape[0] <= most ? "" : "has too many rows";
}
template <int ns>
double memo_costs(const OpCall& call, const Machine&) {
  return ns * static_cast<double>(call.inputs[0]->shape[0].example());
}
const KernelChoice kFew{.code = {.name = "table_few", .op = "table", .needs = Isa::avx2},
                        .refusal = takes_rows<12>,
                        .cost = memo_costs<10>};
const KernelChoice kMany{.code = {.name = "table_many", .op = "table", .needs = Isa::avx2},
                         .refusal = takes_rows<1000>,
                         .cost = memo_costs<20>};

class ChoicesOfLayers : public ::testing::Test {
 protected:
  Result<Choice> at(std::int64_t rows, const std::string& layer = "layer", const SelectOptions& options = {}) {
    x_.shape = Shape{rows, 8};
    const OpCall call{.spec = &kTable, .attrs = &attrs_, .inputs = {&x_, nullptr}, .outputs = {x_}};
    costs_asked = 0;
    Machine machine = *machine_for_target("avx2");
    machine.speeds = {};
    return memo_.choose(layer, call, machine, options, kernels_);
  }

 private:
  Fact x_{.dtype = DType::u8};
  Attrs attrs_ = NoAttrs{};
  std::vector<const KernelChoice*> kernels_ = {&kMany, &kFew};
  ChoiceMemo memo_;
};

TEST_F(ChoicesOfLayers, AreMadeOnceForARange) {
  EXPECT_EQ(at(8)->kernel, &kFew);
  EXPECT_EQ(costs_asked, 2);
  const auto again = at(11);
  EXPECT_EQ(again->kernel, &kFew);
  EXPECT_EQ(costs_asked, 1) << "of the kernel that is known";
  EXPECT_EQ(again->predicted_ns, 110.0) << "of this size";
  EXPECT_EQ(at(7)->kernel, &kFew);
  EXPECT_EQ(costs_asked, 2) << "another range";
  EXPECT_EQ(at(9, "other")->kernel, &kFew);
  EXPECT_EQ(costs_asked, 2) << "another layer";
}

TEST_F(ChoicesOfLayers, AreMadeAnewWhereTheKernelRefuses) {
  EXPECT_EQ(at(9)->kernel, &kFew);
  EXPECT_EQ(at(13)->kernel, &kMany);
  EXPECT_EQ(costs_asked, 3);
  EXPECT_EQ(at(14)->kernel, &kMany);
  EXPECT_EQ(costs_asked, 1);
  EXPECT_FALSE(at(1001));
}

TEST_F(ChoicesOfLayers, FollowMeasuredTimes) {
  EXPECT_EQ(at(8)->kernel, &kFew);
  const SelectOptions measured{.measured = [](const KernelChoice& kernel, const OpCall&, Prospect) {
    return std::optional(&kernel == &kMany ? 1.0 : 50.0);
  }};
  EXPECT_EQ(at(9, "layer", measured)->kernel, &kMany);
}

}  // namespace
}  // namespace octavo
