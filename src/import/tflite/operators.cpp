// The table of TFLite operators. Part of import/.
#include "import/tflite/operators.h"

#include <algorithm>
#include <array>

namespace octavo::tflite_import {
namespace {

// Sorted by code. Optional inputs are at the end: a bias, the shape of RESHAPE.
constexpr std::array kOperators = {
    OperatorEntry{0, "ADD", 2, 2, 1, read_add},
    OperatorEntry{1, "AVERAGE_POOL_2D", 1, 1, 1, read_average_pool},
    OperatorEntry{2, "CONCATENATION", 1, kAnyNumber, 1, read_concat},
    OperatorEntry{3, "CONV_2D", 2, 3, 1, read_conv},
    OperatorEntry{4, "DEPTHWISE_CONV_2D", 2, 3, 1, read_depthwise_conv},
    OperatorEntry{5, "DEPTH_TO_SPACE", 1, 1, 1, read_depth_to_space},
    OperatorEntry{6, "DEQUANTIZE", 1, 1, 1, read_dequantize},
    OperatorEntry{8, "FLOOR", 1, 1, 1, read_unary},
    OperatorEntry{9, "FULLY_CONNECTED", 2, 3, 1, read_fully_connected},
    OperatorEntry{11, "L2_NORMALIZATION", 1, 1, 1, read_l2_normalization},
    OperatorEntry{14, "LOGISTIC", 1, 1, 1, read_unary},
    OperatorEntry{17, "MAX_POOL_2D", 1, 1, 1, read_max_pool},
    OperatorEntry{18, "MUL", 2, 2, 1, read_mul},
    OperatorEntry{19, "RELU", 1, 1, 1, read_unary},
    OperatorEntry{20, "RELU_N1_TO_1", 1, 1, 1, read_unary},
    OperatorEntry{21, "RELU6", 1, 1, 1, read_unary},
    OperatorEntry{22, "RESHAPE", 1, 2, 1, read_reshape},
    OperatorEntry{23, "RESIZE_BILINEAR", 2, 2, 1, read_resize_bilinear},
    OperatorEntry{25, "SOFTMAX", 1, 1, 1, read_softmax},
    OperatorEntry{26, "SPACE_TO_DEPTH", 1, 1, 1, read_space_to_depth},
    OperatorEntry{28, "TANH", 1, 1, 1, read_unary},
    OperatorEntry{34, "PAD", 2, 2, 1, read_pad},
    OperatorEntry{37, "BATCH_TO_SPACE_ND", 3, 3, 1, read_batch_to_space},
    OperatorEntry{38, "SPACE_TO_BATCH_ND", 3, 3, 1, read_space_to_batch},
    OperatorEntry{39, "TRANSPOSE", 2, 2, 1, read_transpose},
    OperatorEntry{40, "MEAN", 2, 2, 1, read_reduce<ReduceKind::mean>},
    OperatorEntry{41, "SUB", 2, 2, 1, read_sub},
    OperatorEntry{42, "DIV", 2, 2, 1, read_div},
    OperatorEntry{43, "SQUEEZE", 1, 1, 1, read_squeeze},
    OperatorEntry{45, "STRIDED_SLICE", 4, 4, 1, read_strided_slice},
    OperatorEntry{47, "EXP", 1, 1, 1, read_unary},
    OperatorEntry{49, "SPLIT", 2, 2, kAnyNumber, read_split},
    OperatorEntry{53, "CAST", 1, 1, 1, read_cast},
    OperatorEntry{54, "PRELU", 2, 2, 1, read_prelu},
    OperatorEntry{55, "MAXIMUM", 2, 2, 1, read_extreme},
    OperatorEntry{56, "ARG_MAX", 2, 2, 1, read_arg_extreme},
    OperatorEntry{57, "MINIMUM", 2, 2, 1, read_extreme},
    OperatorEntry{59, "NEG", 1, 1, 1, read_unary},
    OperatorEntry{60, "PADV2", 3, 3, 1, read_pad},
    OperatorEntry{65, "SLICE", 3, 3, 1, read_slice},
    OperatorEntry{66, "SIN", 1, 1, 1, read_unary},
    OperatorEntry{67, "TRANSPOSE_CONV", 3, 4, 1, read_transpose_conv},
    OperatorEntry{70, "EXPAND_DIMS", 2, 2, 1, read_expand_dims},
    OperatorEntry{73, "LOG", 1, 1, 1, read_unary},
    OperatorEntry{74, "SUM", 2, 2, 1, read_reduce<ReduceKind::sum>},
    OperatorEntry{75, "SQRT", 1, 1, 1, read_unary},
    OperatorEntry{77, "SHAPE", 1, 1, 1, read_shape},
    OperatorEntry{79, "ARG_MIN", 2, 2, 1, read_arg_extreme},
    OperatorEntry{81, "REDUCE_PROD", 2, 2, 1, read_reduce<ReduceKind::prod>},
    OperatorEntry{82, "REDUCE_MAX", 2, 2, 1, read_reduce<ReduceKind::max>},
    OperatorEntry{83, "PACK", 1, kAnyNumber, 1, read_pack},
    OperatorEntry{88, "UNPACK", 1, 1, kAnyNumber, read_unpack},
    OperatorEntry{89, "REDUCE_MIN", 2, 2, 1, read_reduce<ReduceKind::min>},
    OperatorEntry{97, "RESIZE_NEAREST_NEIGHBOR", 2, 2, 1, read_resize_nearest},
    OperatorEntry{98, "LEAKY_RELU", 1, 1, 1, read_leaky_relu},
    OperatorEntry{100, "MIRROR_PAD", 2, 2, 1, read_mirror_pad},
    OperatorEntry{101, "ABS", 1, 1, 1, read_unary},
    OperatorEntry{102, "SPLIT_V", 3, 3, kAnyNumber, read_split_v},
    OperatorEntry{104, "CEIL", 1, 1, 1, read_unary},
    OperatorEntry{108, "COS", 1, 1, 1, read_unary},
    OperatorEntry{111, "ELU", 1, 1, 1, read_unary},
    OperatorEntry{114, "QUANTIZE", 1, 1, 1, read_quantize},
    OperatorEntry{116, "ROUND", 1, 1, 1, read_unary},
    OperatorEntry{117, "HARD_SWISH", 1, 1, 1, read_unary},
    OperatorEntry{152, "RELU_0_TO_1", 1, 1, 1, read_unary},
    OperatorEntry{158, "SIGN", 1, 1, 1, read_unary},
};
static_assert(std::is_sorted(kOperators.begin(), kOperators.end(),
                             [](const auto& a, const auto& b) { return a.code < b.code; }));

}  // namespace

const OperatorEntry* find_operator(int code) {
  const auto entry = std::lower_bound(kOperators.begin(), kOperators.end(), code,
                                      [](const OperatorEntry& a, int wanted) { return a.code < wanted; });
  return entry == kOperators.end() || entry->code != code ? nullptr : &*entry;
}

}  // namespace octavo::tflite_import
