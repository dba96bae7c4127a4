// All kernels, of kernels/ and of onednn/, as the planner sees them. Part of planner/.
#ifndef OCTAVO_PLANNER_CHOICE_LIST_H_
#define OCTAVO_PLANNER_CHOICE_LIST_H_

#include <span>
#include <string_view>

#include "kernels/choice.h"

namespace octavo {

std::span<const KernelChoice* const> all_choices();
// nullptr where there is none of that name.
const KernelChoice* find_choice(std::string_view name);

}  // namespace octavo

#endif  // OCTAVO_PLANNER_CHOICE_LIST_H_
