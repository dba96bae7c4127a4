// An ONNX file as a FileView. Part of diagnose/.
#include <algorithm>
#include <filesystem>

#include "analyze/onnx_file.h"
#include "diagnose/file_view.h"
#include "import/onnx/proto.h"
#include "import/onnx/tensor.h"
#include "import/onnx/types.h"

namespace octavo::diagnose {
namespace {

// Where an operator has a tensor's scale and zero point among its inputs (an output's: `is_output`).
struct ScalePlace {
  int tensor, scale, zero_point;
  bool is_output = false;
};
struct ScaledOperator {
  std::string_view op;
  std::vector<ScalePlace> places;
};

const std::vector<ScaledOperator>& scaled_operators() {
  static const std::vector<ScaledOperator> operators = {
      {"QuantizeLinear", {{0, 1, 2, true}}},
      {"DequantizeLinear", {{0, 1, 2}}},
      {"QLinearConv", {{0, 1, 2}, {3, 4, 5}, {0, 6, 7, true}}},
      {"QLinearMatMul", {{0, 1, 2}, {3, 4, 5}, {0, 6, 7, true}}},
      {"QGemm", {{0, 1, 2}, {3, 4, 5}, {0, 7, 8, true}}},
      {"QLinearAdd", {{0, 1, 2}, {3, 4, 5}, {0, 6, 7, true}}},
      {"QLinearMul", {{0, 1, 2}, {3, 4, 5}, {0, 6, 7, true}}},
      {"QLinearSigmoid", {{0, 1, 2}, {0, 3, 4, true}}},
      {"QLinearLeakyRelu", {{0, 1, 2}, {0, 3, 4, true}}},
      {"QLinearSoftmax", {{0, 1, 2}, {0, 3, 4, true}}},
      {"QLinearAveragePool", {{0, 1, 2}, {0, 3, 4, true}}},
      {"QLinearGlobalAveragePool", {{0, 1, 2}, {0, 3, 4, true}}},
  };
  return operators;
}

std::optional<ViewAttribute> onnx_value_of(const onnx::AttributeProto& attribute) {
  switch (attribute.type()) {
    case onnx::AttributeProto::INT: return attribute.i();
    case onnx::AttributeProto::FLOAT: return static_cast<double>(attribute.f());
    case onnx::AttributeProto::STRING: return attribute.s();
    case onnx::AttributeProto::INTS: return std::vector<std::int64_t>(attribute.ints().begin(), attribute.ints().end());
    case onnx::AttributeProto::FLOATS: return std::vector<double>(attribute.floats().begin(), attribute.floats().end());
    default: return {};
  }
}

void take_type(ViewTensor& tensor, const onnx::TypeProto& type) {
  if (!type.has_tensor_type()) return;
  if (const auto dtype = onnx_import::dtype_of_onnx(type.tensor_type().elem_type())) tensor.dtype = dtype;
  if (!type.tensor_type().has_shape()) return;
  std::vector<std::int64_t> shape;
  for (const auto& dim : type.tensor_type().shape().dim()) {
    if (!dim.has_dim_value() || dim.dim_value() < 0) return;
    shape.push_back(dim.dim_value());
  }
  tensor.shape = std::move(shape);
}

// The parsed file, and where the data of its constants are.
struct OnnxParsed {
  onnx::ModelProto model;
  std::string path, folder;
  std::map<std::string, const onnx::TensorProto*> constants;

  std::optional<Tensor> read(const ViewTensor& tensor) const {
    const auto found = constants.find(tensor.name);
    if (found == constants.end()) return {};
    auto data = onnx_import::read_tensor(*found->second, folder, path + ": tensor '" + tensor.name + "'");
    return data ? std::optional(*std::move(data)) : std::nullopt;
  }
};

class OnnxReader {
 public:
  OnnxReader(const OnnxParsed& parsed, FileView& view) : parsed_(parsed), view_(view) {}

  void run() {
    const onnx::ModelProto& model = parsed_.model;
    view_.producer = model.producer_name() + (model.producer_version().empty() ? "" : " " + model.producer_version());
    for (const auto& entry : model.metadata_props()) view_.description += entry.key() + "=" + entry.value() + "\n";
    for (const auto& opset : model.opset_import())
      view_.opsets[opset.domain() == "ai.onnx" ? "" : opset.domain()] = static_cast<int>(opset.version());
    if (model.functions_size() > 0)
      view_.unresolved.push_back("what is inside of the file's " + std::to_string(model.functions_size()) +
                                 " local functions");
    for (const auto& [name, tensor] : parsed_.constants) add_constant(name, *tensor);
    for (const auto& info : model.graph().value_info()) take_type(tensor(info.name()), info.type());
    for (const auto& node : model.graph().node()) add_node(node);
    for (const auto& input : model.graph().input()) add_input(input);
    for (const auto& output : model.graph().output()) {
      take_type(tensor(output.name()), output.type());
      tensor(output.name()).is_output = true;
      view_.outputs.push_back(view_.tensor_named(output.name()));
    }
    for (const ViewNode& node : view_.nodes) add_scales(node);
  }

