// .octv -> CompiledModel, from files that may be damaged. Part of artifact/.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "artifact/artifact.h"
#include "artifact/checksum.h"
#include "artifact/format.h"
#include "artifact/metadata.h"

namespace octavo {
namespace {

Error damaged(const std::string& name, std::string found, std::string expected, std::string hint = {}) {
  return {.kind = ErrorKind::invalid_input,
          .where = name,
          .found = std::move(found),
          .expected = std::move(expected),
          .hint = std::move(hint)};
}

std::string hex(std::uint64_t value) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t i = 0; i < 16; ++i) text[15 - i] = digits[value >> (4 * i) & 15];
  return text;
}

bool lies_within(const ArtifactSection& section, std::uint64_t file_bytes) {
  return section.offset >= sizeof(ArtifactHeader) && section.offset <= file_bytes &&
         section.bytes <= file_bytes - section.offset;
}

Status check_header(const ArtifactHeader& header, std::span<const std::byte> bytes, const std::string& name) {
  if (header.version != kArtifactVersion) {
    return damaged(name, "an .octv file of format version " + std::to_string(header.version),
                   "version " + std::to_string(kArtifactVersion), "Compile the model again with this release");
  }
  if (header.file_bytes > bytes.size()) {
    return damaged(name, "a truncated .octv file of " + std::to_string(bytes.size()) + " bytes",
                   std::to_string(header.file_bytes) + " bytes");
  }
  if (header.file_bytes < bytes.size()) {
    return damaged(name, std::to_string(bytes.size() - header.file_bytes) + " bytes after the end of an .octv file",
                   std::to_string(header.file_bytes) + " bytes in all");
  }
  if (const std::uint64_t actual = checksum_of(bytes); header.checksum != actual) {
    return damaged(name, "a damaged .octv file with checksum " + hex(actual), hex(header.checksum),
                   "Copy or compile it again");
  }
  if (header.reserved != 0 || !lies_within(header.metadata, bytes.size()) ||
      !lies_within(header.constants, bytes.size()) || header.constants.offset % kArtifactPage != 0) {
    return damaged(name, "a section table that points outside the .octv file",
                   "sections inside " + std::to_string(bytes.size()) + " bytes");
  }
  return ok_status();
}

// Everything but the constants' memory; `constants` points into `bytes`.
Result<CompiledModel> parse(std::span<const std::byte> bytes, const std::string& name) {
  if (!looks_like_artifact(bytes)) return damaged(name, "something else", "an .octv file");
  if (bytes.size() < sizeof(ArtifactHeader)) {
    return damaged(name, "a truncated .octv file of " + std::to_string(bytes.size()) + " bytes",
                   "a header of " + std::to_string(sizeof(ArtifactHeader)) + " bytes");
  }
  ArtifactHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (Status status = check_header(header, bytes, name); !status) return status.errors();
  auto metadata = decode_all<ArtifactMetadata>(bytes.subspan(header.metadata.offset, header.metadata.bytes));
  if (!metadata) return damaged(name, "metadata that cannot be decoded", "the metadata of an .octv file");
  CompiledModel model;
  model.source = std::move(metadata->source);
  model.dialect = std::move(metadata->dialect);
  model.machine = std::move(metadata->machine);
  model.needs = metadata->needs;
  model.source_nodes = metadata->source_nodes;
  model.plans = std::move(metadata->plans);
  model.constants = bytes.subspan(header.constants.offset, header.constants.bytes);
  return model;
}

Error unreadable(const std::string& path, int error) {
  return {
      .kind = ErrorKind::resource, .where = path, .found = std::strerror(error), .expected = "a file that can be read"};
}

struct FileDescriptor {
  int fd = -1;
  ~FileDescriptor() {
    if (fd >= 0) close(fd);
  }
};

// A private, read-only mapping that lasts as long as the pointer.
struct MappedFile {
  std::shared_ptr<const void> memory;
  std::span<const std::byte> bytes;
};

Result<MappedFile> map_file(const std::string& path) {
  const FileDescriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) return unreadable(path, errno);
  struct stat status {};
  if (fstat(file.fd, &status) != 0) return unreadable(path, errno);
  if (!S_ISREG(status.st_mode)) return unreadable(path, S_ISDIR(status.st_mode) ? EISDIR : EINVAL);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return MappedFile{};
  void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (memory == MAP_FAILED) return unreadable(path, errno);
  MappedFile mapped;
  mapped.memory = std::shared_ptr<const void>(memory, [size](const void* p) { munmap(const_cast<void*>(p), size); });
  mapped.bytes = {static_cast<const std::byte*>(memory), size};
  return mapped;
}

}  // namespace

bool looks_like_artifact(std::span<const std::byte> bytes) {
  return bytes.size() >= kArtifactMagic.size() &&
         std::memcmp(bytes.data(), kArtifactMagic.data(), kArtifactMagic.size()) == 0;
}

Result<CompiledModel> read_artifact(const std::string& path) {
  auto file = map_file(path);
  if (!file) return file.errors();
  auto model = parse(file->bytes, path);
  if (model) model->constants_owner = file->memory;
  return model;
}

Result<CompiledModel> parse_artifact(std::span<const std::byte> bytes, const std::string& name) {
  auto model = parse(bytes, name);
  if (!model) return model;
  auto owned = std::make_shared<const AlignedBytes>(model->constants.begin(), model->constants.end());
  model->constants = *owned;
  model->constants_owner = std::move(owned);
  return model;
}

void repair_checksum(std::span<std::byte> bytes) {
  if (bytes.size() < sizeof(ArtifactHeader)) return;
  ArtifactHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.file_bytes = bytes.size();
  header.checksum = checksum_of(bytes);
  std::memcpy(bytes.data(), &header, sizeof header);
}

}  // namespace octavo
