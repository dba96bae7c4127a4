// There is no AMX to emulate on aarch64. For tests only.
#include "support/amx_emulator.h"

namespace octavo::testing {

AmxEmulation::AmxEmulation() = default;
AmxEmulation::~AmxEmulation() = default;
bool AmxEmulation::is_needed() { return true; }
bool AmxEmulation::is_possible() { return false; }
std::uint64_t AmxEmulation::trapped() { return 0; }
int AmxEmulation::threads() { return 0; }
bool AmxEmulation::is_released() { return true; }

}  // namespace octavo::testing
