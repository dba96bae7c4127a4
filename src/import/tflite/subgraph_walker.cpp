// Walks over the operators of a TFLite file's subgraphs, in the file's order. Part of import/.
#include "import/tflite/subgraph_walker.h"

#include <algorithm>

#include "import/tflite/operators.h"

namespace octavo::tflite_import {
namespace {

// Far above any network: a small file may call one subgraph from many places of another.
constexpr std::int64_t kMostOperators = std::int64_t{1} << 20;

// Codes above 127 do not fit the older field.
int builtin_code(const file::OperatorCode& code) {
  return std::max<int>(code.deprecated_builtin_code(), code.builtin_code());
}

std::string custom_name(const file::OperatorCode& code) {
  return code.custom_code() == nullptr ? "" : code.custom_code()->str();
}

// An operator of TensorFlow itself, in a file that was converted with SELECT_TF_OPS.
bool is_of_tensorflow(const file::OperatorCode& code) {
  return builtin_code(code) == kCustomCode && custom_name(code).starts_with("Flex");
}

const OperatorEntry* entry_of(const file::OperatorCode& code) {
  return find_operator(builtin_code(code), custom_name(code));
}

}  // namespace

// ---- subgraphs ----

bool SubgraphWalker::begin(int index, const std::string& place) {
  const auto* subgraphs = model_.model->subgraphs();
  if (index < 0 || index >= static_cast<int>(subgraphs->size())) {
    building_.report(ErrorKind::invalid_input, place, "subgraph " + std::to_string(index),
                     "0 to " + std::to_string(subgraphs->size() - 1));
    return false;
  }
  if (around_.size() >= static_cast<std::size_t>(kMostNestedBlocks)) {
    building_.report(ErrorKind::unsupported, place,
                     "a subgraph inside " + std::to_string(kMostNestedBlocks) + " others", "at most so many");
    return false;
  }
  const std::size_t errors = building_.errors.size();
  around_.emplace_back(subgraph_, building_.scope);
  building_.frames.push_back(std::exchange(static_cast<Frame&>(building_), Frame{}));
  subgraph_ = subgraphs->Get(static_cast<flatbuffers::uoffset_t>(index));
  building_.scope = "subgraph " + std::to_string(index) + ", ";
  const std::string where = building_.file + ": subgraph " + std::to_string(index);
  building_.tensors = read_tensors(model_, *subgraph_, where, building_.errors);
  if (building_.errors.size() == errors) check_lists();
  if (building_.errors.size() > errors) {
    end();
    return false;
  }
  if (checked_.insert(index).second) list_unread();
  add_constants();
  return true;
}

void SubgraphWalker::end() {
  static_cast<Frame&>(building_) = std::move(building_.frames.back());
  building_.frames.pop_back();
  std::tie(subgraph_, building_.scope) = std::move(around_.back());
  around_.pop_back();
}

int SubgraphWalker::operator_count() const {
  return subgraph_->operators() == nullptr ? 0 : static_cast<int>(subgraph_->operators()->size());
}

const file::Operator& SubgraphWalker::operator_at(int index) const {
  return *subgraph_->operators()->Get(static_cast<flatbuffers::uoffset_t>(index));
}

const file::OperatorCode* SubgraphWalker::code_of(const file::Operator& op) const {
  const auto* codes = model_.model->operator_codes();
  return codes == nullptr || op.opcode_index() >= codes->size() ? nullptr : codes->Get(op.opcode_index());
}

std::string SubgraphWalker::type_of(const file::Operator& op) const {
  const file::OperatorCode* code = code_of(op);
  if (code == nullptr) return "no type";
  const int number = builtin_code(*code);
  return number == kCustomCode ? "CUSTOM '" + custom_name(*code) + "'" : builtin_name(number);
}

std::string SubgraphWalker::origin_of(int index) const {
  return "operator " + std::to_string(index) + " (" + type_of(operator_at(index)) + ")";
}

std::string SubgraphWalker::name_of_operator(int index) const {
  const auto* outputs = operator_at(index).outputs();
  return outputs == nullptr || outputs->size() == 0 ? std::string() : tensor_at(outputs->Get(0)).name;
}

// Every index of the subgraph, before anything follows one.
void SubgraphWalker::check_lists() {
  check_indices(subgraph_->inputs(), "inputs", 0);
  check_indices(subgraph_->outputs(), "outputs", 0);
  for (int i = 0; i < operator_count() && !building_.is_full(); ++i) {
    const file::Operator& op = operator_at(i);
    if (code_of(op) == nullptr) {
      building_.report(ErrorKind::invalid_input, building_.scope + "operator " + std::to_string(i),
                       "operator code " + std::to_string(op.opcode_index()), "one of the file's codes");
      continue;
    }
    const std::string place = building_.scope + origin_of(i);
    check_indices(op.inputs(), place + ", inputs", -1);
    check_indices(op.outputs(), place + ", outputs", 0);
    check_indices(op.intermediates(), place + ", intermediates", -1);
    const bool has_outputs = op.outputs() != nullptr && op.outputs()->size() > 0;
    if (!has_outputs && !is_control_flow(builtin_code(*code_of(op))))
      building_.report(ErrorKind::invalid_input, place, "no outputs", "at least one");
  }
}

void SubgraphWalker::check_indices(const flatbuffers::Vector<std::int32_t>* list, const std::string& place,
                                   std::int32_t lowest) {
  if (list == nullptr) return;
  const auto count = static_cast<std::int32_t>(building_.tensors.size());
  for (const std::int32_t index : *list) {
    if (index >= lowest && index < count) continue;
    building_.report(ErrorKind::invalid_input, place, "tensor " + std::to_string(index),
                     "0 to " + std::to_string(count - 1));
    if (building_.is_full()) return;
  }
}

void SubgraphWalker::list_unread() {
  std::map<std::string, std::vector<std::string>> unread, of_tensorflow;
  for (int i = 0; i < operator_count(); ++i) {
    const file::OperatorCode& code = *code_of(operator_at(i));
    if (entry_of(code) != nullptr || is_control_flow(builtin_code(code))) continue;
    auto& kind = is_of_tensorflow(code) ? of_tensorflow : unread;
    kind[type_of(operator_at(i))].push_back(std::to_string(i) + " '" + name_of_operator(i) + "'");
  }
  building_.report_unread(unread, "as operator", "operators that Octavo reads");
  building_.report_unread(of_tensorflow, "as operator", "operators of TFLite: TensorFlow's flex delegate runs this one",
                          "Convert the model with TFLITE_BUILTINS alone, without SELECT_TF_OPS");
}

void SubgraphWalker::add_constants() {
  const std::size_t count = building_.tensors.size();
  building_.values.resize(count);
  building_.handles.resize(count, kNoHandle);
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
  if (around_.size() == 1)
    building_.allow_folding(std::min(elements, static_cast<std::int64_t>(model_.contents().size())));
}

// ---- operators ----

void SubgraphWalker::read_operators() {
  for (int i = 0; i < operator_count() && !building_.is_full(); ++i) {
    if (++operators_ > kMostOperators) {
      building_.report(ErrorKind::unsupported, "",
                       "subgraphs inside subgraphs that take " + std::to_string(kMostOperators) + " operators to read",
                       "fewer");
      return;
    }
    read_operator(i);
  }
}

// False where an input is missing or its producer could not be read.
bool SubgraphWalker::inputs_are_known(int index) {
  bool are_known = true;
  const auto* inputs = operator_at(index).inputs();
  for (flatbuffers::uoffset_t i = 0; inputs != nullptr && i < inputs->size(); ++i) {
    if (inputs->Get(i) < 0) continue;
    const auto tensor = static_cast<std::size_t>(inputs->Get(i));
    if (building_.tensors[tensor].is_resource) {
      if (building_.resources.contains(inputs->Get(i))) continue;
      are_known = false;
      building_.report(ErrorKind::invalid_input, building_.scope + origin_of(index) + ", input " + std::to_string(i),
                       "'" + building_.tensors[tensor].name + "', which names no variable", "one of VAR_HANDLE");
      continue;
    }
    if (!building_.is_made[tensor] && building_.tensors[tensor].is_variable) make_empty(tensor);
    if (!building_.is_made[tensor] && building_.tensors[tensor].shape.elements() == 0) make_empty(tensor);
    // Its shape is known once this graph has run.
    if (building_.computed.contains(building_.values[tensor].index)) building_.leave_graph();
    are_known = are_known && building_.find(tensor).exists();
    if (building_.is_made[tensor]) continue;
    building_.report(ErrorKind::invalid_input, building_.scope + origin_of(index) + ", input " + std::to_string(i),
                     "'" + building_.tensors[tensor].name + "', which nothing before it makes",
                     "a graph input, a constant or the result of an earlier operator");
  }
  return are_known;
}

// A constant without elements has no data that would tell it from a result; a variable that operators keep a state in
// begins as zeros.
void SubgraphWalker::make_empty(std::size_t tensor) {
  const FileTensor& empty = building_.tensors[tensor];
  building_.values[tensor] = building_.graph.add_constant(empty.name, Tensor(empty.dtype, empty.shape));
  if (empty.quant) building_.graph.set_quant(building_.values[tensor], *empty.quant);
  building_.is_made[tensor] = true;
}

bool SubgraphWalker::outputs_are_new(int index) {
  std::set<std::int32_t> own;
  const auto* outputs = operator_at(index).outputs();
  for (flatbuffers::uoffset_t i = 0; outputs != nullptr && i < outputs->size(); ++i) {
    const std::int32_t output = outputs->Get(i);
    if (!building_.is_made[static_cast<std::size_t>(output)] && own.insert(output).second) continue;
    building_.report(ErrorKind::invalid_input, building_.scope + origin_of(index),
                     "the output '" + tensor_at(output).name + "'", "a tensor that nothing else makes");
    return false;
  }
  return true;
}

void SubgraphWalker::forget_outputs(const file::Operator& op) {
  for (flatbuffers::uoffset_t i = 0; op.outputs() != nullptr && i < op.outputs()->size(); ++i)
    building_.is_made[static_cast<std::size_t>(op.outputs()->Get(i))] = true;
}

void SubgraphWalker::read_operator(int index) {
  const file::Operator& op = operator_at(index);
  const file::OperatorCode& code = *code_of(op);
  const OperatorEntry* entry = entry_of(code);
  const bool is_readable = inputs_are_known(index) && outputs_are_new(index);
  if (is_readable && is_control_flow(builtin_code(code)))
    return read_control_flow(builtin_code(code), {op, origin_of(index)});
  if (entry == nullptr || !is_readable) return forget_outputs(op);
  OperatorReader in(building_, op, {std::string(entry->name), code.version()}, entry->operands, name_of_operator(index),
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

Handle SubgraphWalker::handle_of(std::int32_t tensor) {
  const auto at = static_cast<std::size_t>(tensor);
  const Handle known = building_.handles[at];
  if (known != kNoHandle && !building_.program.fact(known).is_constant()) return known;
  ValueId id = building_.find(at);
  if (id.exists() && building_.graph.fact(id).is_constant()) id = building_.copied(id, building_.tensors[at].name);
  return id.exists() ? building_.program.handle_of(id) : kNoHandle;
}

}  // namespace octavo::tflite_import
