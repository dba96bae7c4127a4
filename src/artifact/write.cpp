// CompiledModel -> .octv, all or nothing. Part of artifact/.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <utility>
#include <vector>

#include "artifact/artifact.h"
#include "artifact/format.h"
#include "artifact/metadata.h"

namespace octavo {
namespace {

std::uint64_t round_up(std::uint64_t value, std::uint64_t to) { return (value + to - 1) / to * to; }

// The temporary file of the write in progress, where a signal handler can find it. One write at a time.
std::mutex write_mutex;
constexpr std::size_t kMaxPath = 4096;
char unfinished_path[kMaxPath];
std::atomic<bool> is_unfinished{false};

Error unwritable(const std::string& path, int error) {
  return {.kind = ErrorKind::resource,
          .where = path,
          .found = std::strerror(error),
          .expected = "a file that can be written"};
}

// 0, or errno.
int write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

// Creates `path`, writes, syncs. 0, or errno.
int write_new_file(const char* path, std::span<const std::byte> bytes) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return errno;
  int error = write_all(fd, bytes);
  if (error == 0 && fsync(fd) != 0) error = errno;
  if (close(fd) != 0 && error == 0) error = errno;
  return error;
}

// A device or pipe, as /dev/null: a rename would put a file in its place.
bool is_special(const char* path) {
  struct stat status {};
  return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

// 0, or errno.
int write_in_place(const char* path, std::span<const std::byte> bytes) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  int error = write_all(fd, bytes);
  if (close(fd) != 0 && error == 0) error = errno;
  return error;
}

// Makes the rename itself durable; file systems that cannot sync a folder are left alone.
void sync_folder(const std::filesystem::path& folder) {
  const int fd = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

}  // namespace

void adopt_constants(CompiledModel& model, ConstantPool& pool) {
  auto owned = std::make_shared<const AlignedBytes>(pool.take());
  model.constants = *owned;
  model.constants_owner = std::move(owned);
}

AlignedBytes encode_artifact(const CompiledModel& model) {
  const Bytes metadata =
      encode(ModelMetadata{.source = model.source, .dialect = model.dialect, .source_nodes = model.source_nodes});
  const Bytes plans = encode(model.plans);
  std::vector<PlanReport> told;
  for (const Plan& plan : model.plans) told.push_back(plan.report);
  const Bytes reports = encode(told);
  std::vector<std::pair<SectionType, std::span<const std::byte>>> contents = {{SectionType::model, metadata},
                                                                              {SectionType::plans, plans}};
  const bool has_reports =
      std::any_of(told.begin(), told.end(), [](const PlanReport& report) { return report != PlanReport{}; });
  if (has_reports) contents.emplace_back(SectionType::reports, reports);
  contents.emplace_back(SectionType::constants, model.constants);

  ArtifactHeader header{.version = kArtifactVersion, .sections = contents.size()};
  std::vector<ArtifactSection> table;
  std::uint64_t end = sizeof header + contents.size() * sizeof(ArtifactSection);
  for (const auto& [type, content] : contents) {
    const std::uint64_t offset = type == SectionType::constants ? round_up(end, kArtifactPage) : end;
    table.push_back({.type = type, .offset = offset, .bytes = content.size()});
    end = offset + content.size();
  }
  AlignedBytes bytes(end);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, table.data(), table.size() * sizeof(ArtifactSection));
  for (std::size_t i = 0; i < table.size(); ++i)
    std::copy(contents[i].second.begin(), contents[i].second.end(),
              bytes.begin() + static_cast<std::ptrdiff_t>(table[i].offset));
  repair_checksum(bytes);
  return bytes;
}

Status write_artifact(const CompiledModel& model, const std::string& path) {
  const AlignedBytes bytes = encode_artifact(model);
  if (is_special(path.c_str())) {
    const int error = write_in_place(path.c_str(), bytes);
    return error == 0 ? ok_status() : Status(unwritable(path, error));
  }
  const std::string temporary = path + ".tmp" + std::to_string(getpid());
  if (temporary.size() >= kMaxPath) return unwritable(path, ENAMETOOLONG);
  const std::lock_guard lock(write_mutex);
  std::memcpy(unfinished_path, temporary.c_str(), temporary.size() + 1);
  is_unfinished.store(true);
  int error = write_new_file(temporary.c_str(), bytes);
  if (error == 0 && rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) unlink(temporary.c_str());
  is_unfinished.store(false);
  if (error != 0) return unwritable(path, error);
  sync_folder(std::filesystem::path(path).parent_path());
  return ok_status();
}

void remove_unfinished_artifacts() {
  if (is_unfinished.load()) unlink(unfinished_path);
}

}  // namespace octavo
