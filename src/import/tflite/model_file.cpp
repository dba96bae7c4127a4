// Reading and verifying the FlatBuffer container of a TFLite file. Part of
// import/.
#include "import/tflite/model_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace octavo::tflite_import {
namespace {

// Model -> subgraph -> operator -> options is 4 deep. A network of 100,000
// operators has below a million tables; a hostile file may name one table many
// times, which costs time in the verifier.
constexpr flatbuffers::uoffset_t kNestingLimit = 16;
constexpr flatbuffers::uoffset_t kTableLimit = 2'000'000;
constexpr std::uint32_t kVersion = 3;
// What the offsets of a FlatBuffer can reach. Data behind it, as files above 2
// GiB have, is found by its own offsets.
constexpr std::size_t kLargestFlatBuffer = FLATBUFFERS_MAX_BUFFER_SIZE - 1;

Error broken(const std::string& file, std::string found) {
  return {ErrorKind::invalid_input, file, std::move(found), "a TFLite model", "The file may be truncated or damaged"};
}

Result<ModelFile> verified(Tensor bytes, const std::string& file) {
  const auto* start = bytes.as<std::uint8_t>();
  const std::size_t size = std::min(bytes.bytes(), kLargestFlatBuffer);
  if (bytes.bytes() < 8 || std::memcmp(start + 4, file::ModelIdentifier(), 4) != 0)
    return broken(file, "no identifier TFL3");
  flatbuffers::Verifier verifier(start, size, kNestingLimit, kTableLimit);
  if (!file::VerifyModelBuffer(verifier))
    return broken(file, "offsets that leave the file, or tables nested too deeply");
  const file::Model* model = file::GetModel(start);
  if (model->version() != kVersion) {
    return Error{ErrorKind::unsupported, file, "version " + std::to_string(model->version()) + " of the format",
                 "version 3", ""};
  }
  return ModelFile{std::move(bytes), model};
}

}  // namespace

Result<ModelFile> parse_model_bytes(std::span<const std::byte> bytes, const std::string& file) {
  return verified(Tensor::of(Shape{static_cast<std::int64_t>(bytes.size())},
                             std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size())),
                  file);
}

Result<ModelFile> parse_model_file(const std::string& path) {
  const auto failed = [&](const char* what) {
    return Error{ErrorKind::resource, path, std::string("an error on ") + what + " (" + std::strerror(errno) + ")",
                 "a file that can be read", ""};
  };
  errno = 0;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return failed("opening");
  const std::streamoff size = file.tellg();
  if (size < 0) return failed("reading");
  Tensor bytes(DType::u8, Shape{size});
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), size);
  if (file.gcount() != size) return failed("reading");
  return verified(std::move(bytes), path);
}

}  // namespace octavo::tflite_import
