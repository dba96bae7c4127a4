// The first subgraph of a TFLite file as a FileView. Part of diagnose/.
#include <algorithm>

#include "diagnose/file_view.h"
#include "import/tflite/file_tensor.h"
#include "import/tflite/model_file.h"
#include "import/tflite/operators.h"

namespace octavo::diagnose {
namespace {

namespace file = tflite_import::file;
using Indices = flatbuffers::Vector<std::int32_t>;

struct TfliteParsed {
  tflite_import::ModelFile model;
  std::vector<tflite_import::FileTensor> tensors;
};

std::vector<int> read_indices(const Indices* indices, std::size_t tensors) {
  std::vector<int> read;
  for (flatbuffers::uoffset_t i = 0; indices != nullptr && i < indices->size(); ++i) {
    const std::int32_t index = indices->Get(i);
    read.push_back(index < 0 || static_cast<std::size_t>(index) >= tensors ? -1 : index);
  }
  return read;
}

std::string operator_name(const file::Model& model, const file::Operator& op) {
  const auto* codes = model.operator_codes();
  if (codes == nullptr || op.opcode_index() >= codes->size()) return "?";
  const file::OperatorCode& code = *codes->Get(op.opcode_index());
  const int number = std::max<int>(code.deprecated_builtin_code(), static_cast<int>(code.builtin_code()));
  const bool is_custom = number == tflite_import::kCustomCode && code.custom_code() != nullptr;
  return is_custom ? code.custom_code()->str() : tflite_import::builtin_name(number);
}

// Activations that the operator computes besides, as the format numbers them.
void add_options(const file::Operator& op, ViewNode& node) {
  const auto add = [&](auto activation) { node.attributes["activation"] = static_cast<std::int64_t>(activation); };
  if (const auto* conv = op.builtin_options_as_Conv2DOptions()) {
    add(conv->fused_activation_function());
    node.attributes["stride"] = static_cast<std::int64_t>(conv->stride_h());
  } else if (const auto* depthwise = op.builtin_options_as_DepthwiseConv2DOptions()) {
    add(depthwise->fused_activation_function());
    node.attributes["stride"] = static_cast<std::int64_t>(depthwise->stride_h());
  } else if (const auto* dense = op.builtin_options_as_FullyConnectedOptions()) {
    add(dense->fused_activation_function());
  }
}

void add_nodes(const TfliteParsed& parsed, const file::SubGraph& graph, FileView& view) {
  const auto* operators = graph.operators();
  for (flatbuffers::uoffset_t i = 0; operators != nullptr && i < operators->size(); ++i) {
    const file::Operator& op = *operators->Get(i);
    ViewNode node{.op = operator_name(*parsed.model.model, op),
                  .inputs = read_indices(op.inputs(), parsed.tensors.size()),
                  .outputs = read_indices(op.outputs(), parsed.tensors.size())};
    node.name = view.output(node) < 0 ? std::to_string(i) : view.tensor(view.output(node)).name;
    add_options(op, node);
    view.nodes.push_back(std::move(node));
  }
}

void add_origin(const file::Model& model, FileView& view) {
  view.producer = model.description() == nullptr ? "" : model.description()->str();
  view.opsets[""] = static_cast<int>(model.version());
  const auto subgraphs = model.subgraphs()->size();
  if (subgraphs > 1)
    view.unresolved.push_back("what is inside of the file's " + std::to_string(subgraphs - 1) + " other subgraphs");
}

}  // namespace

Result<FileView> view_of_tflite(const std::string& path) {
  auto model = tflite_import::parse_model_file(path);
  if (!model) return model.errors();
  const auto* graphs = model->model->subgraphs();
  if (graphs == nullptr || graphs->size() == 0)
    return Error{.kind = ErrorKind::invalid_input, .where = path, .found = "no subgraph", .expected = "one"};
  const auto parsed = std::make_shared<TfliteParsed>(TfliteParsed{.model = *std::move(model), .tensors = {}});
  const file::SubGraph& graph = *parsed->model.model->subgraphs()->Get(0);
  Errors errors;
  parsed->tensors = tflite_import::read_tensors(parsed->model, graph, path, errors);
  if (!errors.empty()) return errors;
  FileView view{};
  std::map<std::string, int> uses;
  for (const tflite_import::FileTensor& tensor : parsed->tensors) {
    const int number = ++uses[tensor.name];  // names may repeat in the format
    const int index = view.tensor_named(number == 1 ? tensor.name : tensor.name + "." + std::to_string(number));
    ViewTensor& made = view.tensors[static_cast<std::size_t>(index)];
    made.dtype = tensor.dtype;
    made.shape = std::vector<std::int64_t>(tensor.shape.begin(), tensor.shape.end());
    made.quant = tensor.quant;
    made.is_constant = tensor.constant != nullptr;
  }
  if (view.tensors.size() != parsed->tensors.size())
    return Error{
        .kind = ErrorKind::unsupported, .where = path, .found = "tensors of one name", .expected = "names apart"};
  add_nodes(*parsed, graph, view);
  view.inputs = read_indices(graph.inputs(), parsed->tensors.size());
  view.outputs = read_indices(graph.outputs(), parsed->tensors.size());
  for (const int index : view.inputs) view.tensors[static_cast<std::size_t>(index)].is_input = true;
  for (const int index : view.outputs) view.tensors[static_cast<std::size_t>(index)].is_output = true;
  add_origin(*parsed->model.model, view);
  // Copies: the view's order of tensors is the file's.
  std::map<std::string, std::shared_ptr<const Tensor>> constants;
  for (std::size_t i = 0; i < parsed->tensors.size(); ++i) {
    if (parsed->tensors[i].constant != nullptr) constants[view.tensors[i].name] = parsed->tensors[i].constant;
  }
  view.read = [parsed, constants = std::move(constants)](const ViewTensor& tensor) -> std::optional<Tensor> {
    const auto found = constants.find(tensor.name);
    return found == constants.end() ? std::nullopt : std::optional(*found->second);
  };
  return view;
}

}  // namespace octavo::diagnose
