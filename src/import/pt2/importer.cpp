// The importer of exported PyTorch programs: walks over the nodes once, in their order. Part of import/.
#include "import/pt2/importer.h"

#include <algorithm>
#include <set>

#include "import/pt2/container.h"
#include "import/pt2/inputs.h"
#include "import/pt2/node_reader.h"
#include "import/pt2/operators.h"
#include "import/pt2/types.h"
#include "ops/list.h"

namespace octavo::pt2_import {
namespace {

constexpr std::size_t kErrorLimit = 100;  // a hostile file may have millions
constexpr std::int64_t kFoldBudget = std::int64_t{1} << 25;

class Importer {
 public:
  Importer(Container& container, const std::string& file, const ImportOptions& options)
      : program_(container.program), weights_(container.weights), file_(file), options_(options) {}

  Result<ImportedModel> run() {
    list_unsupported();
    read_stored();
    read_inputs(program_, file_, options_, building_);
    building_.fold_budget = kFoldBudget + 8 * static_cast<std::int64_t>(weights_.total_elements());
    for (const ProgramNode& node : program_.nodes) {
      if (building_.errors.size() >= kErrorLimit) break;
      read_node(node);
    }
    read_outputs();
    if (!building_.errors.empty()) return building_.errors;
    building_.graph.remove_unused();
    if (auto status = verify(building_.graph); !status) return in_file(std::move(status).errors());
    return ImportedModel{std::move(building_.graph), dialect(), building_.is_quantized,
                         static_cast<int>(program_.nodes.size())};
  }

 private:
  Errors in_file(Errors errors) const {
    for (Error& error : errors) error.where = file_ + ": " + error.where;
    return errors;
  }

  void report(ErrorKind kind, const std::string& where, std::string found, std::string expected) {
    if (building_.errors.size() < kErrorLimit)
      building_.errors.push_back({kind, where, std::move(found), std::move(expected), ""});
  }
  void append(const Errors& errors) {
    for (const Error& error : errors) {
      if (building_.errors.size() < kErrorLimit) building_.errors.push_back(error);
    }
  }

  static std::string origin_of(const ProgramNode& node) {
    return "node '" + node.name + "' (" + node.target + (node.source_line.empty() ? "" : ", " + node.source_line) + ")";
  }

  // One error per operator, naming its nodes.
  void list_unsupported() {
    constexpr int kShown = 5;
    std::map<std::string, std::pair<int, std::string>> missing;  // target -> count, names
    for (const ProgramNode& node : program_.nodes) {
      if (find_operator(node.target).read != nullptr) continue;
      auto& [count, names] = missing[node.target];
      const std::string line = node.source_line.empty() ? "" : " (" + node.source_line + ")";
      if (count++ < kShown) names += (names.empty() ? "'" : ", '") + node.name + "'" + line;
    }
    for (const auto& [target, nodes] : missing) {
      const std::string more = nodes.first > kShown ? " and " + std::to_string(nodes.first - kShown) + " more" : "";
      report(ErrorKind::unsupported, file_ + ": operator " + target,
             (nodes.first == 1 ? "it in node " : "it in nodes ") + nodes.second + more, "operators that Octavo reads");
    }
  }

  // Names that some node reads; the weights that quantization replaced are still in the file.
  std::set<std::string> used_names() const {
    std::set<std::string> used(program_.outputs.begin(), program_.outputs.end());
    for (const ProgramNode& node : program_.nodes) {
      for (const NamedArgument& input : node.inputs) {
        if (const auto* tensor = std::get_if<TensorName>(&input.value)) used.insert(tensor->name);
        if (const auto* tensors = std::get_if<TensorNames>(&input.value)) {
          for (const auto& one : *tensors) used.insert(one ? one->name : "");
        }
      }
    }
    return used;
  }

  // Parameters, buffers and constants.
  void read_stored() {
    const std::set<std::string> used = used_names();
    for (const ProgramInput& input : program_.inputs) {
      if (building_.errors.size() >= kErrorLimit) return;
      if (input.kind == InputKind::user || used.count(input.name) == 0) continue;
      Wire& wire = building_.wires[input.name];
      if (wire.storage >= 0) {
        report(ErrorKind::invalid_input, file_ + ": input '" + input.name + "'", "it twice",
               "inputs of different names");
        continue;
      }
      wire.storage = building_.new_storage();
      auto tensor = weights_.read(input.source);
      if (!tensor) {
        append(tensor.errors());
        continue;
      }
      check_stored(input, *tensor);
      wire.value = building_.graph.add_constant(input.source, *std::move(tensor));
    }
  }

