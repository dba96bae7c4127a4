// What cpuid says of this processor. Part of base/.
#include "base/host.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace octavo {
namespace {

struct CpuidRegisters {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

CpuidRegisters cpuid(unsigned leaf, unsigned subleaf) {
  CpuidRegisters r;
  if (__get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d) == 0) return {};
  return r;
}

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

IsaSet detected_isa() {
  const CpuidRegisters basic = cpuid(1, 0), seven = cpuid(7, 0);
  const bool has_osxsave = (basic.c >> 27 & 1u) != 0;  // else wide registers are not saved, and nobody may ask which
  return isa_of({.leaf1_ecx = basic.c,
                 .leaf7_ebx = seven.b,
                 .leaf7_ecx = seven.c,
                 .leaf7_edx = seven.d,
                 .leaf7_1_eax = cpuid(7, 1).a,
                 .saved_state = has_osxsave ? enabled_state() : 0,
                 .may_use_tiles = amx_is_permitted});
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

}  // namespace

Machine detected_processor() { return {.name = processor_name(), .isa = detected_isa()}; }

}  // namespace octavo
