// Options of custom operators, with errors that say which is wrong. Part of import/.
#include "import/tflite/custom_options.h"

#include <cmath>
#include <cstring>

#include "base/fields.h"

namespace octavo::tflite_import {
namespace {

std::string place(const std::string& name) { return "custom option '" + name + "'"; }

}  // namespace

CustomOptions::CustomOptions(OperatorReader& in) : in_(in), map_(FlexOptions::parse(in.custom_options())) {
  if (!map_) in.fail("custom options", std::to_string(in.custom_options().size()) + " bytes", "a FlexBuffer's map");
}

void CustomOptions::missing(const std::string& name, const char* expected) {
  if (!in_.failed()) in_.fail(place(name), "nothing, or something else", expected);
}

double CustomOptions::real(const std::string& name) {
  const auto value = map_ ? map_->number(name) : std::nullopt;
  if (value && std::isfinite(*value)) return *value;
  missing(name, "a number");
  return 1.0;
}

double CustomOptions::positive(const std::string& name) {
  const double value = real(name);
  if (value > 0.0) return value;
  in_.fail(place(name), std::to_string(value), "a number above 0");
  return 1.0;
}

std::int64_t CustomOptions::checked(const std::string& name, double value, std::int64_t lowest, std::int64_t highest) {
  if (value >= static_cast<double>(lowest) && value <= static_cast<double>(highest) && value == std::floor(value))
    return static_cast<std::int64_t>(value);
  in_.fail(place(name), std::to_string(value),
           "an integer from " + std::to_string(lowest) + " to " + std::to_string(highest));
  return lowest;
}

std::int64_t CustomOptions::integer(const std::string& name, std::int64_t lowest, std::int64_t highest) {
  return checked(name, real(name), lowest, highest);
}

Integers CustomOptions::integers(const std::string& name, std::int64_t lowest, std::int64_t highest) {
  const auto given = map_ ? map_->numbers(name) : std::nullopt;
  if (!given || given->empty()) {
    missing(name, "a list of numbers");
    return {lowest};
  }
  Integers made;
  for (const double value : *given) made.push_back(checked(name, value, lowest, highest));
  return made;
}

Pair CustomOptions::size(const std::string& name) {
  const Integers given = integers(name, 1);
  if (given.size() == 2) return {given[0], given[1]};
  in_.fail(place(name), print(given), "height and width");
  return {};
}

std::vector<std::int32_t> struct_options(OperatorReader& in, std::size_t count) {
  const auto bytes = in.custom_options();
  std::vector<std::int32_t> numbers(count, 1);
  if (bytes.size() < 4 * count)
    in.fail("custom options", std::to_string(bytes.size()) + " bytes", std::to_string(4 * count));
  else std::memcpy(numbers.data(), bytes.data(), 4 * count);
  return numbers;
}

}  // namespace octavo::tflite_import
