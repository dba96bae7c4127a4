// channel_table: shape rule and reference. Part of ops/.
#include "ops/channel_table/channel_table.h"

#include <cstring>

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/one_image.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_channel_table(const Attrs& attrs, InputFacts inputs) {
  const auto& channels = attrs.as<ChannelTableAttrs>().channels;
  const Fact& x = *inputs[0];
  const Fact& table = *inputs[1];
  const auto count = static_cast<std::int64_t>(channels.size());
  if (auto problem = first_of({check_dtype("x", x, {DType::u8}), check_rank("x", x, 1, 64),
                               check_dtype("table", table, {DType::u8, DType::s8, DType::f32}),
                               check_shape("table", table, {count, 256})}))
    return *problem;
  std::vector<Dim> dims = x.shape.to_vector();
  for (const std::int64_t channel : channels) {
    if (auto problem = check_range("channels", channel, 0, dims.back() - 1)) return *problem;
  }
  dims.back() = count;
  return one_output(table.dtype, std::move(dims));
}

void reference_channel_table(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& channels = attrs.as<ChannelTableAttrs>().channels;
  const auto to = static_cast<std::int64_t>(channels.size());
  if (to == 0) return;
  const std::int64_t from = inputs[0].shape[inputs[0].shape.rank() - 1];
  const std::size_t size = size_of(inputs[1].dtype);
  for (std::int64_t i = 0; i < outputs[0].shape.elements(); ++i) {
    const std::int64_t c = i % to;
    const auto q = inputs[0].as<std::uint8_t>()[i / to * from + channels[static_cast<std::size_t>(c)]];
    std::memcpy(outputs[0].data + static_cast<std::size_t>(i) * size,
                inputs[1].data + static_cast<std::size_t>(c * 256 + q) * size, size);
  }
}

bool is_identity_channel_table(const Attrs& attrs, InputFacts inputs) {
  const Fact& table = *inputs[1];
  if (!table.is_constant() || !is_one_table(attrs.as<ChannelTableAttrs>(), *inputs[0], *table.constant)) return false;
  for (int i = 0; i < 256; ++i) {
    if (table.constant->as<std::uint8_t>()[i] != i) return false;
  }
  return true;
}

}  // namespace

bool is_one_table(const ChannelTableAttrs& attrs, const Fact& x, const Tensor& table) {
  const std::size_t count = attrs.channels.size();
  if (static_cast<std::int64_t>(count) != x.shape[x.shape.rank() - 1]) return false;
  const std::size_t bytes = 256 * size_of(table.dtype());
  for (std::size_t c = 0; c < count; ++c) {
    if (attrs.channels[c] != static_cast<std::int64_t>(c)) return false;
    if (std::memcmp(table.data(), table.data() + c * bytes, bytes) != 0) return false;
  }
  return true;
}

const OpSpec kChannelTable = {
    .name = "channel_table",
    .summary = "y[..., c] = table[c][x[..., channels[c]]], 256 entries of u8, s8 or f32 for each channel",
    .inputs = {"x", "table"},
    .infer = infer_channel_table,
    .reference = reference_channel_table,
    .decode_attrs = decode_attrs_as<ChannelTableAttrs>,
    .for_one_image = same_for_one_image_along_last_axis,
    .is_integer = true,
    .is_identity = is_identity_channel_table,
};

template Attrs::Attrs(ChannelTableAttrs);

}  // namespace octavo
