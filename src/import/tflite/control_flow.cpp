// TFLite operators that run other subgraphs: these become blocks of the program, or stand where the operator did. Part
// of import/.
#include <algorithm>

#include "graph/open_shape.h"
#include "import/float_sizes.h"
#include "import/tflite/operators.h"
#include "import/tflite/subgraph_walker.h"

namespace octavo::tflite_import {
namespace {

constexpr std::int64_t kMostExtent = std::int64_t{1} << 31;
// Shapes that still change are refused: each time an axis more is open.
constexpr int kMostReadings = 8;

// What is known of a value wherever it comes from.
Fact known_of(const Fact& fact) { return {.dtype = fact.dtype, .shape = fact.shape, .quant = fact.quant}; }

bool is_truth(const Fact& fact) {
  return fact.dtype == DType::boolean && (is_open(fact.shape.dims()) || fact.shape.elements() == 1);
}

std::size_t size_of(const flatbuffers::Vector<std::int32_t>* list) { return list == nullptr ? 0 : list->size(); }

}  // namespace

bool SubgraphWalker::is_control_flow(int code) {
  constexpr std::string_view kNames[] = {"ASSIGN_VARIABLE",     "CALL_ONCE",  "IF",   "READ_VARIABLE",
                                         "STABLEHLO_COMPOSITE", "VAR_HANDLE", "WHILE"};
  const std::string name = builtin_name(code);
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

void SubgraphWalker::wrong(const Place& at, ErrorKind kind, const std::string& what, std::string found,
                           std::string expected) {
  building_.report(kind, building_.scope + at.origin + (what.empty() ? "" : ", " + what), std::move(found),
                   std::move(expected));
}

int SubgraphWalker::input_count(const Place& at) const { return static_cast<int>(size_of(at.op.inputs())); }

std::int32_t SubgraphWalker::input(const Place& at, int index) const {
  return at.op.inputs()->Get(static_cast<flatbuffers::uoffset_t>(index));
}

// At least so many inputs, none left out, and so many outputs; -1: any number.
bool SubgraphWalker::has_counts(const Place& at, int inputs, int outputs) {
  const int made = static_cast<int>(size_of(at.op.outputs()));
  if (input_count(at) < inputs || (outputs >= 0 && made != outputs)) {
    wrong(at, ErrorKind::invalid_input, "",
          std::to_string(input_count(at)) + " inputs and " + std::to_string(made) + " outputs",
          "at least " + std::to_string(inputs) + (outputs < 0 ? "" : ", and " + std::to_string(outputs)));
    return false;
  }
  for (int i = 0; i < input_count(at); ++i) {
    if (input(at, i) >= 0) continue;
    wrong(at, ErrorKind::invalid_input, "input " + std::to_string(i), "none", "a tensor");
    return false;
  }
  return true;
}

void SubgraphWalker::read_control_flow(int code, const Place& at) {
  const std::size_t errors = building_.errors.size();
  const std::string name = builtin_name(code);
  if (name == "IF") read_if(at);
  else if (name == "WHILE") read_while(at);
  else if (name == "CALL_ONCE") read_call_once(at);
  else if (name != "STABLEHLO_COMPOSITE") read_variable_operator(code, at);
  else if (const auto* composite = at.op.builtin_options_2_as_StableHLOCompositeOptions()) {
    std::vector<Bound> arguments;
    for (int i = 0; i < input_count(at) && has_counts(at, 0, -1); ++i) arguments.push_back(bound(input(at, i)));
    if (building_.errors.size() == errors) read_inside(at, composite->decomposition_subgraph_index(), arguments);
  } else {
    wrong(at, ErrorKind::invalid_input, "options", "none of the operator's kind", "them");
  }
  if (building_.errors.size() > errors) forget_outputs(at.op);
}

// ---- subgraphs that stand where the operator did ----

SubgraphWalker::Bound SubgraphWalker::bound(std::int32_t tensor) {
  const auto at = static_cast<std::size_t>(tensor);
  Bound made;
  if (const auto found = building_.resources.find(tensor); found != building_.resources.end())
    made.resource = found->second;
  else if (building_.handles[at] != kNoHandle) made.handle = building_.handles[at];
  else made.value = building_.values[at];
  return made;
}

void SubgraphWalker::bind(std::int32_t tensor, const Bound& value) {
  const auto at = static_cast<std::size_t>(tensor);
  building_.is_made[at] = true;
  building_.values[at] = value.value;
  building_.handles[at] = value.handle;
  if (!value.resource.empty()) building_.resources[tensor] = value.resource;
}

// Input `index` of the subgraph that has just begun; an argument has the type that it says.
bool SubgraphWalker::bind_argument(int index, const Bound& argument) {
  const std::int32_t input = subgraph_->inputs()->Get(static_cast<flatbuffers::uoffset_t>(index));
  const FileTensor& tensor = tensor_at(input);
  bind(input, argument);
  if (tensor.is_resource == !argument.resource.empty() && (tensor.is_resource || type_of(argument) == tensor.dtype))
    return true;
  // What could not be read has been reported.
  if (argument.resource.empty() && !type_of(argument)) return true;
  const auto said = [](bool is_variable, std::optional<DType> type) {
    return is_variable || !type ? std::string("a variable") : std::string(name_of(*type));
  };
  building_.report(ErrorKind::invalid_input, building_.scope + "input '" + tensor.name + "'",
                   said(tensor.is_resource, tensor.dtype),
                   said(!argument.resource.empty(), type_of(argument)) + ", which it is given");
  return false;
}

// Nothing of a variable, and of what could not be read.
std::optional<DType> SubgraphWalker::type_of(const Bound& value) const {
  if (value.handle != kNoHandle) return building_.program.fact(value.handle).dtype;
  return value.value.exists() ? std::optional(building_.graph.fact(value.value).dtype) : std::nullopt;
}

bool SubgraphWalker::begin_called(const Place& at, int subgraph, const std::vector<Bound>& arguments, int outputs) {
  if (!begin(subgraph, building_.scope + at.origin)) return false;
  const std::size_t inputs = size_of(subgraph_->inputs()), made = size_of(subgraph_->outputs());
  if (inputs == arguments.size() && static_cast<int>(made) == outputs) {
    bool are_of_types = true;
    for (std::size_t i = 0; i < inputs; ++i)
      are_of_types = bind_argument(static_cast<int>(i), arguments[i]) && are_of_types;
    if (!are_of_types) end();
    return are_of_types;
  }
  end();
  wrong(at, ErrorKind::invalid_input, "subgraph " + std::to_string(subgraph),
        std::to_string(inputs) + " inputs and " + std::to_string(made) + " outputs",
        std::to_string(arguments.size()) + " and " + std::to_string(outputs));
  return false;
}

void SubgraphWalker::read_inside(const Place& at, int subgraph, const std::vector<Bound>& arguments) {
  const int outputs = static_cast<int>(size_of(at.op.outputs()));
  if (!begin_called(at, subgraph, arguments, outputs)) return;
  read_operators();
  std::vector<Bound> results;
  for (int i = 0; i < outputs; ++i) {
    const std::int32_t tensor = subgraph_->outputs()->Get(static_cast<flatbuffers::uoffset_t>(i));
    results.push_back(bound(tensor));
    if (!building_.is_made[static_cast<std::size_t>(tensor)])
      building_.report(ErrorKind::invalid_input, building_.scope + "output " + std::to_string(i),
                       "nothing that makes it", "an operator's result");
  }
  end();
  for (int i = 0; i < outputs; ++i)
    bind(at.op.outputs()->Get(static_cast<flatbuffers::uoffset_t>(i)), results[static_cast<std::size_t>(i)]);
}

// ---- IF ----

void SubgraphWalker::read_if(const Place& at) {
  const auto* given = at.op.builtin_options_as_IfOptions();
  if (given == nullptr) return wrong(at, ErrorKind::invalid_input, "options", "none of the operator's kind", "them");
  if (!has_counts(at, 1, -1)) return;
  const std::size_t outputs = size_of(at.op.outputs());
  if (outputs == 0) return wrong(at, ErrorKind::invalid_input, "outputs", "none", "one at least");
  const ValueId known = building_.find(static_cast<std::size_t>(input(at, 0)));
  if (!known.exists()) return wrong(at, ErrorKind::invalid_input, "input 0", "a variable", "bool of one element");
  const Fact condition = building_.graph.fact(known);
  if (!is_truth(condition))
    return wrong(at, ErrorKind::invalid_input, "input 0", type_text(condition), "bool of one element");
  const int subgraphs[] = {given->then_subgraph_index(), given->else_subgraph_index()};
  std::vector<Bound> arguments;
  if (const auto example = at_example(building_.graph, {&known, 1})) {
    example->fix();
    for (int i = 1; i < input_count(at); ++i) arguments.push_back(bound(input(at, i)));
    return read_inside(at, subgraphs[*example->tensors[0].as<bool>() ? 0 : 1], arguments);
  }
  const Handle tested = handle_of(input(at, 0));
  building_.leave_graph();
  for (int i = 1; i < input_count(at); ++i) arguments.push_back(bound(input(at, i)));
  PartTree part{.part = {.kind = PartKind::branch, .name = building_.scope + at.origin}};
  part.part.inputs = {building_.program.index_of(tested)};
  part.blocks.resize(2);
  const std::size_t scope = building_.program.scope();
  std::vector<Handle> results[2];
  for (int i = 0; i < 2; ++i) {
    if (!read_block(at, subgraphs[i], arguments, part.blocks[static_cast<std::size_t>(i)], results[i])) return;
    if (results[i].size() != outputs)
      return wrong(at, ErrorKind::invalid_input, "subgraph " + std::to_string(subgraphs[i]),
                   std::to_string(results[i].size()) + " outputs", std::to_string(outputs));
  }
  for (std::size_t i = 0; i < outputs; ++i) {
    const Fact first = building_.program.fact(results[0][i]), second = building_.program.fact(results[1][i]);
    if (first.dtype != second.dtype || first.shape.rank() != second.shape.rank())
      return wrong(at, first.dtype != second.dtype ? ErrorKind::invalid_input : ErrorKind::unsupported,
                   "output " + std::to_string(i),
                   type_text(first) + " of one subgraph, " + type_text(second) + " of the other",
                   "one type and number of dimensions");
    const std::int32_t output = at.op.outputs()->Get(static_cast<flatbuffers::uoffset_t>(i));
    const Handle made = building_.program.add_value(tensor_at(output).name, known_of(first));
    for (int axis = 0; axis < first.shape.rank(); ++axis) {
      if (!is_same(first.shape[axis], second.shape[axis])) building_.program.open_axis(made, axis, {0, kMostExtent});
    }
    building_.program.open_inner_axes(made, scope);
    part.part.outputs.push_back(building_.program.index_of(made));
    bind(output, {.handle = made});
  }
  building_.program.add_part(std::move(part));
}

// A subgraph as a block of the program, with its results; the graph has just been left, both times.
bool SubgraphWalker::read_block(const Place& at, int subgraph, const std::vector<Bound>& arguments, BlockTree& block,
                                std::vector<Handle>& results) {
  const std::size_t errors = building_.errors.size();
  building_.program.begin_block(block);
  ++depth_in_blocks_;
  const auto* subgraphs = model_.model->subgraphs();
  const bool exists = subgraph >= 0 && subgraph < static_cast<int>(subgraphs->size());
  const auto* called = exists ? subgraphs->Get(static_cast<flatbuffers::uoffset_t>(subgraph)) : nullptr;
  const int outputs = called == nullptr ? 0 : static_cast<int>(size_of(called->outputs()));
  if (begin_called(at, subgraph, arguments, outputs)) {
    read_operators();
    for (int i = 0; i < outputs; ++i) {
      const std::int32_t tensor = subgraph_->outputs()->Get(static_cast<flatbuffers::uoffset_t>(i));
      const bool is_made = building_.is_made[static_cast<std::size_t>(tensor)];
      if (!is_made)
        building_.report(ErrorKind::invalid_input, building_.scope + "output '" + tensor_at(tensor).name + "'",
                         "nothing that makes it", "an operator's result");
      results.push_back(is_made ? handle_of(tensor) : kNoHandle);
    }
    building_.leave_graph();
    end();
  }
  --depth_in_blocks_;
  const bool is_whole =
      building_.errors.size() == errors && std::find(results.begin(), results.end(), kNoHandle) == results.end();
  if (is_whole) {
    for (const Handle result : results) block.outputs.push_back(building_.program.index_of(result));
  }
  building_.program.end_block();
  return is_whole;
}

// ---- WHILE ----

// The condition or the body as a block whose inputs are carried values, with the extents open that `is_open` says.
bool SubgraphWalker::read_iteration(const Place& at, int subgraph, const std::vector<Handle>& carried,
                                    const std::vector<std::vector<bool>>& is_open, BlockTree& block,
                                    std::vector<Handle>& results) {
  ProgramBuilder& program = building_.program;
  std::vector<Bound> arguments;
  for (std::size_t i = 0; i < carried.size(); ++i) {
    const Handle made = program.add_value(program.name(carried[i]), known_of(program.fact(carried[i])));
    for (std::size_t axis = 0; axis < is_open[i].size(); ++axis) {
      if (is_open[i][axis]) program.open_axis(made, static_cast<int>(axis), {0, kMostExtent});
    }
    block.inputs.push_back(program.index_of(made));
    arguments.push_back({.handle = made});
  }
  return read_block(at, subgraph, arguments, block, results);
}

void SubgraphWalker::read_while(const Place& at) {
  const auto* given = at.op.builtin_options_as_WhileOptions();
  if (given == nullptr) return wrong(at, ErrorKind::invalid_input, "options", "none of the operator's kind", "them");
  const int count = input_count(at);
  if (!has_counts(at, 1, count)) return;
  ProgramBuilder& program = building_.program;
  std::vector<Handle> carried;
  for (int i = 0; i < count; ++i) {
    if (building_.resources.contains(input(at, i)))
      return wrong(at, ErrorKind::unsupported, "input " + std::to_string(i), "a variable", "a value");
    carried.push_back(handle_of(input(at, i)));
    if (carried.back() == kNoHandle) return forget_outputs(at.op);
  }
  building_.leave_graph();
  std::vector<std::vector<bool>> is_open;
  for (const Handle value : carried) {
    is_open.emplace_back();
    // Nothing is what a list begins with that grows.
    for (const Dim& dim : program.fact(value).shape) is_open.back().push_back(is_zero(dim));
  }
  PartTree part{.part = {.kind = PartKind::loop, .name = building_.scope + at.origin}};
  for (int reading = 0;; ++reading) {
    if (reading == kMostReadings)
      return wrong(at, ErrorKind::unsupported, "", "shapes that keep changing", "shapes that a few axes change");
    part.blocks.assign(2, {});
    part.blocks[0].inputs = {kNoIndex, kNoIndex};
    part.blocks[0].outputs = {kNoIndex};
    std::vector<Handle> results, test;
    ++building_.loops;
    const bool is_read = read_iteration(at, given->body_subgraph_index(), carried, is_open, part.blocks[0], results) &&
                         read_iteration(at, given->cond_subgraph_index(), carried, is_open, part.blocks[1], test);
    --building_.loops;
    if (!is_read) return;
    if (test.size() != 1 || results.size() != carried.size())
      return wrong(at, ErrorKind::invalid_input, "subgraphs",
                   std::to_string(test.size()) + " and " + std::to_string(results.size()) + " outputs",
                   "one of the condition, " + std::to_string(count) + " of the body");
    if (!is_truth(program.fact(test[0])))
      return wrong(at, ErrorKind::invalid_input, "condition", type_text(program.fact(test[0])), "bool of one element");
    bool opens = false;
    for (std::size_t i = 0; i < carried.size(); ++i) {
      const Fact &before = program.fact(carried[i]), &after = program.fact(results[i]);
      if (before.dtype != after.dtype || before.shape.rank() != after.shape.rank())
        return wrong(at, ErrorKind::unsupported, "value " + std::to_string(i), type_text(after) + " after an iteration",
                     type_text(before) + ", as before: one type and number of dimensions");
      for (int axis = 0; axis < before.shape.rank(); ++axis) {
        const auto index = static_cast<std::size_t>(axis);
        if (is_open[i][index] || is_same(before.shape[axis], after.shape[axis])) continue;
        is_open[i][index] = opens = true;
      }
    }
    if (!opens) break;
  }
  part.part.inputs = {kNoIndex, kNoIndex};
  part.part.carried = count;
  for (std::size_t i = 0; i < carried.size(); ++i) {
    part.part.inputs.push_back(program.index_of(carried[i]));
    const std::int32_t output = at.op.outputs()->Get(static_cast<flatbuffers::uoffset_t>(i));
    const Handle made = program.add_value(tensor_at(output).name, known_of(program.fact(carried[i])));
    for (std::size_t axis = 0; axis < is_open[i].size(); ++axis) {
      if (is_open[i][axis]) program.open_axis(made, static_cast<int>(axis), {0, kMostExtent});
    }
    part.part.outputs.push_back(program.index_of(made));
    bind(output, {.handle = made});
  }
  program.add_part(std::move(part));
}

}  // namespace octavo::tflite_import
