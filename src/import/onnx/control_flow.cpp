// ONNX If, Loop and Scan: the graphs inside them become blocks of the program. Part of import/.
#include <algorithm>

#include "base/fields.h"
#include "graph/open_shape.h"
#include "import/float_sizes.h"
#include "import/onnx/graph_walker.h"
#include "import/onnx/proto.h"
#include "ops/check.h"

namespace octavo::onnx_import {
namespace {

using Attribute = onnx::AttributeProto;

constexpr std::int64_t kMostExtent = std::int64_t{1} << 31;
// Shapes that still change are refused: each time an axis more is open.
constexpr int kMostReadings = 8;

std::vector<std::string> output_names(const onnx::GraphProto& graph) {
  std::vector<std::string> names;
  for (const auto& output : graph.output()) names.push_back(output.name());
  return names;
}

bool is_one_element(const OpenShape& shape) { return !is_open(shape.dims()) && shape.elements() == 1; }

// What is known of a value wherever it comes from.
Fact control_flow_type_of(const Fact& fact) { return {.dtype = fact.dtype, .shape = fact.shape}; }

// A block that only tells why it cannot run, with outputs like those of the other branch.
void refuse_branch(const Errors& errors, const std::vector<Handle>& others, ProgramBuilder& program, BlockTree& block,
                   std::vector<Handle>& results) {
  block = {};
  results.clear();
  PartTree part{.part = {.kind = PartKind::refusal, .name = to_string(Errors{errors.front()})}};
  for (const Handle other : others) {
    results.push_back(program.add_value(program.name(other), control_flow_type_of(program.fact(other))));
    part.part.outputs.push_back(program.index_of(results.back()));
  }
  block.outputs = part.part.outputs;
  block.parts.push_back(std::move(part));
}

}  // namespace

void GraphWalker::wrong(const Place& at, ErrorKind kind, const std::string& what, std::string found,
                        std::string expected) {
  ++malformed_;
  building_.report(kind, at.origin + (what.empty() ? "" : ", " + what), std::move(found), std::move(expected));
}

const Attribute* GraphWalker::attribute_of(const Place& at, const std::string& name) const {
  for (const Attribute& attribute : at.node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

const onnx::GraphProto* GraphWalker::graph_of(const Place& at, const std::string& name) {
  const Attribute* attribute = attribute_of(at, name);
  if (attribute != nullptr && attribute->has_g()) return &attribute->g();
  wrong(at, ErrorKind::invalid_input, quoted("attribute", name), "no graph", "one");
  return nullptr;
}

// A list of integers, or as many zeros where it is left out.
std::vector<std::int64_t> GraphWalker::list_of(const Place& at, const std::string& name, std::size_t count) {
  const Attribute* attribute = attribute_of(at, name);
  if (attribute == nullptr) return std::vector<std::int64_t>(count, 0);
  const std::vector<std::int64_t> given(attribute->ints().begin(), attribute->ints().end());
  if (given.size() == count) return given;
  wrong(at, ErrorKind::invalid_input, quoted("attribute", name), print(given), std::to_string(count) + " integers");
  return std::vector<std::int64_t>(count, 0);
}

void GraphWalker::read_control_flow(const Place& at) {
  const std::size_t errors = building_.errors.size();
  if (at.node.op_type() == "If") read_if(at);
  else if (at.node.op_type() == "Loop") read_loop(at);
  else read_scan(at);
  if (building_.errors.size() > errors || building_.is_full()) forget_outputs(at.node);
}

// The names of the graph are those of a scope from here on, its initializers are known.
bool GraphWalker::begin_graph(const Place& at, const onnx::GraphProto& graph) {
  if (building_.scopes.size() >= static_cast<std::size_t>(kMostNestedBlocks)) {
    wrong(at, ErrorKind::unsupported, "", "a graph inside " + std::to_string(kMostNestedBlocks) + " others",
          "at most so many");
    return false;
  }
  building_.scopes.emplace_back();
  for (const auto& tensor : graph.initializer()) {
    if (!building_.is_full()) read_initializer(tensor);
  }
  return true;
}

// ---- If ----

void GraphWalker::read_if(const Place& at) {
  const auto *yes = graph_of(at, "then_branch"), *no = graph_of(at, "else_branch");
  if (yes == nullptr || no == nullptr) return;
  if (at.node.input_size() != 1 || at.node.input(0).empty())
    return wrong(at, ErrorKind::invalid_input, "", std::to_string(at.node.input_size()) + " inputs", "a condition");
  for (const auto* graph : {yes, no}) {
    if (graph->output_size() != at.node.output_size() || graph->output_size() == 0)
      return wrong(at, ErrorKind::invalid_input, graph == yes ? "attribute 'then_branch'" : "attribute 'else_branch'",
                   std::to_string(graph->output_size()) + " outputs", std::to_string(at.node.output_size()));
  }
  const ValueId condition = building_.find(at.node.input(0));
  if (!condition.exists()) return forget_outputs(at.node);
  const Fact fact = building_.graph.fact(condition);
  if (fact.dtype != DType::boolean || (!is_open(fact.shape.dims()) && fact.shape.elements() != 1))
    return wrong(at, ErrorKind::invalid_input, "input 'cond'", type_text(fact), "bool of one element");
  if (const auto known = at_example(building_.graph, {&condition, 1})) {
    known->fix();
    return read_chosen(at, *known->tensors[0].as<bool>() ? *yes : *no);
  }
  const Handle tested = handle_of(at.node.input(0));
  building_.leave_graph();
  PartTree part{.part = {.kind = PartKind::branch, .name = at.origin}};
  part.part.inputs = {building_.program.index_of(tested)};
  part.blocks.resize(2);
  const std::size_t scope = building_.program.scope();
  std::vector<Handle> results[2];
  const std::optional<RefusedBranch> refused[] = {try_branch(at, *yes, {}, part.blocks[0], results[0]),
                                                  try_branch(at, *no, {}, part.blocks[1], results[1])};
  if (!refused[0] && !refused[1]) {
    const Ranks ranks = common_ranks(results[0], results[1]);
    for (std::size_t i = 0; i < 2 && !ranks.empty(); ++i)
      try_branch(at, i == 0 ? *yes : *no, ranks, part.blocks[i], results[i]);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    if (!refused[i]) continue;
    if (refused[1 - i] || !refused[i]->is_about_sizes) {
      for (const auto& branch : refused) building_.report(branch ? branch->errors : Errors());
      return forget_outputs(at.node);
    }
    refuse_branch(refused[i]->errors, results[1 - i], building_.program, part.blocks[i], results[i]);
  }
  for (int i = 0; i < at.node.output_size(); ++i) {
    const auto index = static_cast<std::size_t>(i);
    const Fact first = building_.program.fact(results[0][index]), second = building_.program.fact(results[1][index]);
    if (first.dtype != second.dtype || first.shape.rank() != second.shape.rank())
      return wrong(at, first.dtype != second.dtype ? ErrorKind::invalid_input : ErrorKind::unsupported,
                   quoted("output", at.node.output(i)),
                   type_text(first) + " of one branch, " + type_text(second) + " of the other",
                   "one type and number of dimensions");
    const Handle made = building_.program.add_value(at.node.output(i), control_flow_type_of(first));
    for (int axis = 0; axis < first.shape.rank(); ++axis) {
      if (!is_same(first.shape[axis], second.shape[axis])) building_.program.open_axis(made, axis, {0, kMostExtent});
    }
    building_.program.open_inner_axes(made, scope);
    part.part.outputs.push_back(building_.program.index_of(made));
    if (!at.node.output(i).empty()) building_.bind_outer(at.node.output(i), made);
  }
  building_.program.add_part(std::move(part));
}

// Where one branch makes a number and the other a list of one, as PaddlePaddle's exporter has it of conditions, both
// are lists. None: there is no such output.
GraphWalker::Ranks GraphWalker::common_ranks(const std::vector<Handle>& first,
                                             const std::vector<Handle>& second) const {
  Ranks ranks(first.size(), -1);
  bool differ = false;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const OpenShape &one = building_.program.fact(first[i]).shape, &other = building_.program.fact(second[i]).shape;
    if (one.rank() == other.rank() || !is_one_element(one) || !is_one_element(other)) continue;
    ranks[i] = std::max(one.rank(), other.rank());
    differ = true;
  }
  return differ ? ranks : Ranks();
}

// The condition is known: the branch stands where the node did.
void GraphWalker::read_chosen(const Place& at, const onnx::GraphProto& graph) {
  if (!begin_graph(at, graph)) return;
  read_nodes(graph);
  std::vector<Handle> outside;
  std::vector<ValueId> inside;
  for (const std::string& name : output_names(graph)) {
    const auto outer = building_.outer.find(name);
    const bool is_outer = !building_.values.contains(name) && outer != building_.outer.end();
    outside.push_back(is_outer ? outer->second : kNoHandle);
    inside.push_back(is_outer ? ValueId{} : building_.find(name));
    if (!building_.is_known(name))
      wrong(at, ErrorKind::invalid_input, quoted("output", name), "nothing that makes it", "a value of the branch");
  }
  building_.end_scope();
  for (int i = 0; i < at.node.output_size(); ++i) {
    const auto index = static_cast<std::size_t>(i);
    const std::string& name = at.node.output(i);
    if (name.empty()) continue;
    if (outside[index] != kNoHandle) building_.bind_outer(name, outside[index]);
    else building_.bind(name, inside[index]);
  }
}

Handle GraphWalker::handle_of(const Place& at, const std::string& name, int rank) {
  const Handle given = handle_of(name);
  if (given == kNoHandle || rank < 0) return given;
  const OpenShape shape = building_.program.fact(given).shape;
  if (shape.rank() == rank || !is_one_element(shape)) return given;
  const std::string ranked = at.name + "/" + name + "/" + std::to_string(rank);
  if (!building_.is_known(ranked)) {
    NodeBuilder reshaping(building_, ranked, at.origin);
    const ValueId value = building_.find(name);
    building_.bind(ranked, reshaping.reshape(value, Extents(static_cast<std::size_t>(rank), 1)));
  }
  return handle_of(ranked);
}

bool GraphWalker::read_branch(const Place& at, const onnx::GraphProto& graph, const Ranks& ranks, BlockTree& block,
                              std::vector<Handle>& results) {
  building_.program.begin_block(block);
  bool is_whole = begin_graph(at, graph);
  if (is_whole) {
    read_nodes(graph);
    for (const std::string& name : output_names(graph)) {
      if (!building_.is_known(name))
        wrong(at, ErrorKind::invalid_input, quoted("output", name), "nothing that makes it", "a value of the graph");
      const int rank = results.size() < ranks.size() ? ranks[results.size()] : -1;
      results.push_back(building_.is_known(name) ? handle_of(at, name, rank) : kNoHandle);
      is_whole = is_whole && results.back() != kNoHandle;
    }
    building_.leave_graph();
    for (const Handle result : results) {
      if (is_whole) block.outputs.push_back(building_.program.index_of(result));
    }
    building_.end_scope();
  }
  building_.program.end_block();
  return is_whole;
}

// The same at other lengths where the usual one has no meaning: one branch may be for pieces of sound of one size, the
// other for another. Errors: those of the usual length.
std::optional<GraphWalker::RefusedBranch> GraphWalker::try_branch(const Place& at, const onnx::GraphProto& graph,
                                                                  const Ranks& ranks, BlockTree& block,
                                                                  std::vector<Handle>& results) {
  constexpr std::int64_t kLengths[] = {256, 512, 1024, 16000};
  const std::size_t before = building_.errors.size();
  const int malformed = malformed_;
  const auto is_read = [&] {
    block = {};
    results.clear();
    return read_branch(at, graph, ranks, block, results) && building_.errors.size() == before;
  };
  if (is_read()) return std::nullopt;
  RefusedBranch refused{{building_.errors.begin() + static_cast<std::ptrdiff_t>(before), building_.errors.end()}};
  building_.errors.resize(before);
  refused.is_about_sizes = !refused.errors.empty() && malformed_ == malformed &&
                           std::all_of(refused.errors.begin(), refused.errors.end(),
                                       [](const Error& error) { return error.kind == ErrorKind::invalid_input; });
  if (is_trying_lengths_ || !refused.is_about_sizes) return refused;
  is_trying_lengths_ = true;
  const bool is_found = std::any_of(std::begin(kLengths), std::end(kLengths), [&](std::int64_t length) {
    building_.program.set_length(length);
    const bool is_right = is_read();
    building_.errors.resize(before);
    return is_right;
  });
  building_.program.set_length(building_.options.example_length);
  is_trying_lengths_ = false;
  return is_found ? std::nullopt : std::optional(std::move(refused));
}

// ---- Loop and Scan ----

void GraphWalker::read_loop(const Place& at) {
  Repeated loop{.body = graph_of(at, "body"), .counts = true};
  if (loop.body == nullptr) return;
  const int carried = std::max(0, at.node.input_size() - 2);
  if (loop.body->input_size() != 2 + carried || loop.body->output_size() != 1 + at.node.output_size() ||
      at.node.output_size() < carried)
    return wrong(at, ErrorKind::invalid_input, "attribute 'body'",
                 std::to_string(loop.body->input_size()) + " inputs and " + std::to_string(loop.body->output_size()) +
                     " outputs",
                 std::to_string(2 + carried) + " and " + std::to_string(1 + at.node.output_size()));
  const auto input = [&](int i) { return i < at.node.input_size() ? at.node.input(i) : std::string(); };
  Handle trips = kNoHandle, condition = kNoHandle;
  if (!input(0).empty()) {
    trips = handle_of(input(0));
    if (trips == kNoHandle) return forget_outputs(at.node);
    if (building_.program.fact(trips).dtype != DType::s64)
      return wrong(at, ErrorKind::invalid_input, "input 'M'", type_text(building_.program.fact(trips)), "s64");
  }
  if (!input(1).empty()) {
    const ValueId given = building_.find(input(1));
    if (!given.exists()) return forget_outputs(at.node);
    const Fact& fact = building_.graph.fact(given);
    if (fact.dtype != DType::boolean)
      return wrong(at, ErrorKind::invalid_input, "input 'cond'", type_text(fact), "bool");
    const bool is_true = fact.is_constant() && fact.constant->elements() == 1 && *fact.constant->view().as<bool>();
    if (!is_true) condition = handle_of(input(1));
  }
  for (int i = 0; i < carried; ++i) {
    loop.carried.push_back(input(2 + i).empty() ? kNoHandle : handle_of(input(2 + i)));
    if (loop.carried.back() == kNoHandle) return forget_outputs(at.node);
  }
  loop.written_axes.resize(static_cast<std::size_t>(at.node.output_size() - carried));
  building_.leave_graph();
  if (trips != kNoHandle) loop.trips = building_.program.index_of(trips);
  if (condition != kNoHandle) loop.condition = building_.program.index_of(condition);
  read_repeated(at, loop);
}

void GraphWalker::read_scan(const Place& at) {
  Repeated loop{.body = graph_of(at, "body")};
  if (loop.body == nullptr) return;
  const Attribute* count = attribute_of(at, "num_scan_inputs");
  const std::int64_t read = count == nullptr ? 0 : count->i();
  if (opset_of(at.node) < 9)
    return wrong(at, ErrorKind::unsupported, "", "a Scan of before opset 9", "one of opset 9 or later");
  const std::int64_t carried = at.node.input_size() - read;
  if (read < 1 || carried < 0 || loop.body->input_size() != at.node.input_size() ||
      loop.body->output_size() != at.node.output_size() || at.node.output_size() < carried)
    return wrong(at, ErrorKind::invalid_input, "attribute 'num_scan_inputs'", std::to_string(read),
                 "a number of inputs with which node and body agree");
  const auto written = static_cast<std::size_t>(at.node.output_size() - carried);
  const auto axes = list_of(at, "scan_input_axes", static_cast<std::size_t>(read));
  const auto directions = list_of(at, "scan_input_directions", static_cast<std::size_t>(read));
  const auto written_axes = list_of(at, "scan_output_axes", written);
  const auto written_directions = list_of(at, "scan_output_directions", written);
  for (int i = 0; i < at.node.input_size(); ++i) {
    const Handle value = at.node.input(i).empty() ? kNoHandle : handle_of(at.node.input(i));
    if (value == kNoHandle) return forget_outputs(at.node);
    if (i < carried) {
      loop.carried.push_back(value);
      continue;
    }
    const auto index = static_cast<std::size_t>(i - carried);
    const Fact& fact = building_.program.fact(value);
    const auto axis = normalize_axis(axes[index], fact.shape.rank());
    if (!axis)
      return wrong(at, ErrorKind::invalid_input, "attribute 'scan_input_axes'", std::to_string(axes[index]),
                   "an axis of a value of rank " + std::to_string(fact.shape.rank()));
    loop.read.push_back(value);
    loop.read_axes.push_back({.axis = *axis, .is_reversed = directions[index] == 1});
  }
  for (std::size_t i = 0; i < written; ++i)
    loop.written_axes.push_back({.axis = written_axes[i], .is_reversed = written_directions[i] == 1});
  building_.leave_graph();
  read_repeated(at, loop);
}

Handle GraphWalker::slice_of(const Repeated& loop, std::size_t index, const std::string& name) {
  const Fact& whole = building_.program.fact(loop.read[index]);
  std::vector<Dim> dims = whole.shape.to_vector();
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(loop.read_axes[index].axis));
  return building_.program.add_value(name, {.dtype = whole.dtype, .shape = OpenShape(dims)});
}

// The body as a block, with the extents of carried values open that `is_open` says.
bool GraphWalker::read_body(const Place& at, const Repeated& loop, const std::vector<std::vector<bool>>& is_open,
                            BlockTree& block, std::vector<Handle>& results) {
  ProgramBuilder& program = building_.program;
  std::vector<Handle> inputs;
  if (loop.counts) {
    inputs.push_back(program.add_value(loop.body->input(0).name(), {.dtype = DType::s64}));
    inputs.push_back(program.add_value(loop.body->input(1).name(), {.dtype = DType::boolean}));
  }
  for (std::size_t i = 0; i < loop.carried.size(); ++i) {
    const std::string& name = loop.body->input(static_cast<int>(inputs.size())).name();
    inputs.push_back(program.add_value(name, control_flow_type_of(program.fact(loop.carried[i]))));
    for (std::size_t axis = 0; axis < is_open[i].size(); ++axis) {
      if (is_open[i][axis]) program.open_axis(inputs.back(), static_cast<int>(axis), {0, kMostExtent});
    }
  }
  for (std::size_t i = 0; i < loop.read.size(); ++i)
    inputs.push_back(slice_of(loop, i, loop.body->input(static_cast<int>(inputs.size())).name()));
  if (!loop.counts) block.inputs = {kNoIndex, kNoIndex};
  building_.scopes.emplace_back();
  bool are_new = true;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = loop.body->input(static_cast<int>(i)).name();
    block.inputs.push_back(program.index_of(inputs[i]));
    if (!building_.hide(name)) {
      wrong(at, ErrorKind::invalid_input, quoted("input of the body", name), "a name that is taken", "a new name");
      are_new = false;
    }
    building_.bind_outer(name, inputs[i]);
  }
  if (!loop.counts) block.outputs = {kNoIndex};
  Ranks ranks(loop.counts ? 1 : 0, -1);
  for (const Handle value : loop.carried) ranks.push_back(program.fact(value).shape.rank());
  const bool is_whole = are_new && read_branch(at, *loop.body, ranks, block, results);
  building_.end_scope();
  return is_whole;
}

