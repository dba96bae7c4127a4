// Reading and writing whole files. Part of base/.
#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>

#include "base/input_file.h"

namespace octavo {
namespace {

// The file that write_file is writing, for cleanup in a signal handler. Files are written one at a time.
constexpr std::size_t kMaxPath = 4096;
std::mutex write_mutex;
char unfinished_path[kMaxPath];
std::atomic<bool> has_unfinished{false};

// The temporary folder, for the same; its files are named "0", "1", ...
char temporary_folder[kMaxPath];
std::atomic<int> temporary_files{-1};  // -1: no folder

void remove_temporary_folder() {
  const int count = temporary_files.exchange(-1);
  if (count < 0) return;
  char path[kMaxPath + 16];
  const std::size_t length = std::strlen(temporary_folder);
  std::memcpy(path, temporary_folder, length);
  path[length] = '/';
  for (int i = 0; i < count; ++i) {
    // Decimal digits by hand: nothing of stdio may be called in a signal handler.
    char* at = path + length + 1;
    int unit = 1;
    while (i / unit >= 10) unit *= 10;
    for (; unit > 0; unit /= 10) *at++ = static_cast<char>('0' + i / unit % 10);
    *at = '\0';
    ::unlink(path);
  }
  ::rmdir(temporary_folder);
}

Error resource_error(const std::string& path, const char* doing) {
  return {.kind = ErrorKind::resource, .where = path, .found = std::string(doing) + ": " + std::strerror(errno)};
}

bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

// Where the bytes go after they were written: a disk has them when this is over, a device or pipe cannot say.
enum class Kind { file, special };

// Writes all that the descriptor is to get, and closes it. Every step may be the one that the disk is too full for;
// errno says why.
bool write_and_close(int fd, std::span<const std::byte> bytes, Kind kind) {
  if (fd < 0) return false;
  const bool is_written = write_all(fd, bytes) && (kind == Kind::special || ::fsync(fd) == 0);
  const int error = errno;
  if (::close(fd) != 0) return false;
  if (!is_written) errno = error;
  return is_written;
}

// A device or pipe, as /dev/stdout: a rename would put a file in its place.
bool is_special(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

// Makes a rename durable; file systems that cannot sync a folder are left alone.
void sync_folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int fd = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

bool replace(const std::string& path, const std::string& temporary, std::span<const std::byte> bytes) {
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  return write_and_close(fd, bytes, Kind::file) && std::rename(temporary.c_str(), path.c_str()) == 0;
}

}  // namespace

Result<std::vector<std::byte>> read_file(const std::string& path) {
  const auto file = InputFile::open(path);
  if (!file) return file.errors();
  if (file->size() > kMaxFileBytes) {
    return Error{.kind = ErrorKind::resource,
                 .where = path,
                 .found = std::to_string(file->size()) + " bytes",
                 .expected = "at most 8 GiB"};
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(file->size()));
  if (const Status read = file->read(0, bytes); !read) return read.errors();
  return bytes;
}

Status write_file(const std::string& path, std::span<const std::byte> bytes) {
  const auto failed = [&] { return resource_error(path, "cannot be written"); };
  if (is_special(path)) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    return write_and_close(fd, bytes, Kind::special) ? ok_status() : Status(failed());
  }
  const std::string temporary = path + ".partial" + std::to_string(::getpid());
  if (temporary.size() >= kMaxPath) {
    errno = ENAMETOOLONG;
    return failed();
  }
  const std::lock_guard lock(write_mutex);
  std::memcpy(unfinished_path, temporary.c_str(), temporary.size() + 1);
  has_unfinished = true;
  Status status = ok_status();
  if (!replace(path, temporary, bytes)) {
    status = failed();
    ::unlink(temporary.c_str());
  }
  has_unfinished = false;
  if (status) sync_folder_of(path);
  return status;
}

Status write_text(const std::string& path, std::string_view text) {
  return write_file(path, std::as_bytes(std::span(text.data(), text.size())));
}

Result<TemporaryFolder> TemporaryFolder::create() {
  const char* parent = std::getenv("TMPDIR");
  std::string path = std::string(parent != nullptr && *parent != '\0' ? parent : "/tmp") + "/octavo-XXXXXX";
  if (path.size() >= kMaxPath || ::mkdtemp(path.data()) == nullptr) return resource_error(path, "cannot be made");
  std::memcpy(temporary_folder, path.c_str(), path.size() + 1);
  temporary_files = 0;
  return TemporaryFolder(std::move(path));
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::move(other.path_)) {
  other.path_.clear();
}

TemporaryFolder::~TemporaryFolder() {
  if (!path_.empty()) remove_temporary_folder();
}

std::string TemporaryFolder::next_file() { return path_ + "/" + std::to_string(temporary_files++); }

void cleanup_unfinished_files() {
  if (has_unfinished) ::unlink(unfinished_path);
  remove_temporary_folder();
}

}  // namespace octavo
