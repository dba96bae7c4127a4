// The list of kernels as a whole: names, operators, coverage; and which instruction sets this host exercised.
#include "ops/list.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <set>

#include "kernels/kernel.h"
#include "support/amx_emulator.h"

namespace octavo {
namespace {

TEST(KernelList, NamesAreUniqueAndFound) {
  std::set<std::string_view> names;
  for (const Kernel* kernel : all_kernels()) {
    EXPECT_TRUE(names.insert(kernel->name).second) << kernel->name;
    EXPECT_EQ(find_kernel(kernel->name), kernel);
  }
  EXPECT_EQ(find_kernel("no such kernel"), nullptr);
}

TEST(KernelList, RecordsAreWhole) {
  for (const Kernel* kernel : all_kernels()) {
    EXPECT_TRUE(kernel->op == "*" || find_op(kernel->op) != nullptr) << kernel->name << " computes " << kernel->op;
    EXPECT_TRUE(kernel->refusal != nullptr && kernel->cost != nullptr && kernel->prepare != nullptr) << kernel->name;
  }
}

TEST(KernelList, EveryOperatorHasAPortableKernel) {
  std::set<std::string_view> covered;
  for (const Kernel* kernel : all_kernels()) {
    if (kernel->needs == Isa::scalar) covered.insert(kernel->op);
  }
  // A quantized convolution that is not depthwise has no portable kernel but the reference.
  for (const OpSpec* op : all_ops()) EXPECT_TRUE(covered.contains(op->name)) << op->name;
}

// Says what a reader of the log wants to know. A set without kernels is a family that the list forgot.
TEST(KernelList, InstructionSetsExercised) {
  std::map<Isa, int> counts;
  for (int isa = 0; isa < kIsaCount; ++isa) counts[static_cast<Isa>(isa)] = 0;
  for (const Kernel* kernel : all_kernels()) ++counts[kernel->needs];
  for (const auto& [isa, count] : counts) {
    const bool is_emulated = isa == Isa::amx_int8 && testing::AmxEmulation::is_possible();
    std::printf("%-11s %3d kernels, %s\n", std::string(name_of(isa)).c_str(), count,
                host_machine().isa.has(isa) ? "exercised" : (is_emulated ? "emulated" : "NOT exercised on this host"));
    EXPECT_GT(count, 0) << name_of(isa);
  }
}

}  // namespace
}  // namespace octavo
