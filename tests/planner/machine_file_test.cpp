// Machine files: written, read back, refused. Tests of planner/machine_file.
#include "planner/machine_file.h"

#include <gtest/gtest.h>

#include "base/known_cores.h"
#include "support/child.h"

namespace octavo {
namespace {

Machine some_machine() {
  Machine machine{.name = "a processor", .l1_bytes = 48 << 10, .l2_bytes = 2 << 20, .l3_bytes = 60 << 20, .cores = 4};
  for (const Isa isa : {Isa::avx2, Isa::avxvnni, Isa::avx512}) machine.isa.add(isa);
  machine.speeds.gigahertz = 3.5;
  machine.speeds.level3_gbytes = 31.25;
  return machine;
}

TEST(MachineFile, IsTheMachine) {
  const auto read = parse_machine(machine_text(some_machine()), "m.json");
  ASSERT_TRUE(read) << to_string(read.errors());
  EXPECT_EQ(*read, some_machine());
}

TEST(MachineFile, WhatIsWrongIsNamed) {
  const auto expect_refused = [](const std::string& from, const std::string& to, const std::string& part) {
    std::string text = machine_text(some_machine());
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    const auto read = parse_machine(text, "m.json");
    ASSERT_FALSE(read) << to;
    EXPECT_EQ(read.errors()[0].kind, ErrorKind::invalid_input);
    const std::string told = to_string(read.errors());
    EXPECT_NE(told.find("m.json"), std::string::npos) << told;
    EXPECT_NE(told.find(part), std::string::npos) << told;
  };
  expect_refused("octavo machine 1", "octavo machine 2", "octavo machine 1");
  expect_refused("{", "[", "machine file");
  expect_refused("\"a processor\"", "7", "'name'");
  expect_refused("avxvnni", "sse9", "'isa'");
  expect_refused("\"l2_bytes\": 2097152", "\"l2_bytes\": 0", "'l2_bytes'");
  expect_refused("\"l2_bytes\": 2097152", "\"l2_bytes\": 1e300", "'l2_bytes'");
  expect_refused("\"cores\": 4", "\"cores\": 2.5", "'cores'");
  expect_refused("\"cores\": 4", "\"kernels\": 4", "'kernels'");
  expect_refused("\"gigahertz\": 3.5", "\"gigahertz\": 0", "'speeds', 'gigahertz'");
  expect_refused("\"gigahertz\": 3.5", "\"gigahertz\": \"fast\"", "'gigahertz'");
  expect_refused("\"gigahertz\": 3.5", "\"gigahertz\": 3.5, \"terahertz\": 1", "'terahertz'");
  expect_refused("\"gigahertz\": 3.5,", "", "nothing");
  expect_refused("\"speeds\": {", "\"speeds\": 1, \"other\": {", "'speeds'");
}

TEST(MachineFile, ATargetLimitsItsInstructions) {
  testing::ScratchFolder folder;
  folder.write("m.json", machine_text(some_machine()));
  EXPECT_EQ(*compiled_for("host", folder.path("m.json")), some_machine());
  const auto limited = compiled_for("avx2", folder.path("m.json"));
  ASSERT_TRUE(limited);
  EXPECT_FALSE(limited->isa.has(Isa::avx512));
  EXPECT_EQ(limited->l2_bytes, some_machine().l2_bytes);
  EXPECT_EQ(limited->speeds, some_machine().speeds);
  EXPECT_EQ(*compiled_for("host", ""), host_machine());
  EXPECT_FALSE(compiled_for("sse9", folder.path("m.json")));
}

TEST(MachineFile, ACoreHasAName) {
  EXPECT_EQ(*compiled_for("host", "cortex-a76"), *arm64_core("cortex-a76"));
  const auto plain = compiled_for("arm64-neon", "neoverse-v1");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->isa, machine_for_target("arm64-neon")->isa);
  EXPECT_EQ(plain->speeds, arm64_core("neoverse-v1")->speeds);
  const auto unknown = compiled_for("host", "cortex-m0");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.errors()[0].kind, ErrorKind::resource);
  EXPECT_NE(to_string(unknown.errors()).find("neoverse-n1"), std::string::npos) << to_string(unknown.errors());
}

}  // namespace
}  // namespace octavo
