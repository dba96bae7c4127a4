// Pausing on x86. Part of run/.
#include "run/spin.h"

namespace octavo {

void spin_pause() { __builtin_ia32_pause(); }

}  // namespace octavo
