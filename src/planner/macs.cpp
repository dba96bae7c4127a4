// Counts multiply-accumulates. Part of planner/.
#include "planner/macs.h"

namespace octavo {

std::int64_t macs_of(const OpCall& call) {
  return call.outputs.empty() ? 0 : macs_of(*call.spec, *call.attrs, call.inputs, call.outputs[0].shape);
}

}  // namespace octavo
