// The importer of ONNX. Part of import/.
#include "import/onnx/importer.h"

#include <algorithm>
#include <set>

#include "base/memory.h"
#include "import/onnx/functions.h"
#include "import/onnx/graph_walker.h"
#include "import/onnx/nchwc.h"
#include "import/onnx/proto.h"
#include "import/onnx/tensor.h"
#include "import/onnx/types.h"

namespace octavo::onnx_import {
namespace {

// Reads what is around the nodes: inputs, initializers, outputs.
class Importer {
 public:
  Importer(onnx::ModelProto& model, const std::string& folder, const std::string& file, const ImportOptions& options)
      : model_(model), proto_(*model.mutable_graph()), building_(file, options) {
    building_.folder = folder;
    building_.widens_halves = true;
  }

  Result<ImportedModel> run() {
    walker_.read_opsets(model_);
    inline_functions(model_, building_);
    if (!building_.errors.empty()) return building_.errors;
    check_container();
    walker_.list_unread(proto_);
    block_ = nchwc_block_of(proto_);
    building_.nchwc_block = block_.channels;
    read_initializers();
    read_inputs();
    walker_.read_nodes(proto_);
    const bool is_quantized =
        walker_.count(Family::qdq) + walker_.count(Family::qoperator) + walker_.count(Family::dynamic) > 0;
    if (!building_.program.has_begun() && building_.computed.empty()) {
      read_outputs([&](const std::string& name) { building_.add_output(building_.find(name), name); });
      return building_.finish(dialect(), is_quantized, proto_.node_size());
    }
    std::vector<std::pair<std::string, Handle>> outputs;
    read_outputs([&](const std::string& name) { outputs.emplace_back(name, walker_.handle_of(name)); });
    if (!building_.errors.empty()) return building_.errors;
    building_.leave_graph();
    return building_.finish(building_.program.finish(outputs), dialect(), is_quantized, proto_.node_size());
  }

 private:
  void check_container() {
    if (proto_.sparse_initializer_size() > 0)
      building_.report(ErrorKind::unsupported, "", "sparse initializers", "dense ones");
    const auto is_standard = [](const onnx::NodeProto& node) { return standard_domain(node.domain()).empty(); };
    if (!walker_.has_standard_opset() && std::any_of(proto_.node().begin(), proto_.node().end(), is_standard))
      building_.report(ErrorKind::invalid_input, "opset_import", "none for the standard operators", "one");
    if (proto_.output_size() == 0)
      building_.report(ErrorKind::invalid_input, "", "a graph without outputs", "at least one output");
  }

  void read_initializers() {
    constexpr std::size_t kMuch = std::size_t{16} << 20;
    std::size_t freed = 0;  // and not given back
    for (auto& tensor : *proto_.mutable_initializer()) {
      const std::string name = tensor.name();
      walker_.read_initializer(tensor);
      freed += tensor.ByteSizeLong();
      tensor = {};  // gives its memory back, as Clear() does not
      tensor.set_name(name);
      if (freed >= kMuch) release_freed_memory(), freed = 0;
      if (building_.is_full()) return;
    }
    building_.allow_folding(walker_.elements());
  }

  static DeclaredDim declared(const onnx::TensorShapeProto::Dimension& dim) {
    if (dim.has_dim_value() && dim.dim_value() > 0) return {.size = dim.dim_value()};
    if (dim.has_dim_value()) return {.symbol = std::to_string(dim.dim_value())};
    return {.symbol = dim.dim_param().empty() ? "?" : dim.dim_param()};
  }

  // Those that are initializers too (old exports) are constants already.
  void read_inputs() {
    std::set<std::string> names;
    for (const auto& proto : proto_.input()) {
      const std::string& name = proto.name();
      const bool is_new = names.insert(name).second;
      if (name.empty() || !is_new) {
        building_.report(ErrorKind::invalid_input, "input '" + name + "'", is_new ? "no name" : "it twice",
                         "inputs of different names");
      } else if (!building_.is_known(name)) {
        building_.bind(name, add_input(proto));
      }
    }
    building_.check_inputs("Export the model with a symbolic first dimension, or give a whole --shape");
  }

