// What is packed for one size of a call serves another one with the same key. Tests of planner/ and of what kernels say
// of their layouts.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "kernels/conv_cases.h"
#include "planner/choice_list.h"
#include "planner/packing_key.h"

namespace octavo {
namespace {

// Of plain, grouped and depthwise convolutions.
ConvCase random_case(std::mt19937& random) {
  const auto upto = [&](unsigned most) { return static_cast<std::int64_t>(random() % most) + 1; };
  ConvCase c{.channels = upto(70), .out_channels = upto(70)};
  const unsigned kind = random() % 4;
  if (kind == 0) c.groups = c.out_channels = c.channels;
  if (kind == 1) c.groups = 2, c.channels *= 2, c.out_channels *= 2;
  if (random() % 3 != 0) c.kernel_h = c.kernel_w = 3, c.top = c.left = c.bottom = c.right = 1;
  if (random() % 4 == 0) c.stride_h = c.stride_w = 2;
  c.has_offset = random() % 4 == 0;
  c.has_table = random() % 4 == 0;
  return c;
}

ConvProblem with_size(ConvCase c, std::mt19937& random, unsigned seed) {
  c.batch = 1 + static_cast<std::int64_t>(random() % 3);
  c.height = 3 + static_cast<std::int64_t>(random() % 9);
  c.width = 3 + static_cast<std::int64_t>(random() % 40);
  return make_problem(c, seed);
}

std::string key_of(const KernelChoice& kernel, const OpCall& call, const ConstantSink& sink) {
  return packing_key(kernel, call, call.attrs->encoded(), sink);
}

void expect_alike(const std::vector<Tensor>& a, const std::vector<Tensor>& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_TRUE(a[i].dtype() == b[i].dtype() && a[i].shape() == b[i].shape()) << what << " tensor " << i;
    EXPECT_EQ(std::memcmp(a[i].data(), b[i].data(), a[i].bytes()), 0) << what << " tensor " << i;
  }
}

TEST(Packing, EqualKeysPackAlike) {
  std::mt19937 random(1);
  const ConstantPool sink;
  std::map<std::string_view, int> equal, compared;
  for (unsigned seed = 0; seed < 150; ++seed) {
    const ConvCase c = random_case(random);
    const ConvProblem first = with_size(c, random, seed);
    ConvProblem second = with_size(c, random, seed);
    second.w = first.w, second.bias = first.bias, second.multiplier = first.multiplier, second.table = first.table;
    second.w_offset = first.w_offset;
    for (const KernelChoice* kernel : all_choices()) {
      if (kernel->code.op != "quantized_conv" || kernel->packed_layout == nullptr) continue;
      const ConvRunner a(*kernel, c, first), b(*kernel, c, second);
      if (!a.refusal().empty() || !b.refusal().empty()) continue;
      ++compared[kernel->code.name];
      if (key_of(*kernel, a.call(), sink) != key_of(*kernel, b.call(), sink)) continue;
      ++equal[kernel->code.name];
      expect_alike(kernel->pack(a.call()), kernel->pack(b.call()), std::string(kernel->code.name) + " " + describe(c));
    }
  }
  EXPECT_GE(compared.size(), 10u);
  for (const auto& [kernel, count] : compared) EXPECT_GE(equal[kernel] * 2, count) << kernel;
}

TEST(Packing, OtherConstantsAttributesAndKernelsHaveOtherKeys) {
  const ConstantPool sink;
  ConvCase c{.height = 8, .width = 8, .channels = 16, .out_channels = 32};
  const ConvProblem p = make_problem(c, 1);
  ConvProblem other_weight = p, other_attribute = p;
  other_weight.w = Tensor::copy_of(p.w.view());
  other_weight.w.as<std::int8_t>()[100] ^= 1;
  other_attribute.attrs.x_zero_point += 1;
  for (const char* name : {"conv_u8s8_7x4_avx512vnni", "conv_u8s8_16x16_amx_int8"}) {
    const KernelChoice& kernel = *find_choice(name);
    const auto key = [&](const ConvProblem& problem) {
      return key_of(kernel, ConvRunner(kernel, c, problem).call(), sink);
    };
    EXPECT_EQ(key(p), key(p));
    EXPECT_NE(key(p), key(other_weight));
    EXPECT_NE(key(p), key(other_attribute));
    const KernelChoice& avx2 = *find_choice("conv_u8s8_4x3_avx2");
    EXPECT_NE(key(p), key_of(avx2, ConvRunner(avx2, c, p).call(), sink));
  }
}

}  // namespace
}  // namespace octavo
