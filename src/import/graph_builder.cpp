// A file's inputs, outputs and errors. Part of import/.
#include <algorithm>

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
                                 const std::string& noun, const std::string& expected) {
  constexpr std::size_t kShown = 5;
  for (const auto& [type, operators] : by_type) {
    std::string names;
    for (std::size_t i = 0; i < operators.size() && i < kShown; ++i) names += (i > 0 ? ", " : "") + operators[i];
    if (operators.size() > kShown) names += " and " + std::to_string(operators.size() - kShown) + " more";
    report(ErrorKind::unsupported, "operator " + type, "it " + noun + (operators.size() == 1 ? " " : "s ") + names,
           expected);
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

std::optional<Shape> GraphBuilder::shape_of(const DeclaredInput& input, const std::string& place) {
  const std::string how = "Give them with --shape " + input.name + "=..., for example 1x3x224x224";
  const auto given = options.shapes.find(input.name);
  const bool is_given = given != options.shapes.end();
  if (!input.dims) {
    if (is_given) return given->second;
    report(ErrorKind::usage, place, "no shape", "known dimensions", how);
    return std::nullopt;
  }
  const std::string declared = print_dims(*input.dims);
  const auto refuse = [&](const std::string& expected, const std::string& hint) {
    report(ErrorKind::usage, place, "the given shape " + given->second.to_string(), expected, hint);
    return std::nullopt;
  };
  if (is_given && given->second.rank() != static_cast<int>(input.dims->size()))
    return refuse("one like " + declared, "");
  Integers dims;
  for (const DeclaredDim& dim : *input.dims) {
    const bool is_open = !dim.symbol.empty();
    const auto bound = fixes_sizes ? symbols_.find(dim.symbol) : symbols_.end();
    std::int64_t size = dim.size;
    if (is_given) size = given->second[static_cast<int>(dims.size())];
    else if (is_open && bound != symbols_.end()) size = bound->second;
    else if (is_open && dims.empty()) size = options.batch;
    else if (is_open) {
      report(ErrorKind::usage, place, "shape " + declared, "known dimensions", how);
      return std::nullopt;
    }
    if (fixes_sizes && !is_open && size != dim.size)
      return refuse("one like " + declared + ", which the program is made for", "Export the model with dynamic_shapes");
    if (fixes_sizes && is_open && !agrees(dim, size, place)) return std::nullopt;
    dims.push_back(size);
  }
  if (dims.size() <= kMaxRank && checked_elements(dims)) return Shape(dims);
  report(ErrorKind::invalid_input, place, "shape " + (is_given ? given->second.to_string() : declared),
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
  return shape ? graph.add_input(input.name, input.dtype, *shape) : ValueId{};
}

void GraphBuilder::check_inputs(std::string hint) {
  std::string fixed;
  bool is_taken_up = options.batch == 1;
  for (const ValueId id : graph.inputs()) {
    const Value& input = graph.value(id);
    const Shape& shape = input.fact.shape;
    is_taken_up =
        is_taken_up || options.shapes.count(input.name) != 0 || (shape.rank() > 0 && shape[0] == options.batch);
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
  for (const auto& [name, tensor] : options.bound_inputs) check_name(name);
}

void GraphBuilder::add_output(ValueId value, const std::string& name) {
  if (!graph.value(value).producer.exists() || !output_values_.insert(value.index).second) {
    const Attrs attrs = ReshapeAttrs{.shape = graph.fact(value).shape.to_vector()};
    auto copy = graph.add(kReshape, attrs, {value}, name + ".output", "graph output '" + name + "'");
    if (!copy) return report(in_file(file, std::move(copy).errors()));
    value = *copy;
  }
  graph.add_output(value, name);
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
  return ImportedModel{std::move(graph), std::move(dialect), is_quantized, source_nodes};
}

}  // namespace octavo::importing
