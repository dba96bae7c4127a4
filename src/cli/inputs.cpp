// Reading and setting inputs. Part of cli/.
#include "cli/inputs.h"

#include <cctype>
#include <cstring>

#include "data/npy.h"

namespace octavo::cli {
namespace {

Error input_error(std::string found, std::string expected) {
  return {.kind = ErrorKind::usage, .where = "--input", .found = std::move(found), .expected = std::move(expected)};
}

std::string describe(const Tensor& tensor) {
  return std::string(name_of(tensor.dtype())) + "[" + tensor.shape().to_string() + "]";
}

const Tensor* find(const NamedTensors& tensors, const std::string& name, bool is_only_input) {
  if (const auto it = tensors.find(name); it != tensors.end()) return &it->second;
  if (const auto it = tensors.find(""); it != tensors.end() && is_only_input) return &it->second;
  return nullptr;
}

}  // namespace

Result<NamedTensors> read_inputs(const std::vector<std::string>& arguments) {
  NamedTensors tensors;
  for (const std::string& argument : arguments) {
    // The last '=' would split file names, the first one tensor names; neither is common, names with '=' even less.
    const std::size_t equals = argument.find('=');
    const std::string name = equals == std::string::npos ? "" : argument.substr(0, equals);
    auto tensor = read_npy(equals == std::string::npos ? argument : argument.substr(equals + 1));
    if (!tensor) return tensor.errors();
    if (!tensors.emplace(name, std::move(*tensor)).second)
      return input_error("'" + name + "' twice", "each input once");
  }
  return tensors;
}

void ask_for_shapes(const NamedTensors& tensors, CompileRequest& request) {
  for (const auto& [name, tensor] : tensors) {
    if (!name.empty()) request.options.shapes.try_emplace(name, tensor.shape().to_vector());
  }
}

std::optional<std::int64_t> batch_of(const NamedTensors& tensors) {
  std::optional<std::int64_t> batch;
  for (const auto& [name, tensor] : tensors) {
    if (tensor.shape().rank() == 0 || (batch && *batch != tensor.shape()[0])) return std::nullopt;
    batch = tensor.shape()[0];
  }
  return batch;
}

Status set_inputs(const NamedTensors& tensors, Session& session) {
  const auto& infos = session.plan().inputs;
  std::string names;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    names += (i == 0 ? "'" : ", '") + infos[i].name + "'";
    const Tensor* given = find(tensors, infos[i].name, infos.size() == 1);
    Tensor& input = session.inputs()[i];
    if (given == nullptr)
      return input_error("nothing for input '" + infos[i].name + "'",
                         infos[i].name + "=FILE.npy with " + describe(input));
    const InputSpec spec = input_spec(infos[i], session.plan().batch);
    const bool is_quantized_here = spec.scale && given->dtype() == DType::f32;
    if ((given->dtype() != input.dtype() && !is_quantized_here) || given->shape() != input.shape()) {
      return input_error(describe(*given) + " for input '" + infos[i].name + "'",
                         describe(input) + (spec.scale ? ", or f32 to be quantized with its scale" : ""));
    }
    const Tensor stored = is_quantized_here ? quantized(*given, *spec.scale) : *given;
    std::memcpy(input.data(), stored.data(), input.bytes());
  }
  for (const auto& [name, tensor] : tensors) {
    const bool is_known = name.empty() || names.find("'" + name + "'") != std::string::npos;
    if (!is_known) return input_error("unknown input '" + name + "'", names);
  }
  return ok_status();
}

std::string file_name_of(const std::string& tensor) {
  std::string name = tensor;
  for (char& c : name) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_';
    if (!is_plain) c = '_';
  }
  // Neither hidden nor a way out of the folder.
  if (name.empty() || name.front() == '.') name.insert(name.begin(), '_');
  return name;
}

}  // namespace octavo::cli
