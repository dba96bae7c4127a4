// The loops of argmax in plain C++, which the compiler vectorizes for each instruction set. Internal linkage only. Part
// of kernels/.
#ifndef OCTAVO_KERNELS_ARGMAX_GENERIC_H_
#define OCTAVO_KERNELS_ARGMAX_GENERIC_H_

#include <type_traits>

#include "kernels/argmax/functions.h"

namespace octavo {
namespace {

constexpr std::int64_t kArgmaxLanes = 16;
constexpr std::int64_t kArgmaxBlock = 64;

template <Takes takes, class V>
bool is_taken(V candidate, V held) {
  switch (takes) {
    case Takes::above: return candidate > held;
    case Takes::at_least: return candidate >= held;
    case Takes::below: return candidate < held;
    default: return candidate <= held;
  }
}

// Values as they are compared: bytes as wide as their index.
template <class T>
using Compared = std::conditional_t<std::is_same_v<T, float>, float, std::int32_t>;

template <class V, std::int64_t width>
struct Held {
  V value[width];
  std::int32_t index[width];

  template <Takes takes, class T>
  void take(const T* __restrict x, std::int32_t first, std::int32_t step, std::int64_t count) {
    for (std::int64_t c = 0; c < count; ++c) {
      const V candidate = static_cast<V>(x[c]);
      const bool is_better = is_taken<takes>(candidate, value[c]);
      value[c] = is_better ? candidate : value[c];
      index[c] = is_better ? first + step * static_cast<std::int32_t>(c) : index[c];
    }
  }
};

template <Takes takes, class T>
void argmax_columns(const ArgmaxCall& call, const T* x) {
  Held<Compared<T>, kArgmaxBlock> held;
  for (std::int64_t first = 0; first < call.width; first += kArgmaxBlock) {
    const std::int64_t left = call.width - first, count = left < kArgmaxBlock ? left : kArgmaxBlock;
    for (std::int64_t c = 0; c < count; ++c) {
      held.value[c] = static_cast<Compared<T>>(x[first + c]);
      held.index[c] = 0;
    }
    for (std::int64_t i = 1; i < call.n; ++i) {
      const T* row = x + i * call.stride + first;
      if (count == kArgmaxBlock) held.template take<takes>(row, static_cast<std::int32_t>(i), 0, kArgmaxBlock);
      else held.template take<takes>(row, static_cast<std::int32_t>(i), 0, count);
    }
    for (std::int64_t c = 0; c < count; ++c) call.y[first + c] = held.index[c];
  }
}

// Lanes hold the extreme of every 16th element; of equal ones the first or the last is that of the line.
template <Takes takes, class T>
std::int64_t argmax_line(const T* x, std::int64_t n) {
  using V = Compared<T>;
  constexpr bool takes_equal = takes == Takes::at_least || takes == Takes::at_most;
  if constexpr (std::is_same_v<T, float>) {
    if (__builtin_isnan(x[0])) return 0;
  }
  Held<V, kArgmaxLanes> held;
  for (std::int64_t c = 0; c < kArgmaxLanes; ++c) held.value[c] = static_cast<V>(x[0]), held.index[c] = 0;
  std::int64_t i = 0;
  for (; i + kArgmaxLanes <= n; i += kArgmaxLanes)
    held.template take<takes>(x + i, static_cast<std::int32_t>(i), 1, kArgmaxLanes);
  held.template take<takes>(x + i, static_cast<std::int32_t>(i), 1, n - i);
  V value = held.value[0];
  std::int32_t index = held.index[0];
  for (std::int64_t c = 1; c < kArgmaxLanes; ++c) {
    const bool is_equal = held.value[c] == value;
    const bool is_nearer = takes_equal ? held.index[c] > index : held.index[c] < index;
    const bool is_better = is_equal ? is_nearer : is_taken<takes>(held.value[c], value);
    value = is_better ? held.value[c] : value;
    index = is_better ? held.index[c] : index;
  }
  return index;
}

template <Takes takes, class T>
void argmax_of(const ArgmaxCall& call) {
  const T* x = reinterpret_cast<const T*>(call.x);
  if (call.stride > 1 || call.n == 1) return argmax_columns<takes>(call, x);
  // Lines behind each other.
  for (std::int64_t line = 0; line < call.width; ++line) call.y[line] = argmax_line<takes>(x + line * call.n, call.n);
}

template <class T>
constexpr void set_all(ArgmaxFunction (&functions)[kTakes]) {
  functions[0] = argmax_of<Takes::above, T>;
  functions[1] = argmax_of<Takes::at_least, T>;
  functions[2] = argmax_of<Takes::below, T>;
  functions[3] = argmax_of<Takes::at_most, T>;
}
constexpr ArgmaxFunctions argmax_functions() {
  ArgmaxFunctions made{};
  set_all<float>(made.f32);
  set_all<std::uint8_t>(made.u8);
  set_all<std::int8_t>(made.s8);
  return made;
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_ARGMAX_GENERIC_H_
