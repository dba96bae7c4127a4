// The importer of TFLite: walks over the file once, in its order. Part of import/.
#include "import/tflite/importer.h"

#include <algorithm>
#include <set>

#include "import/tflite/operators.h"

namespace octavo::tflite_import {
namespace {

// Codes above 127 do not fit the older field.
int builtin_code(const file::OperatorCode& code) {
  return std::max<int>(code.deprecated_builtin_code(), code.builtin_code());
}

// Names of inputs and outputs may repeat in the file: "x", "x.2", ...
std::string unique_name(const std::string& name, std::map<std::string, int>& uses) {
  int number = uses[name] + 1;
  std::string unique = name;
  for (; number > 1 && uses.count(unique) != 0; ++number) unique = name + "." + std::to_string(number);
  uses[name] = std::max(number - 1, 1);
  uses[unique] = std::max(uses[unique], 1);
  return unique;
}

// Walks over one subgraph.
class Importer {
 public:
  Importer(const ModelFile& model, const file::SubGraph& subgraph, const std::string& file,
           const ImportOptions& options)
      : model_(model), subgraph_(subgraph), building_(file, options) {
    building_.profile = options.profile.value_or(Profile::tflite_xnnpack);
    building_.scope = "subgraph 0, ";
  }

  Result<ImportedModel> run() {
    building_.tensors = read_tensors(model_, subgraph_, building_.file + ": subgraph 0", building_.errors);
    check_lists();
    if (!building_.errors.empty()) return building_.errors;
    list_unread();
    add_constants();
    read_inputs();
    for (int i = 0; i < operator_count() && !building_.is_full(); ++i) read_operator(i);
    read_outputs();
    const bool is_quantized = !building_.activation_types.empty() || building_.dynamic > 0;
    return building_.finish(dialect(is_quantized), is_quantized, operator_count());
  }

 private:
  int operator_count() const {
    return subgraph_.operators() == nullptr ? 0 : static_cast<int>(subgraph_.operators()->size());
  }
  const file::Operator& operator_at(int index) const {
    return *subgraph_.operators()->Get(static_cast<flatbuffers::uoffset_t>(index));
  }
  const FileTensor& tensor_at(std::int32_t index) const { return building_.tensors[static_cast<std::size_t>(index)]; }

  const file::OperatorCode* code_of(const file::Operator& op) const {
    const auto* codes = model_.model->operator_codes();
    return codes == nullptr || op.opcode_index() >= codes->size() ? nullptr : codes->Get(op.opcode_index());
  }

  std::string type_of(const file::Operator& op) const {
    const file::OperatorCode* code = code_of(op);
    if (code == nullptr) return "no type";
    const int number = builtin_code(*code);
    if (number == kCustomCode)
      return "CUSTOM '" + (code->custom_code() == nullptr ? "" : code->custom_code()->str()) + "'";
    return builtin_name(number);
  }

  std::string origin_of(int index) const {
    return "operator " + std::to_string(index) + " (" + type_of(operator_at(index)) + ")";
  }
  std::string place_of(int index) const { return building_.scope + origin_of(index); }

  // Every index of the file, before anything follows one.
  void check_lists() {
    check_indices(subgraph_.inputs(), "inputs", 0);
    check_indices(subgraph_.outputs(), "outputs", 0);
    if (subgraph_.outputs() == nullptr || subgraph_.outputs()->size() == 0)
      building_.report(ErrorKind::invalid_input, "", "a subgraph without outputs", "at least one output");
    for (int i = 0; i < operator_count() && !building_.is_full(); ++i) {
      const file::Operator& op = operator_at(i);
      if (code_of(op) == nullptr) {
        building_.report(ErrorKind::invalid_input, building_.scope + "operator " + std::to_string(i),
                         "operator code " + std::to_string(op.opcode_index()), "one of the file's codes");
        continue;
      }
      check_indices(op.inputs(), place_of(i) + ", inputs", -1);
      check_indices(op.outputs(), place_of(i) + ", outputs", 0);
      if (op.outputs() == nullptr || op.outputs()->size() == 0)
        building_.report(ErrorKind::invalid_input, place_of(i), "no outputs", "at least one");
    }
  }

