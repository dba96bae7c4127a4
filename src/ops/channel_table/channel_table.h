// channel_table: a function of 8-bit values for each channel; what pictures go through. Part of ops/.
#ifndef OCTAVO_OPS_CHANNEL_TABLE_CHANNEL_TABLE_H_
#define OCTAVO_OPS_CHANNEL_TABLE_CHANNEL_TABLE_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"

namespace octavo {

struct ChannelTableAttrs {
  std::vector<std::int64_t> channels;  // by channel of y: the channel of x that it reads

  bool operator==(const ChannelTableAttrs&) const = default;
  static constexpr auto fields() { return std::tuple(Field{"channels", &ChannelTableAttrs::channels}); }
};

// y[..., c] = table[c][x[..., channels[c]]]. inputs: x (u8, channels last), table [channels of y, 256] of u8, s8 or
// f32. The result has the type of the table.
extern const OpSpec kChannelTable;

// Whether every channel of y has one function of the same channel of x: then a table (ops/table) says the same. `table`
// is constant.
bool is_one_table(const ChannelTableAttrs& attrs, const Fact& x, const Tensor& table);

}  // namespace octavo

#endif  // OCTAVO_OPS_CHANNEL_TABLE_CHANNEL_TABLE_H_
