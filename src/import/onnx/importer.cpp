// The importer of ONNX: walks over the file once, in its order. Part of import/.
#include "import/onnx/importer.h"

#include <algorithm>
#include <set>

#include "base/memory.h"
#include "import/onnx/operators.h"
#include "import/onnx/proto.h"
#include "import/onnx/tensor.h"
#include "import/onnx/types.h"

namespace octavo::onnx_import {
namespace {

std::string standard_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

std::string type_of(const onnx::NodeProto& node) {
  const std::string domain = standard_domain(node.domain());
  return domain.empty() ? node.op_type() : domain + "." + node.op_type();
}

// Walks over one graph.
class Importer {
 public:
  Importer(onnx::ModelProto& model, const std::string& folder, const std::string& file, const ImportOptions& options)
      : model_(model), proto_(*model.mutable_graph()), building_(file, options) {
    building_.folder = folder;
    building_.widens_halves = true;
  }

  Result<ImportedModel> run() {
    read_opsets();
    if (!building_.errors.empty()) return building_.errors;
    check_container();
    list_unread();
    read_initializers();
    read_inputs();
    for (int i = 0; i < proto_.node_size() && !building_.is_full(); ++i) read_node(i);
    read_outputs();
    const bool is_quantized = count(Family::qdq) + count(Family::qoperator) + count(Family::dynamic) > 0;
    return building_.finish(dialect(), is_quantized, proto_.node_size());
  }

 private:
  int opset_of(const onnx::NodeProto& node) const {
    const auto found = opsets_.find(standard_domain(node.domain()));
    return found == opsets_.end() ? 0 : found->second;
  }

  void read_opsets() {
    for (const auto& import : model_.opset_import()) {
      const std::string domain = standard_domain(import.domain());
      // Only the standard and Microsoft's are ever asked for; a version beyond int is no version.
      if (domain.empty() && (import.version() < kOldestOpset || import.version() > kNewestOpset)) {
        building_.report(ErrorKind::unsupported, "opset_import", "opset " + std::to_string(import.version()),
                         std::to_string(kOldestOpset) + " to " + std::to_string(kNewestOpset),
                         "Convert the model to another opset");
      }
      opsets_[domain] = static_cast<int>(std::clamp<std::int64_t>(import.version(), 0, 1 << 20));
    }
  }

  std::string name_of_node(const onnx::NodeProto& node, int index) const {
    if (!node.name().empty()) return node.name();
    for (const std::string& output : node.output()) {
      if (!output.empty()) return output;
    }
    return "#" + std::to_string(index);
  }

  std::string origin_of(const onnx::NodeProto& node, int index) const {
    return "node '" + name_of_node(node, index) + "' (" + type_of(node) + ", opset " + std::to_string(opset_of(node)) +
           ")";
  }

  void check_container() {
    if (proto_.sparse_initializer_size() > 0)
      building_.report(ErrorKind::unsupported, "", "sparse initializers", "dense ones");
    for (const auto& function : model_.functions()) {
      building_.report(ErrorKind::unsupported, "", "the local function '" + function.name() + "'", "standard operators",
                       "Inline functions when exporting");
    }
    const auto is_standard = [](const onnx::NodeProto& node) { return standard_domain(node.domain()).empty(); };
    if (opsets_.count("") == 0 && std::any_of(proto_.node().begin(), proto_.node().end(), is_standard))
      building_.report(ErrorKind::invalid_input, "opset_import", "none for the standard operators", "one");
    if (proto_.output_size() == 0)
      building_.report(ErrorKind::invalid_input, "", "a graph without outputs", "at least one output");
  }

  // nullptr where Octavo has no reader for this version.
  const Operator* find_operator(const onnx::NodeProto& node) const {
    const std::string type = type_of(node);
    const auto all = all_operators();
    const auto found = std::lower_bound(all.begin(), all.end(), std::string_view(type),
                                        [](const Operator& a, std::string_view name) { return a.name < name; });
    const int opset = opset_of(node);
    const bool is_read = found != all.end() && found->name == type && opset >= found->since && opset <= found->until;
    return is_read ? &*found : nullptr;
  }

  void list_unread() {
    std::map<std::string, std::vector<std::string>> unread;
    for (int i = 0; i < proto_.node_size(); ++i) {
      const auto& node = proto_.node(i);
      if (find_operator(node) != nullptr) continue;
      unread[type_of(node) + " (opset " + std::to_string(opset_of(node)) + ")"].push_back("'" + name_of_node(node, i) +
                                                                                          "'");
    }
    building_.report_unread(unread, "in node", "operators and opsets that Octavo reads");
  }

