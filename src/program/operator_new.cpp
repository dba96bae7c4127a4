// operator new and delete of a program that runs fp32 plans without allocating: reserves first, then malloc as ever.
// Part of program/.
//
// Replacing them is the program's right alone (they are one for the whole process), so this is in no library: a program
// links it where it wants that promise, as octavo itself does. The other forms (arrays, nothrow) end in these; those
// with an alignment keep to themselves.
#include <cstdlib>
#include <new>

#include "base/call_reserve.h"

void* operator new(std::size_t bytes) {
  if (void* reserved = octavo::take_from_reserve(bytes)) return reserved;
  while (true) {
    if (void* block = std::malloc(bytes == 0 ? 1 : bytes)) return block;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void operator delete(void* block) noexcept {
  if (!octavo::return_to_reserve(block)) std::free(block);
}

void operator delete(void* block, std::size_t) noexcept { ::operator delete(block); }
