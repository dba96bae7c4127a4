// Joins the operators. Part of ops/.
#include "ops/list.h"

#include <algorithm>
#include <array>

namespace octavo {

// All that the list needs of an operator is its address.
#define OCTAVO_OPERATOR(name) extern const OpSpec name;
#include "ops/list.inc"
#undef OCTAVO_OPERATOR

namespace {

constexpr std::array kOps = {
#define OCTAVO_OPERATOR(name) &name,
#include "ops/list.inc"
#undef OCTAVO_OPERATOR
};

}  // namespace

std::span<const OpSpec* const> all_ops() { return kOps; }

const OpSpec* find_op(std::string_view name) {
  const auto* it = std::find_if(kOps.begin(), kOps.end(), [&](const OpSpec* op) { return op->name == name; });
  return it == kOps.end() ? nullptr : *it;
}

}  // namespace octavo
