// Machine: what a compiled model is compiled for. Part of base/.
// Selection takes a Machine value and never asks the host, so compiling for another machine is the normal case.
#ifndef OCTAVO_BASE_MACHINE_H_
#define OCTAVO_BASE_MACHINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "base/speeds.h"

namespace octavo {

// Instruction sets that a kernel may need. Features, never processor names. Numbers are part of the artifact format.
enum class Isa : std::uint8_t {
  scalar = 0,      // portable C++
  avx2 = 1,        // AVX2 + FMA + F16C + BMI2
  avxvnni = 2,     // avx2 + 256-bit vpdpbusd, in its VEX or EVEX encoding
  avx512 = 3,      // AVX-512 F, BW, DQ, VL
  avx512vnni = 4,  // avx512 + vpdpbusd
  avx512vbmi = 5,  // avx512 + vpermi2b
  amx_int8 = 6,    // AMX tile + int8, permission granted
  neon = 7,        // ARMv8.0's Advanced SIMD
  dotprod = 8,     // neon + sdot, udot
  i8mm = 9,        // dotprod + smmla, usmmla, usdot
  cuda = 10,       // a CUDA device of compute capability 8.0 or higher; others beside it are those of its host
  tf32 = 11,       // beside cuda: what NVIDIA's libraries compute of f32, by factors of tf32
};
inline constexpr int kIsaCount = 12;
constexpr int count_of(Isa) { return kIsaCount; }
std::string_view name_of(Isa isa);
// Executed by a device, not by its host.
constexpr bool is_of_device(Isa isa) { return isa == Isa::cuda || isa == Isa::tf32; }

// A set of Isa.
struct IsaSet {
  std::uint32_t bits = 1;  // scalar is always there

  constexpr bool has(Isa isa) const { return (bits >> static_cast<int>(isa) & 1u) != 0; }
  constexpr bool contains(IsaSet other) const { return (bits & other.bits) == other.bits; }
  constexpr void add(Isa isa) { bits |= 1u << static_cast<int>(isa); }
  constexpr IsaSet without(Isa isa) const { return {bits & ~(1u << static_cast<int>(isa))}; }
  std::string to_string() const;  // "scalar avx2 avx512"
  bool operator==(const IsaSet&) const = default;
  static constexpr auto fields() { return std::tuple(Field{"bits", &IsaSet::bits}); }
};

struct Machine {
  std::string name;  // processor name as it reports itself, or the --target word
  IsaSet isa;
  std::int64_t l1_bytes = 32 * 1024;         // data, per core
  std::int64_t l2_bytes = 1024 * 1024;       // per core
  std::int64_t l3_bytes = 16 * 1024 * 1024;  // shared
  int cores = 1;                             // usable by this process: affinity and cgroup quota respected; of a device
                                             // its multiprocessors (cuda/cost.h)
  MachineSpeeds speeds;                      // for predictions alone: nothing that is computed depends on them

  bool operator==(const Machine&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"name", &Machine::name}, Field{"isa", &Machine::isa}, Field{"l1_bytes", &Machine::l1_bytes},
                      Field{"l2_bytes", &Machine::l2_bytes}, Field{"l3_bytes", &Machine::l3_bytes},
                      Field{"cores", &Machine::cores}, Field{"speeds", &Machine::speeds});
  }
};

// A device; what other instructions it has are those of its host, where that may stand in.
constexpr bool is_device(const Machine& machine) { return machine.isa.has(Isa::cuda); }

// The machine this process runs on (cpuid or the auxiliary vector, sysfs, affinity, cgroup quota).
const Machine& host_machine();

// Whose times say what a plan for `machine` takes: a device's own, else the host's.
inline const Machine& timed_machine(const Machine& machine) { return is_device(machine) ? machine : host_machine(); }

// The machine meant by a --target word: host, scalar, avx2, avxvnni, avx512vnni, amx, arm64-neon, arm64-dotprod,
// arm64-i8mm, cuda. Caches and cores are the host's, those of cuda an H100's. Compiling for instructions the host lacks
// is allowed; running is not.
// Error: usage, with the list of words.
Result<Machine> machine_for_target(std::string_view target);

// The processor beside a device that has it compute what there is no kernel for: its instruction sets, which are all
// that the device's machine knows of it, and usual caches and speeds. Nothing where a device has none, or of a
// processor.
std::optional<Machine> host_beside(const Machine& device);

}  // namespace octavo

#endif  // OCTAVO_BASE_MACHINE_H_
