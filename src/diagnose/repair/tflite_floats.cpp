// TFLite operators moved from integers to floats, where LiteRT is faster there; and a whole network without rounding.
// Part of diagnose/.
#include <algorithm>
#include <map>

#include "diagnose/repair/repair.h"
#include "diagnose/repair/tflite_repairs.h"

namespace octavo::repair {
namespace {

// Operators that take floats with the options that they have for bytes.
bool takes_floats(int code) {
  constexpr int kCodes[] = {kAdd,
                            kAveragePool,
                            kConcatenation,
                            kConv,
                            kDepthwiseConv,
                            kDepthToSpace,
                            kFullyConnected,
                            kL2Normalization,
                            kLogistic,
                            kMaxPool,
                            kMul,
                            kRelu,
                            kReluN1To1,
                            kRelu6,
                            kReshape,
                            kResizeBilinear,
                            kSoftmax,
                            kSpaceToDepth,
                            kTanh,
                            kPad,
                            kTranspose,
                            kMean,
                            kSub,
                            kSqueeze,
                            kStridedSlice,
                            kExp,
                            kLogSoftmax,
                            kPrelu,
                            kMaximum,
                            kMinimum,
                            kSlice,
                            kTransposeConv,
                            kExpandDims,
                            kResizeNearest,
                            kLeakyRelu,
                            kSquaredDifference,
                            kMirrorPad,
                            kAbs,
                            kElu,
                            kQuantize,
                            kHardSwish,
                            kGelu};
  return std::ranges::find(kCodes, code) != std::end(kCodes);
}

class InFloats {
 public:
  InFloats(TfliteEdit& edit, const std::function<bool(const TfliteOp&)>& takes, Bounds bounds)
      : edit_(edit), takes_(takes), bounds_(bounds), old_(std::move(edit.ops)) {}

  int run() {
    edit_.ops = old_;
    links_ = edit_.links();
    edit_.ops.clear();
    int changed = 0;
    for (const TfliteOp& op : old_) {
      if (takes_(op)) convert(op), ++changed;
      else keep(op);
    }
    edit_.drop_unread_conversions();
    return changed;
  }

 private:
  bool is_conversion_to_floats(const TfliteOp& op) const {
    return op.code == kDequantize && !edit_.is_output(op.outputs[0]);
  }

  // Whether somebody reads the tensor in its old type.
  bool is_wanted(int tensor) const {
    if (edit_.is_output(tensor)) return true;
    return std::ranges::any_of(links_.readers[static_cast<std::size_t>(tensor)], [&](int reader) {
      const TfliteOp& op = old_[static_cast<std::size_t>(reader)];
      return !takes_(op) && !is_conversion_to_floats(op);
    });
  }

  int renamed(int tensor) const {
    const auto found = renamed_.find(tensor);
    return found == renamed_.end() ? tensor : found->second;
  }

  int push(int code, int input, int output) {
    constexpr int kVersion = 3;  // the first with s16
    edit_.ops.push_back({.code = code, .version = kVersion, .inputs = {input}, .outputs = {output}});
    return output;
  }

  void keep(TfliteOp op) {
    const int x = op.input(0);
    if (is_conversion_to_floats(op) && floats_.contains(x)) {
      renamed_[op.outputs[0]] = floats_[x];
      return;
    }
    for (int& input : op.inputs) input = renamed(input);
    if (op.code == kQuantize && edit_.is_float(op.inputs[0])) sources_[op.outputs[0]] = op.inputs[0];
    edit_.ops.push_back(std::move(op));
  }

  // The values that a type holds at most, applied to floats.
  int bounded(int floats, const TfliteTensor& type) {
    if (bounds_ == Bounds::dropped || !type.has_one_scale()) return floats;
    const IntegerRange range = range_of(type.dtype);
    const auto value = [&](std::int64_t q) {
      return static_cast<float>(q - type.quant->zero_point[0]) * type.quant->scale[0];
    };
    for (const auto& [code, bound] :
         {std::pair(kMinimum, value(range.highest)), std::pair(kMaximum, value(range.lowest))}) {
      const int constant = edit_.add_constant(type.name + "_bound", Tensor::of<float>(Shape{1}, std::vector{bound}));
      const int result = edit_.add_like(floats, DType::f32, {}, "_bound");
      edit_.ops.push_back({.code = code, .inputs = {floats, constant}, .outputs = {result}});
      floats = result;
    }
    return floats;
  }

  int float_of(int tensor) {
    const auto known = floats_.find(tensor);
    if (known != floats_.end()) return known->second;
    const auto source = sources_.find(tensor);
    const TfliteTensor type = edit_.tensor(tensor);
    const int made = source != sources_.end()
                         ? bounded(source->second, type)
                         : push(kDequantize, tensor, edit_.add_like(tensor, DType::f32, {}, "_f32"));
    return floats_[tensor] = made;
  }

