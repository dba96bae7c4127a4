// Cores that are known by name. Tests of base/known_cores.
#include "base/known_cores.h"

#include <gtest/gtest.h>

#include <sstream>

namespace octavo {
namespace {

TEST(KnownCores, HaveWhatPredictionsTake) {
  std::istringstream names(arm64_core_names());
  int count = 0;
  for (std::string name; std::getline(names >> std::ws, name, ','); ++count) {
    const auto core = arm64_core(name);
    ASSERT_TRUE(core) << name;
    EXPECT_EQ(core->name, name);
    EXPECT_TRUE(core->isa.has(Isa::neon)) << name;
    EXPECT_TRUE(core->speeds.are_usable()) << name;
    EXPECT_LE(core->l1_bytes, core->l2_bytes) << name;
    EXPECT_LE(core->l2_bytes, core->l3_bytes) << name;
    // Wherever products of bytes are instructions of their own, they are the faster ones.
    EXPECT_TRUE(!core->isa.has(Isa::dotprod) || core->speeds.udot_gmacs > core->speeds.smull_gmacs) << name;
    EXPECT_TRUE(!core->isa.has(Isa::i8mm) || core->speeds.usmmla_gmacs > core->speeds.udot_gmacs) << name;
  }
  EXPECT_GE(count, 10);
  EXPECT_FALSE(arm64_core("cortex-a7"));
  EXPECT_FALSE(arm64_core(""));
}

TEST(KnownCores, AreToldByTheirIdentification) {
  const auto name = [](std::uint64_t midr) {
    const auto core = arm64_core_of(midr);
    return core ? core->name : "";
  };
  EXPECT_EQ(name(0x414fd0b1), "cortex-a76") << "variant 4, revision 1";
  EXPECT_EQ(name(0x413fd0c1), "neoverse-n1");
  EXPECT_EQ(name(0x410fd083), "cortex-a72");
  EXPECT_EQ(name(0x510fd0b1), "") << "another maker's part of the same number";
  EXPECT_EQ(name(0), "");
}

}  // namespace
}  // namespace octavo
