// Architectures of the zoo, at their real sizes: the same bits everywhere. Part of the tests of whole models.
#include "zoo/zoo.h"

#include <gtest/gtest.h>

#include "bits/same_bits.h"

namespace octavo::testing {
namespace {

void expect_same_bits_of(const std::string& name) {
  const auto bytes = make_zoo_model(name, {});
  ASSERT_TRUE(bytes.ok()) << to_string(bytes.errors());
  const ModelFile file(*bytes);
  expect_same_bits({.path = file.path(),
                    .options = {.samples = random_samples(2), .corrects_biases = false},
                    .scalar_runs = ScalarRuns::one_sample});
}

// Convolutions of many channels, pools, concatenations.
TEST(Zoo, SqueezeNet) { expect_same_bits_of("squeezenet1_1"); }
// Depthwise, squeeze-excite, hard-swish, residuals.
TEST(Zoo, MobileNetV3) { expect_same_bits_of("mobilenet_v3_small"); }
TEST(Zoo, ResNet18Long) { expect_same_bits_of("resnet18"); }
TEST(Zoo, EfficientNetB0Long) { expect_same_bits_of("efficientnet_b0"); }
// Groups of several channels.
TEST(Zoo, RegNetLong) { expect_same_bits_of("regnet_y_400mf"); }

}  // namespace
}  // namespace octavo::testing
