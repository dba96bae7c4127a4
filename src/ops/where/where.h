// where: picks elements by a condition, with numpy broadcasting. Part of ops/.
#ifndef OCTAVO_OPS_WHERE_WHERE_H_
#define OCTAVO_OPS_WHERE_WHERE_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"

namespace octavo {

// y = condition ? a : b. inputs: condition (bool), a, b.
extern const OpSpec kWhere;

}  // namespace octavo

#endif  // OCTAVO_OPS_WHERE_WHERE_H_