  void check_stored(const ProgramInput& input, const Tensor& tensor) {
    const std::string where = file_ + ": tensor '" + input.source + "'";
    if (tensor.dtype() == DType::f16 || tensor.dtype() == DType::bf16) {
      return report(ErrorKind::unsupported, where, "elements of type " + std::string(name_of(tensor.dtype())),
                    "a model in f32");
    }
    const auto meta = program_.tensors.find(input.name);
    if (meta == program_.tensors.end() || agrees(meta->second, tensor.dtype(), tensor.shape())) return;
    report(ErrorKind::invalid_input, where, std::string(name_of(tensor.dtype())) + tensor.shape().to_string(),
           declared(meta->second));
  }

  static bool agrees(const TensorMeta& meta, DType dtype, const Shape& shape) {
    if (dtype_of_torch(meta.type) != dtype || static_cast<int>(meta.sizes.size()) != shape.rank()) return false;
    for (int i = 0; i < shape.rank(); ++i) {
      const Dim& dim = meta.sizes[static_cast<std::size_t>(i)];
      if (dim.expression.empty() && dim.value != shape[i]) return false;
    }
    return true;
  }

  static std::string declared(const TensorMeta& meta) {
    std::string dims;
    for (const Dim& dim : meta.sizes)
      dims += (dims.empty() ? "" : "x") + (dim.expression.empty() ? std::to_string(dim.value) : dim.expression);
    return "what the program says, " + torch_type_name(meta.type) + " " + dims;
  }

  void read_node(const ProgramNode& node) {
    const Operator entry = find_operator(node.target);
    if (entry.read == nullptr) {
      for (const std::string& output : node.outputs) {
        if (!output.empty()) building_.wires.emplace(output, Wire{});
      }
      return;
    }
    const std::string origin = origin_of(node);
    NodeReader in(building_, node, origin, file_ + ": " + origin);
    entry.read(in);
    in.finish(entry.aliasing);
    for (const std::string& output : node.outputs) check_made(output, origin);
  }

  // The program says what each of its tensors is: a second opinion on every operator that was read.
  void check_made(const std::string& name, const std::string& origin) {
    const auto wire = building_.wires.find(name);
    const auto meta = program_.tensors.find(name);
    if (wire == building_.wires.end() || meta == program_.tensors.end() || !wire->second.value.exists()) return;
    const Fact& fact = building_.graph.fact(wire->second.value);
    if (agrees(meta->second, fact.dtype, fact.shape)) return;
    report(ErrorKind::invalid_input, file_ + ": " + origin + ", result '" + name + "'",
           std::string(name_of(fact.dtype)) + fact.shape.to_string(), declared(meta->second));
    wire->second.value = {};
  }

  // An output that no node makes, or that another output is already, gets a node of its own.
  ValueId own_value(ValueId value, const std::string& name) {
    Graph& graph = building_.graph;
    if (graph.value(value).producer.exists() && output_values_.insert(value.index).second) return value;
    const Attrs attrs = ReshapeAttrs{.shape = graph.fact(value).shape.to_vector()};
    auto copy = graph.add(kReshape, attrs, {value}, name + ".output", "output '" + name + "'");
    if (copy) return *copy;
    append(in_file(std::move(copy).errors()));
    return {};
  }

  void read_outputs() {
    std::map<std::string, int> times;
    if (program_.outputs.empty())
      report(ErrorKind::invalid_input, file_, "a program without outputs", "at least one output");
    for (const std::string& output : program_.outputs) {
      const auto found = building_.wires.find(output);
      if (found == building_.wires.end()) {
        report(ErrorKind::invalid_input, file_ + ": output '" + output + "'", "nothing that makes it",
               "a node's result");
        continue;
      }
      if (!found->second.value.exists()) continue;
      const int before = times[output]++;
      const std::string name = before == 0 ? output : output + "." + std::to_string(before);
      const ValueId own = own_value(found->second.value, name);
      if (own.exists()) building_.graph.add_output(own, name);
    }
  }

  std::string dialect() const {
    if (!building_.is_quantized) return "PyTorch export fp32";
    const auto& types = building_.activation_types;
    const auto most =
        std::max_element(types.begin(), types.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    return "PyTorch pt2e" + (most == types.end() ? "" : " " + std::string(name_of(most->first)));
  }

  const Program& program_;
  Weights& weights_;
  const std::string& file_;
  const ImportOptions& options_;
  Building building_;
  std::set<int> output_values_;  // by index
};

}  // namespace

Result<ImportedModel> import_archive(const Archive& archive, const ImportOptions& options) {
  auto container = read_container(archive);
  if (!container) return container.errors();
  return Importer(*container, archive.file(), options).run();
}

}  // namespace octavo::pt2_import
