// Groups of similar lengths by dynamic programming over sorted lengths. Part of run/.
#include "run/length_groups.h"

#include <algorithm>
#include <limits>

namespace octavo {

std::vector<LengthGroup> groups_of_lengths(std::span<const std::int64_t> lengths, std::int64_t step,
                                           std::int64_t lowest, std::int64_t highest) {
  std::vector<std::int64_t> order;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] > 0) order.push_back(static_cast<std::int64_t>(i));
  }
  const auto length_of = [&](std::int64_t sequence) { return lengths[static_cast<std::size_t>(sequence)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return length_of(a) < length_of(b); });
  const auto padded = [&](std::int64_t length) {
    return std::clamp((length + step - 1) / step * step, lowest, highest);
  };

  // least[i]: of the i shortest; the last group of these begins at first[i].
  std::vector<std::int64_t> least(order.size() + 1, std::numeric_limits<std::int64_t>::max()), first(least.size());
  least[0] = 0;
  for (std::size_t end = 1; end <= order.size(); ++end) {
    const std::int64_t length = padded(length_of(order[end - 1]));
    for (std::size_t begin = 0; begin < end; ++begin) {
      const std::int64_t cost = least[begin] + kTokensOfRun + static_cast<std::int64_t>(end - begin) * length;
      if (cost < least[end]) least[end] = cost, first[end] = static_cast<std::int64_t>(begin);
    }
  }

  std::vector<LengthGroup> groups;
  for (auto end = static_cast<std::int64_t>(order.size()); end > 0; end = first[static_cast<std::size_t>(end)]) {
    const auto begin = order.begin() + first[static_cast<std::size_t>(end)];
    groups.push_back({padded(length_of(order[static_cast<std::size_t>(end - 1)])), {begin, order.begin() + end}});
  }
  return groups;
}

}  // namespace octavo
