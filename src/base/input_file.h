// A file that is read in pieces. Part of base/.
#ifndef OCTAVO_BASE_INPUT_FILE_H_
#define OCTAVO_BASE_INPUT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace octavo {

// A regular file that is read piece by piece, by any number of threads. Reading, not mapping: what was read is no
// memory of the process, and a file that is cut off meanwhile is an error, not a signal.
class InputFile {
 public:
  // Error: resource.
  static Result<InputFile> open(const std::string& path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();
  // In bytes, when it was opened.
  std::int64_t size() const { return size_; }
  // Fills `to` from that place. Error: resource, also where the file ends before.
  Status read(std::int64_t offset, std::span<std::byte> to) const;

 private:
  InputFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::string path_;
  int fd_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace octavo

#endif  // OCTAVO_BASE_INPUT_FILE_H_
