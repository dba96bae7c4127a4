// Reshapes of tensors in another order of axes. Part of lower/.
#include "lower/reshape_axes.h"

#include <algorithm>

namespace octavo {
namespace {

// Axes [from_begin, from_end) of x and [to_begin, to_end) of y hold the same elements.
struct Group {
  int from_begin = 0, from_end = 0;
  int to_begin = 0, to_end = 0;
  std::int64_t place = 0;  // where the group lies in the stored order
};

// Nothing where that depends on sizes.
std::optional<std::vector<Group>> groups_of(const OpenShape& from, const OpenShape& to) {
  std::vector<Group> groups;
  int i = 0;
  int j = 0;
  while (i < from.rank() || j < to.rank()) {
    Group group{i, i, j, j};
    Dim from_size = i < from.rank() ? from[i++] : Dim(1);
    Dim to_size = j < to.rank() ? to[j++] : Dim(1);
    // The example says which side is smaller; where the sides meet they are equal at every size.
    while (!is_same(from_size, to_size)) {
      const bool is_from = i < from.rank() && (j == to.rank() || from_size.example() < to_size.example());
      if (!is_from && j == to.rank()) return std::nullopt;
      if (is_from) from_size *= from[i++];
      else to_size *= to[j++];
    }
    group.from_end = i;
    group.to_end = j;
    groups.push_back(group);
  }
  return groups;
}

// Where the group's first axis of more than one element is stored; groups of ones stay behind the group before them.
std::int64_t place_of(const Group& group, const OpenShape& from, const Axes& axes, std::int64_t place_before) {
  for (int axis = group.from_begin; axis < group.from_end; ++axis) {
    if (!is_one(from[axis])) return axes[static_cast<std::size_t>(axis)];
  }
  return place_before;
}

}  // namespace

std::optional<ReshapePlan> plan_reshape(const OpenShape& from, const OpenShape& to, const Axes& axes) {
  if (is_zero(from.elements()) || !is_same(from.elements(), to.elements())) return std::nullopt;
  auto grouped = groups_of(from, to);
  if (!grouped) return std::nullopt;
  std::vector<Group>& groups = *grouped;
  std::int64_t place = -1;
  for (Group& group : groups) place = group.place = place_of(group, from, axes, place);
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) { return a.place < b.place; });

  ReshapePlan plan{.in_axes = Axes(static_cast<std::size_t>(from.rank())),
                   .stored_shape = {},
                   .out_axes = Axes(static_cast<std::size_t>(to.rank()))};
  std::vector<Dim> dims;
  std::int64_t next = 0;
  for (const Group& group : groups) {
    for (int axis = group.from_begin; axis < group.from_end; ++axis)
      plan.in_axes[static_cast<std::size_t>(axis)] = next++;
    for (int axis = group.to_begin; axis < group.to_end; ++axis) {
      plan.out_axes[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(dims.size());
      dims.push_back(to[axis]);
    }
  }
  plan.stored_shape = OpenShape(dims);
  return plan;
}

}  // namespace octavo
