// Pieces that readers of several operators build from. Part of import/.
#ifndef OCTAVO_IMPORT_ONNX_PARTS_H_
#define OCTAVO_IMPORT_ONNX_PARTS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "import/onnx/node_reader.h"
#include "ops/list.h"

namespace octavo::onnx_import {

// convolution.cpp: with the attributes of Conv.
ValueId add_conv(NodeReader& in, ValueId x, ValueId w, ValueId bias, std::string_view suffix);

// matmul.cpp: the other way round; a transposed dequantized constant stays a dequantized constant. `x` has rank 2.
ValueId transpose_matrix(NodeReader& in, ValueId x, std::string_view suffix);
// a · b · alpha, with transA, transB and alpha of Gemm.
ValueId add_gemm_product(NodeReader& in, ValueId a, ValueId b, std::string_view suffix);

// normalization.cpp: Softmax with `axis` as of opset 13, or over all axes from `axis` on as before.
enum class SoftmaxExtent { one_axis, all_from_axis };
ValueId add_softmax(NodeReader& in, SoftmaxKind kind, SoftmaxExtent extent, ValueId x, std::int64_t axis,
                    std::string_view suffix);

// pooling.cpp: with the attributes of AveragePool; the mean over all spatial axes.
ValueId add_average_pool(NodeReader& in, ValueId x, Layout layout, std::string_view suffix);
ValueId add_global_pool(NodeReader& in, ReduceKind kind, Layout layout, ValueId x, std::string_view suffix);

// quantization.cpp: a tensor of one element becomes a scalar: per-tensor parameters come in either form.
ValueId scalar_if_single(NodeReader& in, ValueId x, std::string_view suffix);
// Scale and zero point (which may be left out) at these inputs, checked.
struct Quantization {
  ValueId scale, zero_point;
  bool is_per_tensor = true;
};
Quantization read_quantization(NodeReader& in, int scale, int zero_point, std::string_view name);
// Axis: of the scales where they are not per tensor.
ValueId add_dequantize(NodeReader& in, ValueId x, const Quantization& from, std::int64_t axis, std::string_view suffix);
ValueId add_quantize(NodeReader& in, ValueId x, const Quantization& to, DType type, std::int64_t axis,
                     std::string_view suffix);

}  // namespace octavo::onnx_import

#endif  // OCTAVO_IMPORT_ONNX_PARTS_H_
