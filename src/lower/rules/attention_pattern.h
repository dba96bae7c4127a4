// Attention that exporters write as products around a softmax. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_ATTENTION_PATTERN_H_
#define OCTAVO_LOWER_RULES_ATTENTION_PATTERN_H_

#include <string_view>

#include "graph/patch.h"

namespace octavo {

// matmul(softmax(f(q k^T)), v) becomes attention of one head, its leading axes the batch, where f is any order of
//   products with scalar constants, also of q and k; next to q k^T one with a constant for each matrix, which q takes
//   additions of masks
//   where(condition, scores, fill) with a fill of -inf, or of -2^60 and less: added to scores it is itself
//   reshapes of leading axes
// and the probabilities may pass through where(is_nan(p), 0, p): rows in which no key takes part are 0 either way.
// Exact in real numbers; without that guard such rows are 0 instead of NaN. Scores or probabilities that others read
// stay, and so do products whose operands are quantized: these have integer forms of their own. Reasons begin with
// kNoAttention; the softmax is told them, too.
inline constexpr std::string_view kNoAttention = "no attention: ";
Match attention_pattern(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_ATTENTION_PATTERN_H_
