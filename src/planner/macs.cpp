// Counts multiply-accumulates. Part of planner/.
#include "planner/macs.h"

#include <limits>

namespace octavo {

std::int64_t macs_of(const OpCall& call) {
  return call.outputs.empty() ? 0 : macs_of(*call.spec, *call.attrs, call.inputs, call.outputs[0].shape);
}

std::int64_t saturating_sum(std::int64_t sum, std::int64_t macs, std::int64_t calls) {
  const std::int64_t room = std::numeric_limits<std::int64_t>::max() - sum;
  return macs > room / calls ? std::numeric_limits<std::int64_t>::max() : sum + macs * calls;
}

}  // namespace octavo
