// The importer of ONNX: walks over the file once, in its order. Part of import/.
#include "import/onnx/importer.h"

#include <algorithm>
#include <set>

#include "base/memory.h"
#include "import/onnx/inputs.h"
#include "import/onnx/node_reader.h"
#include "import/onnx/operators.h"
#include "import/onnx/order.h"
#include "import/onnx/tensor.h"
#include "import/onnx/types.h"
#include "ops/list.h"

namespace octavo::onnx_import {
namespace {

constexpr std::size_t kErrorLimit = 100;  // a hostile file may have millions
constexpr std::int64_t kFoldBudget = std::int64_t{1} << 25;

struct Opsets {
  std::map<std::string, std::int64_t> versions;  // by domain, "ai.onnx" spelled as ""
  int of(const std::string& domain) const {
    const auto found = versions.find(domain);
    return found == versions.end() ? 0 : static_cast<int>(found->second);
  }
};

std::string standard_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

Opsets read_opsets(const onnx::ModelProto& model, const std::string& file, Errors& errors) {
  Opsets opsets;
  for (const auto& import : model.opset_import()) {
    const std::string domain = standard_domain(import.domain());
    // Only these two are ever asked for; a version beyond int is no version.
    if (domain.empty() && (import.version() < kOldestOpset || import.version() > kNewestOpset)) {
      errors.push_back({ErrorKind::unsupported, file + ": opset_import", "opset " + std::to_string(import.version()),
                        std::to_string(kOldestOpset) + " to " + std::to_string(kNewestOpset),
                        "Convert the model to another opset"});
      continue;
    }
    opsets.versions[domain] = std::clamp<std::int64_t>(import.version(), 0, 1 << 20);
  }
  return opsets;
}

// Walks over one graph.
class Importer {
 public:
  Importer(onnx::ModelProto& model, const std::string& folder, const std::string& file, const ImportOptions& options)
      : model_(model), proto_(*model.mutable_graph()), file_(file), options_(options) {
    building_.folder = folder;
  }

  Result<ImportedModel> run() {
    opsets_ = read_opsets(model_, file_, building_.errors);
    if (!building_.errors.empty()) return building_.errors;
    check_container();
    list_unsupported();
    read_initializers();
    read_inputs(proto_, file_, options_, building_);
    for (int i = 0; i < proto_.node_size() && building_.errors.size() < kErrorLimit; ++i) read_node(i);
    read_outputs();
    if (!building_.errors.empty()) return building_.errors;
    building_.graph.remove_unused();
    if (auto status = verify(building_.graph); !status) return in_file(std::move(status).errors());
    return ImportedModel{std::move(building_.graph), dialect(), is_quantized(), proto_.node_size()};
  }

 private:
  Errors in_file(Errors errors) const {
    for (Error& error : errors) error.where = file_ + ": " + error.where;
    return errors;
  }

  void report(ErrorKind kind, const std::string& where, std::string found, std::string expected,
              std::string hint = {}) {
    building_.errors.push_back({kind, where, std::move(found), std::move(expected), std::move(hint)});
  }

  std::string name_of_node(const onnx::NodeProto& node, int index) const {
    if (!node.name().empty()) return node.name();
    for (const std::string& output : node.output()) {
      if (!output.empty()) return output;
    }
    return "#" + std::to_string(index);
  }

  std::string origin_of(const onnx::NodeProto& node, int index) const {
    const std::string domain = standard_domain(node.domain());
    const std::string type = domain.empty() ? node.op_type() : domain + "." + node.op_type();
    return "node '" + name_of_node(node, index) + "' (" + type + ", opset " + std::to_string(opsets_.of(domain)) + ")";
  }

  void check_container() {
    if (proto_.sparse_initializer_size() > 0)
      report(ErrorKind::unsupported, file_, "sparse initializers", "dense ones");
    for (const auto& function : model_.functions()) {
      report(ErrorKind::unsupported, file_, "the local function '" + function.name() + "'", "standard operators",
             "Inline functions when exporting");
      if (building_.errors.size() >= kErrorLimit) return;
    }
    const auto is_standard = [](const onnx::NodeProto& node) { return standard_domain(node.domain()).empty(); };
    if (opsets_.versions.count("") == 0 && std::any_of(proto_.node().begin(), proto_.node().end(), is_standard)) {
      report(ErrorKind::invalid_input, file_ + ": opset_import", "none for the standard operators", "one");
    }
    if (proto_.output_size() == 0)
      report(ErrorKind::invalid_input, file_, "a graph without outputs", "at least one output");
  }

