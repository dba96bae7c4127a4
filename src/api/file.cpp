// The public face of .octv files. Part of api/.
#include "base/file.h"

#include <array>
#include <fstream>

#include "api/info.h"

namespace octavo::v1 {

ModelInfo CompiledModel::info() const { return info_of(*model_); }

Status CompiledModel::save(const std::string& path) const { return write_artifact(*model_, path); }

namespace {

Result<CompiledModel> opened(Result<octavo::CompiledModel> model) {
  if (!model) return std::move(model).errors();
  return CompiledModel(std::make_shared<const octavo::CompiledModel>(std::move(*model)));
}

}  // namespace

Result<CompiledModel> open(const std::string& path, const OpenOptions& options) {
  if (options.weights == Weights::mapped) return opened(read_artifact(path));
  const auto bytes = read_file(path);
  if (!bytes) return bytes.errors();
  return opened(parse_artifact(*bytes, path));
}

Result<CompiledModel> open(std::span<const std::byte> bytes, const std::string& name) {
  return opened(parse_artifact(bytes, name));
}

bool is_compiled(const std::string& path) {
  std::array<char, 16> start{};
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), start.size());
  return looks_like_artifact(std::as_bytes(std::span(start)).first(static_cast<std::size_t>(file.gcount())));
}

void remove_unfinished_files() { cleanup_unfinished_files(); }

std::string_view version() { return OCTAVO_VERSION; }

}  // namespace octavo::v1
