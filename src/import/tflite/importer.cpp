// The importer of TFLite: walks over the file once, in its order. Part of import/.
#include "import/tflite/importer.h"

#include <algorithm>
#include <map>

#include "import/tflite/subgraph_walker.h"

namespace octavo::tflite_import {
namespace {

// Names of inputs and outputs may repeat in the file: "x", "x.2", ...
std::string unique_name(const std::string& name, std::map<std::string, int>& uses) {
  int number = uses[name] + 1;
  std::string unique = name;
  for (; number > 1 && uses.count(unique) != 0; ++number) unique = name + "." + std::to_string(number);
  uses[name] = std::max(number - 1, 1);
  uses[unique] = std::max(uses[unique], 1);
  return unique;
}

// The subgraphs that an operator runs, as the file numbers them; they may not exist.
std::vector<int> subgraphs_of(const file::Operator& op) {
  if (const auto* branch = op.builtin_options_as_IfOptions())
    return {branch->then_subgraph_index(), branch->else_subgraph_index()};
  if (const auto* loop = op.builtin_options_as_WhileOptions())
    return {loop->cond_subgraph_index(), loop->body_subgraph_index()};
  if (const auto* call = op.builtin_options_as_CallOnceOptions()) return {call->init_subgraph_index()};
  if (const auto* composite = op.builtin_options_2_as_StableHLOCompositeOptions())
    return {composite->decomposition_subgraph_index()};
  return {};
}

// Those that neither the first one runs nor one that it runs: the interpreter of the format leaves them out, too.
std::vector<int> unread_subgraphs(const file::Model& model) {
  const auto count = static_cast<int>(model.subgraphs()->size());
  std::vector<bool> is_run(static_cast<std::size_t>(count));
  std::vector<int> waiting{0};
  while (!waiting.empty()) {
    const int index = waiting.back();
    waiting.pop_back();
    if (index < 0 || index >= count || is_run[static_cast<std::size_t>(index)]) continue;
    is_run[static_cast<std::size_t>(index)] = true;
    const auto* operators = model.subgraphs()->Get(static_cast<flatbuffers::uoffset_t>(index))->operators();
    for (flatbuffers::uoffset_t i = 0; operators != nullptr && i < operators->size(); ++i) {
      const std::vector<int> called = subgraphs_of(*operators->Get(i));
      waiting.insert(waiting.end(), called.begin(), called.end());
    }
  }
  std::vector<int> unread;
  for (int i = 0; i < count; ++i) {
    if (!is_run[static_cast<std::size_t>(i)]) unread.push_back(i);
  }
  return unread;
}

// The entry points that a file names: there may be several of the first subgraph.
Status check_signatures(const file::Model& model, const std::string& file) {
  const auto* signatures = model.signature_defs();
  for (flatbuffers::uoffset_t i = 0; signatures != nullptr && i < signatures->size(); ++i) {
    const auto& signature = *signatures->Get(i);
    if (signature.subgraph_index() == 0) continue;
    const std::string key = signature.signature_key() == nullptr ? "" : signature.signature_key()->str();
    return Error{ErrorKind::unsupported, file,
                 "the signature '" + key + "' of subgraph " + std::to_string(signature.subgraph_index()),
                 "signatures of subgraph 0 alone", "Convert each signature to a file of its own"};
  }
  return ok_status();
}

// Reads what is around the operators of the first subgraph: inputs and outputs.
class Importer {
 public:
  Importer(const ModelFile& model, const std::string& file, const ImportOptions& options)
      : building_(file, options), walker_(model, building_), unread_(unread_subgraphs(*model.model)) {
    building_.profile = options.profile.value_or(Profile::tflite_xnnpack);
  }

  Result<ImportedModel> run() {
    if (!walker_.begin(0, "")) return building_.errors;
    const auto* outputs = walker_.subgraph().outputs();
    if (outputs == nullptr || outputs->size() == 0) {
      building_.report(ErrorKind::invalid_input, "", "a subgraph without outputs", "at least one output");
      return building_.errors;
    }
    read_inputs();
    read_states();
    building_.check_inputs("Give a whole --shape");
    walker_.read_operators();
    const bool is_quantized = !building_.activation_types.empty() || building_.dynamic > 0;
    if (!building_.program.has_begun() && building_.computed.empty()) {
      read_outputs([&](std::int32_t tensor, const std::string& name) {
        const ValueId value = building_.find(static_cast<std::size_t>(tensor));
        if (value.exists()) building_.add_output(value, name);
        else if (building_.errors.empty())
          building_.report(ErrorKind::invalid_input, "output '" + name + "'", "no value", "an operator's result");
      });
      for (const SubgraphWalker::State& state : states_) {
        if (const ValueId value = building_.variables[state.variable].value; value.exists())
          building_.add_output(value, state.name);
      }
      return building_.finish(dialect(is_quantized), is_quantized, walker_.operators_read());
    }
    std::vector<std::pair<std::string, Handle>> made;
    read_outputs(
        [&](std::int32_t tensor, const std::string& name) { made.emplace_back(name, walker_.handle_of(tensor)); });
    if (!building_.errors.empty()) return building_.errors;
    for (const SubgraphWalker::State& state : states_) made.emplace_back(state.name, walker_.handle_of_state(state));
    building_.leave_graph();
    return building_.finish(building_.program.finish(made), dialect(is_quantized), is_quantized,
                            walker_.operators_read());
  }