  // nullptr where Octavo has no reader for this version.
  const Operator* find_operator(const onnx::NodeProto& node) const {
    const std::string domain = standard_domain(node.domain());
    const auto all = all_operators();
    const auto key = [](const Operator& entry) { return std::pair(entry.domain, entry.name); };
    const std::pair<std::string_view, std::string_view> wanted{domain, node.op_type()};
    auto entry =
        std::lower_bound(all.begin(), all.end(), wanted, [&](const Operator& a, const auto& b) { return key(a) < b; });
    const int opset = opsets_.of(domain);
    for (; entry != all.end() && key(*entry) == wanted; ++entry) {
      if (opset >= entry->since && opset <= entry->until) return &*entry;
    }
    return nullptr;
  }

  // One error per operator type, naming its nodes.
  void list_unsupported() {
    constexpr int kShown = 5;
    std::map<std::string, std::pair<int, std::string>> missing;  // type -> count, names
    for (int i = 0; i < proto_.node_size(); ++i) {
      const auto& node = proto_.node(i);
      if (find_operator(node) != nullptr) continue;
      const std::string domain = standard_domain(node.domain());
      auto& [count, names] = missing[(domain.empty() ? "" : domain + ".") + node.op_type() + " (opset " +
                                     std::to_string(opsets_.of(domain)) + ")"];
      if (count++ < kShown) names += (names.empty() ? "'" : ", '") + name_of_node(node, i) + "'";
    }
    for (const auto& [type, nodes] : missing) {
      if (building_.errors.size() >= kErrorLimit) return;
      const std::string more = nodes.first > kShown ? " and " + std::to_string(nodes.first - kShown) + " more" : "";
      report(ErrorKind::unsupported, file_ + ": operator " + type,
             (nodes.first == 1 ? "it in node " : "it in nodes ") + nodes.second + more,
             "operators and opsets that Octavo reads");
    }
  }

  void read_initializers() {
    constexpr std::size_t kMuch = std::size_t{16} << 20;
    std::size_t freed = 0;  // and not given back
    std::int64_t elements = 0;
    for (auto& tensor : *proto_.mutable_initializer()) {
      const std::string where = file_ + ": initializer '" + tensor.name() + "'";
      if (tensor.name().empty() || building_.values.count(tensor.name()) != 0) {
        report(ErrorKind::invalid_input, where, tensor.name().empty() ? "no name" : "it twice",
               "initializers of different names");
        continue;
      }
      auto read = read_tensor(tensor, building_.folder, where);
      ValueId value;
      if (read) {
        elements += read->elements();
        value = building_.graph.add_constant(tensor.name(), *std::move(read));
      } else {
        building_.errors.insert(building_.errors.end(), read.errors().begin(), read.errors().end());
      }
      building_.values[tensor.name()] = value;
      const std::string name = tensor.name();
      freed += tensor.ByteSizeLong();
      tensor = {};  // gives its memory back, as Clear() does not
      tensor.set_name(name);
      if (freed >= kMuch) release_freed_memory(), freed = 0;
      if (building_.errors.size() >= kErrorLimit) return;
    }
    building_.fold_budget = kFoldBudget + 8 * elements;
  }

  // False where an input is missing or its producer could not be read.
  bool inputs_are_known(const onnx::NodeProto& node, int index) {
    bool are_known = true;
    for (int i = 0; i < node.input_size(); ++i) {
      if (node.input(i).empty()) continue;
      const auto found = building_.values.find(node.input(i));
      if (found != building_.values.end()) {
        are_known = are_known && found->second.exists();
        continue;
      }
      are_known = false;
      report_missing(node, index, i);
    }
    return are_known;
  }

  void report_missing(const onnx::NodeProto& node, int index, int input) {
    if (producers_.empty()) {
      for (const auto& other : proto_.node()) producers_.insert(other.output().begin(), other.output().end());
      on_cycle_ = nodes_on_cycles(proto_);
    }
    const std::string& name = node.input(input);
    const std::string where = file_ + ": " + origin_of(node, index) + ", input " + std::to_string(input);
    if (producers_.count(name) == 0) {
      report(ErrorKind::invalid_input, where, "'" + name + "', which nothing makes",
             "a graph input, an initializer or the output of an earlier node");
    } else if (on_cycle_[static_cast<std::size_t>(index)]) {
      report(ErrorKind::invalid_input, where, "'" + name + "', which depends on this node: a cycle",
             "a graph without cycles");
    } else {
      report(ErrorKind::invalid_input, where, "'" + name + "', which a later node makes",
             "nodes in an order of computation");
    }
  }

