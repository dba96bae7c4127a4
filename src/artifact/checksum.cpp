// Blocks hashed by a few threads. Part of artifact/.
#include "artifact/checksum.h"

#include <sys/mman.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
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
  const IsaSet isa = host_machine().isa;
  const bool has_vectors = isa.has(Isa::avx2) || isa.has(Isa::neon);
  return has_vectors ? hash_by_vectors(bytes.data(), bytes.size()) : XXH3_64bits(bytes.data(), bytes.size());
}

using View = std::span<const std::byte>;

std::vector<View> blocks_of(std::initializer_list<View> parts) {
  std::vector<View> blocks;
  for (View part : parts) {
    for (; !part.empty(); part = part.subspan(blocks.back().size()))
      blocks.push_back(part.first(std::min(kChecksumBlock, part.size())));
  }
  return blocks;
}

std::uint64_t checksum(const std::vector<View>& blocks) {
  std::vector<std::uint64_t> hashes(blocks.size());
  const int threads =
      std::min({kMostThreads, host_machine().cores, static_cast<int>(hashes.size() / kBlocksPerThread)});
  for_each_part(hashes.size(), threads, [&](std::size_t i) {
    populate(blocks[i]);
    hashes[i] = hash(blocks[i]);
  });
  return XXH3_64bits(hashes.data(), hashes.size() * sizeof(std::uint64_t));
}

// Of a table that may be anything.
View weights_of(View file) {
  ArtifactHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  const std::uint64_t most = (file.size() - sizeof header) / sizeof(ArtifactSection);
  for (std::uint64_t i = 0; i < std::min(header.sections, most); ++i) {
    ArtifactSection section;
    std::memcpy(&section, file.data() + sizeof header + i * sizeof section, sizeof section);
    const bool is_inside = section.offset >= kChecksummedFrom && section.offset <= file.size() &&
                           section.bytes <= file.size() - section.offset;
    if (section.type == SectionType::weights && is_inside) return file.subspan(section.offset, section.bytes);
  }
  return {};
}

}  // namespace

std::uint64_t checksum_of_file(View file) {
  const View weights = weights_of(file);
  if (weights.empty()) return checksum(blocks_of({file.subspan(kChecksummedFrom)}));
  const auto before = static_cast<std::size_t>(weights.data() - file.data());
  return checksum(
      blocks_of({file.subspan(kChecksummedFrom, before - kChecksummedFrom), file.subspan(before + weights.size())}));
}

std::uint64_t checksum_of(View bytes) { return checksum(blocks_of({bytes})); }

}  // namespace octavo
