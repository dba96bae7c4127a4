// Reading external data, which a hostile file may point anywhere. Part of import/.
#include "import/onnx/external.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>

#include "import/onnx/proto.h"

namespace octavo::onnx_import {
namespace {

namespace fs = std::filesystem;

struct Location {
  std::string path;
  std::optional<std::string> offset, length;
};

Error invalid(const std::string& where, std::string found, std::string expected) {
  return {ErrorKind::invalid_input, where + ", external data", std::move(found), std::move(expected), ""};
}

Result<Location> read_location(const onnx::TensorProto& proto, const std::string& where) {
  Location location;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location.path = entry.value();
    else if (entry.key() == "offset") location.offset = entry.value();
    else if (entry.key() == "length") location.length = entry.value();
    else if (entry.key() != "checksum")
      return invalid(where, "the key '" + entry.key() + "'", "location, offset, length or checksum");
  }
  if (location.path.empty()) return invalid(where, "no location", "one");
  return location;
}

// Resolves links, so that what is opened lies inside the folder.
Result<fs::path> resolve(const std::string& location, const std::string& folder, const std::string& where) {
  const Error outside = invalid(where, "the location '" + location + "'", "a file inside the model's folder");
  if (folder.empty())
    return invalid(where, "the location '" + location + "'", "inline data where a model has no folder");
  const fs::path relative(location);
  if (location.find('\0') != std::string::npos || relative.is_absolute() || relative.has_root_path()) return outside;
  for (const fs::path& part : relative) {
    if (part == "..") return outside;
  }
  std::error_code error;
  const fs::path base = fs::canonical(folder, error);
  if (error)
    return Error{ErrorKind::resource, where, "the folder '" + folder + "' (" + error.message() + ")",
                 "one that can be read", ""};
  const fs::path target = fs::canonical(base / relative, error);
  if (error)
    return Error{ErrorKind::resource, where + ", external data", "'" + location + "' (" + error.message() + ")",
                 "a file beside the model", ""};
  const fs::path inside = target.lexically_relative(base);
  if (inside.empty() || *inside.begin() == "..") return outside;
  return target;
}

Result<std::int64_t> read_number(const std::optional<std::string>& text, const char* key, std::int64_t fallback,
                                 const std::string& where) {
  if (!text) return fallback;
  std::int64_t value = 0;
  const char* end = text->data() + text->size();
  const auto parsed = std::from_chars(text->data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < 0) {
    return invalid(where, std::string("the ") + key + " '" + *text + "'", "a number of bytes");
  }
  return value;
}

// Closes on every way out.
struct File {
  int descriptor = -1;
  ~File() {
    if (descriptor >= 0) close(descriptor);
  }
};

bool read_fully(int descriptor, std::byte* to, std::size_t size, off_t offset) {
  while (size > 0) {
    const ssize_t got = pread(descriptor, to, size, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    size -= static_cast<std::size_t>(got);
    offset += got;
  }
  return true;
}

}  // namespace

Result<Tensor> read_external(const onnx::TensorProto& proto, DType dtype, const Shape& shape, const std::string& folder,
                             const std::string& where) {
  const auto location = read_location(proto, where);
  if (!location) return location.errors();
  const auto path = resolve(location->path, folder, where);
  if (!path) return path.errors();
  const auto needed = static_cast<std::int64_t>(static_cast<std::size_t>(shape.elements()) * size_of(dtype));
  const auto offset = read_number(location->offset, "offset", 0, where);
  if (!offset) return offset.errors();
  const auto length = read_number(location->length, "length", needed, where);
  if (!length) return length.errors();
  if (*length != needed)
    return invalid(where, "a length of " + std::to_string(*length) + " bytes", std::to_string(needed));

  const File file{open(path->c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status {};
  if (file.descriptor < 0 || fstat(file.descriptor, &status) != 0) {
    return Error{ErrorKind::resource, where, "'" + location->path + "' (" + std::strerror(errno) + ")",
                 "a file that can be read", ""};
  }
  if (!S_ISREG(status.st_mode)) return invalid(where, "'" + location->path + "', no regular file", "a file");
  if (*offset > status.st_size || needed > status.st_size - *offset) {
    return invalid(where,
                   "bytes " + std::to_string(*offset) + " and " + std::to_string(needed) + " more of a file of " +
                       std::to_string(status.st_size),
                   "a range inside the file");
  }
  Tensor tensor(dtype, shape);
  if (!read_fully(file.descriptor, tensor.data(), tensor.bytes(), *offset)) {
    return Error{ErrorKind::resource, where, "an error on reading '" + location->path + "'", "its data", ""};
  }
  return tensor;
}

}  // namespace octavo::onnx_import
