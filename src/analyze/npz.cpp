// The .npz format: a zip of .npy members, through libzip. Part of analyze/.
#include <zip.h>

#include <memory>
#include <string_view>

#include "analyze/file.h"
#include "analyze/npy.h"

namespace octavo {
namespace {

struct CloseArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseMember {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using Archive = std::unique_ptr<zip_t, CloseArchive>;
using Member = std::unique_ptr<zip_file_t, CloseMember>;

Error npz_error(const std::string& where, std::string found, std::string expected) {
  return {.kind = ErrorKind::invalid_input, .where = where, .found = std::move(found), .expected = std::move(expected)};
}

// Reads what is there, never more than the directory says: a member that inflates beyond that is a lie.
Result<std::vector<std::byte>> read_member(zip_t* archive, zip_uint64_t index, std::int64_t size, const std::string& where) {
  const Member file(zip_fopen_index(archive, index, 0));
  if (!file) return npz_error(where, "a member that cannot be opened", "a stored or deflated array");
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  std::vector<std::byte> bytes;
  while (static_cast<std::int64_t>(bytes.size()) < size) {
    const std::size_t before = bytes.size();
    const std::size_t wanted = std::min(kChunk + before, static_cast<std::size_t>(size) - before);
    bytes.resize(before + wanted);
    const zip_int64_t got = zip_fread(file.get(), bytes.data() + before, wanted);
    if (got <= 0) return npz_error(where, "damaged data after " + std::to_string(before) + " bytes", std::to_string(size) + " bytes");
    bytes.resize(before + static_cast<std::size_t>(got));
  }
  return bytes;
}

Result<std::pair<std::string, Tensor>> read_array(zip_t* archive, zip_uint64_t index, const std::string& path) {
  zip_stat_t info;
  if (zip_stat_index(archive, index, 0, &info) != 0 || (info.valid & ZIP_STAT_SIZE) == 0 || (info.valid & ZIP_STAT_NAME) == 0) {
    return npz_error(path, "a broken directory", "a .npz file");
  }
  std::string name = info.name;
  const std::string where = path + ": " + name;
  if (!name.ends_with(".npy")) return npz_error(where, "a member that is no array", "members named *.npy");
  if (info.size > static_cast<zip_uint64_t>(kMaxFileBytes)) {
    return Error{.kind = ErrorKind::resource, .where = where, .found = std::to_string(info.size) + " bytes", .expected = "at most 8 GiB"};
  }
  const auto bytes = read_member(archive, index, static_cast<std::int64_t>(info.size), where);
  if (!bytes) return bytes.errors();
  auto tensor = parse_npy(*bytes, where);
  if (!tensor) return tensor.errors();
  name.resize(name.size() - 4);
  return std::pair(std::move(name), std::move(*tensor));
}

}  // namespace

Result<std::map<std::string, Tensor>> read_npz(const std::string& path) {
  int code = 0;
  const Archive archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!archive && (code == ZIP_ER_NOENT || code == ZIP_ER_OPEN)) {
    return Error{.kind = ErrorKind::resource, .where = path, .found = "a file that cannot be opened", .expected = "a .npz file"};
  }
  if (!archive) return npz_error(path, "no zip archive", "a .npz file");
  std::map<std::string, Tensor> arrays;
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    auto array = read_array(archive.get(), static_cast<zip_uint64_t>(i), path);
    if (!array) return array.errors();
    arrays.insert(std::move(*array));
  }
  if (arrays.empty()) return npz_error(path, "no arrays", "at least one");
  return arrays;
}

Status write_npz(const std::string& path, const std::map<std::string, Tensor>& arrays) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* memory = zip_source_buffer_create(nullptr, 0, 0, &error);
  Error failed{.kind = ErrorKind::resource, .where = path, .found = "a zip archive that cannot be made"};
  if (memory == nullptr) return failed;
  zip_source_keep(memory);
  const std::unique_ptr<zip_source_t, decltype(&zip_source_free)> keep(memory, &zip_source_free);
  Archive archive(zip_open_from_source(memory, ZIP_TRUNCATE, &error));
  if (!archive) return failed;
  std::vector<std::vector<std::byte>> members;  // libzip reads them when the archive is closed
  members.reserve(arrays.size());
  for (const auto& [name, tensor] : arrays) {
    members.push_back(format_npy(tensor.view()));
    zip_source_t* source = zip_source_buffer(archive.get(), members.back().data(), members.back().size(), 0);
    if (source == nullptr) return failed;
    const zip_int64_t index = zip_file_add(archive.get(), (name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      zip_source_free(source);
      return failed;
    }
    zip_file_set_mtime(archive.get(), static_cast<zip_uint64_t>(index), 315532800, 0);  // 1980: the same arrays give the same bytes
  }
  if (zip_close(archive.get()) != 0) return failed;
  static_cast<void>(archive.release());
  if (zip_source_open(memory) != 0) return failed;
  zip_source_seek(memory, 0, SEEK_END);
  const zip_int64_t size = zip_source_tell(memory);
  zip_source_seek(memory, 0, SEEK_SET);
  std::vector<std::byte> bytes(static_cast<std::size_t>(size < 0 ? 0 : size));
  const zip_int64_t got = zip_source_read(memory, bytes.data(), bytes.size());
  zip_source_close(memory);
  if (got != size) return failed;
  return write_file(path, bytes);
}

}  // namespace octavo
