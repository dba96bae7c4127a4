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

std::vector<Group> groups_of(const Shape& from, const Shape& to) {
  std::vector<Group> groups;
  int i = 0;
  int j = 0;
  while (i < from.rank() || j < to.rank()) {
    Group group{i, i, j, j};
    std::int64_t from_size = i < from.rank() ? from[i++] : 1;
    std::int64_t to_size = j < to.rank() ? to[j++] : 1;
    while (from_size != to_size) {
      if (from_size < to_size) from_size *= from[i++];
      else to_size *= to[j++];
    }
    group.from_end = i;
    group.to_end = j;
    groups.push_back(group);
  }
  return groups;
}

// Where the group's first axis of more than one element is stored; groups of ones stay behind the group before them.
std::int64_t place_of(const Group& group, const Shape& from, const Axes& axes, std::int64_t place_before) {
  for (int axis = group.from_begin; axis < group.from_end; ++axis) {
    if (from[axis] != 1) return axes[static_cast<std::size_t>(axis)];
  }
  return place_before;
}

}  // namespace

std::optional<ReshapePlan> plan_reshape(const Shape& from, const Shape& to, const Axes& axes) {
  if (from.elements() == 0 || from.elements() != to.elements()) return std::nullopt;
  std::vector<Group> groups = groups_of(from, to);
  std::int64_t place = -1;
  for (Group& group : groups) place = group.place = place_of(group, from, axes, place);
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) { return a.place < b.place; });

  ReshapePlan plan{.in_axes = Axes(static_cast<std::size_t>(from.rank())),
                   .stored_shape = {},
                   .out_axes = Axes(static_cast<std::size_t>(to.rank()))};
  std::vector<std::int64_t> dims;
  std::int64_t next = 0;
  for (const Group& group : groups) {
    for (int axis = group.from_begin; axis < group.from_end; ++axis)
      plan.in_axes[static_cast<std::size_t>(axis)] = next++;
    for (int axis = group.to_begin; axis < group.to_end; ++axis) {
      plan.out_axes[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(dims.size());
      dims.push_back(to[axis]);
    }
  }
  plan.stored_shape = Shape(std::move(dims));
  return plan;
}

}  // namespace octavo
