// The checksum of files of several blocks. Tests of artifact/.
#include "artifact/checksum.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <random>
#include <vector>

#include "artifact/format.h"
#include "base/machine.h"

namespace octavo {
namespace {

std::vector<std::byte> random_bytes(std::size_t size) {
  std::mt19937 random(1);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

TEST(Checksum, TheSameNumbersWithWiderInstructions) {
  const IsaSet isa = host_machine().isa;
  if (!isa.has(Isa::avx2) && !isa.has(Isa::neon)) GTEST_SKIP() << "needs avx2 or neon";
  const std::vector<std::byte> bytes = random_bytes(70000);
  for (std::size_t size = 0; size < bytes.size(); size = size * 5 / 4 + 1) {
    EXPECT_EQ(hash_by_vectors(bytes.data() + 1, size), XXH3_64bits(bytes.data() + 1, size)) << size << " bytes";
  }
}

TEST(Checksum, CoversEveryBlockInItsPlace) {
  std::vector<std::byte> bytes = random_bytes(kChecksummedFrom + 3 * kChecksumBlock + 17);
  const std::uint64_t right = checksum_of_file(bytes);
  EXPECT_EQ(checksum_of_file(bytes), right);
  for (std::size_t at = kChecksummedFrom; at < bytes.size(); at += kChecksumBlock / 2 + 1) {
    bytes[at] ^= std::byte{0x10};
    EXPECT_NE(checksum_of_file(bytes), right) << "byte " << at;
    bytes[at] ^= std::byte{0x10};
  }
  bytes.back() ^= std::byte{1};
  EXPECT_NE(checksum_of_file(bytes), right);
  bytes.back() ^= std::byte{1};
  const auto block = bytes.begin() + kChecksummedFrom;
  std::swap_ranges(block, block + kChecksumBlock, block + kChecksumBlock);
  EXPECT_NE(checksum_of_file(bytes), right) << "two blocks changed places";
  bytes[0] ^= std::byte{1};
  std::swap_ranges(block, block + kChecksumBlock, block + kChecksumBlock);
  EXPECT_EQ(checksum_of_file(bytes), right) << "what stands before the checksum has checks of its own";
}

}  // namespace
}  // namespace octavo
