// Dim: an extent of a shape, a number or an expression over the sizes that a model leaves open. Part of base/.
//
// Arithmetic on expressions makes expressions, in one normal form, so that equal ones are one object:
//   expression = constant + sum of coefficient * product of atoms
//   atom       = a size, or floor(expression / expression), min or max of two expressions
// Arithmetic on numbers saturates at +-2^62 where a result does not fit 64 bits: what is made of it is refused as too
// large. Every expression has an example value, that of an example size. A question that the ranges of the sizes do not
// answer is answered for the example and kept as a condition: what was made by that answer holds at every size at which
// the answer is the same.
#ifndef OCTAVO_BASE_DIM_H_
#define OCTAVO_BASE_DIM_H_

#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace octavo {

struct SizeExpression;

class Dim {
 public:
  constexpr Dim() = default;
  template <std::integral Number>
  constexpr Dim(Number value) : value_(static_cast<std::int64_t>(value)) {}
  explicit Dim(const SizeExpression& expression);

  bool is_number() const { return expression_ == nullptr; }
  // The number, or the example's.
  std::int64_t example() const { return value_; }
  // Null for a number.
  const SizeExpression* expression() const { return expression_; }
  // The number; of an expression, its value among those of Sizes::evaluate. A number that stands for an expression in a
  // file (see encoded) is one.
  std::int64_t at(std::span<const std::int64_t> values) const;
  // The same with what stands for each expression elsewhere (Sizes::at_example, or numbers).
  Dim at(std::span<const Dim> dims) const;
  // The example's value, which becomes a condition.
  std::int64_t fixed() const { return is_number() ? value_ : fixed_example(); }
  operator std::int64_t() const { return fixed(); }

  Dim& operator+=(const Dim& other) { return *this = *this + other; }
  Dim& operator-=(const Dim& other) { return *this = *this - other; }
  Dim& operator*=(const Dim& other) { return *this = *this * other; }
  Dim& operator/=(const Dim& other) { return *this = *this / other; }

  friend Dim operator+(const Dim& a, const Dim& b) {
    std::int64_t sum = 0;
    return are_numbers(a, b) && !__builtin_add_overflow(a.value_, b.value_, &sum) ? Dim(sum) : added(a, b, 1);
  }
  friend Dim operator-(const Dim& a, const Dim& b) {
    std::int64_t rest = 0;
    return are_numbers(a, b) && !__builtin_sub_overflow(a.value_, b.value_, &rest) ? Dim(rest) : added(a, b, -1);
  }
  friend Dim operator*(const Dim& a, const Dim& b) {
    std::int64_t product = 0;
    return are_numbers(a, b) && !__builtin_mul_overflow(a.value_, b.value_, &product) ? Dim(product) : multiplied(a, b);
  }
  // Rounded down; the divisor of numbers is not 0.
  friend Dim operator/(const Dim& a, const Dim& b) {
    if (!are_numbers(a, b) || a.value_ < 0 || b.value_ < 0) return divided(a, b);
    return a.value_ / b.value_;
  }
  friend Dim operator%(const Dim& a, const Dim& b) { return a - b * (a / b); }
  friend Dim smaller(const Dim& a, const Dim& b) { return are_numbers(a, b) ? (b < a ? b : a) : chosen(a, b, false); }
  friend Dim larger(const Dim& a, const Dim& b) { return are_numbers(a, b) ? (a < b ? b : a) : chosen(a, b, true); }

  friend bool operator==(const Dim& a, const Dim& b) {
    return are_numbers(a, b) ? a.value_ == b.value_ : is_equal(a, b);
  }
  friend bool operator<(const Dim& a, const Dim& b) { return are_numbers(a, b) ? a.value_ < b.value_ : is_less(a, b); }
  friend bool operator>(const Dim& a, const Dim& b) { return b < a; }
  friend bool operator<=(const Dim& a, const Dim& b) { return !(b < a); }
  friend bool operator>=(const Dim& a, const Dim& b) { return !(a < b); }

