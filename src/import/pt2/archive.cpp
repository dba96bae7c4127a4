// Reading zip files that may be hostile. Part of import/.
#include "import/pt2/archive.h"

#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

namespace octavo::pt2_import {
namespace {

constexpr std::int64_t kMostEntries = 1 << 20;
// PyTorch stores without packing. Deflated JSON reaches 20 to 1, and the format cannot do better than 1032 to 1.
constexpr std::uint64_t kLargestRatio = 200;
constexpr std::uint64_t kFreeBytes = std::uint64_t{1} << 20;

// Why the name could lead out of a folder or mean something else to somebody else; empty where it is fine.
std::string_view problem_of_name(std::string_view name) {
  if (name.empty()) return "an entry without a name";
  if (name.front() == '/') return "an absolute path";
  if (name.find('\\') != std::string_view::npos || (name.size() > 1 && name[1] == ':'))
    return "a path of another system";
  for (std::size_t start = 0; start <= name.size();) {
    const std::size_t end = std::min(name.find('/', start), name.size());
    if (name.substr(start, end - start) == "..") return "a path to a parent folder";
    start = end + 1;
  }
  return {};
}

std::string text_of(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

struct FileCloser {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

}  // namespace

void Archive::Closer::operator()(zip* archive) const { zip_discard(archive); }

Result<Archive> Archive::open(const std::string& file) {
  std::error_code size_error;
  const std::uint64_t bytes = std::filesystem::file_size(file, size_error);
  int error = ZIP_ER_OK;
  zip* handle = zip_open(file.c_str(), ZIP_RDONLY, &error);
  return opened(handle, error, file, size_error ? 0 : bytes);
}

Result<Archive> Archive::open(std::span<const std::byte> bytes, const std::string& file) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  zip* handle = source == nullptr ? nullptr : zip_open_from_source(source, ZIP_RDONLY, &error);
  if (handle == nullptr && source != nullptr) zip_source_free(source);
  const int code = zip_error_code_zip(&error);
  zip_error_fini(&error);
  return opened(handle, code, file, bytes.size());
}

Result<Archive> Archive::opened(zip* handle, int error, const std::string& file, std::uint64_t file_bytes) {
  if (handle == nullptr) {
    const bool is_resource =
        error == ZIP_ER_OPEN || error == ZIP_ER_READ || error == ZIP_ER_NOENT || error == ZIP_ER_MEMORY;
    return Error{is_resource ? ErrorKind::resource : ErrorKind::invalid_input, file,
                 "no zip archive that can be opened (" + text_of(error) + ")", "an exported program",
                 is_resource ? "" : "The file may be truncated"};
  }
  Archive archive;
  archive.file_ = file;
  archive.zip_.reset(handle);
  if (auto status = archive.list_entries(file_bytes); !status) return status.errors();
  archive.strip_root();
  return archive;
}

Status Archive::list_entries(std::uint64_t file_bytes) {
  const zip_int64_t count = zip_get_num_entries(zip_.get(), 0);
  if (count > kMostEntries) {
    return Error{ErrorKind::invalid_input, file_, std::to_string(count) + " entries",
                 "at most " + std::to_string(kMostEntries), ""};
  }
  for (zip_int64_t i = 0; i < count; ++i) {
    if (auto status = add_entry(static_cast<std::uint64_t>(i)); !status) return status;
  }
  if (total_bytes_ > kFreeBytes && (total_bytes_ - kFreeBytes) / kLargestRatio > file_bytes) {
    return Error{ErrorKind::invalid_input, file_,
                 std::to_string(total_bytes_) + " bytes unpacked from " + std::to_string(file_bytes),
                 "at most " + std::to_string(kLargestRatio) + " times as much", ""};
  }
  return ok_status();
}

Status Archive::add_entry(std::uint64_t index) {
  zip_stat_t stat;
  const auto broken = [&](std::string found) {
    return Error{ErrorKind::invalid_input, file_ + ": entry " + std::to_string(index), std::move(found),
                 "an entry of an exported program", ""};
  };
  if (zip_stat_index(zip_.get(), index, 0, &stat) != 0)
    return broken(std::string("a broken header (") + zip_strerror(zip_.get()) + ")");
  const zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_METHOD;
  if ((stat.valid & needed) != needed) return broken("a header that says neither name nor size");
  const std::string name = stat.name;
  if (const std::string_view problem = problem_of_name(name); !problem.empty())
    return broken("'" + name + "', " + std::string(problem));
  if ((stat.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && stat.encryption_method != ZIP_EM_NONE) {
    return Error{ErrorKind::unsupported, where(name), "encrypted data", "plain data", ""};
  }
  if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE) {
    return Error{ErrorKind::unsupported, where(name), "compression method " + std::to_string(stat.comp_method),
                 "stored or deflated data", ""};
  }
  if (!entries_.emplace(name, Entry{index, stat.size}).second) return broken("'" + name + "' a second time");
  if (stat.size > ~std::uint64_t{0} - total_bytes_)
    return broken("'" + name + "' of " + std::to_string(stat.size) + " bytes");
  total_bytes_ += stat.size;
  return ok_status();
}

// PyTorch's own writer puts everything into one folder, named after the file; Python's zipfile does not.
void Archive::strip_root() {
  if (entries_.empty()) return;
  const std::string& first = entries_.begin()->first;
  const std::size_t slash = first.find('/');
  if (slash == std::string::npos) return;
  const std::string root = first.substr(0, slash + 1);
  const bool is_shared = std::all_of(entries_.begin(), entries_.end(),
                                     [&](const auto& entry) { return entry.first.compare(0, root.size(), root) == 0; });
  if (!is_shared) return;
  std::map<std::string, Entry> stripped;
  for (const auto& [name, entry] : entries_) stripped.emplace(name.substr(root.size()), entry);
  entries_ = std::move(stripped);
}

std::vector<std::string> Archive::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

std::uint64_t Archive::size_of(const std::string& name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? 0 : found->second.size;
}

Status Archive::read(const std::string& name, std::span<std::byte> to) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return Error{ErrorKind::invalid_input, file_, "no entry '" + name + "'", "one", ""};
  const auto broken = [&](std::string what) {
    return Error{ErrorKind::invalid_input, where(name), std::move(what),
                 "its " + std::to_string(found->second.size) + " bytes", "The file may be damaged"};
  };
  if (to.size() != found->second.size) return broken("room for " + std::to_string(to.size()) + " bytes");
  const std::unique_ptr<zip_file_t, FileCloser> file(zip_fopen_index(zip_.get(), found->second.index, 0));
  if (file == nullptr) return broken(zip_strerror(zip_.get()));
  std::size_t done = 0;
  while (done < to.size()) {
    const zip_int64_t count = zip_fread(file.get(), to.data() + done, to.size() - done);
    if (count < 0) return broken(zip_file_strerror(file.get()));
    if (count == 0) return broken("only " + std::to_string(done) + " bytes");
    done += static_cast<std::size_t>(count);
  }
  // The checksum is compared at the end of the data, which has to be asked for.
  std::byte rest{};
  const zip_int64_t more = zip_fread(file.get(), &rest, 1);
  if (more < 0) return broken(zip_file_strerror(file.get()));
  if (more > 0) return broken("more bytes");
  return ok_status();
}

Result<std::string> Archive::read_text(const std::string& name, std::uint64_t limit) const {
  const std::uint64_t size = size_of(name);
  if (size > limit) {
    return Error{ErrorKind::invalid_input, where(name), std::to_string(size) + " bytes",
                 "at most " + std::to_string(limit), ""};
  }
  std::string text(size, '\0');
  if (auto status = read(name, std::as_writable_bytes(std::span(text.data(), text.size()))); !status)
    return status.errors();
  return text;
}

}  // namespace octavo::pt2_import
