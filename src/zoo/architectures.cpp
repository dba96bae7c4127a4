// The list of architectures, and the families of plain blocks: ResNet, VGG, SqueezeNet, RegNet. Part of zoo/.
#include "zoo/architectures.h"

#include <array>
#include <cmath>
#include <initializer_list>

namespace octavo::zoo {
namespace {

constexpr std::int64_t kArchitecturesClasses = 1000;

Wire classify(OnnxBuilder& net, const Wire& features) {
  return net.gemm(net.flatten(net.global_average_pool(features), features.channels), kArchitecturesClasses);
}

// ---- ResNet (He et al. 2015), v1.5: the stride is on the 3x3 convolution ----

Wire basic_block(OnnxBuilder& net, const Wire& x, std::int64_t width, std::int64_t stride) {
  const Wire inner = net.conv(x, {.out = width, .kernel = 3, .stride = stride}, Activation::relu);
  const Wire y = net.conv(inner, {.out = width, .kernel = 3});
  const bool is_same = stride == 1 && x.channels == width;
  const Wire shortcut = is_same ? x : net.conv(x, {.out = width, .kernel = 1, .stride = stride});
  return net.activate(net.add(y, shortcut), Activation::relu);
}

Wire bottleneck(OnnxBuilder& net, const Wire& x, std::int64_t width, std::int64_t stride) {
  const std::int64_t out = 4 * width;
  const Wire reduced = net.conv(x, {.out = width}, Activation::relu);
  const Wire inner = net.conv(reduced, {.out = width, .kernel = 3, .stride = stride}, Activation::relu);
  const Wire y = net.conv(inner, {.out = out});
  const bool is_same = stride == 1 && x.channels == out;
  const Wire shortcut = is_same ? x : net.conv(x, {.out = out, .kernel = 1, .stride = stride});
  return net.activate(net.add(y, shortcut), Activation::relu);
}

Wire resnet(OnnxBuilder& net, Wire (*block)(OnnxBuilder&, const Wire&, std::int64_t, std::int64_t),
            std::array<int, 4> depths) {
  Wire x = net.conv(net.input(), {.out = 64, .kernel = 7, .stride = 2}, Activation::relu);
  x = net.max_pool(x, 3, 2, 1);
  for (std::size_t stage = 0; stage < depths.size(); ++stage) {
    for (int i = 0; i < depths[stage]; ++i) x = block(net, x, std::int64_t{64} << stage, stage > 0 && i == 0 ? 2 : 1);
  }
  return classify(net, x);
}

// ---- VGG (Simonyan and Zisserman 2014); 0 is a pool ----

Wire vgg(OnnxBuilder& net, std::initializer_list<std::int64_t> widths) {
  Wire x = net.input();
  for (std::int64_t width : widths) {
    x = width == 0 ? net.max_pool(x, 2, 2, 0)
                   : net.conv(x, {.out = width, .kernel = 3, .norm = Norm::none}, Activation::relu);
  }
  x = net.flatten(net.average_pool_to_same(x), 512 * 7 * 7);
  x = net.activate(net.gemm(x, 4096), Activation::relu);
  x = net.activate(net.gemm(x, 4096), Activation::relu);
  return net.gemm(x, kArchitecturesClasses);
}

// ---- SqueezeNet (Iandola et al. 2016) ----

Wire fire(OnnxBuilder& net, const Wire& x, std::int64_t squeeze, std::int64_t expand) {
  const Wire squeezed = net.conv(x, {.out = squeeze, .norm = Norm::none}, Activation::relu);
  const Wire one = net.conv(squeezed, {.out = expand, .norm = Norm::none}, Activation::relu);
  const Wire three = net.conv(squeezed, {.out = expand, .kernel = 3, .norm = Norm::none}, Activation::relu);
  return net.concat(one, three);
}

// ---- RegNetY (Radosavovic et al. 2020) ----

Wire regnet_block(OnnxBuilder& net, const Wire& x, std::int64_t width, std::int64_t stride, std::int64_t group_width) {
  const bool is_same = stride == 1 && x.channels == width;
  const Wire shortcut = is_same ? x : net.conv(x, {.out = width, .kernel = 1, .stride = stride});
  Wire y = net.conv(x, {.out = width}, Activation::relu);
  y = net.conv(y, {.out = width, .kernel = 3, .stride = stride, .groups = width / group_width}, Activation::relu);
  const auto squeezed = static_cast<std::int64_t>(std::lround(0.25 * static_cast<double>(x.channels)));
  Wire gate = net.conv(net.global_average_pool(y), {.out = squeezed, .norm = Norm::none}, Activation::relu);
  gate = net.sigmoid(net.conv(gate, {.out = width, .norm = Norm::none}));
  y = net.conv(net.mul(gate, y), {.out = width});
  return net.activate(net.add(shortcut, y), Activation::relu);
}

constexpr std::array kArchitectures = {
    Architecture{"efficientnet_b0", efficientnet_b0},
    Architecture{"efficientnet_v2_s", efficientnet_v2_s},
    Architecture{"mobilenet_v2", mobilenet_v2},
    Architecture{"mobilenet_v3_large", mobilenet_v3_large},
    Architecture{"mobilenet_v3_small", mobilenet_v3_small},
    Architecture{"regnet_y_400mf", regnet_y_400mf},
    Architecture{"resnet18", resnet18},
    Architecture{"resnet34", resnet34},
    Architecture{"resnet50", resnet50},
    Architecture{"squeezenet1_1", squeezenet1_1},
    Architecture{"vgg11", vgg11},
    Architecture{"vgg13", vgg13},
    Architecture{"vgg16", vgg16},
    Architecture{"vgg19", vgg19},
};

}  // namespace

std::span<const Architecture> architectures() { return kArchitectures; }

Wire resnet18(OnnxBuilder& net) { return resnet(net, basic_block, {2, 2, 2, 2}); }
Wire resnet34(OnnxBuilder& net) { return resnet(net, basic_block, {3, 4, 6, 3}); }
Wire resnet50(OnnxBuilder& net) { return resnet(net, bottleneck, {3, 4, 6, 3}); }

Wire vgg11(OnnxBuilder& net) { return vgg(net, {64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0}); }
Wire vgg13(OnnxBuilder& net) { return vgg(net, {64, 64, 0, 128, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0}); }
Wire vgg16(OnnxBuilder& net) {
  return vgg(net, {64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0});
}
Wire vgg19(OnnxBuilder& net) {
  return vgg(net, {64, 64, 0, 128, 128, 0, 256, 256, 256, 256, 0, 512, 512, 512, 512, 0, 512, 512, 512, 512, 0});
}

Wire squeezenet1_1(OnnxBuilder& net) {
  Wire x =
      net.conv(net.input(), {.out = 64, .kernel = 3, .stride = 2, .norm = Norm::none, .padding = 0}, Activation::relu);
  x = net.max_pool(x, 3, 2, 0, true);
  for (int i = 0; i < 2; ++i) x = fire(net, x, 16, 64);
  x = net.max_pool(x, 3, 2, 0, true);
  for (int i = 0; i < 2; ++i) x = fire(net, x, 32, 128);
  x = net.max_pool(x, 3, 2, 0, true);
  for (std::int64_t squeeze : {48, 48, 64, 64}) x = fire(net, x, squeeze, 4 * squeeze);
  // The classifier has no batch norm, but its ReLU and mean need channels of one scale for the answers to differ.
  x = net.conv(x, {.out = kArchitecturesClasses, .norm = Norm::batch}, Activation::relu);
  return net.flatten(net.global_average_pool(x), kArchitecturesClasses);
}

Wire regnet_y_400mf(OnnxBuilder& net) {
  constexpr std::int64_t kGroupWidth = 8;
  constexpr std::array<std::int64_t, 4> widths = {48, 104, 208, 440};
  constexpr std::array<int, 4> depths = {1, 3, 6, 6};
  Wire x = net.conv(net.input(), {.out = 32, .kernel = 3, .stride = 2}, Activation::relu);
  for (std::size_t stage = 0; stage < widths.size(); ++stage) {
    for (int i = 0; i < depths[stage]; ++i) x = regnet_block(net, x, widths[stage], i == 0 ? 2 : 1, kGroupWidth);
  }
  return classify(net, x);
}

}  // namespace octavo::zoo
