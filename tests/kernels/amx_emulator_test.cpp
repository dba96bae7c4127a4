// The AMX emulator itself: instructions as GNU as writes them, products by hand, and every rule that a kernel could
// break.
#include "support/amx_emulator.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <string>
#include <vector>

#include "support/sanitizers.h"

namespace octavo::testing {
namespace {

using Bytes = std::vector<std::uint8_t>;

const Bytes kLoadConfig = {0xc4, 0xe2, 0x78, 0x49, 0x07};         // ldtilecfg [rdi]
const Bytes kRelease = {0xc4, 0xe2, 0x78, 0x49, 0xc0};            // tilerelease
const Bytes kZero1 = {0xc4, 0xe2, 0x7b, 0x49, 0xc8};              // tilezero tmm1
const Bytes kLoad4 = {0xc4, 0xa2, 0x7b, 0x4b, 0x24, 0x08};        // tileloadd tmm4, [rax + r9]
const Bytes kLoad6 = {0xc4, 0xa2, 0x7b, 0x4b, 0x74, 0x1a, 0x40};  // tileloadd tmm6, [rdx + r11 + 0x40]
const Bytes kLoad6Scaled = {0xc4, 0xc2, 0x7b, 0x4b, 0xb4,
                            0x6d, 0x34, 0x12, 0x00, 0x00};            // tileloadd tmm6, [r13 + rbp * 2 + 0x1234]
const Bytes kMultiply = {0xc4, 0xe2, 0x49, 0x5e, 0xc4};               // tdpbusd tmm0, tmm4, tmm6
const Bytes kStore0 = {0xc4, 0xa2, 0x7a, 0x4b, 0x44, 0x18, 0x40};     // tilestored [rax + r11 + 0x40], tmm0
const Bytes kLoad4Past = {0xc4, 0xa2, 0x79, 0x4b, 0x24, 0x08};        // tileloaddt1 tmm4, [rax + r9]
const std::vector<Bytes> kUnknown = {{0xc4, 0xe2, 0x4b, 0x5e, 0xc4},  // tdpbssd tmm0, tmm4, tmm6
                                     {0xc4, 0xe2, 0x79, 0x49, 0x07},  // sttilecfg [rdi]
                                     {0x0f, 0x0b, 0, 0, 0}};          // ud2

enum { kRax = 0, kRdx = 2, kRbp = 5, kRdi = 7, kR9 = 9, kR11 = 11, kR13 = 13 };

std::uint64_t address(const void* memory) { return reinterpret_cast<std::uint64_t>(memory); }

struct Config {
  std::uint8_t bytes[64] = {1};
  void set(int tile, int rows, int row_bytes) {
    bytes[48 + tile] = static_cast<std::uint8_t>(rows);
    bytes[16 + 2 * tile] = static_cast<std::uint8_t>(row_bytes);
  }
};

// tmm0 3 x 2 sums, tmm4 3 rows of 8 bytes, tmm6 2 rows of 2 x 4 bytes.
struct AmxEmulator : ::testing::Test {
  AmxState state;
  GeneralRegisters general{};
  Config config;