  void read_initializers() {
    constexpr std::size_t kMuch = std::size_t{16} << 20;
    std::size_t freed = 0;  // and not given back
    std::int64_t elements = 0;
    for (auto& tensor : *proto_.mutable_initializer()) {
      const std::string name = tensor.name(), place = "initializer '" + name + "'";
      if (name.empty() || building_.values.count(name) != 0) {
        building_.report(ErrorKind::invalid_input, place, name.empty() ? "no name" : "it twice",
                         "initializers of different names");
        continue;
      }
      auto read = read_tensor(tensor, building_.folder, building_.file + ": " + place);
      ValueId& value = building_.values[name];
      if (read) {
        elements += read->elements();
        value = building_.graph.add_constant(name, *std::move(read));
      } else {
        building_.report(read.errors());
      }
      freed += tensor.ByteSizeLong();
      tensor = {};  // gives its memory back, as Clear() does not
      tensor.set_name(name);
      if (freed >= kMuch) release_freed_memory(), freed = 0;
      if (building_.is_full()) return;
    }
    building_.allow_folding(elements);
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
      } else if (building_.values.count(name) == 0) {
        building_.values[name] = add_input(proto);
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

  // False where an input is missing or its producer could not be read.
  bool inputs_are_known(const onnx::NodeProto& node, int index) {
    bool are_known = true;
    for (int i = 0; i < node.input_size(); ++i) {
      if (node.input(i).empty()) continue;
      const auto found = building_.values.find(node.input(i));
      if (found == building_.values.end()) report_missing(node, index, i);
      are_known = are_known && found != building_.values.end() && found->second.exists();
    }
    return are_known;
  }

  // Whether a node has to run before the value `name` can be made.
  bool needs(const std::string& name, int index) const {
    std::vector<std::string> open{name};
    std::set<std::string> seen{name};
    while (!open.empty()) {
      const auto producer = producers_.find(open.back());
      open.pop_back();
      if (producer == producers_.end()) continue;
      if (producer->second == index) return true;
      for (const std::string& input : proto_.node(producer->second).input()) {
        if (!input.empty() && seen.insert(input).second) open.push_back(input);
      }
    }
    return false;
  }

  void report_missing(const onnx::NodeProto& node, int index, int input) {
    for (int i = 0; i < proto_.node_size() && !knows_producers_; ++i) {
      for (const std::string& output : proto_.node(i).output()) producers_.emplace(output, i);
    }
    knows_producers_ = true;
    const std::string name = "'" + node.input(input) + "', ";
    const auto report = [&](const char* found, const char* expected) {
      building_.report(ErrorKind::invalid_input, origin_of(node, index) + ", input " + std::to_string(input),
                       name + found, expected);
    };
    if (producers_.count(node.input(input)) == 0)
      report("which nothing makes", "a graph input, an initializer or the output of an earlier node");
    else if (needs(node.input(input), index)) report("which depends on this node: a cycle", "a graph without cycles");
    else report("which a later node makes", "nodes in an order of computation");
  }

  bool outputs_are_new(const onnx::NodeProto& node, int index) {
    for (const std::string& output : node.output()) {
      if (output.empty() || building_.values.count(output) == 0) continue;
      building_.report(ErrorKind::invalid_input, origin_of(node, index),
                       "the output '" + output + "', a name that is taken", "a new name");
      return false;
    }
    return true;
  }

  void read_node(int index) {
    const auto& node = proto_.node(index);
    const Operator* entry = find_operator(node);
    const bool is_readable = inputs_are_known(node, index);
    if (!outputs_are_new(node, index) || entry == nullptr || !is_readable) {
      for (const std::string& output : node.output()) {
        if (!output.empty()) building_.values.emplace(output, ValueId{});
      }
      return;
    }
    NodeReader in(building_, node, opset_of(node), name_of_node(node, index), origin_of(node, index));
    if (in.input_count() < entry->min_inputs || in.input_count() > entry->max_inputs) {
      const std::string most = entry->max_inputs == kAnyNumber ? "more" : std::to_string(entry->max_inputs);
      in.fail("", std::to_string(in.input_count()) + " inputs", std::to_string(entry->min_inputs) + " to " + most);
    } else {
      ++families_[family_of(node.op_type())];
      in.output(0, entry->read(in));
    }
    in.finish();
  }

  void read_outputs() {
    std::set<std::string> names;
    for (const auto& output : proto_.output()) {
      const std::string place = "output '" + output.name() + "'";
      const auto found = building_.values.find(output.name());
      if (!names.insert(output.name()).second) {
        building_.report(ErrorKind::invalid_input, place, "it twice", "outputs of different names");
      } else if (found == building_.values.end()) {
        building_.report(ErrorKind::invalid_input, place, "nothing that makes it", "a node's output");
      } else if (found->second.exists()) {
        add_output(output, found->second, place);
      }
    }
  }

  void add_output(const onnx::ValueInfoProto& output, ValueId value, const std::string& place) {
    const int declared = output.type().has_tensor_type() ? output.type().tensor_type().elem_type() : 0;
    const DType made = building_.graph.fact(value).dtype;
    if (declared == 0 || dtype_of_onnx(declared) == made) return building_.add_output(value, output.name());
    building_.report(ErrorKind::invalid_input, place, "the declared type " + onnx_type_name(declared),
                     std::string(name_of(made)) + ", which its node makes");
  }

  int count(Family family) const { return families_.count(family) != 0 ? families_.at(family) : 0; }

  std::string dialect() const {
    const std::string type = building_.activation_type();
    std::string text = "ONNX fp32";
    if (count(Family::qoperator) > 0) text = "ONNX QOperator" + type;
    else if (count(Family::qdq) > 0) text = "ONNX QDQ" + type;
    else if (count(Family::dynamic) > 0) text = "ONNX" + type;
    if (count(Family::dynamic) > 0) text += " dynamic";
    if (!building_.wide.empty()) text += ", 16-bit floats computed in fp32";
    return text;
  }

  onnx::ModelProto& model_;
  onnx::GraphProto& proto_;
  Building building_;
  std::map<std::string, int> opsets_;  // by domain, "ai.onnx" spelled as ""
  std::map<Family, int> families_;
  std::map<std::string, int> producers_;  // nodes by what they make, filled for the first message that needs it
  bool knows_producers_ = false;
};

}  // namespace

Result<ImportedModel> import_parsed(onnx::ModelProto& model, const std::string& folder, const std::string& file,
                                    const ImportOptions& options) {
  if (!model.has_graph()) return Error{ErrorKind::invalid_input, file, "no graph", "a model with one", ""};
  return Importer(model, folder, file, options).run();
}

}  // namespace octavo::onnx_import
