// The families of inverted residual blocks: MobileNetV2, MobileNetV3, EfficientNet, EfficientNetV2. Part of zoo/.
#include <algorithm>
#include <span>

#include "zoo/architectures.h"

namespace octavo::zoo {
namespace {

constexpr std::int64_t kInvertedResidualsClasses = 1000;

// The nearest multiple of 8, not below 90 % of the value (MobileNet's rule).
std::int64_t make_divisible(std::int64_t value) {
  const std::int64_t rounded = std::max<std::int64_t>(8, (value + 4) / 8 * 8);
  return 10 * rounded < 9 * value ? rounded + 8 : rounded;
}

// ---- MobileNetV2 (Sandler et al. 2018) ----

Wire mobilenet_v2_block(OnnxBuilder& net, const Wire& x, std::int64_t expand, std::int64_t out, std::int64_t stride) {
  const std::int64_t width = x.channels * expand;
  Wire y = expand == 1 ? x : net.conv(x, {.out = width}, Activation::relu6);
  y = net.conv(y, {.out = width, .kernel = 3, .stride = stride, .groups = width}, Activation::relu6);
  y = net.conv(y, {.out = out});
  return stride == 1 && x.channels == out ? net.add(x, y) : y;
}

// ---- MobileNetV3 (Howard et al. 2019) ----

enum class Gate : std::uint8_t { none, squeeze_excite };

struct MobileNetV3Row {
  std::int64_t kernel, expanded, out;
  Gate gate;
  Activation activation;
  std::int64_t stride;
};

Wire mobilenet_v3_block(OnnxBuilder& net, const Wire& x, const MobileNetV3Row& row) {
  Wire y = row.expanded == x.channels ? x : net.conv(x, {.out = row.expanded}, row.activation);
  y = net.conv(y, {.out = row.expanded, .kernel = row.kernel, .stride = row.stride, .groups = row.expanded},
               row.activation);
  if (row.gate == Gate::squeeze_excite) {
    const std::int64_t squeezed = make_divisible(row.expanded / 4);
    Wire gate = net.conv(net.global_average_pool(y), {.out = squeezed, .norm = Norm::none}, Activation::relu);
    gate = net.hard_sigmoid(net.conv(gate, {.out = row.expanded, .norm = Norm::none}));
    y = net.mul(gate, y);
  }
  y = net.conv(y, {.out = row.out});
  return row.stride == 1 && x.channels == row.out ? net.add(y, x) : y;
}

Wire mobilenet_v3(OnnxBuilder& net, std::span<const MobileNetV3Row> rows, std::int64_t hidden) {
  Wire x = net.conv(net.input(), {.out = 16, .kernel = 3, .stride = 2}, Activation::hard_swish);
  for (const MobileNetV3Row& row : rows) x = mobilenet_v3_block(net, x, row);
  x = net.conv(x, {.out = 6 * x.channels}, Activation::hard_swish);
  x = net.gemm(net.flatten(net.global_average_pool(x), x.channels), hidden);
  return net.gemm(net.activate(x, Activation::hard_swish), kInvertedResidualsClasses);
}

// ---- EfficientNet (Tan and Le 2019, 2021) ----

enum class Block : std::uint8_t { mbconv, fused };

struct EfficientNetRow {
  Block block;
  std::int64_t expand, kernel, stride, out;
  int depth;
};

Wire squeeze_excite(OnnxBuilder& net, const Wire& x, std::int64_t squeezed) {
  Wire gate = net.conv(net.global_average_pool(x), {.out = squeezed, .norm = Norm::none}, Activation::silu);
  gate = net.sigmoid(net.conv(gate, {.out = x.channels, .norm = Norm::none}));
  return net.mul(gate, x);
}

Wire mbconv(OnnxBuilder& net, const Wire& x, const EfficientNetRow& row, std::int64_t stride) {
  const std::int64_t width = x.channels * row.expand;
  Wire y = row.expand == 1 ? x : net.conv(x, {.out = width}, Activation::silu);
  y = net.conv(y, {.out = width, .kernel = row.kernel, .stride = stride, .groups = width}, Activation::silu);
  y = squeeze_excite(net, y, std::max<std::int64_t>(1, x.channels / 4));
  return net.conv(y, {.out = row.out});
}

Wire fused_mbconv(OnnxBuilder& net, const Wire& x, const EfficientNetRow& row, std::int64_t stride) {
  if (row.expand == 1) return net.conv(x, {.out = row.out, .kernel = row.kernel, .stride = stride}, Activation::silu);
  const Wire y =
      net.conv(x, {.out = x.channels * row.expand, .kernel = row.kernel, .stride = stride}, Activation::silu);
  return net.conv(y, {.out = row.out});
}

Wire efficientnet(OnnxBuilder& net, std::int64_t stem, std::span<const EfficientNetRow> rows) {
  constexpr std::int64_t kHead = 1280;
  Wire x = net.conv(net.input(), {.out = stem, .kernel = 3, .stride = 2}, Activation::silu);
  for (const EfficientNetRow& row : rows) {
    for (int i = 0; i < row.depth; ++i) {
      const std::int64_t stride = i == 0 ? row.stride : 1;
      const Wire y = row.block == Block::fused ? fused_mbconv(net, x, row, stride) : mbconv(net, x, row, stride);
      x = stride == 1 && x.channels == row.out ? net.add(y, x) : y;
    }
  }
  x = net.conv(x, {.out = kHead}, Activation::silu);
  return net.gemm(net.flatten(net.global_average_pool(x), kHead), kInvertedResidualsClasses);
}

}  // namespace

Wire mobilenet_v2(OnnxBuilder& net) {
  struct Row {
    std::int64_t expand, out;
    int depth;
    std::int64_t stride;
  };
  constexpr Row rows[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                          {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  Wire x = net.conv(net.input(), {.out = 32, .kernel = 3, .stride = 2}, Activation::relu6);
  for (const Row& row : rows) {
    for (int i = 0; i < row.depth; ++i) x = mobilenet_v2_block(net, x, row.expand, row.out, i == 0 ? row.stride : 1);
  }
  x = net.conv(x, {.out = 1280}, Activation::relu6);
  return net.gemm(net.flatten(net.global_average_pool(x), x.channels), kInvertedResidualsClasses);
}

Wire mobilenet_v3_large(OnnxBuilder& net) {
  constexpr auto kRelu = Activation::relu;
  constexpr auto kSwish = Activation::hard_swish;
  constexpr auto kNone = Gate::none;
  constexpr auto kGate = Gate::squeeze_excite;
  constexpr MobileNetV3Row rows[] = {
      {3, 16, 16, kNone, kRelu, 1},    {3, 64, 24, kNone, kRelu, 2},    {3, 72, 24, kNone, kRelu, 1},
      {5, 72, 40, kGate, kRelu, 2},    {5, 120, 40, kGate, kRelu, 1},   {5, 120, 40, kGate, kRelu, 1},
      {3, 240, 80, kNone, kSwish, 2},  {3, 200, 80, kNone, kSwish, 1},  {3, 184, 80, kNone, kSwish, 1},
      {3, 184, 80, kNone, kSwish, 1},  {3, 480, 112, kGate, kSwish, 1}, {3, 672, 112, kGate, kSwish, 1},
      {5, 672, 160, kGate, kSwish, 2}, {5, 960, 160, kGate, kSwish, 1}, {5, 960, 160, kGate, kSwish, 1},
  };
  return mobilenet_v3(net, rows, 1280);
}

Wire mobilenet_v3_small(OnnxBuilder& net) {
  constexpr auto kRelu = Activation::relu;
  constexpr auto kSwish = Activation::hard_swish;
  constexpr auto kNone = Gate::none;
  constexpr auto kGate = Gate::squeeze_excite;
  constexpr MobileNetV3Row rows[] = {
      {3, 16, 16, kGate, kRelu, 2},   {3, 72, 24, kNone, kRelu, 2},   {3, 88, 24, kNone, kRelu, 1},
      {5, 96, 40, kGate, kSwish, 2},  {5, 240, 40, kGate, kSwish, 1}, {5, 240, 40, kGate, kSwish, 1},
      {5, 120, 48, kGate, kSwish, 1}, {5, 144, 48, kGate, kSwish, 1}, {5, 288, 96, kGate, kSwish, 2},
      {5, 576, 96, kGate, kSwish, 1}, {5, 576, 96, kGate, kSwish, 1},
  };
  return mobilenet_v3(net, rows, 1024);
}

Wire efficientnet_b0(OnnxBuilder& net) {
  constexpr EfficientNetRow rows[] = {
      {Block::mbconv, 1, 3, 1, 16, 1},  {Block::mbconv, 6, 3, 2, 24, 2},  {Block::mbconv, 6, 5, 2, 40, 2},
      {Block::mbconv, 6, 3, 2, 80, 3},  {Block::mbconv, 6, 5, 1, 112, 3}, {Block::mbconv, 6, 5, 2, 192, 4},
      {Block::mbconv, 6, 3, 1, 320, 1},
  };
  return efficientnet(net, 32, rows);
}

Wire efficientnet_v2_s(OnnxBuilder& net) {
  constexpr EfficientNetRow rows[] = {
      {Block::fused, 1, 3, 1, 24, 2},   {Block::fused, 4, 3, 2, 48, 4},   {Block::fused, 4, 3, 2, 64, 4},
      {Block::mbconv, 4, 3, 2, 128, 6}, {Block::mbconv, 6, 3, 1, 160, 9}, {Block::mbconv, 6, 3, 2, 256, 15},
  };
  return efficientnet(net, 24, rows);
}

}  // namespace octavo::zoo