// Whether extents of carried values change in an iteration that `is_open` has not: then it has.
bool GraphWalker::opens_more(const Place& at, Repeated& loop, const std::vector<Handle>& results,
                             std::vector<std::vector<bool>>& is_open) {
  bool opens = false;
  for (std::size_t i = 0; i < loop.carried.size(); ++i) {
    const Fact before = control_flow_type_of(building_.program.fact(loop.carried[i]));
    const Fact after = control_flow_type_of(building_.program.fact(results[i + (loop.counts ? 1 : 0)]));
    if (before.dtype == after.dtype && before.shape.rank() != after.shape.rank() && is_one_element(before.shape)) {
      // A number that stands for what the first iteration makes.
      const std::string& name = at.node.input(static_cast<int>(i) + (loop.counts ? 2 : 0));
      loop.carried[i] = handle_of(at, name, after.shape.rank());
      building_.leave_graph();
      is_open[i].assign(static_cast<std::size_t>(after.shape.rank()), false);
      opens = true;
      continue;
    }
    if (before.dtype != after.dtype || before.shape.rank() != after.shape.rank()) {
      wrong(at, before.dtype != after.dtype ? ErrorKind::invalid_input : ErrorKind::unsupported,
            "carried value " + std::to_string(i), type_text(after) + " after an iteration",
            type_text(before) + ", as before: one type and number of dimensions");
      return false;
    }
    for (int axis = 0; axis < before.shape.rank(); ++axis) {
      const auto index = static_cast<std::size_t>(axis);
      if (is_open[i][index] || is_same(before.shape[axis], after.shape[axis])) continue;
      is_open[i][index] = opens = true;
    }
  }
  return opens;
}

