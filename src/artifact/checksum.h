// The checksum of an .octv file: against accidents, not against attackers. Part of artifact/.
#ifndef OCTAVO_ARTIFACT_CHECKSUM_H_
#define OCTAVO_ARTIFACT_CHECKSUM_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace octavo {

// XXH3 (64 bits, little-endian) of the XXH3s of blocks, so that threads can share the work.
inline constexpr std::size_t kChecksumBlock = std::size_t{1} << 20;

// Of everything behind the header's checksum but the section of weights, where the table has one that lies in the file.
// `file`: the whole, at least a header long.
std::uint64_t checksum_of_file(std::span<const std::byte> file);

// Of the weights.
std::uint64_t checksum_of(std::span<const std::byte> bytes);

// XXH3 (64 bits) of bytes, on a machine with AVX2 or NEON.
std::uint64_t hash_by_vectors(const std::byte* bytes, std::size_t size);

}  // namespace octavo

#endif  // OCTAVO_ARTIFACT_CHECKSUM_H_
