// Handles of values, extents that move between graphs, and the tree of parts. Part of import/.
#include "import/program_builder.h"

#include <algorithm>

#include "import/builder.h"

namespace octavo::importing {
namespace {

constexpr std::int64_t kMostExtent = std::int64_t{1} << 31;
// Of a value that is filled; four of them still are a number of elements.
constexpr std::int64_t kMostFilled = std::int64_t{1} << 24;

// The expressions that one is made of, itself among them, by their indices: each after those that it is made of. A file
// may nest them deeply, so that nothing here calls itself.
std::set<std::int32_t> parts_of(const SizeExpression& expression) {
  std::set<std::int32_t> parts{expression.index};
  std::vector<std::int32_t> open{expression.index};
  while (!open.empty()) {
    const SizeExpression& next = expression.table->expression(open.back());
    open.pop_back();
    for (const SizeTerm& term : next.sum.terms) {
      for (const SizeAtom& atom : term.atoms) {
        if (atom.kind == AtomKind::size) continue;
        for (const std::int32_t operand : {atom.a, atom.b}) {
          if (parts.insert(operand).second) open.push_back(operand);
        }
      }
    }
  }
  return parts;
}

// Expressions over other sizes: size i becomes what `sizes` gives for it.
template <class OfSize>
class Mover {
 public:
  explicit Mover(const OfSize& sizes) : sizes_(sizes) {}

  Dim operator()(const Dim& dim) {
    if (dim.is_number()) return dim;
    const SizeExpression& expression = *dim.expression();
    for (const std::int32_t part : parts_of(expression)) {
      if (!made_.contains(part)) made_.emplace(part, moved(expression.table->expression(part)));
    }
    return made_.at(expression.index);
  }

 private:
  Dim moved(const SizeExpression& expression) const {
    Dim total = expression.sum.constant;
    for (const SizeTerm& term : expression.sum.terms) {
      Dim product = term.coefficient;
      for (const SizeAtom& atom : term.atoms) product = product * moved(*expression.table, atom);
      total = total + product;
    }
    return total;
  }

  Dim moved(const Sizes& table, const SizeAtom& atom) const {
    if (atom.kind == AtomKind::size) {
      const auto size = static_cast<std::size_t>(atom.a);
      return sizes_(size) / Dim(table.sizes()[size].step);
    }
    const Dim &a = made_.at(atom.a), &b = made_.at(atom.b);
    if (atom.kind == AtomKind::quotient) return a / b;
    return atom.kind == AtomKind::smaller ? smaller(a, b) : larger(a, b);
  }

