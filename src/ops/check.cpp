// Checks that the operators' infer functions share. Part of ops/.
#include "ops/check.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "graph/open_shape.h"

namespace octavo {

Problem check_dtype(std::string_view what, const Fact& fact, std::initializer_list<DType> allowed) {
  if (std::find(allowed.begin(), allowed.end(), fact.dtype) != allowed.end()) return std::nullopt;
  std::string names;
  for (DType dtype : allowed) names += (names.empty() ? "" : ", ") + std::string(name_of(dtype));
  return shape_error(std::string(what), "type " + std::string(name_of(fact.dtype)),
                     (allowed.size() > 1 ? "one of " : "") + names);
}

Problem check_same_dtype(std::string_view what, const Fact& fact, DType expected) {
  return check_dtype(what, fact, {expected});
}

Problem check_rank(std::string_view what, const Fact& fact, int lowest, int highest) {
  const int rank = fact.shape.rank();
  if (rank >= lowest && rank <= highest) return std::nullopt;
  const std::string expected =
      lowest == highest ? std::to_string(lowest) : std::to_string(lowest) + " to " + std::to_string(highest);
  return shape_error(std::string(what), "rank " + std::to_string(rank), expected);
}

Problem check_shape(std::string_view what, const Fact& fact, const OpenShape& expected) {
  if (must_equal(fact.shape.dims(), expected.dims())) return std::nullopt;
  return shape_error(std::string(what), "shape " + fact.shape.to_string(), expected.to_string());
}

Problem check_part(std::string_view what, const Fact* part, DType dtype, const OpenShape& shape) {
  return part == nullptr ? std::nullopt
                         : first_of({check_dtype(what, *part, {dtype}), check_shape(what, *part, shape)});
}

Problem check_scalar(std::string_view what, const Fact& fact) {
  if (fact.shape.rank() == 0 || is_same(fact.shape, Shape{1})) return std::nullopt;
  return shape_error(std::string(what), "shape " + fact.shape.to_string(), "one element");
}

Problem check_range(std::string_view what, const Dim& value, std::int64_t lowest, std::int64_t highest) {
  if (value >= lowest && value <= highest) return std::nullopt;
  return shape_error(std::string(what), to_string(value), std::to_string(lowest) + " to " + std::to_string(highest));
}

Problem check_finite(std::string_view what, float value) {
  if (std::isfinite(value)) return std::nullopt;
  return shape_error(std::string(what), std::to_string(value), "a finite number");
}

Problem check_scale(std::string_view what, float value) {
  if (std::isfinite(value) && value > 0.0f) return std::nullopt;
  return shape_error(std::string(what), std::to_string(value), "a finite number above 0");
}

Problem check_integer_add(const IntegerAddForm& form) {
  constexpr std::int64_t kMost = IntegerAddForm::kLargestMultiplier;
  return first_of({check_range("a_multiplier", form.a_multiplier, -kMost, kMost),
                   check_range("b_multiplier", form.b_multiplier, -kMost, kMost),
                   check_range("right_shift", form.right_shift, 1, IntegerAddForm::kMostShift),
                   check_range("zero_point", form.zero_point, -255, 255)});
}

Problem check_fixed_profile(Profile profile) {
  if (profile == Profile::tflite_double || profile == Profile::tflite_single) return std::nullopt;
  return shape_error("profile", std::string(name_of(profile)), "tflite-double or tflite-single");
}

Problem check_table(const Fact& fact, std::initializer_list<DType> allowed) {
  return first_of({check_dtype("table", fact, allowed), check_shape("table", fact, {256})});
}

Problem first_of(std::initializer_list<Problem> problems) {
  for (const Problem& problem : problems) {
    if (problem) return problem;
  }
  return std::nullopt;
}

const Fact* fact_at(InputFacts inputs, std::size_t index) { return index < inputs.size() ? inputs[index] : nullptr; }

bool has_view(InputViews inputs, std::size_t index) { return index < inputs.size() && inputs[index].data != nullptr; }

Result<std::vector<Fact>> one_output(DType dtype, const std::vector<Dim>& dims, std::optional<QuantParams> quant) {
  if (!checked_elements(dims)) {
    return shape_error("", "a result of shape " + OpenShape(dims).to_string(),
                       "at most " + std::to_string(kMaxElements) + " elements");
  }
  return std::vector<Fact>{{.dtype = dtype, .shape = OpenShape(dims), .quant = std::move(quant)}};
}

}  // namespace octavo
