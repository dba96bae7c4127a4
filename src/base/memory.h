// Zeroed memory straight from the system. Part of base/.
#ifndef OCTAVO_BASE_MEMORY_H_
#define OCTAVO_BASE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/result.h"

namespace octavo {

// Returns to the system what it was given.
struct Unmap {
  std::size_t bytes = 0;
  void operator()(std::byte* memory) const;
};
using MappedMemory = std::unique_ptr<std::byte, Unmap>;

// Page-aligned zeros, taken from the machine page by page as they are touched, so that a size that a file merely claims
// costs nothing. Error: resource.
Result<MappedMemory> map_zeros(std::uint64_t bytes);

// What was freed goes back to the system now, also where it lies between what is kept. For whoever has freed much.
void release_freed_memory();

}  // namespace octavo

#endif  // OCTAVO_BASE_MEMORY_H_
