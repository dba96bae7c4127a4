// Processors and control groups that this machine need not have. Tests of base/host.
#include "base/host.h"

#include <gtest/gtest.h>

#include <map>

namespace octavo {
namespace {

constexpr std::uint32_t bits(std::initializer_list<int> set) {
  std::uint32_t all = 0;
  for (const int index : set) all |= 1u << index;
  return all;
}

// Cascade Lake without its tiles: FMA, F16C; AVX2, BMI2, AVX-512 F, DQ, BW, VL; VNNI.
CpuFeatures wide_processor() {
  return {.leaf1_ecx = bits({12, 29}),
          .leaf7_ebx = bits({5, 8, 16, 17, 30, 31}),
          .leaf7_ecx = bits({11}),
          .saved_state = 0xe6,
          .may_use_tiles = [] { return true; }};
}

TEST(Host, InstructionSetsByFeature) {
  CpuFeatures cpu = wide_processor();
  EXPECT_EQ(isa_of(cpu).to_string(), "scalar avx2 avxvnni avx512 avx512vnni");
  cpu.leaf7_edx = bits({24, 25});
  EXPECT_FALSE(isa_of(cpu).has(Isa::amx_int8)) << "the system saves no tiles";
  cpu.saved_state |= 0x60000;
  EXPECT_TRUE(isa_of(cpu).has(Isa::amx_int8));
  cpu.may_use_tiles = [] { return false; };
  EXPECT_FALSE(isa_of(cpu).has(Isa::amx_int8)) << "the system refuses";
  cpu.saved_state = 0x6;
  EXPECT_EQ(isa_of(cpu).to_string(), "scalar avx2");
  cpu.leaf7_1_eax = bits({4});
  EXPECT_EQ(isa_of(cpu).to_string(), "scalar avx2 avxvnni");
  cpu.saved_state = 0;
  EXPECT_EQ(isa_of(cpu).to_string(), "scalar");
}

// HWCAP_ASIMD, HWCAP_ASIMDDP and HWCAP2_I8MM, of cores that have been built: A72, A76, V1.
TEST(Host, InstructionSetsByAuxiliaryVector) {
  EXPECT_EQ(isa_of(HardwareWords{}).to_string(), "scalar");
  EXPECT_EQ(isa_of(HardwareWords{.hwcap = bits({0, 1})}).to_string(), "scalar neon");
  EXPECT_EQ(isa_of(HardwareWords{.hwcap = bits({0, 1, 20})}).to_string(), "scalar neon dotprod");
  EXPECT_EQ(isa_of(HardwareWords{.hwcap = bits({0, 1, 20}), .hwcap2 = bits({13})}).to_string(),
            "scalar neon dotprod i8mm");
  EXPECT_EQ(isa_of(HardwareWords{.hwcap = bits({0, 1}), .hwcap2 = bits({13})}).to_string(), "scalar neon");
}

// Files of the instruction set avx2 are compiled for all four.
TEST(Host, Avx2NeedsItsCompanions) {
  for (const int missing : {5, 8}) {
    CpuFeatures cpu = wide_processor();
    cpu.leaf7_ebx &= ~bits({missing});
    EXPECT_EQ(isa_of(cpu).to_string(), "scalar") << "leaf 7, bit " << missing;
  }
  for (const int missing : {12, 29}) {
    CpuFeatures cpu = wide_processor();
    cpu.leaf1_ecx &= ~bits({missing});
    EXPECT_EQ(isa_of(cpu).to_string(), "scalar") << "leaf 1, bit " << missing;
  }
}

using Files = std::map<std::string, std::string>;

std::optional<int> cores_with(const Files& files) {
  return quota_cores([&](const std::string& path) -> std::optional<std::string> {
    const auto file = files.find(path);
    if (file == files.end()) return std::nullopt;
    return file->second;
  });
}

const std::string kUnified = "29 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";

TEST(Host, NoGroupsAreNoLimit) {
  EXPECT_EQ(cores_with({}), std::nullopt);
  EXPECT_EQ(cores_with({{"/proc/self/cgroup", "0::/\n"}}), std::nullopt);
  EXPECT_EQ(cores_with({{"/proc/self/cgroup", "0::/\n"}, {"/proc/self/mountinfo", kUnified}}), std::nullopt);
  const Files unlimited = {{"/proc/self/cgroup", "0::/a\n"},
                           {"/proc/self/mountinfo", kUnified},
                           {"/sys/fs/cgroup/a/cpu.max", "max 100000\n"}};
  EXPECT_EQ(cores_with(unlimited), std::nullopt);
}

// A service of systemd: the root of the hierarchy has no cpu.max at all.
TEST(Host, TheLimitIsThatOfTheProcessesOwnGroup) {
  Files files = {{"/proc/self/cgroup", "0::/system.slice/octavo.service\n"},
                 {"/proc/self/mountinfo", kUnified},
                 {"/sys/fs/cgroup/system.slice/cpu.max", "max 100000\n"},
                 {"/sys/fs/cgroup/system.slice/octavo.service/cpu.max", "250000 100000\n"}};
  EXPECT_EQ(cores_with(files), 3);
  files["/sys/fs/cgroup/system.slice/octavo.service/cpu.max"] = "10000 100000\n";
  EXPECT_EQ(cores_with(files), 1);
}

TEST(Host, EveryGroupAroundItCounts) {
  Files files = {{"/proc/self/cgroup", "0::/a/b/c\n"},
                 {"/proc/self/mountinfo", kUnified},
                 {"/sys/fs/cgroup/a/cpu.max", "200000 100000\n"},
                 {"/sys/fs/cgroup/a/b/c/cpu.max", "800000 100000\n"}};
  EXPECT_EQ(cores_with(files), 2);
  files["/sys/fs/cgroup/cpu.max"] = "100000 100000\n";  // a container's own root
  EXPECT_EQ(cores_with(files), 1);
}

// Version 1, as containers have it: the group's path is the host's, of which the container sees only its own part.
TEST(Host, Version1InAContainer) {
  const Files files = {
      {"/proc/self/cgroup", "12:memory:/docker/4f\n4:cpuacct,cpu:/docker/4f/inner\n0::/system.slice\n"},
      {"/proc/self/mountinfo",
       "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
       "33 31 0:30 /docker/4f /sys/fs/cgroup/cpuset rw shared:9 - cgroup cgroup rw,cpuset\n"
       "32 31 0:29 /docker/4f /sys/fs/cgroup/cpu,cpuacct ro shared:8 master:7 - cgroup cgroup rw,cpu,cpuacct\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "600000\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_quota_us", "-1\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_period_us", "100000\n"},
      {"/sys/fs/cgroup/cpuset/cpu.cfs_quota_us", "100000\n"},
      {"/sys/fs/cgroup/cpuset/cpu.cfs_period_us", "100000\n"}};
  EXPECT_EQ(cores_with(files), 6);
}

TEST(Host, AGroupOutsideOfTheMountHasTheMountsLimit) {
  const Files files = {
      {"/proc/self/cgroup", "0::/../other\n"},
      {"/proc/self/mountinfo", "29 23 0:26 /docker/4f /mnt/c\\040g rw - cgroup2 cgroup2 rw\n"},
      {"/mnt/c g/cpu.max", "400000 100000\n"},
  };
  EXPECT_EQ(cores_with(files), 4);
}

TEST(Host, DamagedFilesAreNoLimit) {
  EXPECT_EQ(cores_with({{"/proc/self/cgroup", "0::no slash\n"}, {"/proc/self/mountinfo", kUnified}}), std::nullopt);
  const std::vector<std::string> limits = {"", "x y", "100000", "100000 0", "-5 100000", "0 100000", "100000 -1"};
  for (const std::string& limit : limits) {
    const Files files = {{"/proc/self/cgroup", "junk\n0::/\n"},
                         {"/proc/self/mountinfo", "junk\n" + kUnified},
                         {"/sys/fs/cgroup/cpu.max", limit}};
    EXPECT_EQ(cores_with(files), std::nullopt) << limit;
  }
}

TEST(Host, ThisMachineHasAtLeastOneCore) { EXPECT_GE(host_machine().cores, 1); }

}  // namespace
}  // namespace octavo
