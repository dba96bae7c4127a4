// Shapes and batches as sizes of a graph. Part of api/.
#include "api/planned_sizes.h"

#include <algorithm>

#include "api/quantizer.h"
#include "base/input_sizes.h"
#include "planner/open_planner.h"

namespace octavo::v1 {
namespace {

// At this batch: that is what sizes are that are the first dimension of an input. Nothing where others are open.
std::optional<SizeValues> sizes_at_batch(const Graph& graph, std::int64_t batch) {
  const Sizes& open = *graph.sizes();
  SizeValues values(open.sizes().size(), 0);
  for (const ValueId input : graph.inputs()) {
    const OpenShape& shape = graph.fact(input).shape;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const auto size = open.size_of(shape[axis]);
      if (!size) continue;
      if (axis == 0) values[*size] = batch;
      if (values[*size] == 0) return std::nullopt;
    }
  }
  return values;
}

// Of a graph whose batch is fixed.
Status check_batches(const Graph& graph, const CompileOptions& options, const std::string& path) {
  const std::int64_t actual = batch_of(graph);
  const std::int64_t asked = options.batches.back();
  const bool is_left_open = options.batches.size() == 1 && (asked == 1 || !options.shapes.empty());
  if (is_left_open || (options.batches.size() == 1 && asked == actual)) return ok_status();
  return usage(path + ": --batch", std::to_string(asked == actual ? options.batches.front() : asked),
               "batch " + std::to_string(actual) + ", which the file fixes",
               "Export the model with a symbolic first dimension, or give --shape");
}

Result<SizeValues> sizes_at(const Graph& graph, const InputShapes& shapes) {
  static const Sizes kNone;
  std::map<std::string, Shape> given;
  for (const auto& [name, shape] : shapes) given.emplace(name, Shape(shape));
  std::vector<SizedInput> inputs;
  for (const ValueId id : graph.inputs()) {
    const Value& value = graph.value(id);
    const auto own = given.find(value.name);
    inputs.push_back({.name = value.name,
                      .declared = value.fact.shape.to_vector(),
                      .given = own == given.end() ? nullptr : &own->second});
  }
  return sizes_of(graph.sizes() == nullptr ? kNone : *graph.sizes(), inputs);
}

Result<std::vector<SizeValues>> sizes_of_shapes(const Graph& graph, const std::vector<InputShapes>& all,
                                                const std::string& path) {
  std::vector<SizeValues> list;
  for (const InputShapes& shapes : all) {
    auto sizes = sizes_at(graph, shapes);
    if (!sizes) {
      Errors errors = std::move(sizes).errors();
      for (Error& error : errors) error.where = path + ": " + error.where;
      return errors;
    }
    if (std::find(list.begin(), list.end(), *sizes) != list.end())
      return usage(path + ": --shape", text_of(shapes) + " more than once", "each shape once");
    list.push_back(std::move(*sizes));
  }
  return list;
}

}  // namespace

SizeValues example_sizes(const Graph& graph) {
  SizeValues sizes;
  for (const OpenSize& size : graph.sizes()->sizes()) sizes.push_back(size.lowest_usual());
  for (const ValueId input : graph.inputs()) {
    const OpenShape& shape = graph.fact(input).shape;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const auto size = graph.sizes()->size_of(shape[axis]);
      // A first dimension that may be 0 is no batch: it counts what a part of a program has found.
      if (size && (axis > 0 || sizes[*size] == 0)) sizes[*size] = shape[axis].example();
    }
  }
  return sizes;
}

InputShapes shapes_at(const Graph& graph, const SizeValues& sizes) {
  SizeProgram program = graph.sizes() == nullptr ? SizeProgram{} : graph.sizes()->program();
  program.conditions.clear();
  const auto table = Sizes::restored(std::move(program));
  const auto values = table ? (*table)->evaluate(sizes) : table.errors();
  InputShapes shapes;
  for (const ValueId input : graph.inputs()) {
    std::vector<std::int64_t>& shape = shapes[graph.value(input).name];
    for (const Dim& dim : graph.fact(input).shape) shape.push_back(values ? dim.at(*values) : dim.example());
  }
  return shapes;
}

InputShapes example_shapes(const Graph& graph) {
  return shapes_at(graph, graph.sizes() == nullptr ? SizeValues{} : example_sizes(graph));
}

std::string text_of(const InputShapes& shapes) {
  std::string text;
  for (const auto& [name, shape] : shapes) text += (text.empty() ? "" : ", ") + name + "=" + Shape(shape).to_string();
  return text;
}

Result<std::vector<SizeValues>> sizes_to_plan(const Graph& graph, const CompileOptions& options,
                                              const std::string& path) {
  if (!options.planned_shapes.empty()) return sizes_of_shapes(graph, options.planned_shapes, path);
  if (graph.sizes() == nullptr) {
    const Status fixed = check_batches(graph, options, path);
    return fixed ? Result<std::vector<SizeValues>>({SizeValues{}}) : fixed.errors();
  }
  std::vector<SizeValues> all;
  for (const std::int64_t batch : options.batches) {
    auto sizes = sizes_at_batch(graph, batch);
    if (!sizes) return std::vector<SizeValues>();  // other sizes are open: a run plans for those that come
    all.push_back(std::move(*sizes));
  }
  return all;
}

}  // namespace octavo::v1
