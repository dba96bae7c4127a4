// Cores of aarch64 that are known by name: what --machine and predictions take them for. Part of base/.
#ifndef OCTAVO_BASE_ARM64_CORES_H_
#define OCTAVO_BASE_ARM64_CORES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/machine.h"

namespace octavo {

// Instruction sets of cores of aarch64 whose best one is `best`: neon, dotprod or i8mm.
IsaSet arm64_isa(Isa best);

// By its name as compilers spell it ("cortex-a76", "neoverse-n1"): one core as in a product that has it: clock, caches,
// instruction sets. Nothing for other names.
std::optional<Machine> arm64_core(std::string_view name);
// By its main identification register (MIDR_EL1; variant and revision do not count).
std::optional<Machine> arm64_core_of(std::uint64_t midr);
// "cortex-a53, cortex-a55, ...".
std::string arm64_core_names();

}  // namespace octavo

#endif  // OCTAVO_BASE_ARM64_CORES_H_
