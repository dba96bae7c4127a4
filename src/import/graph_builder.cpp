// A file's inputs, outputs and errors. Part of import/.
#include <algorithm>
#include <cctype>

#include "import/builder.h"
#include "ops/reshape/reshape.h"

namespace octavo::importing {
namespace {

std::string print_dims(const std::vector<DeclaredDim>& dims) {
  std::string text;
  for (const DeclaredDim& dim : dims)
    text += (text.empty() ? "" : "x") + (dim.symbol.empty() ? std::to_string(dim.size) : dim.symbol);
  return text.empty() ? "scalar" : text;
}

bool is_number(const Extent& extent) { return extent.is_number(); }

std::string describe(const Extent& extent) {
  if (extent.is_number()) return std::to_string(extent.lowest);
  const std::string step = extent.step == 1 ? "" : "/" + std::to_string(extent.step);
  return std::to_string(extent.lowest) + ".." + std::to_string(extent.highest) + step;
}

std::string describe(const std::vector<Extent>& extents) {
  std::string text;
  for (const Extent& extent : extents) text += (text.empty() ? "" : "x") + describe(extent);
  return text;
}

std::string how_to_give(const std::string& input) {
  return "Give them with --shape " + input + "=..., for example 1x3x224x224";
}

Errors in_file(const std::string& file, Errors errors) {
  for (Error& error : errors) error.where = file + ": " + error.where;
  return errors;
}

}  // namespace

void GraphBuilder::report(ErrorKind kind, const std::string& place, std::string found, std::string expected,
                          std::string hint) {
  if (!is_full())
    errors.push_back(
        {kind, place.empty() ? file : file + ": " + place, std::move(found), std::move(expected), std::move(hint)});
}

void GraphBuilder::report(const Errors& more) {
  for (const Error& error : more) {
    if (!is_full()) errors.push_back(error);
  }
}

void GraphBuilder::report_unread(const std::map<std::string, std::vector<std::string>>& by_type,
                                 const std::string& noun, const std::string& expected, const std::string& hint) {
  constexpr std::size_t kShown = 5;
  for (const auto& [type, operators] : by_type) {
    std::string names;
    for (std::size_t i = 0; i < operators.size() && i < kShown; ++i) names += (i > 0 ? ", " : "") + operators[i];
    if (operators.size() > kShown) names += " and " + std::to_string(operators.size() - kShown) + " more";
    report(ErrorKind::unsupported, "operator " + type, "it " + noun + (operators.size() == 1 ? " " : "s ") + names,
           expected, hint);
  }
}

// One number for a symbol in all inputs, inside the range that the file is made for; sizes as the file has them.
bool GraphBuilder::agrees(const DeclaredDim& dim, std::int64_t size, const std::string& place) {
  const std::string found = std::to_string(size) + " for the dimension '" + dim.symbol + "'";
  const auto [bound, is_new] = symbols_.emplace(dim.symbol, size);
  if (!is_new && bound->second != size) {
    report(ErrorKind::usage, place, found, std::to_string(bound->second) + ", as before");
    return false;
  }
  if (!(dim.lowest && size < *dim.lowest) && !(dim.highest && size > *dim.highest)) return true;
  report(ErrorKind::usage, place, found,
         std::to_string(dim.lowest.value_or(0)) + " to " + (dim.highest ? std::to_string(*dim.highest) : "any number"));
  return false;
}

void GraphBuilder::add_sizes(SizesOf of) {
  const auto sizes = std::make_shared<Sizes>(of);
  graph.set_sizes(sizes);
  if (options.tables != nullptr) options.tables->push_back(sizes);
}

namespace {

// By what exporters call it ("batch_size", "num_channels", "sequence_length"), then by its place.
std::int64_t usual_size(const std::string& name, std::size_t axis, std::size_t rank, const ImportOptions& options) {
  constexpr std::int64_t kColours = 3;
  const auto says = [&](const char* word) { return name.find(word) != std::string::npos; };
  if (says("batch") || axis == 0) return options.example_batch;
  if (says("sequence") || says("length")) return options.example_length;
  if (says("channels")) return kColours;
  return rank >= 4 ? options.example_side : options.example_length;
}

}  // namespace

// Of one symbol in all inputs; a dimension without a name of its own is one by itself.
std::optional<Dim> GraphBuilder::open_size(const DeclaredInput& input, std::size_t axis, const Extent* given,
                                           const std::string& place) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  const DeclaredDim& declared = (*input.dims)[axis];
  const bool is_named = !declared.symbol.empty() && std::isalpha(static_cast<unsigned char>(declared.symbol[0])) != 0;
  const std::string name = is_named ? declared.symbol : input.name + "." + std::to_string(axis);
  if (const auto same = open_.find(name); same != open_.end()) return same->second;
  const Extent possible(declared.lowest.value_or(0), declared.highest.value_or(kMost));
  const Extent asked = given == nullptr ? possible : *given;
  const std::int64_t step = asked.step, lowest = (asked.lowest + step - 1) / step * step;
  if (asked.lowest < possible.lowest || asked.highest > possible.highest || lowest > asked.highest) {
    report(ErrorKind::usage, place, describe(asked) + " for dimension " + std::to_string(axis),
           "within " + describe(possible) + ", with a multiple of the step in it");
    return std::nullopt;
  }
  if (graph.sizes() == nullptr) add_sizes(SizesOf::inputs);
  const auto told = options.examples.find(input.name);
  const auto known = options.example_sizes.find(name);
  std::int64_t usual = usual_size(name, axis, input.dims->size(), options);
  if (known != options.example_sizes.end()) usual = known->second;
  if (axis > 0 && told != options.examples.end() && axis < told->second.size()) usual = told->second[axis];
  const SizeRange range{lowest, asked.highest / step * step};
  const std::int64_t least_usual = std::min(std::max(lowest, step), range.highest);
  if (known != options.example_sizes.end() && known->second >= lowest && known->second < least_usual) {
    graph.sizes()->add({.name = name, .range = {known->second, known->second}, .step = step}, known->second);
    return open_.emplace(name, known->second).first->second;
  }
  const std::int64_t example = std::clamp(usual, least_usual, range.highest) / step * step;
  const Dim size =
      graph.sizes()->add({.name = name, .range = range, .step = step, .least_usual = least_usual}, example);
  return open_.emplace(name, size).first->second;
}

