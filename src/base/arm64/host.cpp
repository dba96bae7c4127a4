// What Linux says of this processor: the auxiliary vector, and the numbers of cores in sysfs, which a system may keep
// to itself. Part of base/.
#include "base/host.h"

#include <sys/auxv.h>

#include <array>
#include <charconv>
#include <utility>

namespace octavo {
namespace {

// MIDR_EL1 without revisions: implementer and part.
constexpr std::array<std::pair<std::uint32_t, const char*>, 14> kCores = {{{0x41d03, "Cortex-A53"},
                                                                           {0x41d05, "Cortex-A55"},
                                                                           {0x41d08, "Cortex-A72"},
                                                                           {0x41d0b, "Cortex-A76"},
                                                                           {0x41d0c, "Neoverse N1"},
                                                                           {0x41d0d, "Cortex-A77"},
                                                                           {0x41d41, "Cortex-A78"},
                                                                           {0x41d40, "Neoverse V1"},
                                                                           {0x41d44, "Cortex-X1"},
                                                                           {0x41d48, "Cortex-X2"},
                                                                           {0x41d49, "Neoverse N2"},
                                                                           {0x41d4f, "Neoverse V2"},
                                                                           {0x61022, "Apple M1"},
                                                                           {0xc0ac3, "Ampere-1"}}};

}  // namespace

IsaSet detected_isa() { return isa_of(HardwareWords{.hwcap = getauxval(AT_HWCAP), .hwcap2 = getauxval(AT_HWCAP2)}); }

std::string processor_name() {
  const std::string text = read_system_file("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1").value_or("");
  std::uint64_t midr = 0;
  if (text.starts_with("0x")) std::from_chars(text.data() + 2, text.data() + text.size(), midr, 16);
  const auto core = static_cast<std::uint32_t>((midr >> 24 & 0xff) << 12 | (midr >> 4 & 0xfff));
  for (const auto& [number, name] : kCores) {
    if (number == core) return name;
  }
  return "aarch64 processor";
}

}  // namespace octavo