  const OfSize& sizes_;
  std::map<std::int32_t, Dim> made_;
};

// Whether it depends on a size from `first` on.
bool depends_on(const SizeExpression& expression, std::size_t first) {
  for (const std::int32_t part : parts_of(expression)) {
    for (const SizeTerm& term : expression.table->expression(part).sum.terms) {
      const auto does = [&](const SizeAtom& atom) {
        return atom.kind == AtomKind::size && static_cast<std::size_t>(atom.a) >= first;
      };
      if (std::any_of(term.atoms.begin(), term.atoms.end(), does)) return true;
    }
  }
  return false;
}

}  // namespace

ProgramBuilder::ProgramBuilder(GraphBuilder& built) : built_(built) {}

// ---- sizes ----

Dim ProgramBuilder::new_size(OpenSize size, std::int64_t example, Handle carrier) {
  sizes_of_program_.push_back({sizes_->add(std::move(size), example), carrier});
  return sizes_of_program_.back().dim;
}

Dim ProgramBuilder::entered(std::size_t size) {
  if (const auto known = size_of_graph_.find(size); known != size_of_graph_.end()) return known->second;
  if (built_.graph.sizes() == nullptr) built_.add_sizes(SizesOf::data);
  const OpenSize& open = sizes_->sizes()[size];
  std::int64_t example = sizes_of_program_[size].dim.example();
  if (length_ && example == built_.options.example_length)
    example = std::clamp(*length_, open.range.lowest, open.range.highest) / open.step * open.step;
  const Dim made = built_.graph.sizes()->add(open, example);
  size_of_graph_.emplace(size, made);
  size_of_program_.push_back(sizes_of_program_[size].dim);
  uncarried_.push_back(size);
  return made;
}

std::vector<Dim> ProgramBuilder::entered(std::span<const Dim> dims) {
  const auto of_size = [&](std::size_t size) { return entered(size); };
  Mover mover(of_size);
  std::vector<Dim> moved;
  for (const Dim& dim : dims) moved.push_back(mover(dim));
  return moved;
}

std::vector<Dim> ProgramBuilder::left(std::span<const Dim> dims) {
  const auto of_size = [&](std::size_t size) { return size_of_program_[size]; };
  Mover mover(of_size);
  std::vector<Dim> moved;
  for (const Dim& dim : dims) moved.push_back(mover(dim));
  return moved;
}

// A size is known by the extents of a graph's inputs.
void ProgramBuilder::enter_carriers() {
  if (is_entering_) return;
  is_entering_ = true;
  while (!uncarried_.empty()) {
    const Handle carrier = sizes_of_program_[uncarried_.back()].carrier;
    uncarried_.pop_back();
    enter(carrier);
  }
  is_entering_ = false;
}

void ProgramBuilder::open_axis(Handle handle, int axis, const SizeRange& range) {
  const SizeRange within{std::clamp<std::int64_t>(range.lowest, 0, kMostExtent),
                         std::clamp<std::int64_t>(range.highest, 0, kMostExtent)};
  const std::int64_t example = std::clamp(built_.options.example_batch, within.lowest, within.highest);
  const std::string name = values_[at(handle)].name + "." + std::to_string(axis);
  values_[at(handle)].fact.shape[axis] = new_size({.name = name, .range = within}, example, handle);
}

void ProgramBuilder::open_inner_axes(Handle handle, std::size_t scope) {
  const OpenShape shape = fact(handle).shape;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!shape[axis].is_number() && depends_on(*shape[axis].expression(), scope))
      open_axis(handle, axis, shape[axis].expression()->possible);
  }
}

// ---- values ----

std::int32_t ProgramBuilder::new_value(Handle handle) {
  handles_.push_back(handle);
  return values_[at(handle)].value = static_cast<std::int32_t>(handles_.size()) - 1;
}

Handle ProgramBuilder::add_value(std::string name, Fact fact) {
  values_.push_back({.name = std::move(name), .fact = std::move(fact)});
  const auto handle = static_cast<Handle>(values_.size()) - 1;
  new_value(handle);
  return handle;
}

// The inputs of the first graph are those of the program, its sizes theirs.
void ProgramBuilder::begin() {
  if (has_begun_) return;
  has_begun_ = true;
  sizes_ = std::make_shared<Sizes>(SizesOf::data);
  open_ = {&main_};
  const Graph& graph = built_.graph;
  for (const ValueId id : graph.inputs()) {
    const Value& input = graph.value(id);
    const Handle handle = add_value(input.name, {.dtype = input.fact.dtype, .quant = input.fact.quant});
    inputs_[id.index] = handle;
    entered_[handle] = id;
    main_.inputs.push_back(index_of(handle));
  }
  const std::size_t sizes = graph.sizes() == nullptr ? 0 : graph.sizes()->sizes().size();
  for (std::size_t size = 0; size < sizes; ++size) {
    const auto is_it = [&](const Dim& dim) { return graph.sizes()->size_of(dim) == size; };
    // An input that could not be read has left its size behind, which no value carries.
    size_of_program_.push_back(graph.sizes()->sizes()[size].lowest_usual());
    for (const ValueId id : graph.inputs()) {
      const OpenShape& shape = graph.fact(id).shape;
      const auto found = std::find_if(shape.begin(), shape.end(), is_it);
      if (found == shape.end()) continue;
      const Dim made = new_size(graph.sizes()->sizes()[size], found->example(), inputs_.at(id.index));
      size_of_program_.back() = made;
      size_of_graph_.emplace(size, *found);
      break;
    }
  }
  for (const ValueId id : graph.inputs())
    values_[at(inputs_.at(id.index))].fact.shape = OpenShape(left(graph.fact(id).shape.dims()));
}

