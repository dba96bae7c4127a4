// Small checks that the operators' infer functions share. Part of ops/.
#ifndef OCTAVO_OPS_CHECK_H_
#define OCTAVO_OPS_CHECK_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "base/requantize.h"
#include "graph/op.h"

namespace octavo {

// What is wrong, or nothing.
using Problem = std::optional<Error>;

Problem check_dtype(std::string_view what, const Fact& fact, std::initializer_list<DType> allowed);
Problem check_same_dtype(std::string_view what, const Fact& fact, DType expected);
Problem check_rank(std::string_view what, const Fact& fact, int lowest, int highest);
Problem check_shape(std::string_view what, const Fact& fact, const OpenShape& expected);
// Of an input that may be left out: nothing is asked of nullptr.
Problem check_part(std::string_view what, const Fact* part, DType dtype, const OpenShape& shape);
// One element: rank 0, or [1].
Problem check_scalar(std::string_view what, const Fact& fact);
Problem check_range(std::string_view what, const Dim& value, std::int64_t lowest, std::int64_t highest);
Problem check_finite(std::string_view what, float value);
// Finite and above 0.
Problem check_scale(std::string_view what, float value);

// Parameters of an addition in integers: no shift by more than 30 bits, no multiplier beyond what of() makes.
Problem check_integer_add(const IntegerAddForm& form);

// The profiles of base/fixed_point.h.
Problem check_fixed_profile(Profile profile);

// A table of 256 entries in one of the given types.
Problem check_table(const Fact& fact, std::initializer_list<DType> allowed);

// The first problem of a list; the checks of a list are all made, so none may depend on another.
Problem first_of(std::initializer_list<Problem> problems);

// The fact of an input, nullptr where it is left out at the end or in the middle.
const Fact* fact_at(InputFacts inputs, std::size_t index);
bool has_view(InputViews inputs, std::size_t index);

// One output, or an error where the result has too many elements.
Result<std::vector<Fact>> one_output(DType dtype, const std::vector<Dim>& dims,
                                     std::optional<QuantParams> quant = std::nullopt);

}  // namespace octavo

#endif  // OCTAVO_OPS_CHECK_H_