 private:
  ViewTensor& tensor(const std::string& name) {
    return view_.tensors[static_cast<std::size_t>(view_.tensor_named(name))];
  }

  void add_constant(const std::string& name, const onnx::TensorProto& data) {
    ViewTensor& made = tensor(name);
    made.is_constant = true;
    made.dtype = onnx_import::dtype_of_onnx(data.data_type());
    made.shape = std::vector<std::int64_t>(data.dims().begin(), data.dims().end());
  }

  void add_input(const onnx::ValueInfoProto& input) {
    if (tensor(input.name()).is_constant) return;
    take_type(tensor(input.name()), input.type());
    tensor(input.name()).is_input = true;
    view_.inputs.push_back(view_.tensor_named(input.name()));
  }

  void add_node(const onnx::NodeProto& node) {
    ViewNode made{.name = name_of_onnx_node(node), .op = node.op_type(), .domain = node.domain()};
    for (const std::string& name : node.input()) made.inputs.push_back(name.empty() ? -1 : view_.tensor_named(name));
    for (const std::string& name : node.output()) made.outputs.push_back(name.empty() ? -1 : view_.tensor_named(name));
    bool has_graphs = false;
    for (const auto& attribute : node.attribute()) {
      has_graphs = has_graphs || attribute.has_g();
      if (auto value = onnx_value_of(attribute)) made.attributes.emplace(attribute.name(), *std::move(value));
    }
    if (has_graphs) view_.unresolved.push_back("what is inside of node '" + made.name + "' (" + made.op + ")");
    view_.nodes.push_back(std::move(made));
  }

  void add_scales(const ViewNode& node) {
    const auto& operators = scaled_operators();
    const auto found = std::ranges::find(operators, node.op, &ScaledOperator::op);
    if (found == operators.end()) return;
    for (const ScalePlace& place : found->places) {
      const auto index = static_cast<std::size_t>(place.tensor);
      const int at = place.is_output ? view_.output(node) : view_.input(node, index);
      if (at < 0 || view_.tensor(at).quant) continue;
      ViewTensor& scaled = view_.tensors[static_cast<std::size_t>(at)];
      const int zero_point = view_.input(node, static_cast<std::size_t>(place.zero_point));
      scaled.quant = scales_of(view_.input(node, static_cast<std::size_t>(place.scale)), zero_point, node);
      if (!scaled.dtype) scaled.dtype = zero_point >= 0 ? view_.tensor(zero_point).dtype : DType::u8;
    }
  }

  std::optional<QuantParams> scales_of(int scale, int zero_point, const ViewNode& node) const {
    const auto scales = view_.values(scale);
    if (!scales) return {};  // computed in the run
    QuantParams quant{.scale = to_floats(scales->view())};
    if (const auto zeros = view_.values(zero_point)) {
      for (const std::int64_t zero : to_int64s(zeros->view()))
        quant.zero_point.push_back(static_cast<std::int32_t>(zero));
    }
    quant.zero_point.resize(quant.scale.size());
    if (quant.scale.size() > 1)
      quant.axis = static_cast<int>(node.op.starts_with("QLinear") ? 0 : node.integer("axis", 1));
    return quant;
  }

  const OnnxParsed& parsed_;
  FileView& view_;
};

}  // namespace

Result<FileView> view_of_onnx(const std::string& path) {
  auto model = onnx_import::parse_model_file(path);
  if (!model) return model.errors();
  if (!model->has_graph())
    return Error{.kind = ErrorKind::invalid_input, .where = path, .found = "no graph", .expected = "a model with one"};
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const auto parsed = std::make_shared<OnnxParsed>(
      OnnxParsed{.model = *std::move(model), .path = path, .folder = parent.empty() ? "." : parent, .constants = {}});
  for (const auto& tensor : parsed->model.graph().initializer()) parsed->constants.emplace(tensor.name(), &tensor);
  for (const auto& node : parsed->model.graph().node()) {
    if (node.op_type() != "Constant" || node.output_size() != 1) continue;
    for (const auto& attribute : node.attribute()) {
      if (attribute.name() == "value" && attribute.has_t()) parsed->constants.emplace(node.output(0), &attribute.t());
    }
  }
  FileView view{};
  view.read = [parsed](const ViewTensor& tensor) { return parsed->read(tensor); };
  OnnxReader(*parsed, view).run();
  return view;
}

}  // namespace octavo::diagnose
