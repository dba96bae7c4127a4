// attention/ in portable C++. Part of kernels/.
#include "kernels/attention/generic.h"

namespace octavo {

constexpr AttentionFunctions kAttentionScalar = attention_functions<Scalar>();

}  // namespace octavo
