// The table of aarch64 cores. Part of base/.
#include "base/known_cores.h"

#include <algorithm>

namespace octavo {
namespace {

// Instructions on vectors of 128 bits that start in a cycle.
struct Rates {
  double vectors;  // such as add and tbl
  double fmla;     // four f32
  double smull;    // eight s8, with the sadalp that adds their products
  double smlal;    // four s16
  double udot;     // 16 bytes, likewise sdot
  double usmmla;   // 32 bytes, likewise smmla
};

struct Core {
  std::string_view name;
  std::uint32_t part;  // implementer and part number of MIDR_EL1
  Isa isa;             // the best that it has
  Rates rates;
  double gigahertz;
  std::int64_t l1, l2, l3;  // KB; l3: of all cores together
};

// Rates: Arm's Software Optimization Guides, which LLVM's scheduling models (AArch64Sched*.td, llvm-mca) restate; of
// the A53 and A55, which execute in order, what LLVM's models say that the loops of tiles reach, but for udot, whose
// tiles know how long they wait. Cores without an instruction have 0. Clocks and caches: data sheets of the products.
constexpr Core kCores[] = {
    {"cortex-a53", 0x41d03, Isa::neon, {1, 0.53, 0.36, 0.83, 0, 0}, 1.4, 32, 512, 512},      // Raspberry Pi 3B+
    {"cortex-a55", 0x41d05, Isa::dotprod, {1, 0.95, 0.45, 0.83, 1, 0}, 1.8, 32, 128, 3072},  // RK3588
    {"cortex-a72", 0x41d08, Isa::neon, {2, 1, 1, 1, 0, 0}, 2.3, 32, 512, 2048},              // Graviton
    {"cortex-a76", 0x41d0b, Isa::dotprod, {2, 2, 1, 1, 2, 0}, 2.4, 64, 512, 2048},           // Raspberry Pi 5
    {"cortex-a77", 0x41d0d, Isa::dotprod, {2, 2, 1, 1, 2, 0}, 2.4, 64, 256, 4096},           // Snapdragon 865
    {"cortex-a78", 0x41d41, Isa::dotprod, {2, 2, 1, 1, 2, 0}, 2.2, 64, 256, 4096},           // Jetson Orin
    {"cortex-x1", 0x41d44, Isa::dotprod, {4, 4, 2, 2, 4, 0}, 2.8, 64, 1024, 4096},           // Tensor
    {"cortex-x2", 0x41d48, Isa::i8mm, {4, 4, 2, 2, 4, 4}, 3.0, 64, 1024, 6144},              // Snapdragon 8 Gen 1
    {"neoverse-n1", 0x41d0c, Isa::dotprod, {2, 2, 1, 1, 2, 0}, 2.5, 64, 1024, 32768},        // Graviton2
    {"neoverse-n2", 0x41d49, Isa::i8mm, {2, 2, 1, 1, 2, 2}, 2.75, 64, 1024, 65536},          // Yitian 710
    {"neoverse-v1", 0x41d40, Isa::i8mm, {4, 4, 2, 2, 4, 4}, 2.6, 64, 1024, 32768},           // Graviton3
    {"neoverse-v2", 0x41d4f, Isa::i8mm, {4, 4, 2, 2, 4, 4}, 2.8, 64, 2048, 36864},           // Graviton4
};

Machine machine_of(const Core& core) {
  Machine machine{.name = std::string(core.name),
                  .isa = arm64_isa(core.isa),
                  .l1_bytes = core.l1 * 1024,
                  .l2_bytes = core.l2 * 1024,
                  .l3_bytes = core.l3 * 1024};
  MachineSpeeds& speeds = machine.speeds;
  speeds.gigahertz = core.gigahertz;
  speeds.vectors_per_cycle = core.rates.vectors;
  const auto set = [&](double MachineSpeeds::*speed, double instructions, double macs) {
    if (instructions > 0) speeds.*speed = core.gigahertz * instructions * macs;
  };
  set(&MachineSpeeds::fmla_gmacs, core.rates.fmla, 4);
  set(&MachineSpeeds::smull_gmacs, core.rates.smull, 8);
  set(&MachineSpeeds::smlal_gmacs, core.rates.smlal, 4);
  set(&MachineSpeeds::udot_gmacs, core.rates.udot, 16);
  set(&MachineSpeeds::usmmla_gmacs, core.rates.usmmla, 32);
  return machine;
}

template <class Matches>
std::optional<Machine> find(const Matches& matches) {
  const auto* const core = std::ranges::find_if(kCores, matches);
  return core == std::end(kCores) ? std::nullopt : std::optional(machine_of(*core));
}

}  // namespace

IsaSet arm64_isa(Isa best) {
  IsaSet isa;
  for (const Isa each : {Isa::neon, Isa::dotprod, Isa::i8mm}) {
    if (each <= best) isa.add(each);
  }
  return isa;
}

std::optional<Machine> arm64_core(std::string_view name) {
  return find([&](const Core& core) { return core.name == name; });
}

std::optional<Machine> arm64_core_of(std::uint64_t midr) {
  const auto part = static_cast<std::uint32_t>((midr >> 24 & 0xff) << 12 | (midr >> 4 & 0xfff));
  return find([&](const Core& core) { return core.part == part; });
}

std::string arm64_core_names() {
  std::string names;
  for (const Core& core : kCores) names += (names.empty() ? "" : ", ") + std::string(core.name);
  return names;
}

}  // namespace octavo