Handle ProgramBuilder::handle_of(ValueId id) {
  begin();
  if (const auto input = inputs_.find(id.index); input != inputs_.end()) return input->second;
  const auto [known, is_new] = handle_of_id_.try_emplace(id.index, static_cast<Handle>(values_.size()));
  if (!is_new) return known->second;
  const Value& value = built_.graph.value(id);
  Known made{.name = value.name, .fact = value.fact};
  made.fact.shape = OpenShape(left(value.fact.shape.dims()));
  if (value.fact.extents != nullptr)
    made.fact.extents = std::make_shared<const std::vector<Dim>>(left(*value.fact.extents));
  if (!value.fact.is_constant()) {
    made.network = static_cast<int>(networks_.size());
    made.id = id;
  }
  values_.push_back(std::move(made));
  const Handle handle = known->second;
  if (const auto found = built_.computed.find(id.index); found != built_.computed.end()) {
    values_[at(handle)].extents = found->second.extents;
    for (const int axis : found->second.axes) {
      const Dim most = found->second.fills ? Dim(kMostFilled) : fact(handle).shape[axis];
      open_axis(handle, axis, {0, most.is_number() ? most.example() : most.expression()->range.highest});
    }
  }
  return handle;
}

std::int32_t ProgramBuilder::index_of(Handle handle) {
  const Known& known = values_[at(handle)];
  if (known.value != kNoIndex) return known.value;
  const std::int32_t value = new_value(handle);
  networks_[static_cast<std::size_t>(known.network)].exports.push_back({value, known.id, known.extents});
  return value;
}

std::string ProgramBuilder::unique(const std::string& name) {
  std::string own = name;
  for (int i = 2; !names_.insert(own).second; ++i) own = name + "#" + std::to_string(i);
  return own;
}

ValueId ProgramBuilder::enter(Handle handle) {
  if (const auto known = entered_.find(handle); known != entered_.end()) return known->second;
  const Known known = values_[at(handle)];
  Graph& graph = built_.graph;
  ValueId id;
  if (known.fact.extents != nullptr) {
    id = graph.add_extents(known.name, known.fact.dtype, known.fact.constant->shape(), entered(*known.fact.extents));
  } else if (known.fact.is_constant()) {
    id = graph.add_constant(known.name, known.fact.constant);
  } else {
    index_of(handle);
    std::vector<Dim> dims = entered(known.fact.shape.dims());
    id = graph.add_input(unique(known.name), known.fact.dtype, OpenShape(dims));
    inputs_[id.index] = handle;
  }
  if (known.fact.quant) graph.set_quant(id, *known.fact.quant);
  entered_[handle] = id;
  enter_carriers();
  return id;
}

// ---- parts ----

void ProgramBuilder::leave_graph() {
  begin();
  if (built_.graph.node_count() > 0) {
    Network network;
    for (const ValueId id : built_.graph.inputs()) network.inputs.push_back(index_of(inputs_.at(id.index)));
    network.graph = std::move(built_.graph);
    PartTree part;
    part.part.network = static_cast<std::int32_t>(networks_.size());
    part.part.inputs = network.inputs;
    networks_.push_back(std::move(network));
    add_part(std::move(part));
  }
  built_.begin_graph();
  handle_of_id_.clear();
  entered_.clear();
  inputs_.clear();
  size_of_program_.clear();
  size_of_graph_.clear();
  names_.clear();
}

void ProgramBuilder::begin_block(BlockTree& block) { open_.push_back(&block); }
void ProgramBuilder::end_block() { open_.pop_back(); }

