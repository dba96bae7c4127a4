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

constexpr std::uint64_t round_to_page(std::uint64_t bytes) {
  return (bytes + kArtifactPage - 1) / kArtifactPage * kArtifactPage;
}

struct ArtifactHeader {
  std::array<unsigned char, 8> magic = kArtifactMagic;
  std::uint32_t version = 0;
  std::uint32_t reserved = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t checksum = 0;  // of everything after this field but the weights: checksum.h
  std::uint64_t sections = 0;  // entries of the table that follows
};
static_assert(sizeof(ArtifactHeader) == 40 && std::is_trivially_copyable_v<ArtifactHeader>);
inline constexpr std::size_t kChecksummedFrom = offsetof(ArtifactHeader, sections);

enum class SectionType : std::uint32_t {
  model = 1,      // where it came from
  plans = 2,      // std::vector<Plan>
  reports = 3,    // std::vector<PlanReport>, by plan; may be missing
  constants = 4,  // on a page
  network = 5,    // OpenNetwork; missing where no size is open
  weights = 6,    // of that: where the constants begin, with a checksum of their own
  program = 7,    // Program; missing where a model is one network
  networks = 8,   // of that: files like this one, each on a page, one for each network
  states = 9,     // inputs that keep values from run to run; may be missing
  packings = 10,  // std::vector<StoredPacking>: what kernels made of the network's weights; may be missing
};

struct ArtifactSection {
  SectionType type = {};
  std::uint32_t reserved = 0;
  std::uint64_t offset = 0;  // in the file
  std::uint64_t bytes = 0;
};
static_assert(sizeof(ArtifactSection) == 24 && std::is_trivially_copyable_v<ArtifactSection>);

}  // namespace octavo

#endif  // OCTAVO_ARTIFACT_FORMAT_H_
