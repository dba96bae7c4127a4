// Sums along an axis whose bits depend neither on the width of vectors nor on zeros that follow: element i goes to
// partial sum i mod 16, in order, and the partial sums are joined in one tree. Part of base/. Internal linkage only:
// per-ISA files include this.
#ifndef OCTAVO_BASE_PARTIAL_SUMS_H_
#define OCTAVO_BASE_PARTIAL_SUMS_H_

#include <cstdint>

namespace octavo {
namespace {

constexpr int kPartialSums = 16;

// parts[j] joins parts[j + width] for j < width, then with half the width, and so on.
template <int width, class T, class Join>
constexpr void join_pairs(T* parts, const Join& join) {
  for (int j = 0; j < width; ++j) parts[j] = join(parts[j], parts[j + width]);
  if constexpr (width > 1) join_pairs<width / 2>(parts, join);
}

// The tree: 8 pairs (j, j + 8), 4 pairs (j, j + 4), and so on. Overwrites the parts.
template <class T, class Join>
constexpr T joined(T (&parts)[kPartialSums], const Join& join) {
  join_pairs<kPartialSums / 2>(parts, join);
  return parts[0];
}
template <class T>
constexpr T joined(T (&parts)[kPartialSums]) {
  return joined(parts, [](T a, T b) { return a + b; });
}

// For references: at(i) for i = 0, 1, ..., count - 1 in sums of T.
template <class T, class At>
T partial_sum(std::int64_t count, const At& at) {
  T parts[kPartialSums] = {};
  for (std::int64_t i = 0; i < count; ++i) parts[i % kPartialSums] += at(i);
  return joined(parts);
}

// Long sums of f32: of every kShortSum elements partial sums in f32, these added in f64, in order.
constexpr std::int64_t kShortSum = 512;  // a multiple of kPartialSums

template <class At>
double long_sum(std::int64_t count, const At& at) {
  double totals[kPartialSums] = {};
  for (std::int64_t first = 0; first < count; first += kShortSum) {
    float parts[kPartialSums] = {};
    for (std::int64_t i = first; i < count && i < first + kShortSum; ++i) parts[i % kPartialSums] += at(i);
    for (int j = 0; j < kPartialSums; ++j) totals[j] += static_cast<double>(parts[j]);
  }
  return joined(totals);
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_BASE_PARTIAL_SUMS_H_