  // Sums of an integer product, which have the scales of both operands.
  int float_bias(const TfliteOp& op) {
    const int index = op.inputs[bias_index(op)];
    const TfliteTensor& bias = edit_.tensor(index);
    const TfliteTensor& data = edit_.tensor(op.inputs[data_index(op)]);
    const TfliteTensor& weights = edit_.tensor(op.inputs[kWeightsIndex]);
    if (bias.constant == nullptr || bias.dtype == DType::f32 || !data.is_quantized() || !weights.is_quantized())
      return index;
    std::vector<float> values;
    for (std::int64_t i = 0; i < bias.constant->elements(); ++i) {
      const auto channel = weights.has_one_scale() ? 0 : static_cast<std::size_t>(i);
      values.push_back(static_cast<float>(element_as_double(bias.constant->view(), i) * double{data.quant->scale[0]} *
                                          double{weights.quant->scale[channel]}));
    }
    return edit_.add_constant(bias.name + "_f32", Tensor::of<float>(bias.shape, values));
  }

  void convert(TfliteOp op) {
    const int bias = is_product(op) && op.input(bias_index(op)) >= 0 ? float_bias(op) : -1;
    for (int& input : op.inputs) input = edit_.is_quantized(input) ? float_of(input) : renamed(input);
    if (bias >= 0) op.inputs[bias_index(op)] = bias;
    const std::vector<int> results = op.outputs;
    for (int& result : op.outputs) {
      if (!edit_.is_quantized(result)) continue;
      result = op.code == kQuantize ? op.inputs[0] : edit_.add_like(result, DType::f32, {}, "_f32");
    }
    const std::vector<int> made = op.outputs;
    if (op.code != kQuantize) edit_.ops.push_back(std::move(op));
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (made[i] == results[i]) continue;
      const TfliteTensor type = edit_.tensor(results[i]);
      floats_[results[i]] = bounded(made[i], type);
      if (is_wanted(results[i])) push(kQuantize, floats_[results[i]], results[i]);
    }
  }

  TfliteEdit& edit_;
  const std::function<bool(const TfliteOp&)>& takes_;
  const Bounds bounds_;
  const std::vector<TfliteOp> old_;
  TfliteEdit::Links links_;
  std::map<int, int> floats_;   // what tensors of integers are in floats
  std::map<int, int> sources_;  // the floats that QUANTIZE made them of
  std::map<int, int> renamed_;  // floats that others have become
};

bool has_quantized_result(const TfliteEdit& edit, const TfliteOp& op) {
  return !op.outputs.empty() && edit.is_quantized(op.outputs[0]) && edit.is_quantized(op.input(data_index(op)));
}

// A product of floats by constant bytes, whose data is quantized in the run.
bool is_dynamic(const TfliteEdit& edit, const TfliteOp& op) {
  if (!is_product(op) || !edit.is_float(op.input(data_index(op)))) return false;
  const int weights = op.input(kWeightsIndex);
  return edit.is_quantized(weights) && edit.is_constant(weights);
}

}  // namespace

int compute_in_floats(TfliteEdit& edit, const std::function<bool(const TfliteOp&)>& takes, Bounds bounds) {
  return InFloats(edit, takes, bounds).run();
}

int make_sixteen_bits_floats(TfliteEdit& edit) {
  const auto is_wide = [&](int tensor) { return edit.is_quantized(tensor) && edit.tensor(tensor).dtype == DType::s16; };
  return compute_in_floats(
      edit,
      [&](const TfliteOp& op) {
        return takes_floats(op.code) && has_quantized_result(edit, op) &&
               (is_wide(op.inputs[data_index(op)]) || is_wide(op.outputs[0]));
      },
      Bounds::kept);
}

int make_dynamic_depthwise_floats(TfliteEdit& edit) {
  return compute_in_floats(
      edit, [&](const TfliteOp& op) { return op.code == kDepthwiseConv && is_dynamic(edit, op); }, Bounds::dropped);
}

int make_slow_bytes_floats(TfliteEdit& edit) {
  constexpr int kSlow[] = {kRelu,    kRelu6,      kReluN1To1,       kHardSwish,
                           kSoftmax, kLogSoftmax, kPrelu,           kSquaredDifference,
                           kAbs,     kExp,        kL2Normalization, kGelu};
  constexpr std::int64_t kWorthIt = 2048;  // results: conversions and another turn of the delegate take their time, too
  return compute_in_floats(
      edit,
      [&](const TfliteOp& op) {
        if (!has_quantized_result(edit, op)) return false;
        const TfliteTensor& result = edit.tensor(op.outputs[0]);
        if (result.dtype != DType::s8 || result.shape.elements() < kWorthIt) return false;
        if (op.code != kAveragePool) return std::ranges::find(kSlow, op.code) != std::end(kSlow);
        return result.shape.rank() == 4 && result.shape[1] * result.shape[2] > 1;
      },
      Bounds::dropped);
}

Result<std::string> unrounded_tflite(const std::string& bytes, const std::string& file) {
  auto edit = TfliteEdit::of(bytes, file);
  if (!edit) return edit.errors();
  compute_in_floats(
      *edit,
      [&](const TfliteOp& op) {
        return (takes_floats(op.code) && has_quantized_result(*edit, op)) || is_dynamic(*edit, op);
      },
      Bounds::kept);
  return edit->finish();
}

}  // namespace octavo::repair
