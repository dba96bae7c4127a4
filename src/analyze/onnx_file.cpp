// Reading and writing ONNX files whole. Part of analyze/.
#include "analyze/onnx_file.h"

#include <filesystem>
#include <limits>

#include "base/file.h"
#include "import/onnx/tensor.h"

namespace octavo {
namespace {

constexpr std::size_t kMostBytes = std::numeric_limits<int>::max();

Error too_large(const std::string& path) {
  return {.kind = ErrorKind::unsupported, .where = path, .found = "2 GiB or more", .expected = "less in one ONNX file"};
}

Status take_inside(onnx::TensorProto& tensor, const std::string& folder, const std::string& path) {
  if (tensor.data_location() != onnx::TensorProto::EXTERNAL) return ok_status();
  const auto data = onnx_import::read_tensor(tensor, folder, path + ": initializer '" + tensor.name() + "'");
  if (!data) return data.errors();
  tensor.set_raw_data(data->data(), data->bytes());
  tensor.clear_external_data();
  tensor.clear_data_location();
  return ok_status();
}

}  // namespace

Result<onnx::ModelProto> read_onnx_whole(const std::string& path) {
  auto model = onnx_import::parse_model_file(path);
  if (!model) return model.errors();
  if (!model->has_graph())
    return Error{.kind = ErrorKind::invalid_input, .where = path, .found = "no graph", .expected = "a model with one"};
  const std::string parent = std::filesystem::path(path).parent_path().string();
  std::size_t bytes = 0;
  for (onnx::TensorProto& tensor : *model->mutable_graph()->mutable_initializer()) {
    if (const Status taken = take_inside(tensor, parent.empty() ? "." : parent, path); !taken) return taken.errors();
    bytes += tensor.raw_data().size();
    if (bytes > kMostBytes) return too_large(path);
  }
  return model;
}

Status write_onnx(const std::string& path, const onnx::ModelProto& model) {
  if (model.ByteSizeLong() > kMostBytes) return too_large(path);
  return write_text(path, model.SerializeAsString());
}

const std::string& name_of_onnx_node(const onnx::NodeProto& node) {
  return !node.name().empty() || node.output_size() == 0 ? node.name() : node.output(0);
}

}  // namespace octavo
