// Pieces that readers of several operators build from. Part of import/.
#ifndef OCTAVO_IMPORT_PT2_PARTS_H_
#define OCTAVO_IMPORT_PT2_PARTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/pt2/node_reader.h"
#include "ops/window.h"

namespace octavo::pt2_import {

// "relu" of "aten.relu_.default".
std::string base_name(const std::string& target);

// convolution.cpp: a list with one number per spatial axis; a single one stands for all.
std::vector<std::int64_t> per_axis(NodeReader& in, std::string_view name, std::size_t rank, std::int64_t fallback);

// quantization.cpp: the node as quantization written out in single operators; nothing where it is something else.
// A cast to 8 bits of clamp(round(x * inverse) + zero_point, lowest, highest).
std::optional<ValueId> quantize_of_cast(NodeReader& in, ValueId clamped, DType to);
// (real(q) - zero_point) * scale.
std::optional<ValueId> dequantize_of_product(NodeReader& in, ValueId difference, ValueId scale);

}  // namespace octavo::pt2_import

#endif  // OCTAVO_IMPORT_PT2_PARTS_H_
