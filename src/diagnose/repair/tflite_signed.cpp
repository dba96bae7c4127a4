// TFLite files of u8 as files of s8. Part of diagnose/.
#include <algorithm>
#include <cmath>
#include <map>

#include "diagnose/repair/tflite_repairs.h"

namespace octavo::repair {
namespace {

// Operators that mean the same on bytes moved by 128, with the version that takes s8.
int version_with_s8(int code) {
  static const std::map<int, int> kVersions = {
      {kAdd, 2},          {kAveragePool, 2},     {kConcatenation, 2}, {kConv, 3},         {kDepthwiseConv, 3},
      {kDequantize, 2},   {kFullyConnected, 12}, {kLogistic, 2},      {kMaxPool, 2},      {kMul, 2},
      {kReshape, 1},      {kResizeBilinear, 2},  {kSoftmax, 2},       {kSpaceToDepth, 2}, {kTanh, 2},
      {kPad, 2},          {kTranspose, 2},       {kMean, 2},          {kSub, 2},          {kSqueeze, 1},
      {kStridedSlice, 2}, {kResizeNearest, 2},   {kRelu, 2},          {kRelu6, 2},        {kQuantize, 2}};
  const auto found = kVersions.find(code);
  return found == kVersions.end() ? 0 : found->second;
}

class TfliteSigner {
 public:
  explicit TfliteSigner(TfliteEdit& edit) : edit_(edit) {}

  int run() {
    if (!can_all()) return 0;
    const std::vector<TfliteOp> old = std::move(edit_.ops);
    edit_.ops.clear();
    for (const int input : edit_.inputs()) {
      if (is_u8(input)) convert(input, signed_of(input));
    }
    int changed = 0;
    for (TfliteOp op : old) {
      const bool is_meant = std::ranges::any_of(op.inputs, [&](int t) { return is_u8(t); }) ||
                            std::ranges::any_of(op.outputs, [&](int t) { return is_u8(t); });
      if (is_meant) rewrite(op), ++changed;
      edit_.ops.push_back(std::move(op));
    }
    for (const int output : edit_.outputs()) {
      if (is_u8(output)) convert(signed_of(output), output);
    }
    return changed;
  }

 private:
  bool is_u8(int tensor) const { return edit_.is_quantized(tensor) && edit_.tensor(tensor).dtype == DType::u8; }

  // A file is signed as a whole, or stays. The slow kernels are those of products.
  bool can_all() const {
    bool has_product = false;
    for (const TfliteOp& op : edit_.ops) {
      for (const auto& tensors : {op.inputs, op.outputs}) {
        for (const int tensor : tensors) {
          if (is_u8(tensor) && (version_with_s8(op.code) == 0 || !edit_.tensor(tensor).has_one_scale())) return false;
        }
      }
      const int weights = op.input(kWeightsIndex);
      if (!is_product(op) || !is_u8(weights)) continue;
      if (!edit_.is_constant(weights) || !is_u8(op.inputs[0])) return false;
      has_product = true;
    }
    return has_product;
  }

  void convert(int from, int to) {
    edit_.ops.push_back({.code = kQuantize, .version = 2, .inputs = {from}, .outputs = {to}});
  }

  // Activations, and constants of other operators than products: the same values.
  int signed_of(int tensor) {
    const auto known = signed_.find(tensor);
    if (known != signed_.end()) return known->second;
    const TfliteTensor old = edit_.tensor(tensor);
    const QuantParams quant{old.quant->scale, {old.quant->zero_point[0] - 128}};
    if (old.constant == nullptr) return signed_[tensor] = edit_.add_like(tensor, DType::s8, quant, "_s8");
    Tensor values(DType::s8, old.shape);
    for (std::int64_t i = 0; i < values.elements(); ++i)
      store_double(values.view(), i, element_as_double(old.constant->view(), i) - 128.0);
    return signed_[tensor] = edit_.add_constant(old.name + "_s8", std::move(values), quant);
  }

