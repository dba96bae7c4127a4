// Which kernels are scalar reference code. Tests of kernels/reference.
#include "kernels/reference/reference.h"

#include <gtest/gtest.h>

#include "kernels/sliced/sliced.h"

namespace octavo {
namespace {

TEST(ReferenceCode, IsKnownByItsKernels) {
  EXPECT_TRUE(is_reference_code("reference"));
  EXPECT_FALSE(sliced_kernels().empty());
  for (const Kernel& kernel : sliced_kernels()) EXPECT_TRUE(is_reference_code(kernel.name)) << kernel.name;
  EXPECT_FALSE(is_reference_code("no such kernel"));
  for (const Kernel* kernel : all_kernels()) {
    if (kernel->needs == Isa::scalar) continue;
    EXPECT_FALSE(is_reference_code(kernel->name)) << kernel->name;
  }
}

}  // namespace
}  // namespace octavo
