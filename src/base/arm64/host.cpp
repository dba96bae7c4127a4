// What Linux says of this processor: the auxiliary vector, and its main identification register, which the system lets
// programs read or has in sysfs, which it may keep to itself. Part of base/.
#include "base/host.h"

#include <sys/auxv.h>

#include <charconv>

#include "base/known_cores.h"

namespace octavo {
namespace {

// Of the core that this thread is on; 0 where nobody says.
std::uint64_t identification() {
  constexpr std::uint64_t kMayReadRegisters = 1 << 11;  // HWCAP_CPUID
  std::uint64_t midr = 0;
  if ((getauxval(AT_HWCAP) & kMayReadRegisters) != 0) {
    asm("mrs %0, midr_el1" : "=r"(midr));
    return midr;
  }
  const std::string text = read_system_file("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1").value_or("");
  if (text.starts_with("0x")) std::from_chars(text.data() + 2, text.data() + text.size(), midr, 16);
  return midr;
}

}  // namespace

Machine detected_processor() {
  Machine machine = arm64_core_of(identification()).value_or(Machine{.name = "aarch64 processor"});
  machine.isa = isa_of(HardwareWords{.hwcap = getauxval(AT_HWCAP), .hwcap2 = getauxval(AT_HWCAP2)});
  return machine;
}

}  // namespace octavo
