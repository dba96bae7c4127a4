// Reading the container of an ONNX file. Part of import/.
#include "import/onnx/proto.h"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/stubs/logging.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

#include "base/file.h"
#include "import/onnx/ort_format.h"

namespace octavo::onnx_import {
namespace {

namespace io = google::protobuf::io;

// A model nests graph -> node -> attribute -> graph; deeper than this is no network.
constexpr int kNestingLimit = 64;

Result<onnx::ModelProto> parse(io::ZeroCopyInputStream& stream, const std::string& file) {
  google::protobuf::LogSilencer silence;
  io::CodedInputStream coded(&stream);
  coded.SetRecursionLimit(kNestingLimit);
  coded.SetTotalBytesLimit(std::numeric_limits<int>::max());
  onnx::ModelProto model;
  if (!model.ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage()) {
    return Error{ErrorKind::invalid_input, file, "bytes that are no ONNX protobuf message", "an ONNX model",
                 "The file may be truncated"};
  }
  return model;
}

bool is_ort_file(int file) {
  std::array<char, 8> head{};
  const ssize_t count = pread(file, head.data(), head.size(), 0);
  return count > 0 && is_ort_format({head.data(), static_cast<std::size_t>(count)});
}

}  // namespace

Result<onnx::ModelProto> parse_model_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return Error{ErrorKind::resource, path, std::string("an error on opening (") + std::strerror(errno) + ")",
                 "a readable file", ""};
  if (is_ort_file(file)) {
    close(file);
    const auto bytes = read_file(path);
    return bytes ? model_of_ort(*bytes, path) : bytes.errors();
  }
  io::FileInputStream stream(file);
  auto model = parse(stream, path);
  const int read_error = stream.GetErrno();
  close(file);
  if (read_error != 0)
    return Error{ErrorKind::resource, path, std::string("an error on reading (") + std::strerror(read_error) + ")",
                 "a file", ""};
  return model;
}

Result<onnx::ModelProto> parse_model_bytes(std::span<const std::byte> bytes, const std::string& file) {
  if (is_ort_format({reinterpret_cast<const char*>(bytes.data()), std::min<std::size_t>(bytes.size(), 8)}))
    return model_of_ort(bytes, file);
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return Error{ErrorKind::invalid_input, file, std::to_string(bytes.size()) + " bytes", "less than 2 GiB",
                 "Keep the weights as external data"};
  }
  io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  return parse(stream, file);
}

}  // namespace octavo::onnx_import
