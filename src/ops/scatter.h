// What scatter_elements and scatter_nd share: how an update meets an element, and which indices count. Part of ops/.
#ifndef OCTAVO_OPS_SCATTER_H_
#define OCTAVO_OPS_SCATTER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ops/check.h"

namespace octavo {

// Numbers are part of the artifact format.
enum class ScatterKind : std::uint8_t { assign = 0, add = 1, mul = 2, max = 3, min = 4 };
constexpr int count_of(ScatterKind) { return 5; }
constexpr std::string_view name_of(ScatterKind value) {
  constexpr std::string_view names[] = {"assign", "add", "mul", "max", "min"};
  return names[static_cast<int>(value)];
}

// y[i] = kind(y[i], updates[i]) for n neighbouring elements. Integers wrap; f16 and bf16 in f32, rounded once; NaN in
// either operand of max and min comes through.
using ScatterRow = void (*)(std::byte* y, const std::byte* updates, std::int64_t n);
ScatterRow scatter_row(ScatterKind kind, DType dtype);

// Updates have the type of x, which is a number where they are more than assigned; indices are s32 or s64.
Problem check_scatter(ScatterKind kind, const Fact& x, const Fact& indices, const Fact& updates);

// Indices of 32 or 64 bits; negative ones count from the end.
struct ScatterIndices {
  const std::byte* data = nullptr;
  bool has_64_bits = false;

  // -1 where it is outside of an axis of `size`: the update is dropped.
  std::int64_t at(std::int64_t i, std::int64_t size) const {
    const std::int64_t given = has_64_bits ? reinterpret_cast<const std::int64_t*>(data)[i]
                                           : std::int64_t{reinterpret_cast<const std::int32_t*>(data)[i]};
    const std::int64_t index = given < 0 ? given + size : given;
    return index < 0 || index >= size ? -1 : index;
  }
};

}  // namespace octavo

#endif  // OCTAVO_OPS_SCATTER_H_
