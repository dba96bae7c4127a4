// The inputs of a TFLite graph. Part of import/.
#include "import/tflite/inputs.h"

#include <algorithm>

namespace octavo::tflite_import {
namespace {

Result<Shape> shape_of(const FileTensor& tensor, const std::string& name, const std::string& where,
                       const ImportOptions& options) {
  const auto given = options.shapes.find(name);
  if (given == options.shapes.end()) {
    Shape shape = tensor.shape;
    if (tensor.has_open_batch && shape.rank() > 0) shape[0] = options.batch;
    return shape;
  }
  if (given->second.rank() == tensor.shape.rank()) return given->second;
  return Error{ErrorKind::usage, where, "the given shape " + given->second.to_string(),
               "one like " + tensor.shape.to_string(), ""};
}

Status read_input(std::size_t index, const std::string& name, const std::string& file, const ImportOptions& options,
                  Building& building) {
  const FileTensor& tensor = building.tensors[index];
  const std::string where = file + ": input '" + name + "'";
  if (building.is_made[index])
    return Error{ErrorKind::invalid_input, where, "a constant, or an input twice", "a tensor without data", ""};
  building.is_made[index] = true;
  if (const auto bound = options.bound_inputs.find(name); bound != options.bound_inputs.end()) {
    if (bound->second.dtype() != tensor.dtype) {
      return Error{ErrorKind::usage, where, "a bound tensor of " + std::string(name_of(bound->second.dtype())),
                   std::string(name_of(tensor.dtype)), ""};
    }
    building.values[index] = building.graph.add_constant(name, bound->second);
    return ok_status();
  }
  const auto shape = shape_of(tensor, name, where, options);
  if (!shape) return shape.errors();
  if (!checked_elements(shape->dims())) {
    return Error{ErrorKind::usage, where, "shape " + shape->to_string(), "at most 2^33 elements", ""};
  }
  building.values[index] = building.graph.add_input(name, tensor.dtype, *shape);
  if (tensor.quant) building.graph.set_quant(building.values[index], *tensor.quant);
  if (tensor.quant && is_8bit(tensor.dtype)) ++building.activation_types[tensor.dtype];
  return ok_status();
}

// A batch that no input takes up would be lost silently.
void check_batch(const std::string& file, const ImportOptions& options, Building& building) {
  std::string fixed;
  for (const ValueId input : building.graph.inputs()) {
    const Value& value = building.graph.value(input);
    const Shape& shape = value.fact.shape;
    if (options.shapes.count(value.name) != 0 || (shape.rank() > 0 && shape[0] == options.batch)) return;
    fixed += (fixed.empty() ? "'" : ", '") + value.name + "' " + shape.to_string();
  }
  if (options.batch == 1 || fixed.empty()) return;
  building.errors.push_back({ErrorKind::usage, file, "inputs of fixed shape: " + fixed,
                             "a batch dimension for the batch of " + std::to_string(options.batch),
                             "Give a whole --shape"});
}

void report_unknown(const std::string& name, const std::map<std::string, int>& names, const std::string& file,
                    Building& building) {
  if (names.count(name) != 0) return;
  std::string known;
  for (const auto& [input, uses] : names) known += (known.empty() ? "'" : ", '") + input + "'";
  building.errors.push_back({ErrorKind::usage, file, "a shape or tensor for '" + name + "', which is no input",
                             known.empty() ? "none" : known, ""});
}

}  // namespace

std::string unique_name(const std::string& name, std::map<std::string, int>& uses) {
  int number = uses[name] + 1;
  std::string unique = name;
  for (; number > 1 && uses.count(unique) != 0; ++number) unique = name + "." + std::to_string(number);
  uses[name] = std::max(number - 1, 1);
  uses[unique] = std::max(uses[unique], 1);
  return unique;
}

void read_inputs(const file::SubGraph& subgraph, const std::string& file, const ImportOptions& options,
                 Building& building) {
  std::map<std::string, int> names;
  if (subgraph.inputs() != nullptr) {
    for (const std::int32_t index : *subgraph.inputs()) {
      const std::string name = unique_name(building.tensors[static_cast<std::size_t>(index)].name, names);
      const Status status = read_input(static_cast<std::size_t>(index), name, file, options, building);
      if (!status) building.errors.insert(building.errors.end(), status.errors().begin(), status.errors().end());
    }
  }
  check_batch(file, options, building);
  for (const auto& [name, shape] : options.shapes) report_unknown(name, names, file, building);
  for (const auto& [name, tensor] : options.bound_inputs) report_unknown(name, names, file, building);
}

}  // namespace octavo::tflite_import
