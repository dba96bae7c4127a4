// The importer of exported PyTorch programs: walks over the nodes once, in their order. Part of import/.
#include "import/pt2/importer.h"

#include "import/pt2/container.h"
#include "import/pt2/operators.h"
#include "import/pt2/types.h"

namespace octavo::pt2_import {
namespace {

class Importer {
 public:
  Importer(Container& container, const std::string& file, const ImportOptions& options)
      : program_(container.program), weights_(container.weights), building_(file, options) {
    building_.profile = Profile::pt2e;
    building_.folds_integer_casts = false;
    building_.fixes_sizes = true;
  }

  Result<ImportedModel> run() {
    list_unread();
    read_stored();
    for (const ProgramInput& input : program_.inputs) {
      if (input.kind == InputKind::user) read_input(input.name);
    }
    building_.check_inputs("Export the model with a dynamic first dimension");
    building_.allow_folding(static_cast<std::int64_t>(weights_.total_elements()));
    for (const ProgramNode& node : program_.nodes) {
      if (!building_.is_full()) read_node(node);
    }
    read_outputs();
    const std::string dialect =
        building_.is_quantized ? "PyTorch pt2e" + building_.activation_type() : "PyTorch export fp32";
    return building_.finish(dialect, building_.is_quantized, static_cast<int>(program_.nodes.size()));
  }

 private:
  static std::string origin_of(const ProgramNode& node) {
    return "node '" + node.name + "' (" + node.target + (node.source_line.empty() ? "" : ", " + node.source_line) + ")";
  }

  void list_unread() {
    std::map<std::string, std::vector<std::string>> unread;
    for (const ProgramNode& node : program_.nodes) {
      const std::string line = node.source_line.empty() ? "" : " (" + node.source_line + ")";
      if (find_operator(node.target).read == nullptr) unread[node.target].push_back("'" + node.name + "'" + line);
    }
    building_.report_unread(unread, "in node", "operators that Octavo reads");
  }

  // The wire of an input; nullptr and an error where it has one already.
  Wire* new_wire(const std::string& name) {
    Wire& wire = building_.wires[name];
    if (wire.storage >= 0) {
      building_.report(ErrorKind::invalid_input, "input '" + name + "'", "it twice", "inputs of different names");
      return nullptr;
    }
    wire.storage = building_.new_storage();
    return &wire;
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
      if (building_.is_full()) return;
      if (input.kind == InputKind::user || used.count(input.name) == 0) continue;
      Wire* wire = new_wire(input.name);
      if (wire == nullptr) continue;
      auto tensor = weights_.read(input.source);
      if (!tensor) {
        building_.report(tensor.errors());
        continue;
      }
      check_stored(input, *tensor);
      wire->value = building_.graph.add_constant(input.source, *std::move(tensor));
    }
  }

  void check_stored(const ProgramInput& input, const Tensor& tensor) {
    const std::string place = "tensor '" + input.source + "'";
    if (tensor.dtype() == DType::f16 || tensor.dtype() == DType::bf16)
      return building_.report(ErrorKind::unsupported, place, "elements of type " + std::string(name_of(tensor.dtype())),
                              "a model in f32");
    const auto meta = program_.tensors.find(input.name);
    if (meta == program_.tensors.end() || agrees(meta->second, tensor.dtype(), tensor.shape())) return;
    building_.report(ErrorKind::invalid_input, place, std::string(name_of(tensor.dtype())) + tensor.shape().to_string(),
                     declared(meta->second));
  }

  void read_input(const std::string& name) {
    const std::string place = "input '" + name + "'";
    Wire* wire = new_wire(name);
    if (wire == nullptr) return;
    const auto meta = program_.tensors.find(name);
    if (meta == program_.tensors.end())
      return building_.report(ErrorKind::invalid_input, place, "no type and sizes", "both");
    const auto dtype = dtype_of_torch(meta->second.type);
    if (!dtype)
      return building_.report(ErrorKind::unsupported, place, "elements of type " + torch_type_name(meta->second.type),
                              "integers, floats or bool");
    DeclaredInput input{.name = name, .dtype = *dtype, .dims = std::vector<DeclaredDim>{}};
    for (const ProgramDim& dim : meta->second.sizes) {
      DeclaredDim& made = input.dims->emplace_back(DeclaredDim{.size = dim.value, .symbol = dim.expression});
      const auto range = program_.ranges.find(dim.expression);
      if (dim.expression.empty() || range == program_.ranges.end()) continue;
      made.highest = range->second.highest;
      // PyTorch says "at least 2" of every dimension that is not fixed; its programs compute 1 as well.
      constexpr std::int64_t kUsualLowest = 2;
      if (range->second.lowest && *range->second.lowest > kUsualLowest) made.lowest = range->second.lowest;
    }
    wire->value = building_.add_input(input);
  }

  static bool agrees(const TensorMeta& meta, DType dtype, const OpenShape& shape) {
    if (dtype_of_torch(meta.type) != dtype || static_cast<int>(meta.sizes.size()) != shape.rank()) return false;
    for (int i = 0; i < shape.rank(); ++i) {
      const ProgramDim& dim = meta.sizes[static_cast<std::size_t>(i)];
      if (dim.expression.empty() && dim.value != shape[i]) return false;
    }
    return true;
  }

  static std::string declared(const TensorMeta& meta) {
    std::string dims;
    for (const ProgramDim& dim : meta.sizes)
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
    NodeReader in(building_, node, origin);
    in.output(0, entry.read(in));
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
    building_.report(ErrorKind::invalid_input, origin + ", result '" + name + "'",
                     std::string(name_of(fact.dtype)) + fact.shape.to_string(), declared(meta->second));
    wire->second.value = {};
  }

  void read_outputs() {
    std::map<std::string, int> times;
    if (program_.outputs.empty())
      building_.report(ErrorKind::invalid_input, "", "a program without outputs", "at least one output");
    for (const std::string& output : program_.outputs) {
      const auto found = building_.wires.find(output);
      if (found == building_.wires.end()) {
        building_.report(ErrorKind::invalid_input, "output '" + output + "'", "nothing that makes it",
                         "a node's result");
      } else if (found->second.value.exists()) {
        const int before = times[output]++;
        building_.add_output(found->second.value, before == 0 ? output : output + "." + std::to_string(before));
      }
    }
  }

  const Program& program_;
  Weights& weights_;
  Building building_;
};

}  // namespace

Result<ImportedModel> import_archive(const Archive& archive, const ImportOptions& options) {
  auto container = read_container(archive);
  if (!container) return container.errors();
  return Importer(*container, archive.file(), options).run();
}

}  // namespace octavo::pt2_import
