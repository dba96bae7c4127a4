// Functions of pictures become tables of their channels, bit for bit.
#include "lower/rules/channel_tables.h"

#include "lower/graph_builder.h"
#include "lower/lower.h"
#include "ops/channel_table/channel_table.h"
#include "ops/table/table.h"

namespace octavo {
namespace {

// u8 [2, 3, 5, 3] -> f32, each channel in its own way; the same way where asked for.
ValueId pixels(GraphBuilder& b, bool is_same = false) {
  std::vector<float> table;
  for (int i = 0; i < 3 * 256; ++i) {
    const float channel = is_same ? 0.0f : static_cast<float>(i / 256);
    table.push_back(static_cast<float>(i % 256) * 0.03f - channel - 3.0f);
  }
  return b.add(kChannelTable, ChannelTableAttrs{{0, 1, 2}},
               {b.input(DType::u8, {2, 3, 5, 3}), b.constant<float>({3, 256}, table)});
}

TEST(ChannelTables, TakeUpWhatFollows) {
  GraphBuilder b;
  b.output(b.quantize(b.unary(UnaryKind::clip, pixels(b), -2.0f, 3.0f), 0.02f, 117, DType::s8));
  EXPECT_EQ(apply_exactly(b.graph, into_integer_channel_table), 2);
  EXPECT_EQ(b.graph.node_count(), 1);
  EXPECT_EQ(b.graph.fact(b.graph.outputs()[0]).quant->zero_point[0], 117);
}

TEST(ChannelTables, LeaveDequantizeToWhoAsksForIt) {
  GraphBuilder b;
  b.output(b.dequantize(b.quantize(pixels(b), 0.02f, 100), 0.02f, 100));
  EXPECT_EQ(apply_exactly(b.graph, into_integer_channel_table), 1);
  EXPECT_EQ(count(b.graph, kDequantize), 1);
  EXPECT_EQ(apply_exactly(b.graph, into_channel_table), 1);
  EXPECT_EQ(b.graph.node_count(), 1);
}

TEST(ChannelTables, NotWhatMixesElements) {
  GraphBuilder b;
  const ValueId x = pixels(b);
  b.output(b.binary(BinaryKind::add, x, x));
  b.output(b.add(kQuantize, QuantizeAttrs{.axis = 3}, {x, b.constant<float>({3}, {0.1f, 0.2f, 0.3f})}));
  EXPECT_EQ(refusal(b.graph, into_channel_table), "");
}

TEST(ChannelTables, AreOneWhereChannelsAreAlike) {
  GraphBuilder b;
  b.output(pixels(b, true));
  EXPECT_EQ(apply_exactly(b.graph, channel_table_to_table), 1);
  EXPECT_EQ(count(b.graph, kTable), 1);
  GraphBuilder apart;
  apart.output(pixels(apart));
  EXPECT_EQ(refusal(apart.graph, channel_table_to_table), "");
  // The same function, of channels in another order.
  GraphBuilder swapped;
  swapped.output(swapped.add(
      kChannelTable, ChannelTableAttrs{{2, 1, 0}},
      {swapped.input(DType::u8, {4, 3}), swapped.constant<std::uint8_t>({3, 256}, std::vector<std::uint8_t>(768))}));
  EXPECT_EQ(refusal(swapped.graph, channel_table_to_table), "");
}

TEST(ChannelTables, ThatChangeNothingAreDropped) {
  GraphBuilder b;
  std::vector<std::uint8_t> same;
  for (int i = 0; i < 3 * 256; ++i) same.push_back(static_cast<std::uint8_t>(i));
  const ValueId x = b.add(kChannelTable, ChannelTableAttrs{{0, 1, 2}},
                          {b.input(DType::u8, {2, 3}), b.constant<std::uint8_t>({3, 256}, same)});
  b.output(b.dequantize(x, 0.5f, 3));
  ASSERT_TRUE(lower(b.graph, {}));
  EXPECT_EQ(count(b.graph, kChannelTable) + count(b.graph, kTable), 0);
}

}  // namespace
}  // namespace octavo
