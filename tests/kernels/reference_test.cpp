// Which kernels are scalar reference code. Tests of kernels/reference.
#include "kernels/reference/reference.h"

#include <gtest/gtest.h>

#include "kernels/sliced/sliced.h"

namespace octavo {
namespace {

TEST(ReferenceCode, IsKnownByItsKernels) {
  EXPECT_TRUE(is_reference_code("reference"));
  EXPECT_FALSE(sliced_codes().empty());
  for (const KernelCode& kernel : sliced_codes()) EXPECT_TRUE(is_reference_code(kernel.name)) << kernel.name;
  EXPECT_FALSE(is_reference_code("no such kernel"));
  for (const KernelCode* kernel : all_codes()) {
    if (kernel->needs == Isa::scalar) continue;
    EXPECT_FALSE(is_reference_code(kernel->name)) << kernel->name;
  }
}

}  // namespace
}  // namespace octavo
