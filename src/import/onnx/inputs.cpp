// The inputs of an ONNX graph. Part of import/.
#include "import/onnx/inputs.h"

#include <optional>
#include <set>

#include "import/onnx/proto.h"
#include "import/onnx/types.h"

namespace octavo::onnx_import {
namespace {

struct Input {
  const onnx::ValueInfoProto& proto;
  std::string where;  // "model.onnx: input 'x'"
};

bool is_symbolic(const onnx::TensorShapeProto::Dimension& dim) { return !dim.has_dim_value() || dim.dim_value() <= 0; }

std::string print_dims(const onnx::TensorShapeProto& shape) {
  std::string text;
  for (const auto& dim : shape.dim()) {
    text += text.empty() ? "" : "x";
    text += dim.has_dim_value() ? std::to_string(dim.dim_value()) : dim.dim_param().empty() ? "?" : dim.dim_param();
  }
  return text.empty() ? "scalar" : text;
}

// What the user has to write where the file leaves dimensions open.
Error needs_shape(const Input& input, std::string found) {
  return {ErrorKind::usage, input.where, std::move(found), "known dimensions",
          "Give them with --shape " + input.proto.name() + "=..., for example 1x3x224x224"};
}

Result<Shape> shape_of(const Input& input, const ImportOptions& options) {
  const auto given = options.shapes.find(input.proto.name());
  const auto& type = input.proto.type().tensor_type();
  if (given != options.shapes.end()) {
    if (type.has_shape() && type.shape().dim_size() != given->second.rank()) {
      return Error{ErrorKind::usage, input.where, "the given shape " + given->second.to_string(),
                   "one like " + print_dims(type.shape()), ""};
    }
    return given->second;
  }
  if (!type.has_shape()) return needs_shape(input, "no shape");
  std::vector<std::int64_t> dims;
  for (const auto& dim : type.shape().dim()) {
    if (!is_symbolic(dim)) dims.push_back(dim.dim_value());
    else if (dims.empty()) dims.push_back(options.batch);
    else return needs_shape(input, "shape " + print_dims(type.shape()));
  }
  return Shape(dims);
}

Status read_input(const Input& input, const ImportOptions& options, Building& building) {
  const std::string& name = input.proto.name();
  if (!input.proto.type().has_tensor_type())
    return Error{ErrorKind::unsupported, input.where, "a value that is no tensor", "a tensor", ""};
  const int type = input.proto.type().tensor_type().elem_type();
  const auto dtype = dtype_of_onnx(type);
  if (!dtype)
    return Error{ErrorKind::unsupported, input.where, "elements of type " + onnx_type_name(type),
                 "integers, floats or bool", ""};
  if (const auto bound = options.bound_inputs.find(name); bound != options.bound_inputs.end()) {
    if (bound->second.dtype() != *dtype) {
      return Error{ErrorKind::usage, input.where, "a bound tensor of " + std::string(name_of(bound->second.dtype())),
                   std::string(name_of(*dtype)), ""};
    }
    building.values[name] = building.graph.add_constant(name, bound->second);
    return ok_status();
  }
  const auto shape = shape_of(input, options);
  if (!shape) return shape.errors();
  if (shape->rank() > kMaxRank || !checked_elements(shape->dims())) {
    return Error{ErrorKind::invalid_input, input.where, "shape " + shape->to_string(),
                 "at most 2^33 elements in 64 dimensions", ""};
  }
  building.values[name] = building.graph.add_input(name, *dtype, *shape);
  return ok_status();
}

// A batch that no input takes up would be lost silently.
void check_batch(const onnx::GraphProto& graph, const std::string& file, const ImportOptions& options,
                 Building& building) {
  std::string fixed;
  for (const auto& input : graph.input()) {
    const auto found = building.values.find(input.name());
    if (found == building.values.end() || !found->second.exists() || building.graph.fact(found->second).is_constant())
      continue;
    const Shape& shape = building.graph.fact(found->second).shape;
    if (options.shapes.count(input.name()) != 0 || (shape.rank() > 0 && shape[0] == options.batch)) return;
    fixed += (fixed.empty() ? "'" : ", '") + input.name() + "' " + shape.to_string();
  }
  if (options.batch == 1 || fixed.empty()) return;
  building.errors.push_back({ErrorKind::usage, file, "inputs of fixed shape: " + fixed,
                             "a batch dimension for the batch of " + std::to_string(options.batch),
                             "Export the model with a symbolic first dimension, or give a whole --shape"});
}

void report_unknown(const std::string& name, const onnx::GraphProto& graph, const std::string& file,
                    Building& building) {
  std::string known;
  for (const auto& input : graph.input()) {
    if (building.values.count(input.name()) != 0) known += (known.empty() ? "'" : ", '") + input.name() + "'";
  }
  building.errors.push_back({ErrorKind::usage, file, "a shape or tensor for '" + name + "', which is no input",
                             known.empty() ? "none" : known, ""});
}

}  // namespace

void read_inputs(const onnx::GraphProto& graph, const std::string& file, const ImportOptions& options,
                 Building& building) {
  std::set<std::string> names;
  for (const auto& proto : graph.input()) {
    const Input input{proto, file + ": input '" + proto.name() + "'"};
    const bool is_new = names.insert(proto.name()).second;
    if (proto.name().empty() || !is_new) {
      building.errors.push_back(
          {ErrorKind::invalid_input, input.where, is_new ? "no name" : "it twice", "inputs of different names", ""});
      continue;
    }
    if (building.values.count(proto.name()) != 0) {
      names.erase(proto.name());
      continue;
    }
    const auto status = read_input(input, options, building);
    if (status) continue;
    building.errors.insert(building.errors.end(), status.errors().begin(), status.errors().end());
    building.values[proto.name()] = {};
  }
  check_batch(graph, file, options, building);
  for (const auto& [name, shape] : options.shapes) {
    if (names.count(name) == 0) report_unknown(name, graph, file, building);
  }
  for (const auto& [name, tensor] : options.bound_inputs) {
    if (names.count(name) == 0) report_unknown(name, graph, file, building);
  }
}

}  // namespace octavo::onnx_import
