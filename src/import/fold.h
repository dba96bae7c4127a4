// Constant folding at import: shape arithmetic and reshaped weights become constants. Part of import/.
#ifndef OCTAVO_IMPORT_FOLD_H_
#define OCTAVO_IMPORT_FOLD_H_

#include <cstdint>
#include <vector>

#include "graph/op.h"

namespace octavo {

// True for operators whose work is proportional to their elements. Dequantization is not among them: the integers must stay visible.
bool is_foldable(const OpSpec& spec);

// The outputs of an operator whose inputs are all constant (nullptr: left out), by its reference. Empty where that would take more
// elements than `budget` still allows; the budget is taken down otherwise.
std::vector<Tensor> fold(const OpSpec& spec, const Attrs& attrs, InputFacts inputs, const std::vector<Fact>& outputs, std::int64_t& budget);

}  // namespace octavo

#endif  // OCTAVO_IMPORT_FOLD_H_
