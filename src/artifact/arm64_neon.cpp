// XXH3 with Advanced SIMD, which it takes by itself. Part of artifact/.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "artifact/checksum.h"

namespace octavo {

std::uint64_t hash_by_vectors(const std::byte* bytes, std::size_t size) { return XXH3_64bits(bytes, size); }

}  // namespace octavo
