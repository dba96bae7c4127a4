// A network with one bad layer, made on purpose: it alone goes back to fp32. Part of tests/analyze/.
#include "analyze/variant_bench.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "support/child.h"
#include "support/onnx_builder.h"
#include "support/sanitizers.h"

namespace octavo {
namespace {

using testing::floats;

constexpr std::int64_t kChannels = 8;

// Channel 0 is multiplied by `first`, on its way out or in.
Tensor weights(unsigned seed, float out_factor, float in_factor) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, 0.12f);
  std::vector<float> values;
  for (std::int64_t oc = 0; oc < kChannels; ++oc) {
    for (std::int64_t i = 0; i < kChannels * 9; ++i)
      values.push_back(normal(random) * (oc == 0 ? out_factor : 1.0f) * (i < 9 ? in_factor : 1.0f));
  }
  return floats(Shape{kChannels, kChannels, 3, 3}, values);
}

// Five convolutions with ReLU. The third makes one channel that is 2000 times as large as the others, which the fourth
// takes back: of the values between them 8 bits leave nothing but that channel.
std::string variant_bench_network() {
  testing::ModelBuilder builder;
  builder.input("x", DType::f32, {1, kChannels, 12, 12});
  std::string wire = "x";
  for (unsigned i = 0; i < 5; ++i) {
    const std::string name = "conv" + std::to_string(i);
    builder.initializer(name + ".w", weights(i + 1, i == 2 ? 2000.0f : 1.0f, i == 3 ? 1.0f / 2000.0f : 1.0f));
    builder.node({.op = "Conv",
                  .inputs = {wire, name + ".w"},
                  .outputs = {name + ".y"},
                  .attributes = {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}},
                  .name = name});
    builder.node({.op = "Relu", .inputs = {name + ".y"}, .outputs = {name + ".relu"}, .name = name + ".relu"});
    wire = name + ".relu";
  }
  return builder.output(wire).bytes();
}

CompileRequest random_samples(std::int64_t count) {
  CompileRequest request;
  request.calibrate = "random";
  request.samples = count;
  request.threads = 1;
  request.seconds = 0.01;
  return request;
}

TEST(VariantBench, TheBadLayerAloneGoesBackToFp32) {
#ifdef OCTAVO_SANITIZED
  GTEST_SKIP() << "a sanitizer slows Octavo's kernels, but not oneDNN's: times say nothing";
#endif
  const testing::ScratchFolder folder;
  folder.write("bad.onnx", variant_bench_network());
  CompileRequest request = random_samples(6);
  request.options.corrects_biases = false;
  auto bench = VariantBench::create(folder.path("bad.onnx"), request);
  ASSERT_TRUE(bench) << to_string(bench.errors());
  const Status opened = bench->open_samples_to_judge("", "", {});
  ASSERT_TRUE(opened) << to_string(opened.errors());
  ASSERT_EQ(bench->groups().size(), 5u);
  EXPECT_EQ(bench->groups()[3], (std::vector<std::string>{"conv3", "conv3.relu"}));
  EXPECT_EQ(bench->in_fp32().noise, 0.0);
  EXPECT_EQ(bench->in_fp32().agreeing, 6);
  const auto noise_allowed = std::pow(10.0, -2.5);  // 25 dB
  const JudgeVariant judge = [&](const std::vector<std::size_t>& in_fp32) -> Result<Verdict> {
    const auto facts = bench->judge({.in_fp32 = in_fp32});
    if (!facts) return facts.errors();
    EXPECT_GT(facts->ms, 0.0);
    return Verdict{.ms = facts->ms, .noise = facts->noise, .excess = facts->noise - noise_allowed};
  };
  const auto all_int8 = judge({});
  ASSERT_TRUE(all_int8);
  EXPECT_FALSE(all_int8->is_within());
  const auto best =
      search_budget(bench->groups().size(), judge, [](const JudgedVariant&, bool) { return ok_status(); });
  ASSERT_TRUE(best) << to_string(best.errors());
  EXPECT_EQ(best->in_fp32, (std::vector<std::size_t>{3}));
  EXPECT_TRUE(best->verdict.is_within());
}

// It has no answers in fp32 to be near to, also where scales for it are given.
TEST(VariantBench, AQuantizedFileIsNotJudged) {
  const testing::ScratchFolder folder;
  folder.write("net.onnx", variant_bench_network());
  CompileRequest request = random_samples(2);
  const auto quantized = quantize_file(folder.path("net.onnx"), request);
  ASSERT_TRUE(quantized) << to_string(quantized.errors());
  const auto bytes = quantized->onnx();
  ASSERT_TRUE(bytes) << to_string(bytes.errors());
  folder.write("net.onnx", *bytes);
  request.options.calibrated = quantized->calibrated();
  auto bench = VariantBench::create(folder.path("net.onnx"), request);
  ASSERT_TRUE(bench) << to_string(bench.errors());
  const Status opened = bench->open_samples_to_judge("", "", {});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.errors()[0].kind, ErrorKind::usage);
}

// What was taught once serves every variant, and all of them are compiled from it alone.
TEST(VariantBench, RequestsNeedNoSamples) {
  const testing::ScratchFolder folder;
  folder.write("bad.onnx", variant_bench_network());
  auto bench = VariantBench::create(folder.path("bad.onnx"), random_samples(2));
  ASSERT_TRUE(bench) << to_string(bench.errors());
  const std::vector<std::vector<std::size_t>> variants = {
      std::vector<std::size_t>(), std::vector<std::size_t>(1, 0), {1, 3}, {0, 1, 2, 3, 4}};
  for (const std::vector<std::size_t>& in_fp32 : variants) {
    const CompileRequest request = bench->request_for({.in_fp32 = in_fp32});
    EXPECT_TRUE(request.calibrate.empty());
    const auto compiled = open_or_compile(folder.path("bad.onnx"), request);
    ASSERT_TRUE(compiled) << to_string(compiled.errors());
    std::int64_t floats = 0;
    const v1::ModelInfo info = compiled->info();
    for (const auto& [kernel, count] : info.plans[0].kernels)
      floats += kernel.find("fused_conv") != std::string::npos ? count : 0;
    EXPECT_EQ(floats, static_cast<std::int64_t>(in_fp32.size()));
  }
}

}  // namespace
}  // namespace octavo
