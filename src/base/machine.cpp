// What this machine has: cpuid, caches, usable cores. Part of base/.
#include "base/machine.h"

#include <cpuid.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

namespace octavo {
namespace {

constexpr std::array<std::string_view, kIsaCount> kIsaNames = {"scalar",     "avx2",       "avxvnni", "avx512",
                                                               "avx512vnni", "avx512vbmi", "amx_int8"};

struct CpuidRegisters {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

CpuidRegisters cpuid(unsigned leaf, unsigned subleaf) {
  CpuidRegisters r;
  if (__get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d) == 0) return {};
  return r;
}

constexpr bool bit(unsigned value, int index) { return (value >> index & 1u) != 0; }

std::uint64_t enabled_state() {
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<std::uint64_t>(high) << 32 | low;
}

// Linux grants the AMX tile state per process on request (arch_prctl ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA).
bool amx_is_permitted() {
  constexpr int kArchReqXcompPerm = 0x1023;
  constexpr int kXfeatureXtiledata = 18;
  return syscall(SYS_arch_prctl, kArchReqXcompPerm, kXfeatureXtiledata) == 0;
}

IsaSet detect_isa() {
  IsaSet isa;
  const CpuidRegisters basic = cpuid(1, 0);
  if (!bit(basic.c, 27)) return isa;  // no OSXSAVE: wide registers are not saved
  const std::uint64_t state = enabled_state();
  const bool saves_ymm = (state & 0x6) == 0x6;
  const bool saves_zmm = (state & 0xe6) == 0xe6;
  const bool saves_tiles = (state & 0x60000) == 0x60000;
  const CpuidRegisters seven = cpuid(7, 0);
  const CpuidRegisters seven_one = cpuid(7, 1);
  const bool has_avx2 = saves_ymm && bit(seven.b, 5) && bit(basic.c, 12) && bit(basic.c, 29);
  if (!has_avx2) return isa;
  isa.add(Isa::avx2);
  if (bit(seven_one.a, 4)) isa.add(Isa::avxvnni);
  const bool has_avx512 = saves_zmm && bit(seven.b, 16) && bit(seven.b, 17) && bit(seven.b, 30) && bit(seven.b, 31);
  if (!has_avx512) return isa;
  isa.add(Isa::avx512);
  if (bit(seven.c, 11)) {
    isa.add(Isa::avx512vnni);
    isa.add(Isa::avxvnni);  // AVX-512 VL has the same instructions in an encoding of its own
  }
  if (bit(seven.c, 1)) isa.add(Isa::avx512vbmi);
  if (saves_tiles && bit(seven.d, 24) && bit(seven.d, 25) && amx_is_permitted()) isa.add(Isa::amx_int8);
  return isa;
}

std::string processor_name() {
  std::string name;
  for (unsigned leaf = 0x80000002; leaf <= 0x80000004; ++leaf) {
    const CpuidRegisters r = cpuid(leaf, 0);
    for (unsigned word : {r.a, r.b, r.c, r.d}) {
      for (int i = 0; i < 4; ++i) name += static_cast<char>(word >> (8 * i) & 0xff);
    }
  }
  name.erase(std::find(name.begin(), name.end(), '\0'), name.end());
  while (!name.empty() && name.back() == ' ') name.pop_back();
  return name.empty() ? "unknown processor" : name;
}

// The CPU bandwidth of this process's control group in whole cores (cgroup v2 cpu.max), or `cores` where unlimited.
int quota_cores(int cores) {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  std::int64_t period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return cores;
  const std::int64_t allowed = (std::atoll(quota.c_str()) + period - 1) / period;
  return static_cast<int>(std::clamp<std::int64_t>(allowed, 1, cores));
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return quota_cores(std::max(cores, 1));
}

std::int64_t cache_bytes(int name, std::int64_t fallback) {
  const long size = sysconf(name);
  return size > 0 ? size : fallback;
}

Machine detect() {
  const Machine defaults;
  return {.name = processor_name(),
          .isa = detect_isa(),
          .l1_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, defaults.l1_bytes),
          .l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE, defaults.l2_bytes),
          .l3_bytes = cache_bytes(_SC_LEVEL3_CACHE_SIZE, defaults.l3_bytes),
          .cores = usable_cores()};
}

}  // namespace

std::string_view name_of(Isa isa) { return kIsaNames[static_cast<std::size_t>(isa)]; }

std::string IsaSet::to_string() const {
  std::string text;
  for (int i = 0; i < kIsaCount; ++i) {
    if (has(static_cast<Isa>(i))) text += (text.empty() ? "" : " ") + std::string(name_of(static_cast<Isa>(i)));
  }
  return text;
}

const Machine& host_machine() {
  static const Machine machine = detect();
  return machine;
}

Result<Machine> machine_for_target(std::string_view target) {
  Machine machine = host_machine();
  if (target == "host") return machine;
  machine.name = std::string(target);
  machine.isa = {};
  if (target == "scalar") return machine;
  machine.isa.add(Isa::avx2);
  if (target == "avx2") return machine;
  if (target == "avxvnni") {
    machine.isa.add(Isa::avxvnni);
    return machine;
  }
  machine.isa.add(Isa::avx512);
  machine.isa.add(Isa::avx512vnni);
  if (target == "avx512vnni") return machine;
  machine.isa.add(Isa::avx512vbmi);
  machine.isa.add(Isa::amx_int8);
  if (target == "amx") return machine;
  return Error{.kind = ErrorKind::usage,
               .where = "--target",
               .found = "'" + std::string(target) + "'",
               .expected = "host, scalar, avx2, avxvnni, avx512vnni or amx"};
}

}  // namespace octavo