// What one axis is: what is asked for, or what the file says, a number or open.
std::optional<Dim> GraphBuilder::dim_of(const DeclaredInput& input, std::size_t axis, const Extent* given,
                                        const std::string& place) {
  const DeclaredDim& dim = (*input.dims)[axis];
  const bool is_declared_open = !dim.symbol.empty(), is_open = is_declared_open || dim.is_assumed;
  if (given != nullptr && fixes_sizes && !is_open && *given != Extent(dim.size)) {
    report(ErrorKind::usage, place, describe(*given) + " for dimension " + std::to_string(axis),
           std::to_string(dim.size) + " as in " + print_dims(*input.dims) + ", which the program is made for",
           "Export the model with dynamic_shapes");
    return std::nullopt;
  }
  const auto bound = is_declared_open ? symbols_.find(dim.symbol) : symbols_.end();
  const bool is_bound = bound != symbols_.end() && (fixes_sizes || options.keeps_open);
  if (given != nullptr && !given->is_number()) return open_size(input, axis, given, place);
  if (given == nullptr && is_open && !is_bound && options.keeps_open && (is_declared_open || options.opens_batch))
    return open_size(input, axis, nullptr, place);
  std::int64_t size = dim.size;
  if (given != nullptr) size = given->lowest;
  else if (is_bound) size = bound->second;
  else if (is_open && axis == 0) size = options.batch;
  else if (is_declared_open && size < 1) {
    report(ErrorKind::usage, place, "shape " + print_dims(*input.dims), "known dimensions", how_to_give(input.name));
    return std::nullopt;
  }
  if (fixes_sizes && is_declared_open && !agrees(dim, size, place)) return std::nullopt;
  if (is_declared_open) symbols_.emplace(dim.symbol, size);
  return size;
}

std::optional<OpenShape> GraphBuilder::shape_of(const DeclaredInput& input, const std::string& place) {
  const auto found = options.shapes.find(input.name);
  const std::vector<Extent>* given = found == options.shapes.end() ? nullptr : &found->second;
  if (!input.dims && (given == nullptr || !std::all_of(given->begin(), given->end(), is_number))) {
    report(ErrorKind::usage, place, "no shape", "known dimensions", how_to_give(input.name));
    return std::nullopt;
  }
  if (!input.dims) {
    Extents dims;
    for (const Extent& extent : *given) dims.push_back(extent.lowest);
    return OpenShape(dims);
  }
  if (given != nullptr && given->size() != input.dims->size()) {
    report(ErrorKind::usage, place, "the given shape " + describe(*given), "one like " + print_dims(*input.dims));
    return std::nullopt;
  }
  Extents dims;
  for (std::size_t axis = 0; axis < input.dims->size(); ++axis) {
    const auto dim = dim_of(input, axis, given == nullptr ? nullptr : &(*given)[axis], place);
    if (!dim) return std::nullopt;
    dims.push_back(*dim);
    if (axis == 0 && (!(*input.dims)[0].symbol.empty() || (*input.dims)[0].is_assumed)) batch = *dim;
  }
  if (dims.size() <= kMaxRank && checked_elements(dims)) return OpenShape(dims);
  report(ErrorKind::invalid_input, place, "shape " + (given != nullptr ? describe(*given) : print_dims(*input.dims)),
         "at most 2^33 elements in 64 dimensions");
  return std::nullopt;
}

