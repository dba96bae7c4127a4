// The list of operators: one line each. Everything that needs "all operators" starts here. Part of ops/.
#ifndef OCTAVO_OPS_LIST_H_
#define OCTAVO_OPS_LIST_H_

#include <span>
#include <string_view>

#include "ops/argmax/argmax.h"
#include "ops/attention/attention.h"
#include "ops/average_pool/average_pool.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/binary/binary.h"
#include "ops/cast/cast.h"
#include "ops/channel_table/channel_table.h"
#include "ops/compress/compress.h"
#include "ops/concat/concat.h"
#include "ops/conv/conv.h"
#include "ops/conv_integer/conv_integer.h"
#include "ops/conv_transpose/conv_transpose.h"
#include "ops/dequantize/dequantize.h"
#include "ops/dynamic_quantize/dynamic_quantize.h"
#include "ops/dynamic_slice/dynamic_slice.h"
#include "ops/expand/expand.h"
#include "ops/fixed_l2_norm/fixed_l2_norm.h"
#include "ops/fixed_lstm/fixed_lstm.h"
#include "ops/float_depthwise/float_depthwise.h"
#include "ops/full_lstm/full_lstm.h"
#include "ops/fused_conv/fused_conv.h"
#include "ops/gather/gather.h"
#include "ops/gather_elements/gather_elements.h"
#include "ops/hybrid_conv/hybrid_conv.h"
#include "ops/integer_resize/integer_resize.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/lrn/lrn.h"
#include "ops/matmul/matmul.h"
#include "ops/matmul_integer/matmul_integer.h"
#include "ops/max_pool/max_pool.h"
#include "ops/non_max_suppression/non_max_suppression.h"
#include "ops/nonzero/nonzero.h"
#include "ops/pad/pad.h"
#include "ops/quantize/quantize.h"
#include "ops/quantized_attention/quantized_attention.h"
#include "ops/quantized_conv/quantized_conv.h"
#include "ops/quantized_elementwise/quantized_elementwise.h"
#include "ops/quantized_layer_norm/quantized_layer_norm.h"
#include "ops/quantized_matmul/quantized_matmul.h"
#include "ops/quantized_pool/quantized_pool.h"
#include "ops/quantized_softmax/quantized_softmax.h"
#include "ops/recurrence/recurrence.h"
#include "ops/reduce/reduce.h"
#include "ops/reshape/reshape.h"
#include "ops/resize/resize.h"
#include "ops/row_quantize/row_quantize.h"
#include "ops/row_requantize/row_requantize.h"
#include "ops/slice/slice.h"
#include "ops/softmax/softmax.h"
#include "ops/table/table.h"
#include "ops/transpose/transpose.h"
#include "ops/unary/unary.h"
#include "ops/unique/unique.h"
#include "ops/where/where.h"

namespace octavo {

// Sorted by name.
std::span<const OpSpec* const> all_ops();

// nullptr where there is none of that name.
const OpSpec* find_op(std::string_view name);

}  // namespace octavo

#endif  // OCTAVO_OPS_LIST_H_