  void check_indices(const flatbuffers::Vector<std::int32_t>* list, const std::string& place, std::int32_t lowest) {
    if (list == nullptr) return;
    const auto count = static_cast<std::int32_t>(building_.tensors.size());
    for (const std::int32_t index : *list) {
      if (index >= lowest && index < count) continue;
      building_.report(ErrorKind::invalid_input, place, "tensor " + std::to_string(index),
                       "0 to " + std::to_string(count - 1));
      if (building_.is_full()) return;
    }
  }

  void list_unread() {
    std::map<std::string, std::vector<std::string>> unread;
    for (int i = 0; i < operator_count(); ++i) {
      if (find_operator(builtin_code(*code_of(operator_at(i)))) == nullptr)
        unread[type_of(operator_at(i))].push_back(std::to_string(i) + " '" + name_of_operator(i) + "'");
    }
    building_.report_unread(unread, "as operator", "operators that Octavo reads");
  }

  // Operators have no names; that of the first result stands for them.
  std::string name_of_operator(int index) const { return tensor_at(operator_at(index).outputs()->Get(0)).name; }

  void add_constants() {
    const std::size_t count = building_.tensors.size();
    building_.values.resize(count);
    building_.is_made.resize(count);
    std::int64_t elements = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const FileTensor& tensor = building_.tensors[i];
      if (tensor.constant == nullptr) continue;
      building_.values[i] = building_.graph.add_constant(tensor.name, tensor.constant);
      if (tensor.quant) building_.graph.set_quant(building_.values[i], *tensor.quant);
      building_.is_made[i] = true;
      elements += tensor.constant->elements();
    }
    building_.allow_folding(std::min(elements, static_cast<std::int64_t>(model_.contents().size())));
  }

  void read_inputs() {
    std::map<std::string, int> names;
    const auto* inputs = subgraph_.inputs();
    for (flatbuffers::uoffset_t i = 0; inputs != nullptr && i < inputs->size(); ++i) {
      const std::int32_t index = inputs->Get(i);
      const FileTensor& tensor = tensor_at(index);
      const auto at = static_cast<std::size_t>(index);
      const std::string name = unique_name(tensor.name, names);
      if (building_.is_made[at]) {
        building_.report(ErrorKind::invalid_input, "input '" + name + "'", "a constant, or an input twice",
                         "a tensor without data");
        continue;
      }
      building_.is_made[at] = true;
      DeclaredInput input{.name = name, .dtype = tensor.dtype, .dims = std::vector<DeclaredDim>{}};
      for (std::size_t axis = 0; axis < tensor.shape.dims().size(); ++axis) {
        const bool is_open = axis < tensor.is_open.size() && tensor.is_open[axis];
        input.dims->push_back({.size = tensor.shape.dims()[axis], .symbol = is_open ? "?" : ""});
      }
      if (tensor.is_open.empty() && !input.dims->empty()) input.dims->front().is_assumed = tensor.shape[0] == 1;
      const ValueId value = building_.add_input(input);
      building_.values[at] = value;
      if (!value.exists() || building_.graph.fact(value).is_constant() || !tensor.quant) continue;
      building_.graph.set_quant(value, *tensor.quant);
      if (is_8bit(tensor.dtype)) ++building_.activation_types[tensor.dtype];
    }
    building_.check_inputs("Give a whole --shape");
  }

  // False where an input is missing or its producer could not be read.
  bool inputs_are_known(int index) {
    bool are_known = true;
    const auto* inputs = operator_at(index).inputs();
    for (flatbuffers::uoffset_t i = 0; inputs != nullptr && i < inputs->size(); ++i) {
      if (inputs->Get(i) < 0) continue;
      const auto tensor = static_cast<std::size_t>(inputs->Get(i));
      if (!building_.is_made[tensor] && building_.tensors[tensor].shape.elements() == 0) make_empty(tensor);
      are_known = are_known && building_.values[tensor].exists();
      if (building_.is_made[tensor]) continue;
      building_.report(ErrorKind::invalid_input, place_of(index) + ", input " + std::to_string(i),
                       "'" + building_.tensors[tensor].name + "', which nothing before it makes",
                       "a graph input, a constant or the result of an earlier operator");
    }
    return are_known;
  }