  bool outputs_are_new(const onnx::NodeProto& node, int index) {
    for (const std::string& output : node.output()) {
      if (output.empty() || building_.values.count(output) == 0) continue;
      report(ErrorKind::invalid_input, file_ + ": " + origin_of(node, index),
             "the output '" + output + "', a name that is taken", "a new name");
      return false;
    }
    return true;
  }

  void poison_outputs(const onnx::NodeProto& node) {
    for (const std::string& output : node.output()) {
      if (!output.empty()) building_.values.emplace(output, ValueId{});
    }
  }

  void read_node(int index) {
    const auto& node = proto_.node(index);
    const Operator* entry = find_operator(node);
    const bool is_readable = inputs_are_known(node, index);
    if (!outputs_are_new(node, index) || entry == nullptr || !is_readable) return poison_outputs(node);
    const std::string domain = standard_domain(node.domain());
    const std::string origin = origin_of(node, index);
    NodeReader in(building_, node, opsets_.of(domain), name_of_node(node, index), origin, file_ + ": " + origin);
    if (in.input_count() < entry->min_inputs || in.input_count() > entry->max_inputs) {
      const std::string most = entry->max_inputs == kAnyNumber ? "more" : std::to_string(entry->max_inputs);
      in.fail("", std::to_string(in.input_count()) + " inputs", std::to_string(entry->min_inputs) + " to " + most);
    } else {
      ++families_[family_of(node.op_type())];
      entry->read(in);
    }
    in.finish();
  }

  // An output that no node makes, or that another output is already, gets a node of its own.
  ValueId own_value(ValueId value, const std::string& name) {
    Graph& graph = building_.graph;
    if (graph.value(value).producer.exists() && output_values_.insert(value.index).second) return value;
    const Fact fact = graph.fact(value);
    const Attrs attrs = ReshapeAttrs{.shape = fact.shape.to_vector()};
    auto copy = graph.add(kReshape, attrs, {value}, name + ".output", "graph output '" + name + "'");
    if (copy) return *copy;
    const Errors errors = in_file(std::move(copy).errors());
    building_.errors.insert(building_.errors.end(), errors.begin(), errors.end());
    return {};
  }

  void read_outputs() {
    std::set<std::string> names;
    for (const auto& output : proto_.output()) {
      if (building_.errors.size() >= kErrorLimit) return;
      const std::string where = file_ + ": output '" + output.name() + "'";
      const auto found = building_.values.find(output.name());
      if (!names.insert(output.name()).second) {
        report(ErrorKind::invalid_input, where, "it twice", "outputs of different names");
      } else if (found == building_.values.end()) {
        report(ErrorKind::invalid_input, where, "nothing that makes it", "a node's output");
      } else if (found->second.exists()) {
        add_output(output, found->second, where);
      }
    }
  }

  void add_output(const onnx::ValueInfoProto& output, ValueId value, const std::string& where) {
    const int declared = output.type().has_tensor_type() ? output.type().tensor_type().elem_type() : 0;
    const DType made = building_.graph.fact(value).dtype;
    if (declared != 0 && dtype_of_onnx(declared) != made) {
      report(ErrorKind::invalid_input, where, "the declared type " + onnx_type_name(declared),
             std::string(name_of(made)) + ", which its node makes");
      return;
    }
    const ValueId own = own_value(value, output.name());
    if (own.exists()) building_.graph.add_output(own, output.name());
  }

  bool is_quantized() const {
    return std::any_of(families_.begin(), families_.end(),
                       [](const auto& family) { return family.first != Family::plain && family.second > 0; });
  }

  std::string dialect() const {
    const auto count = [&](Family family) { return families_.count(family) != 0 ? families_.at(family) : 0; };
    const auto& types = building_.activation_types;
    const auto most =
        std::max_element(types.begin(), types.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    const std::string type = most == types.end() ? "" : " " + std::string(name_of(most->first));
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
  const std::string& file_;
  const ImportOptions& options_;
  Opsets opsets_;
  Building building_;
  std::map<Family, int> families_;
  std::set<int> output_values_;      // by index
  std::set<std::string> producers_;  // every node output, filled for the first message that needs it
  std::vector<bool> on_cycle_;
};

}  // namespace

Result<ImportedModel> import_parsed(onnx::ModelProto& model, const std::string& folder, const std::string& file,
                                    const ImportOptions& options) {
  if (!model.has_graph()) return Error{ErrorKind::invalid_input, file, "no graph", "a model with one", ""};
  return Importer(model, folder, file, options).run();
}

}  // namespace octavo::onnx_import
