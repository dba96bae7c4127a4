// What is in a SharedCache is shared while somebody has it and forgotten afterwards. Tests of kernels/.
#include "kernels/shared_cache.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/jit/code.h"

namespace octavo {
namespace {

Result<std::shared_ptr<const Code>> emit(const int&) {
  constexpr std::uint8_t kReturn[] = {0xc3};
  return Code::create(kReturn);
}

TEST(SharedCache, SharesWhatIsInUseAndForgetsTheRest) {
  SharedCache<int, Code> cache;
  const auto kept = cache.find(1, emit);
  ASSERT_TRUE(kept) << to_string(kept.errors());
  EXPECT_EQ(*cache.find(1, emit), *kept);
  for (int config = 2; config < 100; ++config) ASSERT_TRUE(cache.find(config, emit));
  EXPECT_LE(cache.size(), 2u) << "the one in use and the last one";
  EXPECT_EQ(*cache.find(1, emit), *kept);
}

}  // namespace
}  // namespace octavo
