// What tests of kernels on floats share. Part of tests/kernels/.
#ifndef OCTAVO_TESTS_KERNELS_FLOAT_CASES_H_
#define OCTAVO_TESTS_KERNELS_FLOAT_CASES_H_

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "kernels/harness.h"

namespace octavo::testing {

// check_kernels, where at least one kernel has to run.
inline std::set<std::string> check(const OpSpec& spec, const Attrs& attrs, std::vector<std::optional<Tensor>> inputs,
                                   std::vector<bool> is_constant = {}) {
  std::set<std::string> ran = check_kernels(
      {.spec = &spec, .attrs = attrs, .inputs = std::move(inputs), .is_constant = std::move(is_constant)});
  EXPECT_FALSE(ran.empty()) << spec.name << " " << attrs.to_string();
  return ran;
}

inline Tensor with_special_values(std::mt19937& random, Shape shape) {
  Tensor x = random_tensor(random, DType::f32, std::move(shape));
  const float special[] = {NAN, INFINITY, -INFINITY, -0.0f, 0.0f, 1e-42f, 3e38f, -1e-38f};
  for (float& value : x.span<float>()) {
    if (random() % 5 == 0) value = special[random() % std::size(special)];
  }
  return x;
}

// Some hundred values of every exponent and both signs.
inline Tensor all_exponents(std::mt19937& random) {
  Tensor x(DType::f32, Shape{512 * 101});
  std::uint32_t next = 0;
  for (float& value : x.span<float>()) {
    const std::uint32_t bits = (next++ << 23) | (static_cast<std::uint32_t>(random()) & 0x7fffffu);
    std::memcpy(&value, &bits, sizeof value);
  }
  return x;
}

}  // namespace octavo::testing

#endif  // OCTAVO_TESTS_KERNELS_FLOAT_CASES_H_
