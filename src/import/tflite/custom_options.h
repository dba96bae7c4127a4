// Options of custom operators, with errors that say which is wrong. Part of import/.
#ifndef OCTAVO_IMPORT_TFLITE_CUSTOM_OPTIONS_H_
#define OCTAVO_IMPORT_TFLITE_CUSTOM_OPTIONS_H_

#include <string>
#include <vector>

#include "import/tflite/flex_options.h"
#include "import/tflite/operator_reader.h"

namespace octavo::tflite_import {

// Named options of a FlexBuffer. What is not there, or not what is asked for, is an error, and a harmless value is
// given.
class CustomOptions {
 public:
  explicit CustomOptions(OperatorReader& in);

  static constexpr std::int64_t kHighest = 1 << 20;

  bool has(const std::string& name) const { return map_ && map_->number(name).has_value(); }
  double real(const std::string& name);
  double positive(const std::string& name);
  std::int64_t integer(const std::string& name, std::int64_t lowest, std::int64_t highest = kHighest);
  // At least one.
  Integers integers(const std::string& name, std::int64_t lowest, std::int64_t highest = kHighest);
  // Height and width.
  Pair size(const std::string& name);
  // Empty where there is none.
  std::string text(const std::string& name) const { return map_ ? map_->text(name).value_or("") : ""; }

 private:
  void missing(const std::string& name, const char* expected);
  std::int64_t checked(const std::string& name, double value, std::int64_t lowest, std::int64_t highest);

  OperatorReader& in_;
  std::optional<FlexOptions> map_;
};

// The first numbers of the C struct as which older operators store their options; harmless ones where it is shorter.
std::vector<std::int32_t> struct_options(OperatorReader& in, std::size_t count);

}  // namespace octavo::tflite_import

#endif  // OCTAVO_IMPORT_TFLITE_CUSTOM_OPTIONS_H_
