// The .npz format: a zip of .npy members, through libzip. Part of data/.
#include <zip.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

#include "base/file.h"
#include "data/npy.h"

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

// A member of an archive. It is read from its begin, again each time.
struct NpzMember {
  std::shared_ptr<zip_t> archive;
  zip_uint64_t index = 0;
  std::int64_t size = 0;
  bool is_stored = false;  // not deflated
  std::string where;

  Result<Member> open() const {
    Member file(zip_fopen_index(archive.get(), index, 0));
    if (!file) return npz_error(where, "a member that cannot be opened", "a stored or deflated array");
    return file;
  }
};

// Shows `take` the member from its begin on, in pieces, until `most` bytes were shown: never more than the directory
// says, because a member that inflates beyond that is a lie.
Status read_pieces(const NpzMember& member, std::int64_t most,
                   const std::function<void(std::span<const std::byte>)>& take) {
  const auto file = member.open();
  if (!file) return file.errors();
  constexpr std::int64_t kPiece = std::int64_t{1} << 20;
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min(most, kPiece)));
  std::int64_t done = 0;
  const auto damaged = [&] {
    return npz_error(member.where, "damaged data after " + std::to_string(done) + " bytes",
                     std::to_string(member.size) + " bytes");
  };
  while (done < most) {
    const zip_int64_t got =
        zip_fread(file->get(), piece.data(), static_cast<zip_uint64_t>(std::min(most - done, kPiece)));
    if (got <= 0) return damaged();
    take(std::span(piece).first(static_cast<std::size_t>(got)));
    done += got;
  }
  // Behind the last byte libzip compares the checksum.
  std::byte end;
  if (most == member.size && zip_fread(file->get(), &end, 1) != 0) return damaged();
  return ok_status();
}

Result<std::vector<std::byte>> first_bytes(const NpzMember& member, std::int64_t most) {
  std::vector<std::byte> bytes;
  const Status read = read_pieces(
      member, most, [&](std::span<const std::byte> piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); });
  if (!read) return read.errors();
  return bytes;
}

// Fills what an array's reader asks for, from the first time on with data whose checksum was right.
class MemberReader {
 public:
  MemberReader(NpzMember member, NpyLayout layout) : member_(std::move(member)), layout_(std::move(layout)) {}

  Status read(std::int64_t offset, std::span<std::byte> to) {
    if (!is_checked_) {
      if (const Status checked = check(); !checked) return checked;
      is_checked_ = true;
    }
    if (!decoded_) return read_stored(layout_.offset + offset, to);
    std::copy_n(decoded_->data() + offset, to.size(), to.data());
    return ok_status();
  }

 private:
  Status check() {
    if (member_.is_stored && !layout_.is_fortran)
      return read_pieces(member_, member_.size, [](std::span<const std::byte>) {});
    const auto bytes = first_bytes(member_, member_.size);
    if (!bytes) return bytes.errors();
    decoded_ = array_of(layout_, std::span(*bytes).subspan(static_cast<std::size_t>(layout_.offset)));
    return ok_status();
  }

  Status read_stored(std::int64_t offset, std::span<std::byte> to) const {
    const auto file = member_.open();
    if (!file) return file.errors();
    const bool is_found = zip_fseek(file->get(), offset, SEEK_SET) == 0;
    for (std::size_t done = 0; done < to.size();) {
      const zip_int64_t got = is_found ? zip_fread(file->get(), to.data() + done, to.size() - done) : -1;
      if (got <= 0) return npz_error(member_.where, "damaged data", std::to_string(member_.size) + " bytes");
      done += static_cast<std::size_t>(got);
    }
    return ok_status();
  }

  NpzMember member_;
  NpyLayout layout_;
  bool is_checked_ = false;
  std::optional<Tensor> decoded_;
};

Result<std::pair<std::string, StoredArray>> open_array(const std::shared_ptr<zip_t>& archive, zip_uint64_t index,
                                                       const std::string& path) {
  zip_stat_t info;
  if (zip_stat_index(archive.get(), index, 0, &info) != 0 || (info.valid & ZIP_STAT_SIZE) == 0 ||
      (info.valid & ZIP_STAT_NAME) == 0) {
    return npz_error(path, "a broken directory", "a .npz file");
  }
  std::string name = info.name;
  const std::string where = path + ": " + name;
  if (!name.ends_with(".npy")) return npz_error(where, "a member that is no array", "members named *.npy");
  if (info.size > static_cast<zip_uint64_t>(kMaxFileBytes)) {
    return Error{.kind = ErrorKind::resource,
                 .where = where,
                 .found = std::to_string(info.size) + " bytes",
                 .expected = "at most 8 GiB"};
  }
  const NpzMember member{.archive = archive,
                         .index = index,
                         .size = static_cast<std::int64_t>(info.size),
                         .is_stored = (info.valid & ZIP_STAT_COMP_METHOD) != 0 && info.comp_method == ZIP_CM_STORE,
                         .where = where};
  const auto begin = first_bytes(member, std::min(member.size, kMaxNpyHeader));
  if (!begin) return begin.errors();
  auto layout = parse_npy_layout(*begin, member.size, where);
  if (!layout) return layout.errors();
  name.resize(name.size() - 4);
  const auto reader = std::make_shared<MemberReader>(member, *layout);
  return std::pair(std::move(name),
                   StoredArray(layout->dtype, layout->shape, [reader](std::int64_t offset, std::span<std::byte> to) {
                     return reader->read(offset, to);
                   }));
}

}  // namespace

Result<std::map<std::string, StoredArray>> open_npz(const std::string& path) {
  int code = 0;
  const std::shared_ptr<zip_t> archive(Archive(zip_open(path.c_str(), ZIP_RDONLY, &code)));
  if (!archive && (code == ZIP_ER_NOENT || code == ZIP_ER_OPEN)) {
    return Error{
        .kind = ErrorKind::resource, .where = path, .found = "a file that cannot be opened", .expected = "a .npz file"};
  }
  if (!archive) return npz_error(path, "no zip archive", "a .npz file");
  std::map<std::string, StoredArray> arrays;
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    auto array = open_array(archive, static_cast<zip_uint64_t>(i), path);
    if (!array) return array.errors();
    arrays.insert(std::move(*array));
  }
  if (arrays.empty()) return npz_error(path, "no arrays", "at least one");
  return arrays;
}

Result<std::map<std::string, Tensor>> read_npz(const std::string& path) {
  const auto stored = open_npz(path);
  if (!stored) return stored.errors();
  std::map<std::string, Tensor> arrays;
  for (const auto& [name, array] : *stored) {
    auto tensor = array.whole();
    if (!tensor) return tensor.errors();
    arrays.emplace(name, std::move(*tensor));
  }
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
    zip_file_set_mtime(archive.get(), static_cast<zip_uint64_t>(index), 315532800,
                       0);  // 1980: the same arrays give the same bytes
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
