// Runs every kernel that takes a call against the operator's reference. Part of tests/kernels/.
#ifndef OCTAVO_TESTS_KERNELS_HARNESS_H_
#define OCTAVO_TESTS_KERNELS_HARNESS_H_

#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "kernels/kernel.h"

namespace octavo::testing {

// One call of an operator with data. Inputs that are left out are nullopt.
struct KernelCase {
  const OpSpec* spec = nullptr;
  Attrs attrs = NoAttrs{};
  std::vector<std::optional<Tensor>> inputs;
  std::vector<bool> is_constant;  // per input; false beyond the end
};

// For every kernel of the operator that the host can run and that does not refuse: all items at once, items one by one
// in reverse order, and in place where it says so; buffers end at unmapped pages. Outputs must equal the reference's
// bytes, also by some of the kernel's schedules, drawn at random, and by others near them that are legal; illegal ones
// must be refused. Failures are reported through GoogleTest with the kernel's name. Kernels that pack must also refuse
// whatever lies about it a file could tell. Returns the names of the kernels that ran, "reference" left out.
std::set<std::string> check_kernels(const KernelCase& test);

// Names of the host's kernels for the operator that are missing in `ran` and match the prefix: a test asserts that
// there are none.
std::set<std::string> kernels_missing(const std::set<std::string>& ran, std::string_view name_prefix);

// Values over the whole range of the type, extremes among them; floats mostly in [-8, 8].
Tensor random_tensor(std::mt19937& random, DType dtype, Shape shape);

}  // namespace octavo::testing

#endif  // OCTAVO_TESTS_KERNELS_HARNESS_H_
