// What the reader of one operator sees of a TFLite file. Part of import/.
#include "import/tflite/operator_reader.h"

#include <utility>

#include "import/tflite/computed_by.h"

namespace octavo::tflite_import {
namespace {

// An input that is left out is -1, and those at the end may be missing altogether.
int count_inputs(const file::Operator& op) {
  if (op.inputs() == nullptr) return 0;
  int count = static_cast<int>(op.inputs()->size());
  while (count > 0 && op.inputs()->Get(static_cast<flatbuffers::uoffset_t>(count - 1)) < 0) --count;
  return count;
}

const FileTensor& no_tensor() {
  static const FileTensor kNone;
  return kNone;
}

bool is_index(DType dtype) { return dtype == DType::s32 || dtype == DType::s64; }

}  // namespace

ValueId Building::find(std::size_t tensor) {
  if (!values[tensor].exists() && handles[tensor] != kNoHandle) values[tensor] = program.enter(handles[tensor]);
  return values[tensor];
}

void Building::leave_graph() {
  const auto left = [&](ValueId& value, Handle& handle) {
    if (value.exists() && handle == kNoHandle) handle = program.handle_of(value);
    value = {};
  };
  const auto leave = [&](Frame& frame) {
    for (std::size_t i = 0; i < frame.values.size(); ++i) left(frame.values[i], frame.handles[i]);
    frame.reals.clear();
    frame.dilated.clear();
  };
  leave(*this);
  for (Frame& frame : frames) leave(frame);
  for (auto& [name, variable] : variables) left(variable.value, variable.handle);
  program.leave_graph();
}

OperatorReader::OperatorReader(Building& building, const file::Operator& op, Type type, Operands operands,
                               std::string name, const std::string& origin)
    : NodeBuilder(building, std::move(name), origin),
      building_(building),
      op_(op),
      input_count_(count_inputs(op)),
      type_(std::move(type)),
      operands_(operands) {
  outputs_.resize(op.outputs() == nullptr ? 0 : op.outputs()->size());
}

int OperatorReader::tensor_index(int input) const {
  return input < input_count_ ? op_.inputs()->Get(static_cast<flatbuffers::uoffset_t>(input)) : -1;
}

const FileTensor& OperatorReader::intermediate(int index) const {
  const int at =
      index < intermediate_count() ? op_.intermediates()->Get(static_cast<flatbuffers::uoffset_t>(index)) : -1;
  return at < 0 ? no_tensor() : building_.tensors[static_cast<std::size_t>(at)];
}

const FileTensor& OperatorReader::tensor(int index) const {
  return has(index) ? building_.tensors[static_cast<std::size_t>(tensor_index(index))] : no_tensor();
}

const FileTensor& OperatorReader::output_tensor(int index) const {
  return building_.tensors[static_cast<std::size_t>(output_index(index))];
}

ValueId OperatorReader::stored(int index) {
  const std::string place = "input " + std::to_string(index);
  if (!has(index)) return fail(place, "none", "a tensor");
  if (tensor(index).is_complex && operands_ != Operands::pairs)
    return unsupported(place, "complex numbers", "real ones");
  return placed(building_.find(static_cast<std::size_t>(tensor_index(index))), place);
}

bool OperatorReader::keeps(int index) const {
  return has(index) && building_.frames.size() == 1 && building_.kept_tensors.contains(tensor_index(index));
}

void OperatorReader::keep(int index, ValueId next) {
  building_.variables[building_.kept_tensors.at(tensor_index(index))].value = next;
}

ValueId OperatorReader::operand(int index) {
  if (!stored(index).exists()) return {};
  return placed(operand_of(tensor_index(index)), "input " + std::to_string(index));
}

std::span<const std::uint8_t> OperatorReader::custom_options() const {
  const auto* bytes = op_.custom_options();
  return bytes == nullptr ? std::span<const std::uint8_t>() : std::span(bytes->data(), bytes->size());
}

std::vector<ValueId> OperatorReader::values() {
  std::vector<ValueId> all;
  for (int i = 0; i < input_count_; ++i) all.push_back(value(i));
  return all;
}

ValueId OperatorReader::operand_of(int tensor) {
  const FileTensor& source = building_.tensors[static_cast<std::size_t>(tensor)];
  const ValueId value = building_.find(static_cast<std::size_t>(tensor));
  if (!source.stands_for_reals() || failed()) return value;
  const auto known = building_.reals.find(tensor);
  if (known != building_.reals.end()) return known->second;
  const ValueId real = dequantized(value, source, "input." + source.name);
  if (real.exists()) building_.reals[tensor] = real;
  return real;
}

ValueId OperatorReader::real(ValueId value, int input) {
  return tensor(input).stands_for_reals() ? dequantized(value, tensor(input), "real") : value;
}

ValueId OperatorReader::dequantized(ValueId value, const FileTensor& source, const std::string& suffix) {
  if (source.quant) return dequantized(value, *source.quant, suffix);
  return fail("tensor '" + source.name + "'", std::string(name_of(source.dtype)) + " without scale and zero point",
              "both");
}

ValueId OperatorReader::dequantized(ValueId value, const QuantParams& quant, const std::string& suffix) {
  if (!value.exists()) return {};
  const Integers zero_points(quant.zero_point.begin(), quant.zero_point.end());
  const Scales scales =
      constant_scales(*this, quant.scale, zero_points, dtype(value), quant.axis, suffix, suffix + ".");
  return dequantize(*this, value, scales, suffix);
}

Numbers OperatorReader::constant_integers(int index, std::string_view name) {
  const ValueId value = placed(stored(index), quoted("input", name));
  if (value.exists() && fact(value).extents != nullptr) return {*fact(value).extents, quoted("input", name)};
  const auto list = list_of(value, tensor(index).name, is_index, "s32 or s64");
  return {list == nullptr ? Integers{} : to_int64s(list->view()), quoted("input", name)};
}

Number OperatorReader::constant_integer(int index, std::string_view name) {
  const Numbers list = constant_integers(index, name);
  if (!failed() && list.size() != 1) fail(list.place, std::to_string(list.size()) + " numbers", "one");
  return {failed() ? 0 : list[0].fixed(), list.place};
}

ValueId OperatorReader::quantized(ValueId value) {
  const FileTensor& target = output_tensor(0);
  if (failed() || dtype(value) != DType::f32 || !target.stands_for_reals() || !target.quant) return value;
  const QuantParams& quant = *target.quant;
  const bool is_per_axis = quant.axis >= 0;
  if (is_per_axis && type() != "QUANTIZE")
    return unsupported("output '" + target.name + "'", "scales per axis of an activation", "one scale");
  const Scales to = constant_scales(*this, quant.scale, Integers(quant.zero_point.begin(), quant.zero_point.end()),
                                    target.dtype, quant.axis, "output '" + target.name + "'");
  // Scales per axis are LiteRT's reference kernel's, whoever does the rest.
  const Profile own = is_per_axis ? Profile::tflite_double : profile_.value_or(computed_by(*this, building_.profile));
  return quantized_by(value, to, target.dtype, own, "quantized");
}

ValueId OperatorReader::rounded(ValueId value, const QuantParams& to, DType type, Profile profile,
                                const std::string& suffix) {
  if (failed()) return {};
  const Integers zero_points(to.zero_point.begin(), to.zero_point.end());
  const Scales scales = constant_scales(*this, to.scale, zero_points, type, to.axis, suffix, suffix + ".");
  return quantized_by(value, scales, type, profile, suffix);
}

ValueId OperatorReader::quantized_by(ValueId value, const Scales& to, DType type, Profile profile,
                                     std::string_view suffix) {
  const Profile of_file = std::exchange(building_.profile, profile);
  const ValueId made = quantize(*this, value, to, type, suffix);
  building_.profile = of_file;
  return made;
}

bool OperatorReader::has_own_scale(int input) const {
  const FileTensor &source = tensor(input), &target = output_tensor(0);
  return is_8bit(source.dtype) && source.dtype == target.dtype && source.quant && target.quant &&
         source.quant != target.quant && source.quant->axis < 0 && target.quant->axis < 0;
}

ValueId OperatorReader::relabelled(ValueId value, int input) {
  const QuantParams& from = *tensor(input).quant;
  const Scales to = constant_scales(*this, {from.scale[0]}, {from.zero_point[0]}, tensor(input).dtype, -1,
                                    "input " + std::to_string(input), "bytes.");
  const ValueId bytes = quantize(*this, value, to, tensor(input).dtype, "bytes");
  return dequantized(bytes, *output_tensor(0).quant, "relabelled");
}

ValueId OperatorReader::checked(int output, ValueId value) {
  const FileTensor& target = output_tensor(output);
  if (failed()) return {};
  if (!value.exists())
    return unsupported("output " + std::to_string(output), "'" + target.name + "', which is asked for", "it left out");
  if (target.is_complex && operands_ != Operands::pairs)
    return unsupported("output '" + target.name + "'", "complex numbers", "real ones");
  if (dtype(value) != target.dtype)
    return fail("output '" + target.name + "'", "the declared type " + std::string(name_of(target.dtype)),
                std::string(name_of(dtype(value))) + ", which the operator makes");
  // A tensor that only passes on another one may have another name and other scales.
  if ((is_own(value) || is_constant(value)) && target.quant) building_.graph.set_quant(value, *target.quant);
  return value;
}

void OperatorReader::finish(ValueId first) {
  output(0, operands_ == Operands::real ? quantized(first) : first);
  for (int i = 0; i < output_count(); ++i) checked(i, outputs_[static_cast<std::size_t>(i)]);
  for (int i = 0; i < output_count(); ++i) {
    const ValueId made = failed() ? ValueId{} : outputs_[static_cast<std::size_t>(i)];
    const auto index = static_cast<std::size_t>(output_index(i));
    building_.is_made[index] = true;
    building_.values[index] = made;
    name_result(made, output_tensor(i).name);
  }
}

ValueId OperatorReader::activation(ValueId value, int function, std::string_view suffix) {
  constexpr int kNone = 0, kRelu = 1, kReluN1To1 = 2, kRelu6 = 3;
  switch (function) {
    case kNone: return value;
    case kRelu: return unary({.kind = UnaryKind::relu}, value, suffix);
    case kReluN1To1: return clip(*this, value, -1.0f, 1.0f, suffix);
    case kRelu6: return clip(*this, value, 0.0f, 6.0f, suffix);
    default: break;
  }
  return unsupported("fused activation function", std::to_string(function), "none, RELU, RELU_N1_TO_1 or RELU6");
}

}  // namespace octavo::tflite_import
