// TFLite operators moved from floats to bytes, where integers stand around them; and conversions of conversions. Part
// of diagnose/.
#include <algorithm>
#include <map>
#include <set>

#include "diagnose/repair/tflite_repairs.h"

namespace octavo::repair {
namespace {

// Where an operator on bytes has the scale of its result from.
enum class Scale : std::uint8_t {
  none,      // no such operator
  given,     // whoever reads the result says it
  joined,    // likewise, and its operands have it, too
  input,     // it only moves values
  logistic,  // the format's own: 1/256 from -128 on
  tanh,      // and 1/128 around 0
};

Scale scale_of(int code) {
  static const std::map<int, Scale> kScales = {{kConv, Scale::given},
                                               {kDepthwiseConv, Scale::given},
                                               {kFullyConnected, Scale::given},
                                               {kAdd, Scale::given},
                                               {kSub, Scale::given},
                                               {kMul, Scale::given},
                                               {kMean, Scale::given},
                                               {kLeakyRelu, Scale::given},
                                               {kConcatenation, Scale::joined},
                                               {kMaxPool, Scale::input},
                                               {kReshape, Scale::input},
                                               {kTranspose, Scale::input},
                                               {kPad, Scale::input},
                                               {kResizeBilinear, Scale::input},
                                               {kResizeNearest, Scale::input},
                                               {kStridedSlice, Scale::input},
                                               {kSqueeze, Scale::input},
                                               {kSlice, Scale::input},
                                               {kExpandDims, Scale::input},
                                               {kLogistic, Scale::logistic},
                                               {kTanh, Scale::tanh}};
  const auto found = kScales.find(code);
  return found == kScales.end() ? Scale::none : found->second;
}

// XNNPACK makes one pass of such an operator between two conversions, which bytes are no faster than.
bool is_one_pass(int code) {
  return code == kLogistic || code == kTanh || code == kLeakyRelu || code == kMul || code == kSub;
}

bool is_s8(const TfliteEdit& edit, int tensor) {
  return edit.is_quantized(tensor) && edit.tensor(tensor).dtype == DType::s8;
}

class Islands {
 public:
  explicit Islands(TfliteEdit& edit) : edit_(edit), old_(edit.ops), links_(edit.links()) {}

  int run() {
    for (int i = 0; i < static_cast<int>(old_.size()); ++i) {
      if (scale_of(op(i).code) != Scale::none && edit_.is_float(op(i).outputs[0])) chosen_.insert(i);
    }
    while (std::erase_if(chosen_, [&](int i) { return !can_change(op(i)); }) != 0) {
    }
    std::set<int> alone;
    for (const int i : chosen_) {
      if (is_one_pass(op(i).code) && is_alone(op(i))) alone.insert(i);
    }
    for (const int i : alone) chosen_.erase(i);
    rewrite();
    return static_cast<int>(chosen_.size());
  }

 private:
  const TfliteOp& op(int index) const { return old_[static_cast<std::size_t>(index)]; }
  int writer(int tensor) const { return links_.writer[static_cast<std::size_t>(tensor)]; }
  const std::vector<int>& readers(int tensor) const { return links_.readers[static_cast<std::size_t>(tensor)]; }

  // The bytes that floats are made of; -1 where they are not.
  int bytes_of(int tensor) const {
    const int made = tensor < 0 ? -1 : writer(tensor);
    if (made < 0 || op(made).code != kDequantize) return -1;
    const int bytes = op(made).inputs[0];
    return is_s8(edit_, bytes) ? bytes : -1;
  }
  bool has_bytes(int tensor) const {
    if (edit_.is_constant(tensor) || (writer(tensor) >= 0 && chosen_.contains(writer(tensor)))) return true;
    const int bytes = bytes_of(tensor);
    return bytes >= 0 && edit_.tensor(bytes).has_one_scale();
  }

  bool is_quantize(const TfliteOp& reader) const { return reader.code == kQuantize && is_s8(edit_, reader.outputs[0]); }