void GraphWalker::read_repeated(const Place& at, Repeated& loop) {
  ProgramBuilder& program = building_.program;
  const std::size_t scope = program.scope(), errors = building_.errors.size();
  std::vector<std::vector<bool>> is_open;
  for (const Handle value : loop.carried) {
    is_open.emplace_back();
    // Nothing is what a list begins with that grows.
    for (const Dim& dim : program.fact(value).shape) is_open.back().push_back(is_zero(dim));
  }
  PartTree part{.part = {.kind = PartKind::loop, .name = at.origin}};
  std::vector<Handle> results;
  for (int reading = 0;; ++reading) {
    part.blocks.assign(1, {});
    results.clear();
    ++building_.loops;
    const bool is_read = read_body(at, loop, is_open, part.blocks[0], results);
    --building_.loops;
    if (!is_read) return forget_outputs(at.node);
    if (!opens_more(at, loop, results, is_open)) break;
    if (reading == kMostReadings)
      return wrong(at, ErrorKind::unsupported, "", "shapes that keep changing", "shapes that a few axes change");
  }
  if (building_.errors.size() > errors) return;
  if (loop.counts && (program.fact(results[0]).dtype != DType::boolean))
    return wrong(at, ErrorKind::invalid_input, "condition of the body", type_text(program.fact(results[0])), "bool");
  part.part.inputs = {loop.trips, loop.condition};
  part.part.carried = static_cast<std::int32_t>(loop.carried.size());
  for (const Handle value : loop.carried) part.part.inputs.push_back(program.index_of(value));
  for (const Handle value : loop.read) part.part.inputs.push_back(program.index_of(value));
  part.part.read = loop.read_axes;
  const std::size_t first = loop.counts ? 1 : 0;
  for (std::size_t i = 0; i + first < results.size(); ++i) {
    const std::string& name = at.node.output(static_cast<int>(i));
    Fact fact = control_flow_type_of(program.fact(i < loop.carried.size() ? loop.carried[i] : results[i + first]));
    if (i < loop.carried.size()) {
      const Handle made = program.add_value(name, std::move(fact));
      for (std::size_t axis = 0; axis < is_open[i].size(); ++axis) {
        if (is_open[i][axis]) program.open_axis(made, static_cast<int>(axis), {0, kMostExtent});
      }
      part.part.outputs.push_back(program.index_of(made));
      if (!name.empty()) building_.bind_outer(name, made);
      continue;
    }
    ScannedAxis axis = loop.written_axes[i - loop.carried.size()];
    for (const Dim& dim : fact.shape) axis.slice.push_back(dim.is_number() ? dim.example() : 0);
    const auto at_axis = normalize_axis(axis.axis, fact.shape.rank() + 1);
    if (!at_axis)
      return wrong(at, ErrorKind::invalid_input, "attribute 'scan_output_axes'", std::to_string(axis.axis),
                   "an axis of a value of rank " + std::to_string(fact.shape.rank() + 1));
    axis.axis = *at_axis;
    std::vector<Dim> dims = fact.shape.to_vector();
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis.axis), Dim(1));
    const Handle made = program.add_value(name, {.dtype = fact.dtype, .shape = OpenShape(dims)});
    program.open_inner_axes(made, scope);
    if (loop.read.empty()) program.open_axis(made, static_cast<int>(axis.axis), {0, kMostExtent});
    else program.set_axis(made, static_cast<int>(axis.axis), loop.read[0], static_cast<int>(loop.read_axes[0].axis));
    part.part.written.push_back(std::move(axis));
    part.part.outputs.push_back(program.index_of(made));
    if (!name.empty()) building_.bind_outer(name, made);
  }
  program.add_part(std::move(part));
}

}  // namespace octavo::onnx_import
