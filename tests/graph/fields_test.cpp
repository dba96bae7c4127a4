// Attributes encode, decode and print from their field list.
#include <gtest/gtest.h>

#include "ops/pad/pad.h"
#include "ops/quantized_conv/quantized_conv.h"

namespace octavo {
namespace {

TEST(Fields, RoundTrip) {
  QuantizedConvAttrs attrs;
  attrs.window = unit_window({3, 3});
  attrs.x_zero_point = -7;
  attrs.epilogue = {{ScaleAndAdd{0.5f, 3}, Round{.after = 4}}, DType::s8};
  const auto decoded = decode_all<QuantizedConvAttrs>(encode(attrs));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(*decoded, attrs);
}

TEST(Fields, RejectsHostileBytes) {
  const Bytes bytes = encode(PadAttrs{.mode = PadMode::edge, .begin = {1, 2}, .end = {3, 4}});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_all<PadAttrs>(std::span(bytes).first(size)).has_value()) << size;
  }
  Bytes unknown_mode = bytes;
  unknown_mode[0] = std::byte{200};
  EXPECT_FALSE(decode_all<PadAttrs>(unknown_mode).has_value());
  Bytes huge_length = bytes;
  for (std::size_t i = 1; i < 9; ++i) huge_length[i] = std::byte{0xff};
  EXPECT_FALSE(decode_all<PadAttrs>(huge_length).has_value());
}

TEST(Fields, PrintsWhatDiffersFromTheDefault) {
  EXPECT_EQ(print(PadAttrs{.mode = PadMode::edge, .begin = {1, 2}, .end = {}}), "{mode=edge begin=[1,2]}");
}

}  // namespace
}  // namespace octavo
