// Schedules of the AMX convolution: every legal one gives the same bits, any other is refused.
#include "kernels/conv/amx_schedule.h"

#include <cstring>
#include <set>

#include "kernels/conv/conv.h"
#include "kernels/drawn_cases.h"
#include "support/amx_emulator.h"

namespace octavo {
namespace {

using testing::AmxEmulation;

const KernelChoice& amx_choice() {
  return *std::find_if(conv_choices().begin(), conv_choices().end(),
                       [](const KernelChoice& choice) { return choice.code.needs == Isa::amx_int8; });
}

// Of a shape, for so many threads.
std::vector<AmxSchedule> schedules_of(const OpCall& call, int threads) {
  const ConvGeometry g = geometry_of(call, kTileAmx);
  return amx_schedules(g, channel_blocks(g, kTileAmx),
                       {.l2_bytes = 1 << 20, .threads = threads, .may_read_beyond = threads == 1});
}

// Draws shapes, and for each some of its schedules.
int check_schedules(int shapes, int of_each, unsigned seed) {
  const AmxEmulation emulation;
  Draw draw(seed);
  int checked = 0;
  std::set<std::string> ways;
  for (int i = 0; i < shapes; ++i) {
    const ConvCase c = draw_case(draw);
    const ConvProblem p = make_problem(c, static_cast<unsigned>(i));
    ConvRunner runner(amx_choice(), c, p);
    const int threads = static_cast<int>(draw(0, 1)) * 2 + 1;
    const std::vector<AmxSchedule> all = schedules_of(runner.call(), threads);
    EXPECT_FALSE(all.empty()) << describe(c);
    for (int n = 0; n < of_each && !all.empty(); ++n, ++checked) {
      const AmxSchedule& schedule = all[static_cast<std::size_t>(draw(0, static_cast<int>(all.size()) - 1))];
      runner.prepare(threads, schedule.encode());
      if (::testing::Test::HasFatalFailure()) return checked;
      EXPECT_EQ(runner.run(p, threads), p.expected) << describe(c) << ": " << schedule.to_string() << " seed " << seed;
      ways.insert(std::to_string(schedule.at_once) + "x" + std::to_string(schedule.joined) +
                  (schedule.units.lines > 1 ? " lines" : "") + (schedule.chunks > 1 ? " chunks" : ""));
    }
  }
  EXPECT_GE(ways.size(), 8u) << "hardly two ways to go about a convolution were tried";
  return checked;
}

TEST(AmxSchedules, GiveTheSameBits) {
  if (!AmxEmulation::is_possible()) GTEST_SKIP() << "needs avx512vnni: the AMX kernel did not run";
  const int shapes = AmxEmulation::is_needed() ? 20 : 60;  // 150 ms each when emulated
  EXPECT_EQ(check_schedules(shapes, 5, std::random_device()()), 5 * shapes);
}

TEST(AmxSchedulesLong, GiveTheSameBits) {
  if (!AmxEmulation::is_possible()) GTEST_SKIP() << "needs avx512vnni: the AMX kernel did not run";
  EXPECT_EQ(check_schedules(1000, 5, std::random_device()()), 5000);
}

// A step before them may fetch it: all of the weights where items have all chunks, each part's own where they are
// split.
TEST(AmxSchedules, SayWhichWeightsTheirItemsRead) {
  const ConvCase c{.height = 7, .width = 7, .channels = 512, .out_channels = 500, .kernel_h = 3, .kernel_w = 3};
  const ConvProblem p = make_problem(c, 1);
  ConvRunner runner(amx_choice(), c, p);
  std::set<std::int64_t> chunks;
  for (const AmxSchedule& schedule : schedules_of(runner.call(), 2)) {
    if (!chunks.insert(schedule.chunks).second) continue;
    runner.prepare(2, schedule.encode());
    const std::byte* const first = runner.packed()[0].data();
    const auto bytes = static_cast<std::size_t>(runner.packed()[0].elements());
    const auto all = runner.reads(0, 1), left = runner.reads(0, 2), right = runner.reads(1, 2);
    EXPECT_TRUE(all.data() == first && all.size() == bytes);
    EXPECT_EQ(left.data(), first);
    EXPECT_EQ(right.data() + right.size(), first + bytes);
    if (schedule.chunks == 1) EXPECT_EQ(left.size(), bytes);
    else if (schedule.chunks % 2 == 0) EXPECT_EQ(left.data() + left.size(), right.data()) << schedule.to_string();
    else EXPECT_GT(left.data() + left.size(), right.data()) << "the chunk in the middle is shared";
  }
  EXPECT_GE(chunks.size(), 3u);
}

TEST(AmxSchedules, ComeBackFromTheirBytes) {
  const ConvCase c{.height = 14, .width = 14, .channels = 64, .out_channels = 96, .kernel_h = 3, .kernel_w = 3};
  const ConvProblem p = make_problem(c, 1);
  ConvRunner runner(amx_choice(), c, p);
  const ConvGeometry g = geometry_of(runner.call(), kTileAmx);
  const ChannelBlocks blocks = channel_blocks(g, kTileAmx);
  const AmxConditions conditions{.l2_bytes = 1 << 20, .threads = 2};
  const std::vector<AmxSchedule> all = amx_schedules(g, blocks, conditions);
  EXPECT_GE(all.size(), 100u);
  std::set<std::string> names;
  for (const AmxSchedule& schedule : all) {
    const auto back = decode_amx_schedule(schedule.encode(), g, blocks, conditions);
    ASSERT_TRUE(back.has_value()) << schedule.to_string();
    EXPECT_EQ(back->encode(), schedule.encode());
    EXPECT_GT(amx_cycles(g, blocks, *back, conditions), 0.0);
  }
}

TEST(AmxSchedules, IllegalOnesAreRefused) {
  const ConvCase c{.height = 14, .width = 14, .channels = 64, .out_channels = 512, .kernel_h = 3, .kernel_w = 3};
  const ConvProblem p = make_problem(c, 1);
  ConvRunner runner(amx_choice(), c, p);
  runner.prepare(1);
  const AmxSchedule good = schedules_of(runner.call(), 1).front();
  const auto refused = [&](std::vector<std::byte> bytes) {
    std::vector<ConstTensorView> packed;
    for (const Tensor& tensor : runner.packed()) packed.push_back(tensor.view());
    StepSpec spec = runner.spec_with(packed);
    spec.schedule = bytes;
    const auto step = amx_choice().code.prepare(spec);
    return !step.ok() && step.errors()[0].kind == ErrorKind::invalid_input;
  };
  EXPECT_FALSE(refused(good.encode()));
  for (std::size_t size : {1u, 4u, 23u, 25u, 48u}) EXPECT_TRUE(refused(std::vector<std::byte>(size))) << size;
  // Each of its numbers, with values that no shape allows or that this one does not.
  for (std::size_t field = 0; field < good.encode().size() / 4; ++field) {
    for (const std::uint32_t value : {0u, 5u, 17u, 64u, 1000u, 0x7fffffffu, 0xffffffffu}) {
      std::vector<std::byte> bytes = good.encode();
      std::memcpy(bytes.data() + 4 * field, &value, 4);
      const bool may_be_legal = value == 0 ? field == 4 : value < 17;
      if (!may_be_legal) EXPECT_TRUE(refused(bytes)) << "field " << field << " is " << value;
      else refused(bytes);
    }
  }
}

}  // namespace
}  // namespace octavo