// From the end to the beginning: `read` are the values that something later reads.
void ProgramBuilder::drop_unread(BlockTree& block, std::set<std::int32_t>& read) {
  read.insert(block.outputs.begin(), block.outputs.end());
  std::vector<PartTree> kept;
  for (auto it = block.parts.rbegin(); it != block.parts.rend(); ++it) {
    ProgramPart& part = it->part;
    if (part.kind == PartKind::network) {
      std::vector<Export>& exports = networks_[at(part.network)].exports;
      std::erase_if(exports, [&](const Export& made) { return !read.contains(made.value); });
      if (exports.empty()) continue;
    } else if (std::none_of(part.outputs.begin(), part.outputs.end(), [&](auto made) { return read.contains(made); })) {
      continue;
    }
    for (auto inner = it->blocks.rbegin(); inner != it->blocks.rend(); ++inner) drop_unread(*inner, read);
    read.insert(part.inputs.begin(), part.inputs.end());
    kept.push_back(std::move(*it));
  }
  block.parts.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
}

Result<Graph> ProgramBuilder::closed(Network& network, ProgramPart& part) {
  names_.clear();
  for (const ValueId id : network.graph.inputs()) names_.insert(network.graph.value(id).name);
  for (const Export& made : network.exports) {
    network.graph.add_output(made.id, unique(values_[at(handles_[at(made.value)])].name));
    part.outputs.push_back(made.value);
  }
  std::map<int, std::int32_t> shapes;
  for (const Export& made : network.exports) {
    if (!made.extents.exists()) {
      part.extents.push_back(kNoIndex);
      continue;
    }
    const auto [at_output, is_new] = shapes.emplace(made.extents.index, part.outputs.size());
    if (is_new) {
      network.graph.add_output(made.extents, unique(values_[at(handles_[at(made.value)])].name + ".shape"));
      part.outputs.push_back(kNoIndex);
    }
    part.extents.push_back(at_output->second);
  }
  part.extents.resize(part.outputs.size(), kNoIndex);
  network.graph.remove_unused();
  if (Status status = verify(network.graph); !status) return std::move(status).errors();
  return std::move(network.graph);
}

std::int32_t ProgramBuilder::emit(const BlockTree& block, ImportedProgram& made, Errors& errors) {
  const std::size_t index = made.program.blocks.size();
  made.program.blocks.push_back({.inputs = block.inputs, .parts = {}, .outputs = block.outputs});
  for (const PartTree& tree : block.parts) {
    ProgramPart part = tree.part;
    if (part.kind == PartKind::network) {
      auto graph = closed(networks_[at(part.network)], part);
      if (!graph) {
        errors.insert(errors.end(), graph.errors().begin(), graph.errors().end());
        continue;
      }
      part.network = static_cast<std::int32_t>(made.networks.size());
      part.name = graph->node(graph->order().front()).name;
      if (graph->node_count() > 1) part.name += " to " + graph->node(graph->order().back()).name;
      made.networks.push_back(std::move(*graph));
    }
    for (const BlockTree& inner : tree.blocks) part.blocks.push_back(emit(inner, made, errors));
    made.program.blocks[index].parts.push_back(std::move(part));
  }
  return static_cast<std::int32_t>(index);
}

Result<ImportedProgram> ProgramBuilder::finish(const std::vector<std::pair<std::string, Handle>>& outputs) {
  ImportedProgram made;
  for (const auto& [name, handle] : outputs) {
    main_.outputs.push_back(index_of(handle));
    made.program.output_names.push_back(name);
  }
  std::set<std::int32_t> read;
  drop_unread(main_, read);
  for (const Handle handle : handles_) {
    ProgramValue value{.name = values_[at(handle)].name, .dtype = values_[at(handle)].fact.dtype};
    for (const Dim& dim : values_[at(handle)].fact.shape) value.shape.push_back(to_string(dim));
    made.program.values.push_back(std::move(value));
  }
  Errors errors;
  emit(main_, made, errors);
  if (!errors.empty()) return errors;
  return made;
}

}  // namespace octavo::importing
