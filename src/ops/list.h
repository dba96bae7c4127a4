// The list of operators: one line each. Everything that needs "all operators" starts here. Part of ops/.
#ifndef OCTAVO_OPS_LIST_H_
#define OCTAVO_OPS_LIST_H_

#include <span>
#include <string_view>

#include "graph/op.h"

namespace octavo {

// Sorted by name.
std::span<const OpSpec* const> all_ops();

// nullptr where there is none of that name.
const OpSpec* find_op(std::string_view name);

}  // namespace octavo

#endif  // OCTAVO_OPS_LIST_H_
