// What recurrence, full_lstm and fixed_lstm ask alike of their cells. Part of ops/.
#ifndef OCTAVO_OPS_LSTM_H_
#define OCTAVO_OPS_LSTM_H_

#include <string_view>

#include "ops/check.h"
#include "ops/unary/unary.h"

namespace octavo {

// A function of floats that gives floats.
Problem check_cell_function(std::string_view what, const UnaryAttrs& function);

// w [gates, H, I] and r [gates, H, P] of an LSTM with 3 or 4 gates; without a projection there is no bias of one, and P
// is H. Of both the ranks are known to be 3.
Problem check_lstm(const Fact& w, const Fact& r, const Fact* projection, const Fact* projection_bias);

}  // namespace octavo

#endif  // OCTAVO_OPS_LSTM_H_
