// Whole files: read with a bound on memory, written so that an interruption leaves nothing half-written. Part of
// base/.
#ifndef OCTAVO_BASE_FILE_H_
#define OCTAVO_BASE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace octavo {

// Larger files are refused (resource) before memory is taken.
inline constexpr std::int64_t kMaxFileBytes = std::int64_t{1} << 33;

Result<std::vector<std::byte>> read_file(const std::string& path);

// Writes beside `path`, has the disk take it, and renames: readers see the old file or the whole new one, also after
// the machine goes down. Nothing is left behind on failure, nor by an interruption where cleanup_unfinished_files() is
// called. Devices and pipes are written in place. Error: resource, with what the system says.
Status write_file(const std::string& path, std::span<const std::byte> bytes);
Status write_text(const std::string& path, std::string_view text);

// A folder under the system's temporary one, removed with the files in it when this goes out of scope. One at a time.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> create();
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();
  // A new path in it.
  std::string next_file();

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Removes what write_file was writing, and the temporary folder, when a signal came. Async-signal-safe.
void cleanup_unfinished_files();

}  // namespace octavo

#endif  // OCTAVO_BASE_FILE_H_
