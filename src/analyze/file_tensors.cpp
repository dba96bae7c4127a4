// Tensors of ONNX and TFLite files, by the files themselves. Part of analyze/.
#include "analyze/file_tensors.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "analyze/onnx_file.h"
#include "base/file.h"
#include "import/tflite/file_tensor.h"
#include "import/tflite/model_file.h"
#include "import/tflite/operators.h"

namespace octavo {
namespace {

namespace file = tflite_import::file;
using Indices = flatbuffers::Vector<std::int32_t>;

Result<FileTensors> tensors_of_onnx(const std::string& path) {
  const auto model = onnx_import::parse_model_file(path);
  if (!model) return model.errors();
  const onnx::GraphProto& graph = model->graph();
  FileTensors tensors{.format = FileFormat::onnx};
  std::set<std::string> constants;
  for (const auto& initializer : graph.initializer()) constants.insert(initializer.name());
  for (const auto& node : graph.node()) {
    for (const std::string& output : node.output()) {
      if (!output.empty()) tensors.made.push_back({output, name_of_onnx_node(node), node.op_type()});
    }
  }
  for (const auto& input : graph.input()) {
    if (!constants.contains(input.name())) tensors.inputs.push_back({.name = input.name()});
  }
  for (const auto& output : graph.output()) tensors.outputs.push_back({.name = output.name()});
  return tensors;
}

// The subgraph that runs, its tensors read.
struct TfliteGraph {
  tflite_import::ModelFile model;
  const file::SubGraph* graph = nullptr;
  std::vector<tflite_import::FileTensor> tensors;

  std::vector<MadeTensor> named(const Indices* indices, const std::string& node, const std::string& op) const {
    std::vector<MadeTensor> made;
    for (flatbuffers::uoffset_t i = 0; indices != nullptr && i < indices->size(); ++i) {
      const std::int32_t index = indices->Get(i);
      if (index < 0 || static_cast<std::size_t>(index) >= tensors.size()) continue;  // left out
      made.push_back({tensors[static_cast<std::size_t>(index)].name, node, op, index});
    }
    return made;
  }

  std::string name_of(const file::Operator& op) const {
    const auto* codes = model.model->operator_codes();
    if (codes == nullptr || op.opcode_index() >= codes->size()) return "?";
    const file::OperatorCode& code = *codes->Get(op.opcode_index());
    const int number = std::max<int>(code.deprecated_builtin_code(), code.builtin_code());
    const bool is_custom = number == tflite_import::kCustomCode && code.custom_code() != nullptr;
    return is_custom ? code.custom_code()->str() : tflite_import::builtin_name(number);
  }
};

Result<TfliteGraph> read_tflite(const std::string& path) {
  auto model = tflite_import::parse_model_file(path);
  if (!model) return model.errors();
  const auto* graphs = model->model->subgraphs();
  if (graphs == nullptr || graphs->size() == 0)
    return Error{.kind = ErrorKind::invalid_input, .where = path, .found = "no subgraph", .expected = "one"};
  TfliteGraph read{.model = std::move(*model), .graph = graphs->Get(0)};
  Errors errors;
  read.tensors = tflite_import::read_tensors(read.model, *read.graph, path, errors);
  if (!errors.empty()) return errors;
  return read;
}

Result<FileTensors> tensors_of_tflite(const std::string& path) {
  const auto read = read_tflite(path);
  if (!read) return read.errors();
  FileTensors tensors{.format = FileFormat::tflite};
  const auto* operators = read->graph->operators();
  for (flatbuffers::uoffset_t i = 0; operators != nullptr && i < operators->size(); ++i) {
    const file::Operator& op = *operators->Get(i);
    const auto made = read->named(op.outputs(), std::to_string(i), read->name_of(op));
    tensors.made.insert(tensors.made.end(), made.begin(), made.end());
  }
  tensors.inputs = read->named(read->graph->inputs(), "", "");
  tensors.outputs = read->named(read->graph->outputs(), "", "");
  return tensors;
}

Status write_onnx_with_outputs(const std::string& path, const std::vector<MadeTensor>& outputs, const std::string& to) {
  auto model = read_onnx_whole(path);
  if (!model) return model.errors();
  onnx::GraphProto& graph = *model->mutable_graph();
  std::vector<onnx::ValueInfoProto> known(graph.output().begin(), graph.output().end());
  known.insert(known.end(), graph.value_info().begin(), graph.value_info().end());
  graph.clear_output();
  for (const MadeTensor& output : outputs) {
    const auto found = std::ranges::find(known, output.name, &onnx::ValueInfoProto::name);
    onnx::ValueInfoProto& info = *graph.add_output();
    info.set_name(output.name);
    if (found != known.end() && found->has_type()) *info.mutable_type() = found->type();
  }
  return write_onnx(to, *model);
}

// A vector of the format behind what is there, and the field of the subgraph that leads to it: offsets count from the
// field and only lead forward.
Status write_tflite_with_outputs(const std::string& path, const std::vector<MadeTensor>& outputs,
                                 const std::string& to) {
  const auto read = read_tflite(path);
  if (!read) return read.errors();
  const std::span<const std::byte> contents = read->model.contents();
  const auto* field = reinterpret_cast<const std::byte*>(
      reinterpret_cast<const flatbuffers::Table*>(read->graph)->GetAddressOf(file::SubGraph::VT_OUTPUTS));
  std::vector<std::byte> bytes(contents.begin(), contents.end());
  bytes.resize((bytes.size() + 3) / 4 * 4);
  if (field == nullptr || bytes.size() > std::numeric_limits<std::int32_t>::max())
    return Error{.kind = ErrorKind::unsupported,
                 .where = path,
                 .found = field == nullptr ? "no outputs" : "2 GiB or more",
                 .expected = "a file of outputs and less than that"};
  const auto place = static_cast<std::size_t>(field - contents.data());
  const auto offset = flatbuffers::EndianScalar(static_cast<flatbuffers::uoffset_t>(bytes.size() - place));
  std::memcpy(bytes.data() + place, &offset, sizeof offset);
  const auto append = [&](std::int32_t number) {
    const std::int32_t stored = flatbuffers::EndianScalar(number);
    const auto* begin = reinterpret_cast<const std::byte*>(&stored);
    bytes.insert(bytes.end(), begin, begin + sizeof stored);
  };
  append(static_cast<std::int32_t>(outputs.size()));
  for (const MadeTensor& output : outputs) append(output.index);
  return write_file(to, bytes);
}

}  // namespace

Result<FileTensors> tensors_of_file(const std::string& path) {
  const auto format = format_of_file(path);
  if (!format) return format.errors();
  if (*format == FileFormat::onnx) return tensors_of_onnx(path);
  if (*format == FileFormat::tflite) return tensors_of_tflite(path);
  return Error{.kind = ErrorKind::usage,
               .where = path,
               .found = "a file that is neither ONNX nor TFLite",
               .expected = "one that other programs run, too"};
}

Status write_with_outputs(const std::string& path, const std::vector<MadeTensor>& outputs, const std::string& to) {
  const auto format = format_of_file(path);
  if (!format) return format.errors();
  return *format == FileFormat::tflite ? write_tflite_with_outputs(path, outputs, to)
                                       : write_onnx_with_outputs(path, outputs, to);
}

}  // namespace octavo
