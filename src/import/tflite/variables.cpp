// TFLite's variables. One that a run reads before it changes it keeps a value from run to run: a state, which is an
// input and an output of the model. So is what SVDF keeps, each run of which is a step. Part of import/.
#include "import/tflite/operators.h"
#include "import/tflite/subgraph_walker.h"

namespace octavo::tflite_import {
namespace {

// What VAR_HANDLE names; nothing where it names none.
std::optional<std::string> name_of_variable(const file::Operator& op) {
  const auto* given = op.builtin_options_as_VarHandleOptions();
  if (given == nullptr || given->shared_name() == nullptr) return std::nullopt;
  return (given->container() == nullptr ? "" : given->container()->str()) + "/" + given->shared_name()->str();
}

// -1 where there is none.
std::int32_t first_of(const flatbuffers::Vector<std::int32_t>* list) {
  return list == nullptr || list->size() == 0 ? -1 : list->Get(0);
}

bool is_zero(const Tensor& value, std::int32_t zero_point) {
  const ConstTensorView view = value.view();
  for (std::int64_t i = 0; i < value.elements(); ++i) {
    if (element_as_double(view, i) != zero_point) return false;
  }
  return true;
}

}  // namespace

std::vector<SubgraphWalker::State> SubgraphWalker::states() const {
  std::map<std::int32_t, std::string> names;  // by tensor
  std::map<std::string, std::int32_t> read;   // before anything changes it: the first tensor
  std::set<std::string> changed;
  std::vector<State> found;
  std::set<std::int32_t> kept;
  for (int i = 0; i < operator_count(); ++i) {
    const file::Operator& op = operator_at(i);
    const std::string type = type_of(op);
    if (type == "VAR_HANDLE") {
      if (const auto name = name_of_variable(op)) names[first_of(op.outputs())] = *name;
      continue;
    }
    if (type == "SVDF" && has_state(op) && kept.insert(op.inputs()->Get(kSvdfState)).second) {
      const std::int32_t tensor = op.inputs()->Get(kSvdfState);
      found.push_back({"operator/" + std::to_string(tensor), tensor_at(tensor).name, tensor, true});
    }
    const auto name = names.find(first_of(op.inputs()));
    if (name == names.end()) continue;
    if (type == "READ_VARIABLE" && !changed.contains(name->second)) read.emplace(name->second, first_of(op.outputs()));
    if (type != "ASSIGN_VARIABLE" || !changed.insert(name->second).second) continue;
    const auto before = read.find(name->second);
    if (before == read.end() || before->second < 0) continue;
    const std::string& own = before->first;
    found.push_back({own, own.starts_with('/') ? own.substr(1) : own, before->second});
  }
  return found;
}

bool SubgraphWalker::has_state(const file::Operator& svdf) const {
  if (svdf.inputs() == nullptr || svdf.inputs()->size() <= kSvdfState) return false;
  const std::int32_t tensor = svdf.inputs()->Get(kSvdfState);
  return tensor >= 0 && tensor_at(tensor).is_variable;
}

Handle SubgraphWalker::handle_of_state(const State& state) {
  Variable& variable = building_.variables.at(state.variable);
  if (!variable.value.exists()) return variable.handle;
  ValueId id = variable.value;
  if (building_.graph.fact(id).is_constant()) id = building_.copied(id, state.variable);
  return building_.program.handle_of(id);
}

// The subgraph gives variables their values; it has no inputs, and nothing of it depends on a run.
void SubgraphWalker::read_call_once(const Place& at) {
  const auto* given = at.op.builtin_options_as_CallOnceOptions();
  if (given == nullptr) return wrong(at, ErrorKind::invalid_input, "options", "none of the operator's kind", "them");
  const int subgraph = given->init_subgraph_index();
  if (depth_in_blocks_ > 0)
    return wrong(at, ErrorKind::unsupported, "", "it in a branch or loop", "it outside of them");
  if (called_once_.contains(subgraph) || !begin_called(at, subgraph, {}, 0)) return;
  called_once_.insert(subgraph);
  building_.is_initializing = true;
  read_operators();
  building_.is_initializing = false;
  end();
}

void SubgraphWalker::read_variable_operator(int code, const Place& at) {
  const std::string name = builtin_name(code);
  if (name == "VAR_HANDLE") {
    const auto variable = name_of_variable(at.op);
    if (!variable) return wrong(at, ErrorKind::invalid_input, "options", "no name of the variable", "one");
    if (!has_counts(at, 0, 1)) return;
    return bind(at.op.outputs()->Get(0), {.resource = *variable});
  }
  const bool assigns = name == "ASSIGN_VARIABLE";
  if (!has_counts(at, assigns ? 2 : 1, assigns ? 0 : 1)) return;
  const auto resource = building_.resources.find(input(at, 0));
  if (resource == building_.resources.end())
    return wrong(at, ErrorKind::invalid_input, "input 0", "'" + tensor_at(input(at, 0)).name + "', which is a value",
                 "a variable");
  if (assigns) return assign(at, resource->second);
  const auto variable = building_.variables.find(resource->second);
  if (variable == building_.variables.end())
    return wrong(at, ErrorKind::unsupported, "", "the variable '" + resource->second + "' without a value",
                 "one that CALL_ONCE gives it");
  bind(at.op.outputs()->Get(0), {variable->second.value, variable->second.handle, {}});
}

void SubgraphWalker::assign(const Place& at, const std::string& name) {
  if (depth_in_blocks_ > 0)
    return wrong(at, ErrorKind::unsupported, "", "a variable that a branch or loop changes",
                 "one that is assigned outside of them");
  Variable& variable = building_.variables[name];
  const Bound value = bound(input(at, 1));
  if (!value.value.exists() && value.handle == kNoHandle)
    return wrong(at, ErrorKind::invalid_input, "input 1", "a variable", "a value");
  if (variable.is_state) {
    if (building_.is_initializing) return check_beginning(at, name, tensor_at(input(at, 1)));
    if (!stays_as_it_is(at, name, tensor_at(input(at, 1)))) return;
  }
  variable.value = value.value, variable.handle = value.handle;
}

// States are zeros when nothing has run: who calls the model need not know more of them.
void SubgraphWalker::check_beginning(const Place& at, const std::string& name, const FileTensor& value) {
  const bool is_quantized = value.quant && value.quant->zero_point.size() == 1;
  const std::int32_t zero = is_quantized ? value.quant->zero_point[0] : 0;
  if (value.constant == nullptr)
    wrong(at, ErrorKind::unsupported, "", "the state '" + name + "', which begins as what is computed", "constants");
  else if (!is_zero(*value.constant, zero))
    wrong(at, ErrorKind::unsupported, "", "the state '" + name + "', which does not begin as zeros", "zeros");
}

// A state's next value has its type and shape.
bool SubgraphWalker::stays_as_it_is(const Place& at, const std::string& name, const FileTensor& value) {
  const Variable& state = building_.variables[name];
  if (value.dtype == state.dtype && value.shape == state.shape) return true;
  wrong(at, ErrorKind::unsupported, "",
        "the state '" + name + "', which becomes " + type_text(value.dtype, value.shape),
        type_text(state.dtype, state.shape) + ", as it was");
  return false;
}

}  // namespace octavo::tflite_import