  void rewrite(TfliteOp& op) {
    op.version = std::max(op.version, version_with_s8(op.code));
    const float data_scale = is_product(op) ? edit_.tensor(op.inputs[0]).quant->scale[0] : 0.0f;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const bool is_weights = is_product(op) && i == kWeightsIndex;
      if (is_u8(op.inputs[i]) && !is_weights) op.inputs[i] = signed_of(op.inputs[i]);
    }
    for (int& result : op.outputs) {
      if (is_u8(result)) result = signed_of(result);
    }
    if (is_product(op)) sign_weights(op, data_scale);
  }

  // s8 weights have no zero point in the format: without it a channel may need a wider step, or fits as it is.
  void sign_weights(TfliteOp& op, float data_scale) {
    const TfliteTensor old = edit_.tensor(op.inputs[kWeightsIndex]);
    const float old_scale = old.quant->scale[0];
    Quantized made = weights_by_channel(reals_of(old), old.shape, channel_axis(op, old.shape), old_scale);
    const int bias = op.input(bias_index(op));
    if (edit_.is_constant(bias)) {
      std::vector<double> reals;
      const TfliteTensor sums = edit_.tensor(bias);
      for (std::int64_t i = 0; i < sums.constant->elements(); ++i)
        reals.push_back(element_as_double(sums.constant->view(), i) * double{data_scale} * double{old_scale});
      Quantized fitting = bias_in_sums(reals, data_scale, made.quant);
      op.inputs[bias_index(op)] =
          edit_.add_constant(sums.name + "_s8", std::move(fitting.values), std::move(fitting.quant));
    }
    op.inputs[kWeightsIndex] = edit_.add_constant(old.name + "_s8", std::move(made.values), std::move(made.quant));
  }

  TfliteEdit& edit_;
  std::map<int, int> signed_;
};

}  // namespace

std::vector<double> reals_of(const TfliteTensor& tensor) {
  std::vector<double> reals;
  std::int64_t inner = 1;
  const int axis = tensor.quant ? tensor.quant->axis : -1;
  for (int i = axis + 1; axis >= 0 && i < tensor.shape.rank(); ++i) inner *= tensor.shape[i];
  for (std::int64_t i = 0; i < tensor.constant->elements(); ++i) {
    const double stored = element_as_double(tensor.constant->view(), i);
    if (!tensor.is_quantized()) {
      reals.push_back(stored);
      continue;
    }
    const auto channel = axis < 0 ? 0 : static_cast<std::size_t>(i / inner % tensor.shape[axis]);
    reals.push_back((stored - tensor.quant->zero_point[channel]) * double{tensor.quant->scale[channel]});
  }
  return reals;
}

Quantized weights_by_channel(const std::vector<double>& reals, const Shape& shape, int axis, float least_scale) {
  std::int64_t inner = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  const auto channel_of = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<std::int64_t>(i) / inner % shape[axis]);
  };
  std::vector<double> most(static_cast<std::size_t>(shape[axis]), 0.0);
  for (std::size_t i = 0; i < reals.size(); ++i)
    most[channel_of(i)] = std::max(most[channel_of(i)], std::abs(reals[i]));
  Quantized made{Tensor(DType::s8, shape), {.axis = axis}};
  for (const double each : most) {
    const float scale = std::max(static_cast<float>(each / 127.0), least_scale);
    made.quant.scale.push_back(scale > 0.0f ? scale : 1.0f);
    made.quant.zero_point.push_back(0);
  }
  for (std::size_t i = 0; i < reals.size(); ++i)
    store_double(made.values.view(), static_cast<std::int64_t>(i), reals[i] / made.quant.scale[channel_of(i)]);
  return made;
}

Quantized bias_in_sums(const std::vector<double>& reals, float data_scale, const QuantParams& weights) {
  Quantized sums{Tensor(DType::s32, Shape{static_cast<std::int64_t>(reals.size())}), {}};
  for (const float weight_scale : weights.scale) {
    sums.quant.scale.push_back(data_scale * weight_scale);
    sums.quant.zero_point.push_back(0);
  }
  if (weights.scale.size() > 1) sums.quant.axis = 0;
  for (std::size_t i = 0; i < reals.size(); ++i)
    store_double(sums.values.view(), static_cast<std::int64_t>(i),
                 reals[i] / sums.quant.scale[weights.scale.size() == 1 ? 0 : i]);
  return sums;
}

int make_tflite_signed(TfliteEdit& edit) { return TfliteSigner(edit).run(); }

}  // namespace octavo::repair
