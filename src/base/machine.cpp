// What this machine has: cpuid, caches, usable cores. Part of base/.
#include "base/machine.h"

#include <cpuid.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/host.h"

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

// A file of the kernel's, which has no size before it is read; every load of a model in a new process waits for these,
// and a stream would take longer than they do.
std::optional<std::string> read_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string text;
  std::array<char, 4096> piece;
  ssize_t count = 0;
  while ((count = ::read(fd, piece.data(), piece.size())) > 0)
    text.append(piece.data(), static_cast<std::size_t>(count));
  ::close(fd);
  return text;
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(CPU_COUNT(&set), 1) : 1;
  return std::min(cores, quota_cores(read_file).value_or(cores));
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