  // What those that read floats want them as, directly or behind what only moves them.
  std::optional<QuantParams> wanted(int tensor) const {
    for (const int reader : readers(tensor)) {
      if (is_quantize(op(reader))) return edit_.tensor(op(reader).outputs[0]).quant;
    }
    for (const int reader : readers(tensor)) {
      if (!chosen_.contains(reader) || scale_of(op(reader).code) != Scale::input) continue;
      if (auto quant = wanted(op(reader).outputs[0])) return quant;
    }
    return {};
  }

  bool can_change(const TfliteOp& each) const {
    const int result = each.outputs[0];
    if (each.outputs.size() != 1 || edit_.is_output(result) || readers(result).empty()) return false;
    const bool are_bytes_wanted = std::ranges::all_of(
        readers(result), [&](int reader) { return is_quantize(op(reader)) || chosen_.contains(reader); });
    if (!are_bytes_wanted) return false;
    const Scale scale = scale_of(each.code);
    if ((scale == Scale::given || scale == Scale::joined) && !wanted(result)) return false;
    if (is_product(each)) return has_bytes(each.inputs[0]) && !edit_.is_constant(each.inputs[0]) && has_weights(each);
    const bool has_data =
        std::ranges::any_of(each.inputs, [&](int t) { return edit_.is_float(t) && !edit_.is_constant(t); });
    return has_data && std::ranges::all_of(each.inputs, [&](int t) { return !edit_.is_float(t) || has_bytes(t); });
  }

  // Constant floats, or bytes without a zero point, which a dynamic-range operator or DEQUANTIZE reads.
  bool has_weights(const TfliteOp& product) const {
    const int bias = product.input(bias_index(product)), weights = product.input(kWeightsIndex);
    if (bias >= 0 && !(edit_.is_constant(bias) && edit_.is_float(bias))) return false;
    return (edit_.is_constant(weights) && edit_.is_float(weights)) || byte_weights(weights) >= 0;
  }
  int byte_weights(int weights) const {
    const int bytes = edit_.is_float(weights) ? bytes_of(weights) : weights;
    if (!is_s8(edit_, bytes) || !edit_.is_constant(bytes)) return -1;
    const auto& zeros = edit_.tensor(bytes).quant->zero_point;
    return std::ranges::all_of(zeros, [](int zero) { return zero == 0; }) ? bytes : -1;
  }

  bool is_alone(const TfliteOp& each) const {
    const auto is_chosen = [&](int index) { return index >= 0 && chosen_.contains(index); };
    return std::ranges::none_of(each.inputs, [&](int t) { return t >= 0 && is_chosen(writer(t)); }) &&
           std::ranges::none_of(readers(each.outputs[0]), is_chosen);
  }

  // ---- writing ----

  void push_quantize(int from, int to) {
    edit_.ops.push_back({.code = kQuantize, .version = 2, .inputs = {from}, .outputs = {to}});
  }

  int bytes_now(int tensor) {
    const auto made = made_.find(tensor);
    if (made != made_.end()) return made->second;
    if (!edit_.is_constant(tensor)) return renamed(bytes_of(tensor));
    const TfliteTensor floats = edit_.tensor(tensor);
    Quantized constant = weights_by_channel(reals_of(floats), Shape{1, floats.constant->elements()}, 0);
    constant.quant.axis = -1;
    return made_[tensor] =
               edit_.add_constant(floats.name + "_s8", constant.values.reshaped(floats.shape), constant.quant);
  }

  int renamed(int tensor) const {
    const auto found = renamed_.find(tensor);
    return found == renamed_.end() ? tensor : found->second;
  }

  QuantParams scale_of_result(const TfliteOp& each, int first_input) const {
    switch (scale_of(each.code)) {
      case Scale::logistic: return {{1.0f / 256.0f}, {-128}};
      case Scale::tanh: return {{1.0f / 128.0f}, {0}};
      case Scale::input: return *edit_.tensor(first_input).quant;
      default: return *wanted(each.outputs[0]);
    }
  }

