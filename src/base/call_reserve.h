// Memory for libraries that allocate small blocks in every call and free them before it returns. Part of base/.
//
// oneDNN 2.6 makes its table of arguments anew in each call of a primitive: a block per argument and two more, some 400
// bytes, all by operator new. While a CallReserve lives, a program whose operator new asks here first
// (src/program/operator_new.cpp) serves them from memory that the process has had since its start. In any other program
// a CallReserve does nothing.
#ifndef OCTAVO_BASE_CALL_RESERVE_H_
#define OCTAVO_BASE_CALL_RESERVE_H_

#include <cstddef>

namespace octavo {

// Bytes of one reserve, and how many may live at once in a process; whoever asks for more gets none.
inline constexpr std::size_t kReserveBytes = 1024;
inline constexpr std::size_t kReserves = 256;

struct Reserve;

// What this thread allocates meanwhile comes from a reserve of its own.
class CallReserve {
 public:
  CallReserve() noexcept;
  ~CallReserve();
  CallReserve(const CallReserve&) = delete;
  CallReserve& operator=(const CallReserve&) = delete;

 private:
  Reserve* mine_;
  Reserve* outer_;
};

// For operator new: a block aligned like malloc's, or nullptr where this thread has no reserve or it is used up.
void* take_from_reserve(std::size_t bytes) noexcept;
// For operator delete, on any thread: false where the block came from elsewhere.
bool return_to_reserve(void* block) noexcept;

}  // namespace octavo

#endif  // OCTAVO_BASE_CALL_RESERVE_H_
