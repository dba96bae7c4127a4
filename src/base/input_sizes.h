// What shapes of inputs say of the sizes that a model leaves open. Part of base/.
#ifndef OCTAVO_BASE_INPUT_SIZES_H_
#define OCTAVO_BASE_INPUT_SIZES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/shape.h"
#include "base/sizes.h"

namespace octavo {

struct SizedInput {
  std::string name;
  std::vector<Dim> declared;     // numbers and sizes
  const Shape* given = nullptr;  // null: whatever the sizes make it that others say
};

// The value of each size, by its index. Errors (usage), with input, dimension and both values: another number of
// dimensions, a number that is another one, a size outside its range or with two values, one that nobody says.
Result<std::vector<std::int64_t>> sizes_of(const Sizes& sizes, const std::vector<SizedInput>& inputs);

}  // namespace octavo

#endif  // OCTAVO_BASE_INPUT_SIZES_H_
