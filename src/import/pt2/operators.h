// The tables of ATen operators: which are read, and how. A table stands at the end of the file that has its readers.
// Part of import/.
#ifndef OCTAVO_IMPORT_PT2_OPERATORS_H_
#define OCTAVO_IMPORT_PT2_OPERATORS_H_

#include <optional>
#include <span>
#include <string_view>

#include "import/pt2/node_reader.h"

namespace octavo::pt2_import {

struct Operator {
  // "aten.add" and "Scalar Tensor" for aten.add.Scalar and aten.add.Tensor. Forms that write in place (aten.relu_) and
  // copies of what is a view otherwise (aten.permute_copy) are found by them too.
  std::string_view name, overloads;
  Aliasing aliasing;
  ValueId (*read)(NodeReader&);  // gives the first result; sets others itself
};

extern const std::span<const Operator> kConstants, kCore, kElementwise, kImages, kIntegerProducts, kProducts,
    kQuantized, kQuantizedInRun, kRecurrent, kSelection, kShaping;

// Sorted by name.
std::span<const Operator> all_operators();

// The reader of a target like "aten.relu.default", with what it does to memory in this form. No reader: Octavo has
// none.
Operator find_operator(std::string_view target);

// run_quantization.cpp: quantize_per_tensor and dequantize_per_tensor by a scale that choose_qparams found.
ValueId quantize_in_run(NodeReader& in);
ValueId dequantize_in_run(NodeReader& in);
// Likewise of torchao's quantize_affine and dequantize_affine.
ValueId quantize_blocks_in_run(NodeReader& in);
ValueId dequantize_blocks_in_run(NodeReader& in);
// The numbers that its bytes stand for, in the shape of x or of its rows; x itself where the model runs in floats.
ValueId real_of(NodeReader& in, const RunQuantized& known);

// integer_products.cpp: f32(sums) * scale * weight_scale, where the sums are those of _int_mm, as the product of what
// its operands stand for; nothing where it is something else.
std::optional<ValueId> product_of_scaled_sums(NodeReader& in, ValueId scaled, ValueId weight_scale);

// quantization.cpp: the node as quantization written out in single operators; nothing where it is something else.
// A cast to 8 bits of clamp(round(x * inverse) + zero_point, lowest, highest).
std::optional<ValueId> quantize_of_cast(NodeReader& in, ValueId clamped, DType to);
// (real(q) - zero_point) * scale.
std::optional<ValueId> dequantize_of_product(NodeReader& in, ValueId difference, ValueId scale);

}  // namespace octavo::pt2_import

#endif  // OCTAVO_IMPORT_PT2_OPERATORS_H_
