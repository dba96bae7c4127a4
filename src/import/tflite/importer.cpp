// The importer of TFLite: walks over the file once, in its order. Part of
// import/.
#include "import/tflite/importer.h"

#include <algorithm>
#include <map>
#include <set>

#include "import/tflite/inputs.h"
#include "import/tflite/operator_reader.h"
#include "import/tflite/operators.h"
#include "ops/list.h"

namespace octavo::tflite_import {
namespace {

constexpr std::size_t kErrorLimit = 100;  // a hostile file may have millions
constexpr std::int64_t kFoldBudget = std::int64_t{1} << 25;

// Codes above 127 do not fit the older field.
int builtin_code(const file::OperatorCode& code) {
  return std::max<int>(code.deprecated_builtin_code(), code.builtin_code());
}

// Walks over one subgraph.
class Importer {
 public:
  Importer(const ModelFile& model, const file::SubGraph& subgraph, const std::string& file,
           const ImportOptions& options)
      : model_(model), subgraph_(subgraph), file_(file), options_(options) {
    building_.profile = options.profile.value_or(Profile::tflite_xnnpack);
    building_.batch = options.batch;
    building_.dequantizes_dynamic = options.dequantizes_dynamic;
  }

  Result<ImportedModel> run() {
    building_.tensors = read_tensors(model_, subgraph_, file_ + ": subgraph 0", building_.errors);
    check_lists();
    if (!building_.errors.empty()) return building_.errors;
    list_unsupported();
    add_constants();
    read_inputs(subgraph_, file_, options_, building_);
    for (int i = 0; i < operator_count() && building_.errors.size() < kErrorLimit; ++i) read_operator(i);
    read_outputs();
    if (!building_.errors.empty()) return building_.errors;
    building_.graph.remove_unused();
    if (auto status = verify(building_.graph); !status) return in_file(std::move(status).errors());
    return ImportedModel{std::move(building_.graph), dialect(), is_quantized(), operator_count()};
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

  int operator_count() const {
    return subgraph_.operators() == nullptr ? 0 : static_cast<int>(subgraph_.operators()->size());
  }
  const file::Operator& operator_at(int index) const {
    return *subgraph_.operators()->Get(static_cast<flatbuffers::uoffset_t>(index));
  }

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
  std::string where_of(int index) const { return file_ + ": subgraph 0, " + origin_of(index); }

  // Every index of the file, before anything follows one.
  void check_lists() {
    if (building_.errors.size() >= kErrorLimit) return;
    check_indices(subgraph_.inputs(), file_ + ": inputs", 0);
    check_indices(subgraph_.outputs(), file_ + ": outputs", 0);
    if (subgraph_.outputs() == nullptr || subgraph_.outputs()->size() == 0) {
      report(ErrorKind::invalid_input, file_, "a subgraph without outputs", "at least one output");
    }
    for (int i = 0; i < operator_count() && building_.errors.size() < kErrorLimit; ++i) {
      const file::Operator& op = operator_at(i);
      if (code_of(op) == nullptr) {
        report(ErrorKind::invalid_input, file_ + ": subgraph 0, operator " + std::to_string(i),
               "operator code " + std::to_string(op.opcode_index()), "one of the file's codes");
        continue;
      }
      check_indices(op.inputs(), where_of(i) + ", inputs", -1);
      check_indices(op.outputs(), where_of(i) + ", outputs", 0);
      if (op.outputs() == nullptr || op.outputs()->size() == 0)
        report(ErrorKind::invalid_input, where_of(i), "no outputs", "at least one");
    }
  }

  void check_indices(const flatbuffers::Vector<std::int32_t>* list, const std::string& where, std::int32_t lowest) {
    if (list == nullptr) return;
    const auto count = static_cast<std::int32_t>(building_.tensors.size());
    for (const std::int32_t index : *list) {
      if (index >= lowest && index < count) continue;
      report(ErrorKind::invalid_input, where, "tensor " + std::to_string(index), "0 to " + std::to_string(count - 1));
      if (building_.errors.size() >= kErrorLimit) return;
    }
  }

  // One error per operator type, naming its operators.
  void list_unsupported() {
    constexpr int kShown = 5;
    std::map<std::string, std::pair<int, std::string>> missing;  // type -> count, indices
    for (int i = 0; i < operator_count(); ++i) {
      if (find_operator(builtin_code(*code_of(operator_at(i)))) != nullptr) continue;
      auto& [count, indices] = missing[type_of(operator_at(i))];
      if (count++ < kShown)
        indices += (indices.empty() ? "" : ", ") + std::to_string(i) + " '" + name_of_operator(i) + "'";
    }
    for (const auto& [type, operators] : missing) {
      if (building_.errors.size() >= kErrorLimit) return;
      const std::string more =
          operators.first > kShown ? " and " + std::to_string(operators.first - kShown) + " more" : "";
      report(ErrorKind::unsupported, file_ + ": operator " + type,
             (operators.first == 1 ? "it as operator " : "it as operators ") + operators.second + more,
             "operators that Octavo reads");
    }
  }

  // Operators have no names; that of the first result stands for them.
  std::string name_of_operator(int index) const {
    return building_.tensors[static_cast<std::size_t>(operator_at(index).outputs()->Get(0))].name;
  }

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
    building_.fold_budget = kFoldBudget + 8 * std::min(elements, static_cast<std::int64_t>(model_.contents().size()));
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
      const std::string where = where_of(index) + ", input " + std::to_string(i);
      const std::string name = "'" + building_.tensors[tensor].name + "', which nothing before it makes";
      report(ErrorKind::invalid_input, where, name, "a graph input, a constant or the result of an earlier operator");
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
      report(ErrorKind::invalid_input, where_of(index),
             "the output '" + building_.tensors[static_cast<std::size_t>(output)].name + "'",
             "a tensor that nothing else makes");
      return false;
    }
    return true;
  }

