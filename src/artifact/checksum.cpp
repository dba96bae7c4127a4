// Blocks hashed by a few threads. Part of artifact/.
#include "artifact/checksum.h"

#include <sys/mman.h>
#include <xxhash.h>

#include <algorithm>
#include <vector>

#include "artifact/format.h"
#include "base/machine.h"
#include "base/parallel.h"

namespace octavo {
namespace {

constexpr int kMostThreads = 4;
constexpr std::size_t kBlocksPerThread = 2;  // fewer are not worth a thread

// Maps the pages of a file in one go instead of one fault each; a system that cannot leaves the faults.
void populate([[maybe_unused]] std::span<const std::byte> bytes) {
#ifdef MADV_POPULATE_READ
  const auto first = reinterpret_cast<std::uintptr_t>(bytes.data()) / kArtifactPage * kArtifactPage;
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(bytes.data()) + bytes.size();
  madvise(reinterpret_cast<void*>(first), end - first, MADV_POPULATE_READ);
#endif
}

std::uint64_t hash(std::span<const std::byte> bytes) {
  return host_machine().isa.has(Isa::avx2) ? hash_avx2(bytes.data(), bytes.size())
                                           : XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace

std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  const std::span<const std::byte> rest = bytes.subspan(kChecksummedFrom);
  std::vector<std::uint64_t> hashes((rest.size() + kChecksumBlock - 1) / kChecksumBlock);
  const int threads =
      std::min({kMostThreads, host_machine().cores, static_cast<int>(hashes.size() / kBlocksPerThread)});
  for_each_part(hashes.size(), threads, [&](std::size_t i) {
    const std::size_t from = i * kChecksumBlock;
    const std::span<const std::byte> block = rest.subspan(from, std::min(kChecksumBlock, rest.size() - from));
    populate(block);
    hashes[i] = hash(block);
  });
  return XXH3_64bits(hashes.data(), hashes.size() * sizeof(std::uint64_t));
}

}  // namespace octavo
