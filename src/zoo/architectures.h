// The architectures: one function each, from the papers and torchvision's published configurations. Part of zoo/.
#ifndef OCTAVO_ZOO_ARCHITECTURES_H_
#define OCTAVO_ZOO_ARCHITECTURES_H_

#include <span>
#include <string_view>

#include "zoo/builder.h"

namespace octavo::zoo {

struct Architecture {
  std::string_view name;
  Wire (*build)(OnnxBuilder& net);  // returns the logits
};

// Sorted by name.
std::span<const Architecture> architectures();

// Used by architectures.cpp; one file per family.
Wire resnet18(OnnxBuilder& net);
Wire resnet34(OnnxBuilder& net);
Wire resnet50(OnnxBuilder& net);
Wire vgg11(OnnxBuilder& net);
Wire vgg13(OnnxBuilder& net);
Wire vgg16(OnnxBuilder& net);
Wire vgg19(OnnxBuilder& net);
Wire squeezenet1_1(OnnxBuilder& net);
Wire mobilenet_v2(OnnxBuilder& net);
Wire mobilenet_v3_small(OnnxBuilder& net);
Wire mobilenet_v3_large(OnnxBuilder& net);
Wire efficientnet_b0(OnnxBuilder& net);
Wire efficientnet_v2_s(OnnxBuilder& net);
Wire regnet_y_400mf(OnnxBuilder& net);

}  // namespace octavo::zoo

#endif  // OCTAVO_ZOO_ARCHITECTURES_H_
