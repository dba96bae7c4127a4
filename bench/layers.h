// Layers of well-known networks that kernels are measured on. Part of bench/.
#ifndef OCTAVO_BENCH_LAYERS_H_
#define OCTAVO_BENCH_LAYERS_H_

#include <cstdint>
#include <string>

namespace octavo {

struct Layer {
  const char* network;
  std::int64_t size, in, out, kernel, stride, groups;
  bool has_residual = false;
  bool has_table = false;
  bool has_extreme_weights = false;  // all of 127: sums as large as they can be
};

// size: of the square input.
inline constexpr Layer kLayers[] = {
    {"resnet18", 224, 3, 64, 7, 2, 1},
    {"resnet18", 56, 64, 64, 3, 1, 1},
    {"resnet18", 56, 64, 64, 3, 1, 1, true},
    {"resnet18", 56, 64, 128, 3, 2, 1},
    {"resnet18", 56, 64, 128, 1, 2, 1},
    {"resnet18", 28, 128, 128, 3, 1, 1},
    {"resnet18", 28, 128, 128, 3, 1, 1, true},
    {"resnet18", 28, 128, 256, 3, 2, 1},
    {"resnet18", 28, 128, 256, 1, 2, 1},
    {"resnet18", 14, 256, 256, 3, 1, 1},
    {"resnet18", 14, 256, 256, 3, 1, 1, true},
    {"resnet18", 14, 256, 512, 3, 2, 1},
    {"resnet18", 14, 256, 512, 1, 2, 1},
    {"resnet18", 7, 512, 512, 3, 1, 1},
    {"resnet18", 7, 512, 512, 3, 1, 1, true},
    {"resnet18", 1, 512, 1000, 1, 1, 1},
    {"vgg16", 224, 3, 64, 3, 1, 1},
    {"vgg16", 224, 64, 64, 3, 1, 1},
    {"vgg16", 112, 64, 128, 3, 1, 1},
    {"vgg16", 112, 128, 128, 3, 1, 1},
    {"vgg16", 56, 128, 256, 3, 1, 1},
    {"vgg16", 56, 256, 256, 3, 1, 1},
    {"vgg16", 28, 256, 512, 3, 1, 1},
    {"vgg16", 28, 512, 512, 3, 1, 1},
    {"vgg16", 14, 512, 512, 3, 1, 1},
    {"vgg16", 1, 25088, 4096, 1, 1, 1},
    {"vgg16", 1, 4096, 4096, 1, 1, 1},
    {"vgg16", 1, 4096, 1000, 1, 1, 1},
    {"efficientnet_v2_s", 224, 3, 24, 3, 2, 1, false, true},
    {"efficientnet_v2_s", 112, 24, 24, 3, 1, 1, false, true},
    {"efficientnet_v2_s", 112, 24, 96, 3, 2, 1, false, true},
    {"efficientnet_v2_s", 56, 96, 48, 1, 1, 1},
    {"efficientnet_v2_s", 56, 48, 192, 3, 1, 1, false, true},
    {"efficientnet_v2_s", 56, 192, 48, 1, 1, 1, true},
    {"efficientnet_v2_s", 56, 48, 192, 3, 2, 1, false, true},
    {"efficientnet_v2_s", 28, 192, 64, 1, 1, 1},
    {"efficientnet_v2_s", 28, 64, 256, 3, 1, 1, false, true},
    {"efficientnet_v2_s", 28, 256, 64, 1, 1, 1, true},
    {"efficientnet_v2_s", 28, 64, 256, 1, 1, 1, false, true},
    {"efficientnet_v2_s", 14, 128, 512, 1, 1, 1, false, true},
    {"efficientnet_v2_s", 14, 512, 128, 1, 1, 1, true},
    {"efficientnet_v2_s", 14, 160, 960, 1, 1, 1, false, true},
    {"efficientnet_v2_s", 14, 960, 160, 1, 1, 1, true},
    {"efficientnet_v2_s", 7, 256, 1536, 1, 1, 1, false, true},
    {"efficientnet_v2_s", 7, 1536, 256, 1, 1, 1, true},
    {"efficientnet_v2_s", 1, 1536, 64, 1, 1, 1, false, true},
    {"mobilenet_v2", 112, 32, 16, 1, 1, 1},
    {"mobilenet_v2", 112, 16, 96, 1, 1, 1},
    {"mobilenet_v2", 56, 96, 24, 1, 1, 1},
    {"mobilenet_v2", 56, 24, 144, 1, 1, 1},
    {"mobilenet_v2", 56, 144, 24, 1, 1, 1, true},
    {"mobilenet_v2", 28, 144, 32, 1, 1, 1},
    {"mobilenet_v2", 28, 32, 192, 1, 1, 1},
    {"mobilenet_v2", 14, 192, 64, 1, 1, 1},
    {"mobilenet_v2", 14, 64, 384, 1, 1, 1},
    {"mobilenet_v2", 14, 384, 96, 1, 1, 1},
    {"mobilenet_v2", 14, 96, 576, 1, 1, 1},
    {"mobilenet_v2", 7, 576, 160, 1, 1, 1},
    {"mobilenet_v2", 7, 160, 960, 1, 1, 1},
    {"mobilenet_v2", 7, 960, 320, 1, 1, 1},
    {"mobilenet_v2", 7, 320, 1280, 1, 1, 1},
    {"mobilenet_v2", 112, 32, 32, 3, 1, 32},
    {"mobilenet_v2", 112, 96, 96, 3, 2, 96},
    {"mobilenet_v2", 56, 144, 144, 3, 1, 144},
    {"mobilenet_v2", 56, 144, 144, 3, 2, 144},
    {"mobilenet_v2", 28, 192, 192, 3, 1, 192},
    {"mobilenet_v2", 14, 384, 384, 3, 1, 384},
    {"mobilenet_v2", 7, 960, 960, 3, 1, 960},
    {"efficientnet_v2_s", 14, 512, 512, 3, 1, 512, false, true},
    {"efficientnet_v2_s", 14, 960, 960, 3, 1, 960, false, true},
    {"efficientnet_v2_s", 7, 1536, 1536, 3, 1, 1536, false, true},
    {"efficientnet_b0", 28, 240, 240, 5, 1, 240, false, true},
    {"resnext50", 56, 128, 128, 3, 1, 32},
    {"resnext50", 28, 256, 256, 3, 1, 32},
    {"resnext50", 14, 512, 512, 3, 1, 32},
    {"regnet_y_400mf", 28, 104, 104, 3, 1, 13},
    {"extreme", 56, 256, 256, 3, 1, 1, false, false, true},
    {"extreme", 28, 512, 512, 3, 1, 1, false, false, true},
};

inline std::string name_of_layer(const Layer& l) {
  std::string name =
      std::string(l.network) + "/" + std::to_string(l.size) + "x" + std::to_string(l.in) + ">" + std::to_string(l.out);
  name += " " + std::to_string(l.kernel) + "x" + std::to_string(l.kernel) + "/" + std::to_string(l.stride);
  if (l.groups > 1) name += " g" + std::to_string(l.groups);
  return name + (l.has_residual ? " add" : "") + (l.has_table ? " table" : "");
}

}  // namespace octavo

#endif  // OCTAVO_BENCH_LAYERS_H_
