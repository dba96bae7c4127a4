// The table of TFLite operators: who reads which. Part of import/.
#ifndef OCTAVO_IMPORT_TFLITE_OPERATORS_H_
#define OCTAVO_IMPORT_TFLITE_OPERATORS_H_

#include <string>
#include <string_view>

#include "import/tflite/operator_reader.h"
#include "ops/list.h"

namespace octavo::tflite_import {

inline constexpr int kAnyNumber = 1 << 30;  // of inputs or outputs
inline constexpr int kCustomCode = 32;      // the code of operators that a file names by a string

struct OperatorEntry {
  int code;  // of the format
  std::string_view name;
  int min_inputs, max_inputs;
  int outputs;
  void (*read)(OperatorReader&);
};

// nullptr where Octavo does not read it.
const OperatorEntry* find_operator(int code);
// "CONV_2D" for what Octavo reads and for other known codes; "builtin 210" for
// those beyond.
std::string builtin_name(int code);

// ---- the readers, one file each ----
// activations.cpp
void read_unary(OperatorReader& in);
void read_leaky_relu(OperatorReader& in);
void read_prelu(OperatorReader& in);
// arithmetic.cpp
void read_add(OperatorReader& in);
void read_sub(OperatorReader& in);
void read_mul(OperatorReader& in);
void read_div(OperatorReader& in);
void read_extreme(OperatorReader& in);
// convolution.cpp
void read_conv(OperatorReader& in);
void read_depthwise_conv(OperatorReader& in);
void read_fully_connected(OperatorReader& in);
void read_transpose_conv(OperatorReader& in);
// blocks.cpp
void read_batch_to_space(OperatorReader& in);
void read_depth_to_space(OperatorReader& in);
void read_space_to_batch(OperatorReader& in);
void read_space_to_depth(OperatorReader& in);
// joining.cpp
void read_concat(OperatorReader& in);
void read_mirror_pad(OperatorReader& in);
void read_pack(OperatorReader& in);
void read_pad(OperatorReader& in);
void read_slice(OperatorReader& in);
void read_split(OperatorReader& in);
void read_split_v(OperatorReader& in);
void read_strided_slice(OperatorReader& in);
void read_unpack(OperatorReader& in);
// pooling.cpp
void read_average_pool(OperatorReader& in);
void read_max_pool(OperatorReader& in);
// quantization.cpp
void read_cast(OperatorReader& in);
void read_dequantize(OperatorReader& in);
void read_quantize(OperatorReader& in);
// reductions.cpp
void read_arg_extreme(OperatorReader& in);
void read_l2_normalization(OperatorReader& in);
void read_reduce(OperatorReader& in, ReduceKind kind);
template <ReduceKind kind>
void read_reduce(OperatorReader& in) {
  read_reduce(in, kind);
}
void read_softmax(OperatorReader& in);
// resizing.cpp
void read_resize_bilinear(OperatorReader& in);
void read_resize_nearest(OperatorReader& in);
// shaping.cpp
void read_expand_dims(OperatorReader& in);
void read_reshape(OperatorReader& in);
void read_shape(OperatorReader& in);
void read_squeeze(OperatorReader& in);
void read_transpose(OperatorReader& in);

}  // namespace octavo::tflite_import

#endif  // OCTAVO_IMPORT_TFLITE_OPERATORS_H_
