// What this machine has: instruction sets, caches, usable cores. Part of base/.
#include "base/machine.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/host.h"
#include "base/known_cores.h"

namespace octavo {
namespace {

constexpr std::array<std::string_view, kIsaCount> kIsaNames = {"scalar",     "avx2",       "avxvnni",  "avx512",
                                                               "avx512vnni", "avx512vbmi", "amx_int8", "neon",
                                                               "dotprod",    "i8mm",       "cuda",     "tf32"};

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(CPU_COUNT(&set), 1) : 1;
  return std::min(cores, quota_cores(read_system_file).value_or(cores));
}

std::int64_t cache_bytes(int name, std::int64_t fallback) {
  const long size = sysconf(name);
  return size > 0 ? size : fallback;
}

Machine detect() {
  Machine machine = detected_processor();
  machine.l1_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, machine.l1_bytes);
  machine.l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE, machine.l2_bytes);
  machine.l3_bytes = cache_bytes(_SC_LEVEL3_CACHE_SIZE, machine.l3_bytes);
  machine.cores = usable_cores();
  return machine;
}

// Of the targets of aarch64: the best instruction set; nothing for other words.
std::optional<Isa> arm64_target(std::string_view target) {
  if (target == "arm64-neon") return Isa::neon;
  if (target == "arm64-dotprod") return Isa::dotprod;
  return target == "arm64-i8mm" ? std::optional(Isa::i8mm) : std::nullopt;
}

// An H100 with NVLink (SXM5), as cuda/cost.h reads a machine: 132 multiprocessors at 1.755 GHz, 4096
// multiply-accumulates of bytes each in a cycle, and what its data sheet says of caches and memory.
Machine cuda_machine() {
  Machine machine{
      .name = "cuda", .l1_bytes = 228 * 1024, .l2_bytes = 50 * 1024 * 1024, .l3_bytes = 50 * 1024 * 1024, .cores = 132};
  machine.isa.add(Isa::cuda);
  machine.speeds.gigahertz = 1.755;
  machine.speeds.tile_gmacs = 1.755 * 4096.0;
  machine.speeds.memory_gbytes = 3350.0;
  machine.speeds.barrier_ns = 2900.0;
  return machine;
}

}  // namespace

// A file of the kernel's, which has no size before it is read; every load of a model in a new process waits for these,
// and a stream would take longer than they do.
std::optional<std::string> read_system_file(const std::string& path) {
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

std::string_view name_of(Isa isa) { return kIsaNames[static_cast<std::size_t>(isa)]; }

std::string IsaSet::to_string() const {
  std::string text;
  for (int i = 0; i < kIsaCount; ++i) {
    if (has(static_cast<Isa>(i))) text += (text.empty() ? "" : " ") + std::string(name_of(static_cast<Isa>(i)));
  }
  return text;
}

std::optional<Machine> host_beside(const Machine& device) {
  const IsaSet isa = device.isa.without(Isa::cuda).without(Isa::tf32);
  if (!is_device(device) || isa == IsaSet{}) return std::nullopt;
  return Machine{.name = "the host", .isa = isa};
}

const Machine& host_machine() {
  static const Machine machine = detect();
  return machine;
}

Result<Machine> machine_for_target(std::string_view target) {
  Machine machine = host_machine();
  if (target == "host") return machine;
  if (target == "cuda") return cuda_machine();
  machine.name = std::string(target);
  machine.isa = {};
  if (target == "scalar") return machine;
  if (const auto best = arm64_target(target)) {
    machine.isa = arm64_isa(*best);
    return machine;
  }
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
  return Error{
      .kind = ErrorKind::usage,
      .where = "--target",
      .found = "'" + std::string(target) + "'",
      .expected = "host, scalar, avx2, avxvnni, avx512vnni, amx, arm64-neon, arm64-dotprod, arm64-i8mm or cuda"};
}

}  // namespace octavo
