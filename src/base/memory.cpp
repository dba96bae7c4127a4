// Anonymous mappings. Part of base/.
#include "base/memory.h"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>

namespace octavo {
namespace {

constexpr std::uint64_t kHugePage = 2 * 1024 * 1024;

}  // namespace

void Unmap::operator()(std::byte* memory) const { munmap(memory, bytes); }

Result<MappedMemory> map_zeros(std::uint64_t bytes) {
  const std::size_t size = std::max<std::uint64_t>(bytes, 1);
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return Error{.kind = ErrorKind::resource,
                 .where = "memory",
                 .found = "a machine that refuses " + std::to_string(bytes) + " bytes"};
  }
  // A hint: fewer misses of the address translation.
  if (size >= kHugePage) madvise(memory, size, MADV_HUGEPAGE);
  return MappedMemory(static_cast<std::byte*>(memory), Unmap{size});
}

void release_freed_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace octavo
