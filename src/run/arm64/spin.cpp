// Pausing on aarch64. Part of run/.
#include "run/spin.h"

namespace octavo {

// Not `yield`, which takes no time on cores that run one thread.
void spin_pause() { asm volatile("isb" ::: "memory"); }

}  // namespace octavo
