// Fractions that stand for float constants. Part of import/.
#include "import/float_factors.h"

#include <cmath>
#include <cstdint>

namespace octavo {
namespace {

// Sizes that are tried: samples of a minute of sound at 16 kHz are fewer.
constexpr std::int64_t kMostSize = std::int64_t{1} << 20;
// Of fractions: constants of files have few decimal places, or are quotients of small integers.
constexpr std::int64_t kMostUnder = 4096;
constexpr double kLargestFactor = 65536.0;

struct NumberFraction {
  std::int64_t over = 0, under = 1;
};

std::int64_t whole_of(const NumberFraction& fraction, std::int64_t size, WholeOf whole) {
  const std::int64_t up = whole == WholeOf::ceil ? fraction.under - 1 : 0;
  return (size * fraction.over + up) / fraction.under;
}

template <class Real>
std::int64_t whole_of(Real factor, std::int64_t size, WholeOf whole) {
  const Real product = static_cast<Real>(size) * factor;
  return static_cast<std::int64_t>(whole == WholeOf::floor ? std::floor(product) : std::ceil(product));
}

// The first size for which they are not the same.
template <class Real>
std::int64_t first_other(const NumberFraction& fraction, Real factor, WholeOf whole) {
  std::int64_t size = 0;
  while (size < kMostSize && whole_of(fraction, size, whole) == whole_of(factor, size, whole)) ++size;
  return size;
}

struct Best {
  NumberFraction fraction;
  std::int64_t end = 0;  // of the sizes for which it gives the same
};

// Among the best approximations, which are the convergents of the continued fraction.
template <class Real>
Best best_fraction(Real factor, WholeOf whole) {
  Best best;
  NumberFraction before{1, 0}, now{static_cast<std::int64_t>(std::floor(factor)), 1};
  double rest = static_cast<double>(factor) - std::floor(static_cast<double>(factor));
  while (best.end < kMostSize && now.under <= kMostUnder) {
    if (const std::int64_t end = first_other(now, factor, whole); end > best.end) best = {now, end};
    if (rest < 1.0 / kMostUnder) break;
    const double inverse = 1.0 / rest;
    const auto digit = static_cast<std::int64_t>(std::floor(inverse));
    rest = inverse - std::floor(inverse);
    const NumberFraction next{digit * now.over + before.over, digit * now.under + before.under};
    before = now;
    now = next;
  }
  return best;
}

}  // namespace

std::optional<Dim> whole_product(const Dim& size, const FloatFactor& factor, WholeOf whole) {
  if (!(factor.number > 0.0 && factor.number <= kLargestFactor)) return std::nullopt;
  const Best best = factor.dtype == DType::f64 ? best_fraction(factor.number, whole)
                                               : best_fraction(static_cast<float>(factor.number), whole);
  if (!(size >= 0) || !(size < best.end)) return std::nullopt;
  const std::int64_t up = whole == WholeOf::ceil ? best.fraction.under - 1 : 0;
  return (size * best.fraction.over + up) / best.fraction.under;
}

}  // namespace octavo
