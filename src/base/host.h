// What the processor and the system say of this machine, read from their answers alone. Part of base/.
#ifndef OCTAVO_BASE_HOST_H_
#define OCTAVO_BASE_HOST_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/machine.h"

namespace octavo {

// The registers of cpuid and xgetbv that instruction sets are told by.
struct CpuFeatures {
  std::uint32_t leaf1_ecx = 0;
  std::uint32_t leaf7_ebx = 0, leaf7_ecx = 0, leaf7_edx = 0;
  std::uint32_t leaf7_1_eax = 0;
  std::uint64_t saved_state = 0;      // XCR0: what the system saves of a thread; 0 without OSXSAVE
  bool (*may_use_tiles)() = nullptr;  // asks the system for AMX; called only where the processor has it
};
IsaSet isa_of(const CpuFeatures& cpu);

// The words of the auxiliary vector that say so on aarch64, as Linux numbers their bits.
struct HardwareWords {
  std::uint64_t hwcap = 0, hwcap2 = 0;
};
IsaSet isa_of(const HardwareWords& words);

// Whether some instruction of `a` belongs to x86 and some of `b` to aarch64, or the other way round: no machine has
// both.
bool are_of_two_processors(IsaSet a, IsaSet b);

// What only the processor that this program is built for can be asked: of x86/ or arm64/.
// Its name and instruction sets; where the processor is one of known_cores.h, also caches and speeds.
Machine detected_processor();

// A file of the kernel's, which has no size before it is read.
std::optional<std::string> read_system_file(const std::string& path);

// The text of a file, or nothing where it cannot be read.
using ReadFile = std::function<std::optional<std::string>(const std::string& path)>;

// The processor time that control groups leave this process, in whole cores, rounded up, at least 1: the least of its
// own group's limit and those of all groups around it, in version 2 (cpu.max) and 1 (cpu.cfs_quota_us). Nothing where
// no group has a limit. Reads /proc/self/cgroup, /proc/self/mountinfo and the files that these lead to.
std::optional<int> quota_cores(const ReadFile& read);

}  // namespace octavo

#endif  // OCTAVO_BASE_HOST_H_
