// Reading an ONNX node test. Part of the conformance runner.
#include "conformance/proto_data.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "import/onnx/proto.h"
#include "import/onnx/tensor.h"
#include "import/onnx/types.h"

namespace octavo::conformance {
namespace {

namespace fs = std::filesystem;
using Infos = google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>;

// Empty where Octavo has the type.
std::string foreign_type(const onnx::TypeProto& type) {
  if (type.has_sequence_type()) return "sequence";
  if (type.has_optional_type()) return "optional";
  if (!type.has_tensor_type()) return "no tensor";
  const int element = type.tensor_type().elem_type();
  return onnx_import::dtype_of_onnx(element) ? "" : onnx_import::onnx_type_name(element);
}

std::string foreign_types(const onnx::GraphProto& graph) {
  for (const auto* infos : {&graph.input(), &graph.output()}) {
    for (const auto& info : *infos) {
      if (auto name = foreign_type(info.type()); !name.empty()) return name;
    }
  }
  for (const auto& tensor : graph.initializer()) {
    if (!onnx_import::dtype_of_onnx(tensor.data_type())) return onnx_import::onnx_type_name(tensor.data_type());
  }
  return "";
}

std::optional<Tensor> read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  onnx::TensorProto proto;
  if (!file || !proto.ParseFromString(bytes)) return std::nullopt;
  auto tensor = onnx_import::read_tensor(proto, "", path.string());
  if (!tensor) return std::nullopt;
  return *std::move(tensor);
}

// The tensors input_0.pb, input_1.pb, ... belong to the graph's inputs in order; a file may be missing for an input
// that is left out.
Status read_all(const fs::path& folder, const std::string& prefix, const Infos& infos, std::vector<NamedTensor>& to) {
  for (int i = 0; i < infos.size(); ++i) {
    const fs::path path = folder / (prefix + std::to_string(i) + ".pb");
    auto tensor = read_file(path);
    if (!tensor) return Error{ErrorKind::invalid_input, path.string(), "no tensor", "one", ""};
    to.push_back({infos[i].name(), *std::move(tensor)});
  }
  return ok_status();
}

}  // namespace

Result<NodeTest> read_node_test(const std::string& folder) {
  NodeTest test{.name = fs::path(folder).filename().string(), .model_path = folder + "/model.onnx"};
  auto model = onnx_import::parse_model_file(test.model_path);
  if (!model) return model.errors();
  test.skip_reason = foreign_types(model->graph());
  if (!test.skip_reason.empty()) return test;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_directory()) continue;
    DataSet data;
    if (auto read = read_all(entry.path(), "input_", model->graph().input(), data.inputs); !read) return read.errors();
    if (auto read = read_all(entry.path(), "output_", model->graph().output(), data.outputs); !read)
      return read.errors();
    test.data.push_back(std::move(data));
  }
  return test;
}

}  // namespace octavo::conformance