 private:
  void read_inputs() {
    std::map<std::string, int> names;
    const auto* inputs = walker_.subgraph().inputs();
    for (flatbuffers::uoffset_t i = 0; inputs != nullptr && i < inputs->size(); ++i) {
      const std::int32_t index = inputs->Get(i);
      const FileTensor& tensor = building_.tensors[static_cast<std::size_t>(index)];
      const auto at = static_cast<std::size_t>(index);
      const std::string name = unique_name(tensor.name, names);
      if (building_.is_made[at]) {
        building_.report(ErrorKind::invalid_input, "input '" + name + "'", "a constant, or an input twice",
                         "a tensor without data");
        continue;
      }
      if (tensor.is_complex) {
        building_.report(ErrorKind::unsupported, "input '" + name + "'", "complex numbers", "real ones");
        continue;
      }
      building_.is_made[at] = true;
      building_.values[at] = add_input(name, tensor);
    }
  }

  ValueId add_input(const std::string& name, const FileTensor& tensor) {
    DeclaredInput input{.name = name, .dtype = tensor.dtype, .dims = std::vector<DeclaredDim>{}};
    for (std::size_t axis = 0; axis < tensor.shape.dims().size(); ++axis) {
      const bool is_open = axis < tensor.is_open.size() && tensor.is_open[axis];
      input.dims->push_back({.size = tensor.shape.dims()[axis], .symbol = is_open ? "?" : ""});
    }
    if (tensor.is_open.empty() && !input.dims->empty()) input.dims->front().is_assumed = tensor.shape[0] == 1;
    const ValueId value = building_.add_input(input);
    if (!value.exists() || building_.graph.fact(value).is_constant() || !tensor.quant) return value;
    building_.graph.set_quant(value, *tensor.quant);
    if (is_8bit(tensor.dtype)) ++building_.activation_types[tensor.dtype];
    return value;
  }

  // After the file's own inputs; an output of the same name is the next value.
  void read_states() {
    states_ = walker_.states();
    std::map<std::string, int> names;
    for (const auto* list : {walker_.subgraph().inputs(), walker_.subgraph().outputs()}) {
      for (flatbuffers::uoffset_t i = 0; list != nullptr && i < list->size(); ++i)
        unique_name(building_.tensors[static_cast<std::size_t>(list->Get(i))].name, names);
    }
    for (SubgraphWalker::State& state : states_) {
      state.name = unique_name(state.name, names);
      const auto at = static_cast<std::size_t>(state.tensor);
      const FileTensor& tensor = building_.tensors[at];
      const ValueId value = add_input(state.name, tensor);
      const bool has_zero = tensor.quant && tensor.quant->zero_point.size() == 1;
      building_.states.push_back({state.name, has_zero ? tensor.quant->zero_point[0] : 0});
      building_.variables[state.variable] = {
          .value = value, .is_state = true, .dtype = tensor.dtype, .shape = tensor.shape};
      if (!state.is_of_operator) continue;
      building_.values[at] = value;
      building_.is_made[at] = true;
      building_.kept_tensors[state.tensor] = state.variable;
    }
  }

  template <class Add>
  void read_outputs(Add add) {
    std::map<std::string, int> names;
    for (const std::int32_t index : *walker_.subgraph().outputs()) {
      const auto at = static_cast<std::size_t>(index);
      const FileTensor& tensor = building_.tensors[at];
      if (tensor.is_complex)
        building_.report(ErrorKind::unsupported, "output '" + tensor.name + "'", "complex numbers", "real ones");
      else if (building_.is_made[at] && !tensor.is_resource) add(index, unique_name(tensor.name, names));
      else
        building_.report(ErrorKind::invalid_input, "output '" + tensor.name + "'", "nothing that makes it",
                         "an operator's result");
    }
  }

  std::string dialect(bool is_quantized) const {
    const std::string type = building_.activation_type();
    std::string text = type.empty() ? "TFLite fp32" : "TFLite" + type;
    if (building_.dynamic > 0) text = type.empty() ? "TFLite dynamic range" : text + ", partly dynamic range";
    if (is_quantized) text += ", rounding " + std::string(name_of(building_.profile));
    if (!unread_.empty()) text += ", without " + unread_text();
    return text;
  }

  std::string unread_text() const {
    std::string text = unread_.size() == 1 ? "subgraph " : "subgraphs ";
    constexpr std::size_t kNamed = 8;
    for (std::size_t i = 0; i < std::min(unread_.size(), kNamed); ++i)
      text += (i == 0 ? "" : ", ") + std::to_string(unread_[i]);
    return text + (unread_.size() > kNamed ? ", ..." : "") + " that nothing runs";
  }

  Building building_;
  SubgraphWalker walker_;
  std::vector<int> unread_;
  std::vector<SubgraphWalker::State> states_;
};

}  // namespace

Result<ImportedModel> import_parsed(const ModelFile& model, const std::string& file, const ImportOptions& options) {
  const auto* subgraphs = model.model->subgraphs();
  if (subgraphs == nullptr || subgraphs->size() == 0)
    return Error{ErrorKind::invalid_input, file, "no subgraph", "a model with one", ""};
  if (Status checked = check_signatures(*model.model, file); !checked.ok()) return checked.errors();
  return Importer(model, file, options).run();
}

}  // namespace octavo::tflite_import