 private:
  static bool are_numbers(const Dim& a, const Dim& b) { return a.is_number() && b.is_number(); }
  // Of expressions, or of numbers whose result may not fit.
  static Dim added(const Dim& a, const Dim& b, std::int64_t factor);
  static Dim multiplied(const Dim& a, const Dim& b);
  static Dim divided(const Dim& a, const Dim& b);
  static Dim chosen(const Dim& a, const Dim& b, bool is_larger);
  static bool is_equal(const Dim& a, const Dim& b);
  static bool is_less(const Dim& a, const Dim& b);
  std::int64_t fixed_example() const;

  std::int64_t value_ = 0;
  const SizeExpression* expression_ = nullptr;
};

// The same with numbers, spelled out since both sides would convert otherwise.
template <std::integral Number>
Dim operator+(const Dim& a, Number b) {
  return a + Dim(b);
}
template <std::integral Number>
Dim operator+(Number a, const Dim& b) {
  return Dim(a) + b;
}
template <std::integral Number>
Dim operator-(const Dim& a, Number b) {
  return a - Dim(b);
}
template <std::integral Number>
Dim operator-(Number a, const Dim& b) {
  return Dim(a) - b;
}
template <std::integral Number>
Dim operator*(const Dim& a, Number b) {
  return a * Dim(b);
}
template <std::integral Number>
Dim operator*(Number a, const Dim& b) {
  return Dim(a) * b;
}
template <std::integral Number>
Dim operator/(const Dim& a, Number b) {
  return a / Dim(b);
}
template <std::integral Number>
Dim operator%(const Dim& a, Number b) {
  return a % Dim(b);
}
template <std::integral Number>
bool operator==(const Dim& a, Number b) {
  return a == Dim(b);
}
template <std::integral Number>
bool operator<(const Dim& a, Number b) {
  return a < Dim(b);
}
template <std::integral Number>
bool operator>(const Dim& a, Number b) {
  return a > Dim(b);
}
template <std::integral Number>
bool operator<=(const Dim& a, Number b) {
  return a <= Dim(b);
}
template <std::integral Number>
bool operator>=(const Dim& a, Number b) {
  return a >= Dim(b);
}

template <std::integral Number>
bool operator<(Number a, const Dim& b) {
  return Dim(a) < b;
}
template <std::integral Number>
bool operator>(Number a, const Dim& b) {
  return Dim(a) > b;
}
template <std::integral Number>
bool operator<=(Number a, const Dim& b) {
  return Dim(a) <= b;
}
template <std::integral Number>
bool operator>=(Number a, const Dim& b) {
  return Dim(a) >= b;
}
template <std::integral Number>
Dim operator/(Number a, const Dim& b) {
  return Dim(a) / b;
}
template <std::integral Number>
Dim operator%(Number a, const Dim& b) {
  return Dim(a) % b;
}

// Known to be 1, whatever the sizes.
inline bool is_one(const Dim& dim) { return dim.is_number() && dim.example() == 1; }

inline bool is_zero(const Dim& dim) { return dim.is_number() && dim.example() == 0; }

// Known to be equal, whatever the sizes: equal expressions are one object.
inline bool is_same(const Dim& a, const Dim& b) {
  return a.expression() == b.expression() && a.example() == b.example();
}

// In files: the number, or, of an expression, the place among the numbers that stands for it. Numbers of files are
// never that small.
inline constexpr std::int64_t kFirstOpen = std::numeric_limits<std::int64_t>::min();
std::int64_t encoded(const Dim& dim);

// Numbers, as Dim::fixed.
inline std::vector<std::int64_t> fixed(std::span<const Dim> dims) { return {dims.begin(), dims.end()}; }

// "3", "batch", "floor((height - 1) / 2) + 1".
std::string to_string(const Dim& dim);

}  // namespace octavo

#endif  // OCTAVO_BASE_DIM_H_