ValueId GraphBuilder::add_input(const DeclaredInput& input) {
  const std::string place = "input '" + input.name + "'";
  known_inputs_.insert(input.name);
  input_names_ += (input_names_.empty() ? "'" : ", '") + input.name + "'";
  if (const auto bound = options.bound_inputs.find(input.name); bound != options.bound_inputs.end()) {
    if (bound->second.dtype() == input.dtype) return graph.add_constant(input.name, bound->second);
    report(ErrorKind::usage, place, "a bound tensor of " + std::string(name_of(bound->second.dtype())),
           std::string(name_of(input.dtype)));
    return {};
  }
  const auto shape = shape_of(input, place);
  if (!shape) return {};
  if (options.inputs != nullptr) {
    options.inputs->set_sizes(graph.sizes());
    options.inputs->add_input(input.name, input.dtype, *shape);
  }
  return graph.add_input(input.name, input.dtype, *shape);
}

void GraphBuilder::check_inputs(std::string hint) {
  std::string fixed;
  bool is_taken_up = options.batch == 1;
  for (const ValueId id : graph.inputs()) {
    const Value& input = graph.value(id);
    const OpenShape& shape = input.fact.shape;
    is_taken_up = is_taken_up || options.keeps_open || options.shapes.contains(input.name) ||
                  (shape.rank() > 0 && shape[0] == options.batch);
    fixed += (fixed.empty() ? "'" : ", '") + input.name + "' " + shape.to_string();
  }
  if (!is_taken_up && !fixed.empty()) {
    report(ErrorKind::usage, "", "inputs of fixed shape: " + fixed,
           "a batch dimension for the batch of " + std::to_string(options.batch), std::move(hint));
  }
  const auto check_name = [&](const std::string& name) {
    if (known_inputs_.count(name) == 0)
      report(ErrorKind::usage, "", "a shape or tensor for '" + name + "', which is no input",
             input_names_.empty() ? "none" : input_names_);
  };
  for (const auto& [name, shape] : options.shapes) check_name(name);
  for (const auto& [name, shape] : options.examples) check_name(name);
  for (const auto& [name, tensor] : options.bound_inputs) check_name(name);
}

ValueId GraphBuilder::copied(ValueId value, const std::string& name) {
  const Attrs attrs = ReshapeAttrs{.shape = graph.fact(value).shape.to_vector()};
  auto copy = graph.add(kReshape, attrs, {value}, name + ".output", "graph output '" + name + "'");
  if (copy) return *copy;
  report(in_file(file, std::move(copy).errors()));
  return {};
}

void GraphBuilder::add_output(ValueId value, const std::string& name) {
  if (!graph.value(value).producer.exists() || !output_values_.insert(value.index).second) value = copied(value, name);
  if (value.exists()) graph.add_output(value, name);
}

std::string GraphBuilder::unique_name(const std::string& name) {
  std::string own = name;
  for (int i = 2; !node_names_.insert(own).second; ++i) own = name + "#" + std::to_string(i);
  return own;
}

void GraphBuilder::begin_graph() {
  graph = Graph();
  node_names_.clear();
  wide.clear();
  computed.clear();
  output_values_.clear();
}

std::string GraphBuilder::activation_type() const {
  const auto most = std::max_element(activation_types.begin(), activation_types.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == activation_types.end() ? "" : " " + std::string(name_of(most->first));
}

Result<ImportedModel> GraphBuilder::finish(std::string dialect, bool is_quantized, int source_nodes) {
  if (!errors.empty()) return errors;
  graph.remove_unused();
  if (auto status = verify(graph); !status) return in_file(file, std::move(status).errors());
  return ImportedModel{std::move(graph), std::move(dialect), is_quantized, source_nodes, std::nullopt, states};
}

Result<ImportedModel> GraphBuilder::finish(Result<ImportedProgram> program, std::string dialect, bool is_quantized,
                                           int source_nodes) {
  if (!errors.empty()) return errors;
  if (!program) return in_file(file, std::move(program).errors());
  return ImportedModel{Graph(), std::move(dialect), is_quantized, source_nodes, std::move(*program), states};
}

}  // namespace octavo::importing
