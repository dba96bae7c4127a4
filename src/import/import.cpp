// Recognising a model file by its content. Part of import/.
#include "import/import.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <string_view>

#include "import/onnx/importer.h"
#include "import/onnx/ort_format.h"
#include "import/onnx/proto.h"
#include "import/pt2/importer.h"
#include "import/tflite/importer.h"

namespace octavo {
namespace {

// An ONNX file is a protobuf message: its first byte is the tag of a field of ModelProto (numbers 1 to 8, 14, 20 and
// 25).
bool starts_like_onnx(std::string_view head) {
  constexpr std::string_view kTags("\x08\x12\x1a\x22\x28\x32\x3a\x42\x72\xa2\xca", 11);
  return head.size() > 1 && kTags.find(head[0]) != std::string_view::npos;
}

FileFormat recognise(std::string_view head) {
  if (head.size() >= 8 && head.substr(4, 4) == "TFL3") return FileFormat::tflite;
  if (head.substr(0, 4) == "PK\x03\x04") return FileFormat::zip;
  if (head.substr(0, 5) == "\x89OCTV") return FileFormat::artifact;
  const bool is_onnx = starts_like_onnx(head) || onnx_import::is_ort_format(head);
  return is_onnx ? FileFormat::onnx : FileFormat::unknown;
}

Result<std::string> head_of(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return Error{ErrorKind::resource, path, "a folder", "a model file", ""};
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Error{ErrorKind::resource, path, std::string("an error on opening (") + std::strerror(errno) + ")",
                 "a file that can be read", ""};
  }
  std::string head(16, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  return head;
}

// What `read` makes of what `parse` makes of a file; running out of memory on the way is an error too.
template <class Parse, class Read>
Result<ImportedModel> import_with(const std::string& file, Parse parse, Read read) {
  try {
    auto parsed = parse();
    if (!parsed) return std::move(parsed).errors();
    return read(*parsed);
  } catch (const std::bad_alloc&) {
    return Error{ErrorKind::resource, file, "more data than memory holds", "a smaller model", ""};
  }
}

// Rounding that the format's operators do not have would be another model.
Status check_profile(FileFormat format, const std::string& file, const ImportOptions& options) {
  if (!options.profile) return ok_status();
  const Profile profile = *options.profile;
  const Profile own = format == FileFormat::tflite ? Profile::tflite_xnnpack
                                                   : (format == FileFormat::zip ? Profile::pt2e : Profile::onnx);
  if (profile == own || (format == FileFormat::tflite && is_fixed_point(profile) && is_of_whole_files(profile)))
    return ok_status();
  const std::string expected =
      format == FileFormat::tflite ? "tflite-xnnpack, tflite-double or tflite-single" : std::string(name_of(own));
  return Error{ErrorKind::usage, file, "rounding " + std::string(name_of(profile)),
               expected + " for a file of this format", ""};
}

// The format of a file that begins so, where it is one to import with these options.
Result<FileFormat> format_of(std::string_view head, const std::string& file, const ImportOptions& options) {
  const FileFormat format = recognise(head);
  if (format == FileFormat::artifact)
    return Error{ErrorKind::usage, file, "a model that Octavo has compiled already", "a source model", ""};
  if (format == FileFormat::unknown)
    return Error{ErrorKind::invalid_input, file, "content of no known kind",
                 "an ONNX or TFLite model or an exported PyTorch program", ""};
  if (const Status status = check_profile(format, file, options); !status) return status.errors();
  return format;
}

}  // namespace

Result<FileFormat> format_of_file(const std::string& path) {
  const auto head = head_of(path);
  return head ? Result<FileFormat>(recognise(*head)) : head.errors();
}

Result<ImportedModel> import_model(const std::string& path, const ImportOptions& options) {
  const auto head = head_of(path);
  if (!head) return head.errors();
  const auto format = format_of(*head, path, options);
  if (!format) return format.errors();
  if (*format == FileFormat::zip)
    return import_with(
        path, [&] { return pt2_import::Archive::open(path); },
        [&](const auto& archive) { return pt2_import::import_archive(archive, options); });
  if (*format == FileFormat::tflite)
    return import_with(
        path, [&] { return tflite_import::parse_model_file(path); },
        [&](const auto& model) { return tflite_import::import_parsed(model, path, options); });
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return import_with(
      path, [&] { return onnx_import::parse_model_file(path); },
      [&](auto& model) { return onnx_import::import_parsed(model, parent.empty() ? "." : parent, path, options); });
}

Result<ImportedModel> import_model(std::span<const std::byte> bytes, const std::string& name,
                                   const ImportOptions& options) {
  const std::string_view head(reinterpret_cast<const char*>(bytes.data()), std::min<std::size_t>(bytes.size(), 16));
  const auto format = format_of(head, name, options);
  if (!format) return format.errors();
  if (*format == FileFormat::zip) return import_pt2(bytes, name, options);
  if (*format == FileFormat::tflite) return import_tflite(bytes, name, options);
  return import_onnx(bytes, "", name, options);
}

Result<ImportedModel> import_onnx(std::span<const std::byte> bytes, const std::string& folder, const std::string& file,
                                  const ImportOptions& options) {
  return import_with(
      file, [&] { return onnx_import::parse_model_bytes(bytes, file); },
      [&](auto& model) { return onnx_import::import_parsed(model, folder, file, options); });
}

Result<ImportedModel> import_pt2(std::span<const std::byte> bytes, const std::string& file,
                                 const ImportOptions& options) {
  if (const Status status = check_profile(FileFormat::zip, file, options); !status) return status.errors();
  return import_with(
      file, [&] { return pt2_import::Archive::open(bytes, file); },
      [&](const auto& archive) { return pt2_import::import_archive(archive, options); });
}

Result<ImportedModel> import_tflite(std::span<const std::byte> bytes, const std::string& file,
                                    const ImportOptions& options) {
  if (const Status status = check_profile(FileFormat::tflite, file, options); !status) return status.errors();
  return import_with(
      file, [&] { return tflite_import::parse_model_bytes(bytes, file); },
      [&](const auto& model) { return tflite_import::import_parsed(model, file, options); });
}

}  // namespace octavo
