// The table of ATen operators: who reads which. Part of import/.
#ifndef OCTAVO_IMPORT_PT2_OPERATORS_H_
#define OCTAVO_IMPORT_PT2_OPERATORS_H_

#include <span>
#include <string>
#include <string_view>

#include "import/pt2/node_reader.h"
#include "ops/list.h"

namespace octavo::pt2_import {

struct Operator {
  std::string_view target;  // "aten.relu.default"; forms that write in place ("aten.relu_.default") are found by it too
  Aliasing aliasing;
  void (*read)(NodeReader&);
};

// Sorted by target.
std::span<const Operator> all_operators();

// The reader of a target; `aliasing` says in_place for forms that write in place. No reader: Octavo has none.
Operator find_operator(const std::string& target);

// ---- the readers, one file each ----
// activations.cpp
void read_clamp(NodeReader& in);
void read_gelu(NodeReader& in);
void read_hardtanh(NodeReader& in);
void read_softplus(NodeReader& in);
void read_unary(NodeReader& in);
// arithmetic.cpp
void read_binary(NodeReader& in, BinaryKind kind);
template <BinaryKind kind>
void read_binary(NodeReader& in) {
  read_binary(in, kind);
}
void read_prelu(NodeReader& in);
void read_rsqrt(NodeReader& in);
void read_where(NodeReader& in);
// casts.cpp
void read_cast(NodeReader& in);
void read_check(NodeReader& in);
void read_dropout(NodeReader& in);
void read_identity(NodeReader& in);
void read_type_as(NodeReader& in);
// convolution.cpp
void read_conv(NodeReader& in);
void read_convolution(NodeReader& in);
// joining.cpp
void read_cat(NodeReader& in);
void read_chunk(NodeReader& in);
void read_pad(NodeReader& in);
void read_select(NodeReader& in);
void read_slice(NodeReader& in);
void read_split(NodeReader& in);
void read_stack(NodeReader& in);
void read_unbind(NodeReader& in);
// matmul.cpp
void read_addmm(NodeReader& in);
void read_linear(NodeReader& in);
void read_matmul(NodeReader& in);
// normalization.cpp
void read_batch_norm(NodeReader& in);
void read_layer_norm(NodeReader& in);
void read_softmax(NodeReader& in);
// pooling.cpp
void read_adaptive_average_pool(NodeReader& in);
void read_average_pool(NodeReader& in);
void read_max_pool(NodeReader& in);
// quantization.cpp
void read_dequantize(NodeReader& in);
void read_quantize(NodeReader& in);
// reductions.cpp
void read_argmax(NodeReader& in);
void read_reduce(NodeReader& in);
// resizing.cpp
void read_upsample(NodeReader& in);
// shaping.cpp
void read_as_strided(NodeReader& in);
void read_channel_shuffle(NodeReader& in);
void read_expand(NodeReader& in);
void read_flatten(NodeReader& in);
void read_permute(NodeReader& in);
void read_repeat(NodeReader& in);
void read_reshape(NodeReader& in);
void read_squeeze(NodeReader& in);
void read_transpose(NodeReader& in);
void read_unflatten(NodeReader& in);
void read_unsqueeze(NodeReader& in);
// sizes.cpp
void read_size(NodeReader& in);
void read_size_arithmetic(NodeReader& in);

}  // namespace octavo::pt2_import

#endif  // OCTAVO_IMPORT_PT2_OPERATORS_H_
