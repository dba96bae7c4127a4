// Archive: the entries of a zip file that may be hostile, checked before a byte of them is unpacked. Part of import/.
#ifndef OCTAVO_IMPORT_PT2_ARCHIVE_H_
#define OCTAVO_IMPORT_PT2_ARCHIVE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

// <zip.h>'s own type.
struct zip;

namespace octavo::pt2_import {

class Archive {
 public:
  // `file` names the archive in messages. The bytes must outlive the archive.
  static Result<Archive> open(const std::string& file);
  static Result<Archive> open(std::span<const std::byte> bytes, const std::string& file);

  // Names are relative to the one folder that holds everything, where there is one ("resnet18/archive_version").
  bool has(const std::string& name) const { return entries_.count(name) != 0; }
  std::vector<std::string> names() const;
  // What the directory says that the entry unpacks to; 0 where there is no such entry.
  std::uint64_t size_of(const std::string& name) const;
  // Of all entries together; at most kLargestRatio times the size of the file, so that memory stays in proportion to
  // it.
  std::uint64_t total_bytes() const { return total_bytes_; }

  // Unpacks a whole entry into `to`, which must have its size. Errors: it is shorter or longer than it says, or its
  // checksum is another.
  Status read(const std::string& name, std::span<std::byte> to) const;
  // The same into a string; no larger than `limit` bytes.
  Result<std::string> read_text(const std::string& name, std::uint64_t limit) const;

  std::string where(const std::string& name) const { return file_ + ": entry '" + name + "'"; }
  const std::string& file() const { return file_; }

 private:
  struct Entry {
    std::uint64_t index = 0, size = 0;
  };
  struct Closer {
    void operator()(zip* archive) const;
  };

  static Result<Archive> opened(zip* handle, int error, const std::string& file, std::uint64_t file_bytes);
  Status list_entries(std::uint64_t file_bytes);
  Status add_entry(std::uint64_t index);
  void strip_root();

  std::string file_;
  std::unique_ptr<zip, Closer> zip_;
  std::map<std::string, Entry> entries_;
  std::uint64_t total_bytes_ = 0;
};

}  // namespace octavo::pt2_import

#endif  // OCTAVO_IMPORT_PT2_ARCHIVE_H_