  AmxEmulator() {
    config.set(0, 3, 8);
    config.set(1, 16, 64);
    config.set(4, 3, 8);
    config.set(6, 2, 8);
  }
  std::string execute(const Bytes& code) {
    const AmxStep step = execute_amx(code.data(), general, state);
    if (step.violation != nullptr) return step.violation;
    EXPECT_EQ(static_cast<std::size_t>(step.length), code.size());
    return "";
  }
  std::string configure() {
    general[kRdi] = address(config.bytes);
    return execute(kLoadConfig);
  }
  bool is_refused(const std::string& violation, const std::string& part) {
    return violation.find(part) != std::string::npos;
  }
};

TEST_F(AmxEmulator, MultipliesAsDefined) {
  ASSERT_EQ(configure(), "");
  const std::uint8_t a[3][10] = {{1, 2, 3, 4, 255, 0, 0, 1, 99, 99},
                                 {0, 0, 0, 0, 0, 0, 0, 0, 99, 99},
                                 {255, 255, 255, 255, 255, 255, 255, 255, 99, 99}};
  const std::int8_t b[2][8] = {{1, -1, 2, -2, -128, -128, -128, -128}, {127, 5, 6, 7, -128, -128, -128, -128}};
  const std::int32_t start = 2147483647;
  std::int32_t sums[4][2] = {{-7, -7}, {-7, -7}, {-7, -7}, {-7, -7}};
  general[kRax] = address(a), general[kR9] = 10;
  ASSERT_EQ(execute(kLoad4), "");
  general[kRdx] = address(b) - 0x40, general[kR11] = 8;
  ASSERT_EQ(execute(kLoad6), "");
  std::memcpy(state.registers[0].data[0], &start, 4);
  ASSERT_EQ(execute(kMultiply), "");
  general[kRax] = address(sums) - 0x40;
  ASSERT_EQ(execute(kStore0), "");
  const std::int32_t expected[4][2] = {
      {static_cast<std::int32_t>(2147483647u + (1 - 2 + 6 - 8 + 255 * 127 + 7)), -128 * (10 + 256)},
      {0, 0},
      {255 * (0 + 127 + 18), -128 * 255 * 8},
      {-7, -7}};
  EXPECT_EQ(std::memcmp(sums, expected, sizeof sums), 0);
}

TEST_F(AmxEmulator, AddressesAreDecoded) {
  ASSERT_EQ(configure(), "");
  std::vector<std::uint8_t> memory(40);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::uint8_t>(i);
  general[kR13] = address(memory.data()) - 0x1234, general[kRbp] = 10;
  ASSERT_EQ(execute(kLoad6Scaled), "");
  EXPECT_EQ(std::memcmp(state.registers[6].data[0], memory.data(), 8), 0);
  EXPECT_EQ(std::memcmp(state.registers[6].data[1], memory.data() + 20, 8), 0);
  EXPECT_EQ(state.registers[6].data[1][8], 0) << "beyond the row";
}

TEST_F(AmxEmulator, LoadsPastL1AreLoads) {
  ASSERT_EQ(configure(), "");
  std::vector<std::uint8_t> memory(40);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::uint8_t>(i);
  general[kRax] = address(memory.data()), general[kR9] = 11;
  for (const Bytes& load : {kLoad4, kLoad4Past}) {
    std::memset(state.registers[4].data, 0xff, sizeof state.registers[4].data);
    ASSERT_EQ(execute(load), "");
    for (int row = 0; row < 3; ++row) EXPECT_EQ(state.registers[4].data[row][7], 11 * row + 7);
    EXPECT_EQ(state.registers[4].data[0][8], 0) << "beyond the row";
  }
}

TEST_F(AmxEmulator, ReleaseAndZeroClear) {
  ASSERT_EQ(configure(), "");
  std::memset(state.registers[1].data, 1, sizeof state.registers[1].data);
  ASSERT_EQ(execute(kZero1), "");
  EXPECT_EQ(state.registers[1].data[15][63], 0);
  ASSERT_EQ(execute(kRelease), "");
  EXPECT_FALSE(state.is_configured);
  for (const Bytes& code : {kZero1, kLoad4, kMultiply, kStore0}) EXPECT_NE(execute(code), "");
}

TEST_F(AmxEmulator, RegistersThatDoNotFitTogetherAreRefused) {
  for (const auto& [tile, rows, row_bytes] :
       {std::array{0, 2, 8}, {0, 3, 12}, {4, 3, 4}, {4, 3, 6}, {6, 1, 8}, {6, 2, 12}, {6, 0, 0}}) {
    Config other = config;
    other.set(tile, rows, row_bytes);
    general[kRdi] = address(other.bytes);
    ASSERT_EQ(execute(kLoadConfig), "");
    EXPECT_NE(execute(kMultiply), "") << tile << " " << rows << " " << row_bytes;
  }
  ASSERT_EQ(configure(), "");
  EXPECT_EQ(execute(kMultiply), "");
  EXPECT_TRUE(is_refused(execute({0xc4, 0xe2, 0x59, 0x5e, 0xc4}), "twice")) << "tdpbusd tmm0, tmm4, tmm4";
}

TEST_F(AmxEmulator, BadPalettesAreRefused) {
  const auto expect_refused = [&](int index, std::uint8_t value) {
    Config bad = config;
    bad.bytes[index] = value;
    general[kRdi] = address(bad.bytes);
    EXPECT_NE(execute(kLoadConfig), "") << index;
  };
  expect_refused(0, 2);       // palette
  expect_refused(1, 1);       // start row
  expect_refused(2, 1);       // reserved
  expect_refused(15, 1);      // reserved
  expect_refused(48, 17);     // rows
  expect_refused(48, 0);      // bytes without rows
  expect_refused(50, 1);      // rows without bytes
  expect_refused(16, 68);     // bytes
  expect_refused(48 + 8, 1);  // a ninth register
  EXPECT_FALSE(state.is_configured);
}

TEST_F(AmxEmulator, OtherInstructionsAreRefused) {
  ASSERT_EQ(configure(), "");
  for (const Bytes& code : kUnknown) EXPECT_NE(execute(code), "");
  EXPECT_NE(execute({0xc4, 0xe2, 0x7b, 0x4b, 0x20}), "") << "tileloadd without an index byte";
  EXPECT_NE(execute({0xc4, 0xe2, 0xf8, 0x49, 0x07}), "") << "W";
}

#ifndef OCTAVO_SANITIZED
TEST(AmxEmulation, OtherIllegalInstructionsStillEndTheProcess) {
  EXPECT_EXIT(
      {
        const AmxEmulation emulation;
        __builtin_trap();
      },
      ::testing::KilledBySignal(SIGILL), AmxEmulation::is_needed() ? "AMX emulation: not an instruction" : "");
}
#endif

}  // namespace
}  // namespace octavo::testing
