// Sizes times a constant of a file that is no exact fraction, as floats round the product. Part of import/.
#ifndef OCTAVO_IMPORT_FLOAT_FACTORS_H_
#define OCTAVO_IMPORT_FLOAT_FACTORS_H_

#include <cstdint>
#include <optional>

#include "base/dim.h"
#include "base/dtype.h"

namespace octavo {

// A constant and the type in which products with it are rounded, f32 or f64.
struct FloatFactor {
  double number = 1.0;
  DType dtype = DType::f32;
};

enum class WholeOf : std::uint8_t { floor, ceil };

// The product of a size and the factor, rounded to the factor's type, then down or up to an integer: 0.7f * 10 is 7,
// although 0.7f is less than 0.7. An exact expression of the size, of the simplest fraction that gives the same integer
// for every size that it is tried with, from 0 to 2^20 or the first at which no fraction does; sizes below that are a
// condition. Nothing where the factor is not finite and above 0, or where the example is beyond that size.
std::optional<Dim> whole_product(const Dim& size, const FloatFactor& factor, WholeOf whole);

}  // namespace octavo

#endif  // OCTAVO_IMPORT_FLOAT_FACTORS_H_