  void set_weights(TfliteOp& each) {
    const int weights = each.inputs[kWeightsIndex], bias = each.input(bias_index(each));
    int bytes = byte_weights(weights);
    if (bytes < 0) {
      const TfliteTensor floats = edit_.tensor(weights);
      Quantized made = weights_by_channel(reals_of(floats), floats.shape, channel_axis(each, floats.shape));
      bytes = edit_.add_constant(floats.name + "_s8", std::move(made.values), std::move(made.quant));
    }
    each.inputs[kWeightsIndex] = bytes;
    if (bias < 0) return;
    const TfliteTensor floats = edit_.tensor(bias);
    const float scale = edit_.tensor(each.inputs[0]).quant->scale[0];
    Quantized sums = bias_in_sums(reals_of(floats), scale, *edit_.tensor(bytes).quant);
    each.inputs[bias_index(each)] =
        edit_.add_constant(floats.name + "_s32", std::move(sums.values), std::move(sums.quant));
  }

  void change(TfliteOp each) {
    const int old_result = each.outputs[0];
    each.version = std::max(each.version, each.code == kFullyConnected                      ? 12
                                          : each.code <= kDepthwiseConv && is_product(each) ? 3
                                                                                            : 2);
    if (is_product(each)) {
      each.inputs[0] = bytes_now(each.inputs[0]);
      set_weights(each);
    } else {
      for (int& input : each.inputs) input = edit_.is_float(input) ? bytes_now(input) : renamed(input);
    }
    const QuantParams quant = scale_of_result(each, each.inputs[0]);
    if (scale_of(each.code) == Scale::joined) {
      for (int& input : each.inputs) {
        if (edit_.tensor(input).quant == quant) continue;
        const int fitting = edit_.add_like(input, DType::s8, quant, "_joined");
        push_quantize(input, fitting);
        input = fitting;
      }
    }
    each.outputs[0] = made_[old_result] = edit_.add_like(old_result, DType::s8, quant, "_s8");
    edit_.ops.push_back(std::move(each));
  }

  void keep(TfliteOp each) {
    const bool is_behind = each.code == kQuantize && made_.contains(each.inputs[0]);
    if (is_behind) {
      const int bytes = made_[each.inputs[0]], result = each.outputs[0];
      if (edit_.tensor(bytes).quant == edit_.tensor(result).quant && !edit_.is_output(result)) renamed_[result] = bytes;
      else push_quantize(bytes, result);
      return;
    }
    for (int& input : each.inputs) input = renamed(input);
    edit_.ops.push_back(std::move(each));
  }

  void rewrite() {
    edit_.ops.clear();
    for (int i = 0; i < static_cast<int>(old_.size()); ++i) {
      if (chosen_.contains(i)) change(op(i));
      else keep(op(i));
    }
    edit_.drop_unread_conversions();
  }

  TfliteEdit& edit_;
  const std::vector<TfliteOp> old_;
  const TfliteEdit::Links links_;
  std::set<int> chosen_;        // operators that compute on bytes from now on
  std::map<int, int> made_;     // what floats are in bytes
  std::map<int, int> renamed_;  // bytes that others have become
};

}  // namespace

int make_islands_integers(TfliteEdit& edit) { return Islands(edit).run(); }

int drop_double_conversions(TfliteEdit& edit) {
  const TfliteEdit::Links links = edit.links();
  std::map<int, int> renamed;
  int changed = 0;
  const auto is_conversion = [](const TfliteOp& op) { return op.code == kQuantize || op.code == kDequantize; };
  for (TfliteOp& op : edit.ops) {
    for (int& input : op.inputs) {
      if (const auto found = renamed.find(input); found != renamed.end()) input = found->second;
    }
    const int maker = op.code == kQuantize ? links.writer[static_cast<std::size_t>(op.inputs[0])] : -1;
    if (maker < 0 || !is_conversion(edit.ops[static_cast<std::size_t>(maker)])) continue;
    const int source = edit.ops[static_cast<std::size_t>(maker)].inputs[0], result = op.outputs[0];
    const bool is_one_type = edit.tensor(source).dtype == edit.tensor(result).dtype;
    const bool is_same = is_one_type && edit.tensor(source).quant == edit.tensor(result).quant;
    op.inputs[0] = source;
    if (is_same && !edit.is_output(result)) renamed[result] = source;
    ++changed;
  }
  edit.drop_unread_conversions();
  return changed;
}

}  // namespace octavo::repair
