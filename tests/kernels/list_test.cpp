// The list of kernels as a whole: names, operators, coverage; and which instruction sets this host exercised.
#include "ops/list.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <set>

#include "planner/choice_list.h"
#include "support/amx_emulator.h"

namespace octavo {
namespace {

TEST(KernelList, NamesAreUniqueAndFound) {
  std::set<std::string_view> names;
  for (const KernelChoice* kernel : all_choices()) {
    EXPECT_TRUE(names.insert(kernel->code.name).second) << kernel->code.name;
    EXPECT_EQ(find_choice(kernel->code.name), kernel);
  }
  EXPECT_EQ(find_choice("no such kernel"), nullptr);
}

// The one list is in kernels/ and in what is linked with it, the other in planner/.
TEST(KernelList, WhatIsChosenCanBeRun) {
  std::set<std::string_view> codes, choices;
  for (const KernelCode* code : all_codes()) codes.insert(code->name);
  for (const KernelChoice* choice : all_choices()) choices.insert(choice->code.name);
  EXPECT_EQ(codes, choices);
  EXPECT_EQ(all_codes().size(), all_choices().size());
}

TEST(KernelList, RecordsAreWhole) {
  for (const KernelChoice* kernel : all_choices()) {
    EXPECT_TRUE(kernel->code.op == "*" || find_op(kernel->code.op) != nullptr)
        << kernel->code.name << " computes " << kernel->code.op;
    EXPECT_EQ(kernel->code.packs, kernel->pack != nullptr) << kernel->code.name;
    EXPECT_EQ(!kernel->code.knobs.empty(), kernel->candidates != nullptr) << kernel->code.name;
    EXPECT_EQ(!kernel->code.knobs.empty(), kernel->schedule_refusal != nullptr) << kernel->code.name;
    EXPECT_LE(kernel->code.knobs.size(), 8u) << kernel->code.name << ": the tuner's features have so many";
    EXPECT_TRUE(kernel->refusal != nullptr && kernel->cost != nullptr && kernel->code.prepare != nullptr)
        << kernel->code.name;
  }
}

TEST(KernelList, EveryOperatorHasAPortableKernel) {
  std::set<std::string_view> covered;
  for (const KernelChoice* kernel : all_choices()) {
    if (kernel->code.needs == Isa::scalar) covered.insert(kernel->code.op);
  }
  // A quantized convolution that is not depthwise has no portable kernel but the reference.
  for (const OpSpec* op : all_ops()) EXPECT_TRUE(covered.contains(op->name)) << op->name;
}

// Says what a reader of the log wants to know. A set without kernels is a family that the list forgot.
TEST(KernelList, InstructionSetsExercised) {
  std::map<Isa, int> counts;
  for (int isa = 0; isa < kIsaCount; ++isa) counts[static_cast<Isa>(isa)] = 0;
  for (const KernelChoice* kernel : all_choices()) ++counts[kernel->code.needs];
  for (const auto& [isa, count] : counts) {
    const bool is_emulated = isa == Isa::cuda || (isa == Isa::amx_int8 && testing::AmxEmulation::is_possible());
    std::printf("%-11s %3d kernels, %s\n", std::string(name_of(isa)).c_str(), count,
                host_machine().isa.has(isa) ? "exercised" : (is_emulated ? "emulated" : "NOT exercised on this host"));
    EXPECT_GT(count, 0) << name_of(isa);
  }
}

}  // namespace
}  // namespace octavo
