// The table of ONNX operators: who reads which, from which opset on. Part of import/.
#ifndef OCTAVO_IMPORT_ONNX_OPERATORS_H_
#define OCTAVO_IMPORT_ONNX_OPERATORS_H_

#include <span>
#include <string_view>

#include "import/onnx/node_reader.h"
#include "ops/list.h"

namespace octavo::onnx_import {

inline constexpr int kOldestOpset = 7;
inline constexpr int kNewestOpset = 27;
inline constexpr int kAnyNumber = 1 << 30;  // of inputs

struct Operator {
  std::string_view domain;  // empty: the standard
  std::string_view name;
  int since, until;  // opsets
  int min_inputs, max_inputs;
  void (*read)(NodeReader&);
};

// Sorted by domain and name.
std::span<const Operator> all_operators();

// What each kind of quantized model is told by.
enum class Family { plain, qdq, qoperator, dynamic };
Family family_of(std::string_view name);

// ---- the readers, one file each ----
// activations.cpp
void read_clip(NodeReader& in);
void read_gelu(NodeReader& in);
void read_unary(NodeReader& in);
// arithmetic.cpp
void read_binary(NodeReader& in, BinaryKind kind);
template <BinaryKind kind>
void read_binary(NodeReader& in) {
  read_binary(in, kind);
}
void read_mean(NodeReader& in);
void read_mod(NodeReader& in);
void read_pow(NodeReader& in);
void read_prelu(NodeReader& in);
void read_variadic(NodeReader& in, BinaryKind kind);
template <BinaryKind kind>
void read_variadic(NodeReader& in) {
  read_variadic(in, kind);
}
void read_where(NodeReader& in);
// casts.cpp
void read_cast(NodeReader& in);
void read_cast_like(NodeReader& in);
void read_identity(NodeReader& in);
// constants.cpp
void read_constant(NodeReader& in);
void read_constant_of_shape(NodeReader& in);
void read_range(NodeReader& in);
void read_shape(NodeReader& in);
void read_size(NodeReader& in);
// convolution.cpp
void read_conv(NodeReader& in);
void read_conv_integer(NodeReader& in);
void read_fused_conv(NodeReader& in);
// joining.cpp
void read_concat(NodeReader& in);
void read_gather(NodeReader& in);
void read_pad(NodeReader& in);
void read_slice(NodeReader& in);
void read_split(NodeReader& in);
// matmul.cpp
void read_gemm(NodeReader& in);
void read_matmul(NodeReader& in);
void read_matmul_integer(NodeReader& in);
// normalization.cpp
void read_batch_norm(NodeReader& in);
void read_dropout(NodeReader& in);
void read_layer_norm(NodeReader& in);
void read_lrn(NodeReader& in);
void read_softmax(NodeReader& in);
// pooling.cpp
void read_average_pool(NodeReader& in);
void read_global_pool(NodeReader& in);
void read_max_pool(NodeReader& in);
// qlinear.cpp
void read_qgemm(NodeReader& in);
void read_qlinear_average_pool(NodeReader& in);
void read_qlinear_binary(NodeReader& in);
void read_qlinear_concat(NodeReader& in);
void read_qlinear_conv(NodeReader& in);
void read_qlinear_global_average_pool(NodeReader& in);
void read_qlinear_matmul(NodeReader& in);
void read_qlinear_softmax(NodeReader& in);
void read_qlinear_unary(NodeReader& in);
// quantization.cpp
void read_dequantize(NodeReader& in);
void read_dynamic_quantize(NodeReader& in);
void read_quantize(NodeReader& in);
// reductions.cpp
void read_argmax(NodeReader& in);
void read_reduce(NodeReader& in, ReduceKind kind);
template <ReduceKind kind>
void read_reduce(NodeReader& in) {
  read_reduce(in, kind);
}
// resizing.cpp
void read_resize(NodeReader& in);
void read_upsample(NodeReader& in);
// shaping.cpp
void read_depth_to_space(NodeReader& in);
void read_expand(NodeReader& in);
void read_flatten(NodeReader& in);
void read_reshape(NodeReader& in);
void read_space_to_depth(NodeReader& in);
void read_squeeze(NodeReader& in);
void read_tile(NodeReader& in);
void read_transpose(NodeReader& in);
void read_unsqueeze(NodeReader& in);

}  // namespace octavo::onnx_import

#endif  // OCTAVO_IMPORT_ONNX_OPERATORS_H_
