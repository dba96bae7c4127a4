// Schedules: numbers as bytes and text; all of convolutions give the same bits; other families: harness.h. Tests of
// kernels/.
#include "kernels/schedule.h"

#include "kernels/conv/conv.h"
#include "kernels/drawn_cases.h"
#include "kernels/winograd/winograd.h"

namespace octavo {
namespace {

constexpr std::string_view kKnobs[] = {"tiles", "chunks"};
constexpr KernelCode kCode{.name = "a", .knobs = kKnobs};

TEST(Schedules, AreNumbersWithNames) {
  const std::vector<std::byte> bytes = encode_schedule({{300, 2147483647}});
  EXPECT_EQ(bytes.size(), 8u);
  EXPECT_EQ(bytes[0], std::byte{44});
  EXPECT_EQ(bytes[1], std::byte{1});
  EXPECT_EQ(decode_schedule(bytes, 2), (std::vector<std::int64_t>{300, 2147483647}));
  EXPECT_EQ(decode_schedule(bytes, 1), std::nullopt);
  EXPECT_EQ(decode_schedule(std::vector<std::byte>(8, std::byte{255}), 2), std::nullopt) << "beyond 31 bits";
  EXPECT_EQ(schedule_text(kCode, bytes), "tiles=300 chunks=2147483647");
  EXPECT_EQ(schedule_text(kCode, {}), "");
  EXPECT_EQ(parse_schedule(kCode, "tiles=300 chunks=2147483647"), bytes);
  for (const char* text :
       {"", "tiles=1", "tiles=1 chunks=", "tiles=1  chunks=2", "chunks=1 tiles=2", "tiles=1 chunks=2 ",
        "tiles=1 chunks=-2", "tiles=1 chunks=2147483648", "tiles:1 chunks=2", "tiles=1.5 chunks=2"})
    EXPECT_EQ(parse_schedule(kCode, text), std::nullopt) << text;
}

// Draws shapes for a kernel, and for each some of its schedules.
int check_kernel(const KernelChoice& kernel, ConvCase (*drawn)(Draw&), int shapes, int of_each, unsigned seed) {
  Draw draw(seed);
  int checked = 0;
  for (int i = 0; i < shapes; ++i) {
    const ConvCase c = drawn(draw);
    const ConvProblem p = make_problem(c, static_cast<unsigned>(i));
    ConvRunner runner(kernel, c, p);
    if (!runner.refusal().empty()) continue;
    const int threads = static_cast<int>(draw(0, 1)) * 2 + 1;
    const std::vector<Candidate> all = kernel.candidates(runner.call(), host_machine(), threads);
    EXPECT_FALSE(all.empty()) << describe(c);
    for (int n = 0; n < of_each && !all.empty(); ++n, ++checked) {
      const Candidate& candidate = all[static_cast<std::size_t>(draw(0, static_cast<int>(all.size()) - 1))];
      EXPECT_EQ(kernel.schedule_refusal(runner.call(), host_machine(), candidate.schedule), "");
      EXPECT_GT(candidate.ns, 0.0);
      runner.prepare(threads, candidate.schedule);
      if (::testing::Test::HasFatalFailure()) return checked;
      EXPECT_EQ(runner.run(p, threads), p.expected)
          << describe(c) << ": " << schedule_text(kernel.code, candidate.schedule) << " seed " << seed;
    }
  }
  return checked;
}

ConvCase draw_winograd_case(Draw& draw) {
  ConvCase c = draw_case(draw);
  c.kernel_h = c.kernel_w = 3;
  c.bottom += 3, c.right += 3;
  c.stride_h = c.stride_w = c.dilation_h = c.dilation_w = 1;
  c.channels = draw(0, 1) == 0 ? draw(2, 40) : draw(64, 300);
  c.out_channels = draw(1, 300);
  c.groups = 1;
  c.has_offset = false;
  return c;
}

int check_schedules(std::span<const KernelChoice> kernels, ConvCase (*drawn)(Draw&), int shapes, int of_each) {
  int checked = 0;
  for (const KernelChoice& kernel : kernels) {
    // Schedules of AMX: amx_schedule_test.cpp.
    if (kernel.code.needs == Isa::amx_int8 || !host_machine().isa.has(kernel.code.needs)) continue;
    checked += check_kernel(kernel, drawn, shapes, of_each, std::random_device()());
  }
  return checked;
}

TEST(ConvSchedules, GiveTheSameBits) {
  if (host_machine().isa == IsaSet{}) GTEST_SKIP() << "needs avx2 or neon: no kernel of the family ran";
  EXPECT_GE(check_schedules(conv_choices(), draw_case, 20, 4), 80);
}

TEST(ConvSchedulesLong, GiveTheSameBits) {
  if (host_machine().isa == IsaSet{}) GTEST_SKIP() << "needs avx2 or neon: no kernel of the family ran";
  EXPECT_GE(check_schedules(conv_choices(), draw_case, 400, 5), 2000);
}

TEST(WinogradSchedules, GiveTheSameBits) {
  if (!host_machine().isa.has(Isa::avx2)) GTEST_SKIP() << "needs avx2: no kernel of the family ran";
  EXPECT_GE(check_schedules(winograd_choices(), draw_winograd_case, 15, 4), 60);
}

TEST(WinogradSchedulesLong, GiveTheSameBits) {
  if (!host_machine().isa.has(Isa::avx2)) GTEST_SKIP() << "needs avx2: no kernel of the family ran";
  EXPECT_GE(check_schedules(winograd_choices(), draw_winograd_case, 300, 5), 1500);
}

TEST(ConvSchedules, IllegalOnesAreRefused) {
  if (host_machine().isa == IsaSet{}) GTEST_SKIP() << "needs avx2 or neon: no kernel of the family ran";
  const ConvCase c{.height = 14, .width = 14, .channels = 64, .out_channels = 200, .kernel_h = 3, .kernel_w = 3};
  const ConvProblem p = make_problem(c, 1);
  for (const KernelChoice& kernel : conv_choices()) {
    if (kernel.code.needs == Isa::amx_int8 || !host_machine().isa.has(kernel.code.needs)) continue;
    ConvRunner runner(kernel, c, p);
    if (!runner.refusal().empty()) continue;
    runner.prepare(1);
    const auto refused = [&](const std::vector<std::byte>& bytes) {
      std::vector<ConstTensorView> packed;
      for (const Tensor& tensor : runner.packed()) packed.push_back(tensor.view());
      StepSpec spec = runner.spec_with(packed);
      spec.schedule = bytes;
      const auto step = kernel.code.prepare(spec);
      const bool is_refused = !step.ok() && step.errors()[0].kind == ErrorKind::invalid_input;
      EXPECT_EQ(is_refused, !kernel.schedule_refusal(runner.call(), host_machine(), bytes).empty());
      return is_refused;
    };
    // Lines have 12 pixels.
    EXPECT_FALSE(refused(encode_schedule({{12, 1, 0}}))) << kernel.code.name;
    EXPECT_FALSE(refused(encode_schedule({{12, 3, 1}}))) << kernel.code.name;
    for (const auto& numbers : std::vector<std::vector<std::int64_t>>{{0, 1, 0},
                                                                      {13, 1, 0},
                                                                      {1, 1, 0},
                                                                      {12, 0, 0},
                                                                      {12, 1000, 0},
                                                                      {12, 1, 1},
                                                                      {12, 3, 2},
                                                                      {12, 1},
                                                                      {12, 1, 0, 0}})
      EXPECT_TRUE(refused(encode_schedule(numbers))) << kernel.code.name << " " << numbers.size();
  }
}

}  // namespace
}  // namespace octavo
