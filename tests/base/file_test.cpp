// Files that are written whole or not at all. Part of tests/base/.
#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "support/child.h"

namespace {

// The disk of this program, as the C library's functions would tell of it.
std::atomic<int> syncs{0};
std::atomic<bool> is_sync_refused{false}, is_close_refused{false};

}  // namespace

extern "C" int fsync(int fd) {
  ++syncs;
  if (is_sync_refused) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

extern "C" int close(int fd) {
  const int result = static_cast<int>(::syscall(SYS_close, fd));
  if (!is_close_refused) return result;
  errno = EDQUOT;
  return -1;
}

namespace octavo {
namespace {

using testing::ScratchFolder;

TEST(WriteFile, ReplacesAndSyncs) {
  const ScratchFolder folder;
  folder.write("a", "old");
  syncs = 0;
  ASSERT_TRUE(write_text(folder.path("a"), "new"));
  EXPECT_EQ(testing::read_bytes(folder.path("a")), "new");
  EXPECT_EQ(syncs, 2) << "the file, then the folder";
  EXPECT_EQ(folder.names(), std::set<std::string>{"a"});
}

TEST(WriteFile, AFailureLeavesTheOldFile) {
  const ScratchFolder folder;
  folder.write("a", "old");
  for (std::atomic<bool>* refused : {&is_sync_refused, &is_close_refused}) {
    *refused = true;
    const Status status = write_text(folder.path("a"), "new");
    *refused = false;
    ASSERT_FALSE(status);
    EXPECT_EQ(status.errors()[0].kind, ErrorKind::resource);
    EXPECT_EQ(testing::read_bytes(folder.path("a")), "old");
    EXPECT_EQ(folder.names(), std::set<std::string>{"a"});
  }
}

TEST(WriteFile, SaysWhatTheSystemSays) {
  EXPECT_NE(to_string(write_text("/dev/full", "x").errors()).find("No space left"), std::string::npos);
  EXPECT_NE(to_string(write_text("/no/such/folder/x", "x").errors()).find("No such file"), std::string::npos);
  EXPECT_NE(to_string(write_text(std::string(5000, 'x'), "x").errors()).find("too long"), std::string::npos);
  EXPECT_TRUE(write_text("/dev/null", "x"));
}

}  // namespace
}  // namespace octavo
