// The tables of ONNX operators: which are read, from which opset on, and how. A table stands at the end of the file
// that has its readers. Part of import/.
#ifndef OCTAVO_IMPORT_ONNX_OPERATORS_H_
#define OCTAVO_IMPORT_ONNX_OPERATORS_H_

#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>

#include "import/onnx/node_reader.h"

namespace octavo::onnx_import {

inline constexpr int kOldestOpset = 7;
inline constexpr int kNewestOpset = 28;

struct Operator {
  std::string_view name;  // with its domain where that is not the standard: "com.microsoft.QGemm"
  int since;              // opset
  int min_inputs, max_inputs;
  ValueId (*read)(NodeReader&);  // gives output 0; sets others itself
  int until = kNewestOpset;
};

extern const std::span<const Operator> kCounted, kDecoding, kElementwise, kImages, kLosses, kMicrosoftAttention,
    kOptimised, kProducts, kQonnx, kQuantized, kRandom, kRecurrent, kSampling, kSelection, kShaping, kSignals,
    kTransformers;

// All of them, sorted by name.
std::span<const Operator> all_operators();

// What each kind of quantized model is told by.
enum class Family { plain, qdq, qoperator, dynamic };
Family family_of(std::string_view name);

// ---- what readers of several files build from ----

// images.cpp: strides, dilations, pads and auto_pad of convolutions and pools.
WindowArgs read_window(NodeReader& in);
// With the attributes of Conv, or of AveragePool.
ConvArgs read_conv_args(NodeReader& in, ValueId x, ValueId w, ValueId bias);
PoolArgs read_pool_args(NodeReader& in, ValueId x, Layout layout = Layout::channels_first);

// products.cpp: a · b · alpha, with transA, transB and alpha of Gemm.
ValueId gemm_product(NodeReader& in, ValueId a, ValueId b, std::string_view suffix);
// The product, and beta · c where there is a c.
ValueId gemm(NodeReader& in, std::string_view suffix);
// Softmax along one axis, or over all axes from it on as before opset 13.
ValueId softmax_of(NodeReader& in, ValueId x, bool is_along_one_axis, const Number& axis, SoftmaxKind kind,
                   std::string_view suffix);

// transformers.cpp: how wide a head is whose operand has so many columns; 0 and an error where these do not divide.
std::int64_t columns_of_head(NodeReader& in, const Dim& columns, const Number& heads, std::string_view input);
Dim columns_of(NodeReader& in, ValueId x);
// Errors where one of these outputs is asked for.
void refuse_outputs(NodeReader& in, std::initializer_list<std::pair<int, std::string_view>> names,
                    std::string_view why);

// quantized.cpp: a tensor of one element becomes a scalar: per-tensor parameters come in either form.
ValueId scalar_if_single(NodeReader& in, ValueId x, std::string_view suffix);
// A tensor with one scale, whose scale and zero point are inputs of their own.
ValueId dequantized_input(NodeReader& in, int index, int scale, int zero_point, const std::string& name);
// Inputs of a product of the integers at inputs 0 and 1; scales of the second may be per column. Zero points and bias
// may be left out.
struct IntegerInputs {
  int bias = 0, a_scale = 0, b_scale = 0, a_zero_point = 0, b_zero_point = 0;
};
// f32(sum of (a - a_zero) * (b - b_zero)) * (a_scale * b_scale) + bias.
ValueId product_of_integers(NodeReader& in, const IntegerInputs& at, std::string_view suffix);

}  // namespace octavo::onnx_import

#endif  // OCTAVO_IMPORT_ONNX_OPERATORS_H_