  void poison_outputs(int index) {
    for (const std::int32_t output : *operator_at(index).outputs())
      building_.is_made[static_cast<std::size_t>(output)] = true;
  }

  void read_operator(int index) {
    const file::Operator& op = operator_at(index);
    const OperatorEntry* entry = find_operator(builtin_code(*code_of(op)));
    const bool is_readable = inputs_are_known(index);
    if (!outputs_are_new(index) || entry == nullptr || !is_readable) return poison_outputs(index);
    OperatorReader in(building_, op, std::string(entry->name), name_of_operator(index), origin_of(index),
                      where_of(index));
    const int outputs = in.output_count();
    if (in.input_count() < entry->min_inputs || in.input_count() > entry->max_inputs) {
      const std::string most = entry->max_inputs == kAnyNumber ? "more" : std::to_string(entry->max_inputs);
      in.fail("", std::to_string(in.input_count()) + " inputs", std::to_string(entry->min_inputs) + " to " + most);
    } else if (entry->outputs != kAnyNumber && outputs != entry->outputs) {
      in.fail("", std::to_string(outputs) + " outputs", std::to_string(entry->outputs));
    } else {
      entry->read(in);
    }
    in.finish();
  }

  // An output that no operator makes, or that another output is already, gets a
  // node of its own.
  ValueId own_value(ValueId value, const std::string& name) {
    Graph& graph = building_.graph;
    if (graph.value(value).producer.exists() && output_values_.insert(value.index).second) return value;
    const Attrs attrs = ReshapeAttrs{.shape = graph.fact(value).shape.to_vector()};
    auto copy = graph.add(kReshape, attrs, {value}, name + ".output", "graph output '" + name + "'");
    if (copy) return *copy;
    const Errors errors = in_file(std::move(copy).errors());
    building_.errors.insert(building_.errors.end(), errors.begin(), errors.end());
    return {};
  }

  void read_outputs() {
    std::map<std::string, int> names;
    for (const std::int32_t index : *subgraph_.outputs()) {
      if (building_.errors.size() >= kErrorLimit) return;
      const auto at = static_cast<std::size_t>(index);
      const FileTensor& tensor = building_.tensors[at];
      if (!building_.is_made[at]) {
        report(ErrorKind::invalid_input, file_ + ": output '" + tensor.name + "'", "nothing that makes it",
               "an operator's result");
      } else if (building_.values[at].exists()) {
        const std::string name = unique_name(tensor.name, names);
        const ValueId own = own_value(building_.values[at], name);
        if (own.exists()) building_.graph.add_output(own, name);
      }
    }
  }

  bool is_quantized() const { return !building_.activation_types.empty() || building_.dynamic > 0; }

  std::string dialect() const {
    const auto& types = building_.activation_types;
    const auto most =
        std::max_element(types.begin(), types.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    std::string text = most == types.end() ? "TFLite fp32" : "TFLite " + std::string(name_of(most->first));
    if (building_.dynamic > 0) text = most == types.end() ? "TFLite dynamic range" : text + ", partly dynamic range";
    if (is_quantized()) text += ", rounding " + std::string(name_of(building_.profile));
    return text;
  }

  const ModelFile& model_;
  const file::SubGraph& subgraph_;
  const std::string& file_;
  const ImportOptions& options_;
  Building building_;
  std::set<int> output_values_;  // by index
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
