// Which of LiteRT's kernels computes an operator. Part of import/.
#include "import/tflite/computed_by.h"

#include <algorithm>
#include <cmath>

#include "base/requantize.h"

namespace octavo::tflite_import {
namespace {

struct Quantization {
  DType dtype = DType::u8;
  float scale = 1.0f;
  std::int64_t zero_point = 0;
};

// Of a tensor of bytes with one scale.
std::optional<Quantization> quantization(const FileTensor& tensor) {
  if (!is_8bit(tensor.dtype) || !tensor.quant || tensor.quant->scale.empty()) return std::nullopt;
  return Quantization{tensor.dtype, tensor.quant->scale[0], tensor.quant->zero_point[0]};
}

// x's scale by the result's, where both are bytes of one type.
std::optional<float> ratio_of(const OperatorReader& in, int input) {
  const auto x = quantization(in.tensor(input)), y = quantization(in.output_tensor(0));
  if (!x || !y || x->dtype != y->dtype) return std::nullopt;
  return x->scale / y->scale;
}

// ---- what XNNPACK's delegate takes ----

bool takes_nothing(const OperatorReader&) { return false; }

bool takes_sum(const OperatorReader& in) {
  const auto fits = [&](int input) {
    const auto ratio = ratio_of(in, input);
    return !ratio || IntegerAddForm::is_ratio(*ratio);
  };
  return fits(0) && fits(1);
}

bool takes_product(const OperatorReader& in) {
  const auto a = quantization(in.tensor(0)), b = quantization(in.tensor(1)), y = quantization(in.output_tensor(0));
  if (!a || !b || !y) return true;
  const float ratio = a->scale * b->scale / y->scale;
  return ratio >= 0x1p-16f && ratio < 0x1p8f;
}

bool takes_conversion(const OperatorReader& in) {
  if (!is_8bit(in.tensor(0).dtype)) return true;
  const auto ratio = ratio_of(in, 0);
  return ratio && *ratio >= 0x1p-8f && *ratio <= 0x1p7f;
}

bool takes_leaky_relu(const OperatorReader& in) {
  const auto ratio = ratio_of(in, 0);
  const auto* given = in.options<file::LeakyReluOptions>();
  if (!ratio || given == nullptr) return true;
  const float below = *ratio * given->alpha();
  return *ratio >= 0x1p-8f && *ratio <= 0x1p7f && std::abs(below) >= 0x1p-8f && below <= 0x1p7f && below > -0x1p7f;
}

// Nor does XNNPACK take weights of bytes that an operator makes.
bool takes_conv(const OperatorReader& in) { return in.tensor(1).constant != nullptr || !is_8bit(in.tensor(0).dtype); }

// One scale of u8 weights that is said to lie along another axis than the first.
bool takes_depthwise(const OperatorReader& in) {
  return takes_conv(in) && (in.tensor(0).dtype != DType::u8 || in.tensor(1).scale_axis == 0);
}

bool takes_fully_connected(const OperatorReader& in) { return in.tensor(1).constant != nullptr; }

bool takes_batch_matmul(const OperatorReader& in) {
  const auto b = quantization(in.tensor(1));
  return !b || b->zero_point == 0;
}

struct KernelRule {
  std::string_view name;
  bool (*is_xnnpacks)(const OperatorReader&);
  Profile optimized = Profile::tflite_double;  // of LiteRT's default kernel, where XNNPACK does not take it
  Profile reference = Profile::tflite_double;  // of its reference kernel
};

// In alphabetical order. What is not here is XNNPACK's, has one formula in all profiles, or rounds nothing.
constexpr KernelRule kKernelRules[] = {
    {"ABS", takes_nothing},
    {"ADD", takes_sum},
    {"AVERAGE_POOL_2D", takes_nothing},
    {"BATCH_MATMUL", takes_batch_matmul},
    {"CONV_2D", takes_conv},
    {"DEPTHWISE_CONV_2D", takes_depthwise},
    {"DIV", takes_nothing},
    {"EXP", takes_nothing},
    {"FULLY_CONNECTED", takes_fully_connected, Profile::tflite_optimized, Profile::tflite_real},
    {"GELU", takes_nothing},
    {"HARD_SWISH", takes_nothing},
    {"L2_NORMALIZATION", takes_nothing},
    {"LEAKY_RELU", takes_leaky_relu},
    {"LOG", takes_nothing},
    {"MUL", takes_product},
    {"NEG", takes_nothing},
    {"PRELU", takes_nothing},
    {"QUANTIZE", takes_conversion, Profile::tflite_optimized},
    {"RELU", takes_nothing},
    {"RELU6", takes_nothing},
    {"RELU_0_TO_1", takes_nothing},
    {"RELU_N1_TO_1", takes_nothing},
    {"RSQRT", takes_nothing},
    {"SQRT", takes_nothing},
    {"SQUARED_DIFFERENCE", takes_nothing},
    {"SUB", takes_sum},
};

const KernelRule* rule_of(std::string_view name) {
  const auto* found = std::lower_bound(std::begin(kKernelRules), std::end(kKernelRules), name,
                                       [](const KernelRule& rule, std::string_view key) { return rule.name < key; });
  return found != std::end(kKernelRules) && found->name == name ? found : nullptr;
}

// ---- s16, of which XNNPACK takes nothing ----

// The type of a convolution's sums is that of its bias.
bool has_s32_bias(const OperatorReader& in, int bias) { return in.has(bias) && in.tensor(bias).dtype == DType::s32; }

Profile s16_conv(const OperatorReader& in, Profile file, bool is_optimized) {
  if (!has_s32_bias(in, in.type() == "TRANSPOSE_CONV" ? 3 : 2)) return Profile::tflite_wide;
  if (file != Profile::tflite_xnnpack) return file;
  return is_optimized ? Profile::tflite_optimized : Profile::tflite_double;
}

// Its optimised kernel has no sums of 64 bits; the reference one multiplies in f64. A runtime for microcontrollers has
// sums of 64 bits.
Profile s16_product(const OperatorReader& in, Profile file) {
  const bool is_wide = in.has(2) && !has_s32_bias(in, 2);
  if (file == Profile::tflite_single) return Profile::tflite_wide;
  return file == Profile::tflite_double || is_wide ? Profile::tflite_real : Profile::tflite_optimized;
}

Profile s16_computed_by(const OperatorReader& in, Profile file) {
  const std::string& type = in.type();
  const auto inner = [&](int input) {
    const Shape& shape = in.tensor(input).shape;
    return shape.rank() == 0 ? 0 : shape[shape.rank() - 1];
  };
  if (type == "CONV_2D") return s16_conv(in, file, inner(0) == inner(1));  // groups: the reference kernel
  if (type == "DEPTHWISE_CONV_2D") return s16_conv(in, file, true);
  // The optimised kernel rounds eight channels at a time; those that are left, fewer than eight, as the reference
  // kernel.
  if (type == "TRANSPOSE_CONV") return s16_conv(in, file, in.tensor(1).shape.rank() > 0 && in.tensor(1).shape[0] >= 8);
  if (type == "FULLY_CONNECTED") return s16_product(in, file);
  if (type == "BATCH_MATMUL") return Profile::tflite_wide;
  if (file != Profile::tflite_xnnpack || type == "SUM") return file;  // by default SUM is in floats
  return type == "LOGISTIC" || type == "TANH" ? Profile::tflite_optimized : Profile::tflite_double;
}

}  // namespace

Profile computed_by(const OperatorReader& in, Profile file) {
  if (!is_of_tflite(file)) return file;
  if (in.output_tensor(0).dtype == DType::s16 && in.tensor(0).dtype != DType::f32) return s16_computed_by(in, file);
  if (!is_8bit(in.output_tensor(0).dtype)) return file;
  if (in.type() == "CONCATENATION") return Profile::tflite_joined;
  const KernelRule* rule = rule_of(in.type());
  if (rule == nullptr || (file == Profile::tflite_xnnpack && rule->is_xnnpacks(in))) return file;
  if (file == Profile::tflite_xnnpack) return rule->optimized;
  // Runtimes for microcontrollers round once wherever the reference kernels round twice, and FULLY_CONNECTED, too.
  return file == Profile::tflite_double ? rule->reference : file;
}

}  // namespace octavo::tflite_import
