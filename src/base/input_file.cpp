// Reading at any place of a file. Part of base/.
#include "base/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace octavo {
namespace {

Error unreadable(const std::string& path) {
  return {.kind = ErrorKind::resource, .where = path, .found = std::string("cannot be read: ") + std::strerror(errno)};
}

}  // namespace

Result<InputFile> InputFile::open(const std::string& path) {
  InputFile file(path, ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (file.fd_ < 0 || ::fstat(file.fd_, &info) != 0) return unreadable(path);
  if (!S_ISREG(info.st_mode))
    return Error{.kind = ErrorKind::resource, .where = path, .found = "no regular file", .expected = "a file"};
  file.size_ = info.st_size;
  return file;
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

Status InputFile::read(std::int64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t got = ::pread(fd_, to.data(), to.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable(path_);
    if (got == 0) {
      return Error{.kind = ErrorKind::resource,
                   .where = path_,
                   .found = "an end after " + std::to_string(offset) + " bytes",
                   .expected = "the " + std::to_string(size_) + " bytes that it had when it was opened"};
    }
    to = to.subspan(static_cast<std::size_t>(got));
    offset += got;
  }
  return ok_status();
}

}  // namespace octavo