  ValueId add_input(const onnx::ValueInfoProto& proto) {
    const std::string place = "input '" + proto.name() + "'";
    const auto& type = proto.type().tensor_type();
    const auto dtype = dtype_of_onnx(type.elem_type());
    if (!proto.type().has_tensor_type()) {
      building_.report(ErrorKind::unsupported, place, "a value that is no tensor", "a tensor");
      return {};
    }
    if (!dtype) {
      building_.report(ErrorKind::unsupported, place, "elements of type " + onnx_type_name(type.elem_type()),
                       "integers, floats or bool");
      return {};
    }
    DeclaredInput input{.name = proto.name(), .dtype = *dtype};
    if (type.has_shape()) {
      input.dims.emplace();
      for (const auto& dim : type.shape().dim()) input.dims->push_back(declared(dim));
    }
    return building_.add_input(input);
  }

  // Calls add(name) for each that there is.
  template <class Add>
  void read_outputs(const Add& add) {
    std::set<std::string> names;
    for (const auto& output : proto_.output()) {
      const std::string place = "output '" + output.name() + "'";
      if (!names.insert(output.name()).second) {
        building_.report(ErrorKind::invalid_input, place, "it twice", "outputs of different names");
      } else if (!building_.is_known(output.name())) {
        building_.report(ErrorKind::invalid_input, place, "nothing that makes it", "a node's output");
      } else if (const auto made = type_of(output.name()); made && has_type(output, *made, place)) {
        add(output.name());
      }
    }
  }

  // Nothing where it could not be read.
  std::optional<DType> type_of(const std::string& name) {
    const auto outer = building_.outer.find(name);
    if (outer != building_.outer.end() && outer->second != kNoHandle)
      return building_.program.fact(outer->second).dtype;
    const ValueId id = building_.find(name);
    return id.exists() ? std::optional(building_.graph.fact(id).dtype) : std::nullopt;
  }

  bool has_type(const onnx::ValueInfoProto& output, DType made, const std::string& place) {
    const int declared = output.type().has_tensor_type() ? output.type().tensor_type().elem_type() : 0;
    if (declared == 0 || dtype_of_onnx(declared) == made) return true;
    building_.report(ErrorKind::invalid_input, place, "the declared type " + onnx_type_name(declared),
                     std::string(name_of(made)) + ", which its node makes");
    return false;
  }

  std::string dialect() const {
    const std::string type = building_.activation_type();
    std::string text = "ONNX fp32";
    if (walker_.count(Family::qoperator) > 0) text = "ONNX QOperator" + type;
    else if (walker_.count(Family::qdq) > 0) text = "ONNX QDQ" + type;
    else if (walker_.count(Family::dynamic) > 0) text = "ONNX" + type;
    if (walker_.count(Family::dynamic) > 0) text += " dynamic";
    if (block_.channels > 0)
      text += ", weights in blocks of " + std::to_string(block_.channels) + " channels" +
              (block_.is_known ? "" : ", as on this machine");
    if (!building_.wide.empty()) text += ", 16-bit floats computed in fp32";
    return text;
  }

  onnx::ModelProto& model_;
  onnx::GraphProto& proto_;
  Building building_;
  NchwcBlock block_;
  GraphWalker walker_{building_};
};

}  // namespace

Result<ImportedModel> import_parsed(onnx::ModelProto& model, const std::string& folder, const std::string& file,
                                    const ImportOptions& options) {
  if (!model.has_graph()) return Error{ErrorKind::invalid_input, file, "no graph", "a model with one", ""};
  return Importer(model, folder, file, options).run();
}

}  // namespace octavo::onnx_import
