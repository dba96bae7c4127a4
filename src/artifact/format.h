// The fixed part of an .octv file. Part of artifact/.
#ifndef OCTAVO_ARTIFACT_FORMAT_H_
#define OCTAVO_ARTIFACT_FORMAT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace octavo {

// Like PNG's: a byte that is no text, the name, and line ends that a text-mode transfer would damage.
inline constexpr std::array<unsigned char, 8> kArtifactMagic = {0x89, 'O', 'C', 'T', 'V', '\r', '\n', 0x1a};
// Constants start on a page: the whole file is mapped, and pages are whole cache lines.
inline constexpr std::uint64_t kArtifactPage = 4096;

struct ArtifactSection {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct ArtifactHeader {
  std::array<unsigned char, 8> magic = kArtifactMagic;
  std::uint32_t version = 0;
  std::uint32_t reserved = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t checksum = 0;  // of everything after this field: checksum.h
  ArtifactSection metadata;
  ArtifactSection constants;
};
static_assert(sizeof(ArtifactHeader) == 64 && std::is_trivially_copyable_v<ArtifactHeader>);
inline constexpr std::size_t kChecksummedFrom = offsetof(ArtifactHeader, metadata);

}  // namespace octavo

#endif  // OCTAVO_ARTIFACT_FORMAT_H_
