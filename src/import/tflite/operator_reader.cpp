// What the reader of one operator sees, and how it builds. Part of import/.
#include "import/tflite/operator_reader.h"

#include <algorithm>

#include "import/fold.h"
#include "ops/list.h"

namespace octavo::tflite_import {
namespace {

// An input that is left out is -1, and those at the end may be missing
// altogether.
int count_inputs(const file::Operator& op) {
  if (op.inputs() == nullptr) return 0;
  int count = static_cast<int>(op.inputs()->size());
  while (count > 0 && op.inputs()->Get(static_cast<flatbuffers::uoffset_t>(count - 1)) < 0) --count;
  return count;
}

bool is_quantized(const FileTensor& tensor) { return is_8bit(tensor.dtype) && tensor.quant.has_value(); }

}  // namespace

OperatorReader::OperatorReader(Building& building, const file::Operator& op, std::string type, std::string name,
                               std::string origin, std::string where)
    : building_(building),
      op_(op),
      input_count_(count_inputs(op)),
      first_value_(building.graph.value_count()),
      type_(std::move(type)),
      name_(std::move(name)),
      origin_(std::move(origin)),
      where_(std::move(where)),
      outputs_(op.outputs() == nullptr ? 0 : op.outputs()->size()) {}

int OperatorReader::tensor_index(int input) const {
  return input < input_count_ ? op_.inputs()->Get(static_cast<flatbuffers::uoffset_t>(input)) : -1;
}
bool OperatorReader::has(int index) const { return tensor_index(index) >= 0; }

const FileTensor& OperatorReader::tensor(int index) const {
  static const FileTensor kNone;
  return has(index) ? building_.tensors[static_cast<std::size_t>(tensor_index(index))] : kNone;
}

const FileTensor& OperatorReader::output_tensor(int index) const {
  return building_.tensors[static_cast<std::size_t>(op_.outputs()->Get(static_cast<flatbuffers::uoffset_t>(index)))];
}

ValueId OperatorReader::stored(int index) {
  if (has(index)) return building_.values[static_cast<std::size_t>(tensor_index(index))];
  fail("input " + std::to_string(index), "none", "a tensor");
  return {};
}

ValueId OperatorReader::operand(int index) {
  const ValueId value = stored(index);
  return value.exists() ? operand_of(tensor_index(index)) : value;
}

ValueId OperatorReader::operand_of(int tensor) {
  const FileTensor& source = building_.tensors[static_cast<std::size_t>(tensor)];
  const ValueId value = building_.values[static_cast<std::size_t>(tensor)];
  if (!is_8bit(source.dtype) || failed()) return value;
  const auto known = building_.reals.find(tensor);
  if (known != building_.reals.end()) return known->second;
  const ValueId real = dequantized(value, source, "input." + source.name);
  if (real.exists()) building_.reals[tensor] = real;
  return real;
}

ValueId OperatorReader::real(ValueId value, int input) {
  return is_8bit(tensor(input).dtype) ? dequantized(value, tensor(input), "real") : value;
}

ValueId OperatorReader::dequantized(ValueId value, const FileTensor& source, std::string_view suffix) {
  if (source.quant) return dequantize(value, *source.quant, suffix);
  fail("tensor '" + source.name + "'", std::string(name_of(source.dtype)) + " without scale and zero point", "both");
  return {};
}

const Fact& OperatorReader::fact(ValueId id) const {
  static const Fact kNone;
  return id.exists() ? building_.graph.fact(id) : kNone;
}

std::vector<std::int64_t> OperatorReader::constant_integers(int index, std::string_view name) {
  const ValueId id = stored(index);
  if (!id.exists()) return {};
  const std::string what = "input '" + std::string(name) + "'";
  const Fact& known = fact(id);
  if (known.dtype != DType::s32 && known.dtype != DType::s64) {
    fail(what, std::string(name_of(known.dtype)) + " " + known.shape.to_string(), "s32 or s64");
    return {};
  }
  if (!known.is_constant()) {
    unsupported(what, "'" + tensor(index).name + "', which is computed at run time", "a constant");
    return {};
  }
  return to_int64s(known.constant->view());
}

void OperatorReader::output_stored(int index, ValueId value) {
  if (failed() || !value.exists()) return;
  const FileTensor& target = output_tensor(index);
  if (dtype(value) != target.dtype) {
    return fail("output '" + target.name + "'", "the declared type " + std::string(name_of(target.dtype)),
                std::string(name_of(dtype(value))) + ", which the operator makes");
  }
  // A tensor that only passes on another one may have another name and other
  // scales.
  const bool is_own = value.index >= first_value_ || fact(value).is_constant();
  if (is_own && target.quant) building_.graph.set_quant(value, *target.quant);
  outputs_[static_cast<std::size_t>(index)] = value;
}

void OperatorReader::output(int index, ValueId value) {
  const FileTensor& target = output_tensor(index);
  if (failed() || !value.exists() || dtype(value) != DType::f32 || !is_quantized(target))
    return output_stored(index, value);
  const QuantParams& quant = *target.quant;
  if (quant.axis >= 0)
    return unsupported("output '" + target.name + "'", "scales per axis of an activation", "one scale");
  ++building_.activation_types[target.dtype];
  Tensor zero_point(target.dtype, Shape{});
  store_double(zero_point.view(), 0, quant.zero_point[0]);
  const QuantizeAttrs attrs{.to = target.dtype, .profile = building_.profile};
  const std::string_view suffix = index == 0 ? "quantized" : "quantized_too";
  output_stored(
      index, add(kQuantize, attrs,
                 {value, scalar(quant.scale[0], "scale"), add_constant(std::move(zero_point), "zero_point")}, suffix));
}

ValueId OperatorReader::add(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs, std::string_view suffix) {
  if (failed()) return {};
  while (!inputs.empty() && !inputs.back().exists()) inputs.pop_back();
  const std::string name = called(suffix);
  if (const auto constants = add_folded(building_.graph, spec, attrs, inputs, name, building_.fold_budget);
      !constants.empty())
    return constants.front();
  auto made = building_.graph.add(spec, std::move(attrs), std::move(inputs), name, origin_);
  if (made) return *made;
  for (const Error& error : made.errors()) record(error.kind, error.where, error.found, error.expected);
  return {};
}

std::vector<ValueId> OperatorReader::add_all(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs,
                                             std::string_view suffix) {
  const std::vector<ValueId> nothing(static_cast<std::size_t>(spec.outputs));
  if (failed()) return nothing;
  const auto node = building_.graph.add_node(spec, std::move(attrs), std::move(inputs), called(suffix), origin_);
  if (node) return building_.graph.node(*node).outputs;
  for (const Error& error : node.errors()) record(error.kind, error.where, error.found, error.expected);
  return nothing;
}

ValueId OperatorReader::add_constant(Tensor tensor, std::string_view suffix) {
  return building_.graph.add_constant(called(suffix), std::move(tensor));
}

ValueId OperatorReader::reshape(ValueId value, std::vector<std::int64_t> dims, std::string_view suffix) {
  if (!value.exists() || shape(value) == Shape(dims)) return value;
  return add(kReshape, ReshapeAttrs{.shape = std::move(dims)}, {value}, suffix);
}

ValueId OperatorReader::transpose(ValueId value, std::vector<std::int64_t> perm, std::string_view suffix) {
  return add(kTranspose, TransposeAttrs{.perm = std::move(perm)}, {value}, suffix);
}

ValueId OperatorReader::dequantize(ValueId value, const QuantParams& quant, std::string_view suffix) {
  if (!value.exists()) return {};
  const bool is_per_tensor = quant.axis < 0;
  const Shape dims = is_per_tensor ? Shape{} : Shape{static_cast<std::int64_t>(quant.scale.size())};
  Tensor zero_point(dtype(value), dims);
  for (std::size_t i = 0; i < quant.zero_point.size(); ++i)
    store_double(zero_point.view(), static_cast<std::int64_t>(i), quant.zero_point[i]);
  const std::string part(suffix);
  const ValueId scale = add_constant(Tensor::of<float>(dims, quant.scale), part + ".scale");
  return add(kDequantize, DequantizeAttrs{.axis = quant.axis},
             {value, scale, add_constant(std::move(zero_point), part + ".zero_point")}, part);
}

ValueId OperatorReader::activation(ValueId value, int function, std::string_view suffix) {
  constexpr int kNone = 0, kRelu = 1, kReluN1To1 = 2, kRelu6 = 3;
  const auto clip = [](float lowest, float highest) {
    return UnaryAttrs{.kind = UnaryKind::clip, .alpha = lowest, .beta = highest};
  };
  switch (function) {
    case kNone: return value;
    case kRelu: return add(kUnary, UnaryAttrs{.kind = UnaryKind::relu}, {value}, suffix);
    case kReluN1To1: return add(kUnary, clip(-1.0f, 1.0f), {value}, suffix);
    case kRelu6: return add(kUnary, clip(0.0f, 6.0f), {value}, suffix);
    default: break;
  }
  unsupported("fused activation function", std::to_string(function), "none, RELU, RELU_N1_TO_1 or RELU6");
  return {};
}

void OperatorReader::record(ErrorKind kind, std::string_view what, std::string found, std::string expected) {
  has_failed_ = true;
  errors_.push_back(
      {kind, what.empty() ? where_ : where_ + ", " + std::string(what), std::move(found), std::move(expected), ""});
}

std::int64_t OperatorReader::axis(std::string_view what, std::int64_t axis, int rank) {
  if (const auto normal = normalize_axis(axis, rank)) return *normal;
  fail(what, std::to_string(axis), "an axis of a value of rank " + std::to_string(rank));
  return 0;
}

void OperatorReader::require_rank(std::string_view what, ValueId value, int lowest, int highest) {
  if (failed() || (rank(value) >= lowest && rank(value) <= highest)) return;
  const std::string expected =
      lowest == highest ? std::to_string(lowest) : std::to_string(lowest) + " to " + std::to_string(highest);
  fail("input '" + std::string(what) + "'", "shape " + shape(value).to_string(), "rank " + expected);
}

void OperatorReader::finish() {
  for (int i = 0; i < output_count(); ++i) {
    const ValueId made = outputs_[static_cast<std::size_t>(i)];
    const auto index = static_cast<std::size_t>(op_.outputs()->Get(static_cast<flatbuffers::uoffset_t>(i)));
    if (!failed() && !made.exists())
      unsupported("output " + std::to_string(i), "'" + output_tensor(i).name + "', which is asked for", "it left out");
    building_.is_made[index] = true;
    building_.values[index] = failed() ? ValueId{} : made;
    // The name of the file goes on what this operator made, not on a value that
    // it only passes on.
    if (!failed() && made.index >= first_value_) building_.graph.set_name(made, output_tensor(i).name);
  }
  building_.errors.insert(building_.errors.end(), errors_.begin(), errors_.end());
}

}  // namespace octavo::tflite_import
