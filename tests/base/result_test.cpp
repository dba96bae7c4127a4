// How errors read, and which exit code they give.
#include "base/result.h"

#include <gtest/gtest.h>

namespace octavo {
namespace {

TEST(Result, MessageLeavesOutWhatIsEmpty) {
  EXPECT_EQ((Error{.where = "node 'a'", .found = "2", .expected = "3", .hint = "Export again"}).message(),
            "node 'a': found 2, expected 3. Export again");
  EXPECT_EQ((Error{.expected = "3"}).message(), "expected 3");
  EXPECT_EQ((Error{.where = "file"}).message(), "file");
}

TEST(Result, ExitCodeIsThatOfTheFirstError) {
  const auto code = [](ErrorKind kind) { return exit_code({Error{.kind = kind}, Error{.kind = ErrorKind::usage}}); };
  EXPECT_EQ(code(ErrorKind::usage), 2);
  EXPECT_EQ(code(ErrorKind::invalid_input), 3);
  EXPECT_EQ(code(ErrorKind::unsupported), 4);
  EXPECT_EQ(code(ErrorKind::resource), 5);
  EXPECT_EQ(code(ErrorKind::internal), 70);
  EXPECT_EQ(exit_code({}), 0);
}

TEST(Result, HoldsAValueOrErrors) {
  const Result<int> good = 3;
  EXPECT_TRUE(good.ok());
  EXPECT_EQ(*good, 3);
  const Result<int> bad = Error{.where = "x"};
  ASSERT_FALSE(bad);
  EXPECT_EQ(to_string(bad.errors()), "x");
  EXPECT_TRUE(ok_status().ok());
}

}  // namespace
}  // namespace octavo
