// How a thread waits that looks at memory again and again. Part of run/.
#ifndef OCTAVO_RUN_SPIN_H_
#define OCTAVO_RUN_SPIN_H_

namespace octavo {

// Some ten nanoseconds in which the core leaves what it has to others of the same one. Of x86/ or arm64/.
void spin_pause();

}  // namespace octavo

#endif  // OCTAVO_RUN_SPIN_H_