  // A constant without elements has no data that would tell it from a result.
  void make_empty(std::size_t tensor) {
    const FileTensor& empty = building_.tensors[tensor];
    building_.values[tensor] = building_.graph.add_constant(empty.name, Tensor(empty.dtype, empty.shape));
    building_.is_made[tensor] = true;
  }

  bool outputs_are_new(int index) {
    std::set<std::int32_t> own;
    for (const std::int32_t output : *operator_at(index).outputs()) {
      if (!building_.is_made[static_cast<std::size_t>(output)] && own.insert(output).second) continue;
      building_.report(ErrorKind::invalid_input, place_of(index), "the output '" + tensor_at(output).name + "'",
                       "a tensor that nothing else makes");
      return false;
    }
    return true;
  }

  void read_operator(int index) {
    const file::Operator& op = operator_at(index);
    const OperatorEntry* entry = find_operator(builtin_code(*code_of(op)));
    const bool is_readable = inputs_are_known(index);
    if (!outputs_are_new(index) || entry == nullptr || !is_readable) {
      for (const std::int32_t output : *op.outputs()) building_.is_made[static_cast<std::size_t>(output)] = true;
      return;
    }
    OperatorReader in(building_, op, std::string(entry->name), entry->operands, name_of_operator(index),
                      origin_of(index));
    ValueId first;
    if (in.input_count() < entry->min_inputs || in.input_count() > entry->max_inputs) {
      const std::string most = entry->max_inputs == kAnyNumber ? "more" : std::to_string(entry->max_inputs);
      in.fail("", std::to_string(in.input_count()) + " inputs", std::to_string(entry->min_inputs) + " to " + most);
    } else if (entry->outputs != kAnyNumber && in.output_count() != entry->outputs) {
      in.fail("", std::to_string(in.output_count()) + " outputs", std::to_string(entry->outputs));
    } else {
      first = entry->read(in);
    }
    in.finish(first);
  }

  void read_outputs() {
    std::map<std::string, int> names;
    for (const std::int32_t index : *subgraph_.outputs()) {
      const auto at = static_cast<std::size_t>(index);
      const FileTensor& tensor = building_.tensors[at];
      if (!building_.is_made[at])
        building_.report(ErrorKind::invalid_input, "output '" + tensor.name + "'", "nothing that makes it",
                         "an operator's result");
      else if (building_.values[at].exists())
        building_.add_output(building_.values[at], unique_name(tensor.name, names));
    }
  }

  std::string dialect(bool is_quantized) const {
    const std::string type = building_.activation_type();
    std::string text = type.empty() ? "TFLite fp32" : "TFLite" + type;
    if (building_.dynamic > 0) text = type.empty() ? "TFLite dynamic range" : text + ", partly dynamic range";
    if (is_quantized) text += ", rounding " + std::string(name_of(building_.profile));
    return text;
  }

  const ModelFile& model_;
  const file::SubGraph& subgraph_;
  Building building_;
};

}  // namespace

Result<ImportedModel> import_parsed(const ModelFile& model, const std::string& file, const ImportOptions& options) {
  const auto* subgraphs = model.model->subgraphs();
  if (subgraphs == nullptr || subgraphs->size() == 0)
    return Error{ErrorKind::invalid_input, file, "no subgraph", "a model with one", ""};
  if (subgraphs->size() > 1) {
    return Error{ErrorKind::unsupported, file, std::to_string(subgraphs->size()) + " subgraphs",
                 "one: control flow and several signatures are not read",
                 "Convert each signature to a file of its own"};
  }
  return Importer(model, *subgraphs->Get(0), file, options).run();
}

}  // namespace octavo::tflite_import
