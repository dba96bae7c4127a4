// Small graphs of images and signals with open sizes. For the tests of api/.
#include "api/open_networks.h"
#include "api/size_graphs.h"

namespace octavo::testing {
namespace {

using Attributes = std::vector<NamedAttribute>;

// x [N, channels, H, W], called N, N2 and N3.
std::function<std::string()> with_images(std::int64_t channels, const std::function<void(Network&)>& make,
                                         std::int64_t opset = 17) {
  return onnx_of(
      [=](Network& net) {
        net.builder.input("x", DType::f32, {-1, channels, -2, -3});
        make(net);
      },
      opset);
}

std::function<std::string()> one(const std::string& op, std::int64_t channels, const Attributes& attributes,
                                 std::int64_t opset = 17) {
  return with_images(
      channels, [=](Network& net) { net.builder.output(net.node(op, {"x"}, "y", attributes)); }, opset);
}

// A convolution of 3 channels with weights of that shape.
std::function<std::string()> conv(const Shape& weights, const Attributes& attributes, const std::string& op = "Conv") {
  return with_images(3, [=](Network& net) {
    net.weights("w", weights, 0.3f);
    net.builder.output(net.node("Relu", {net.node(op, {"x", "w"}, "a", attributes)}, "y"));
  });
}

void resized_twice(Network& net) {
  net.builder.initializer("scales", floats({4}, {1, 1, 2, 3}));
  net.node("Resize", {"x", "", "scales"}, "wide",
           {{"mode", std::string("nearest")}, {"coordinate_transformation_mode", std::string("asymmetric")}});
  net.builder.initializer("less", floats({4}, {1, 1, 0.5f, 0.5f}));
  net.builder.output(net.node("Resize", {"wide", "", "less"}, "y", {{"mode", std::string("linear")}}));
}
void resized_by_factors(Network& net) {
  net.builder.initializer("scales", floats({4}, {1, 1, 0.3f, 1.1f}));
  net.node("Resize", {"x", "", "scales"}, "y", {{"mode", std::string("linear")}});
  net.builder.initializer("thirds", floats({4}, {1, 1, 1.0f / 3, 0.7f}));
  net.node("Resize", {"x", "", "thirds"}, "z",
           {{"mode", std::string("nearest")}, {"coordinate_transformation_mode", std::string("asymmetric")}});
  net.builder.output("y").output("z");
}
void resized_to_numbers(Network& net) {
  net.node("Concat", {net.extents("x", 0, "nc"), net.ints("hw", {7, 5})}, "to", {{"axis", std::int64_t{0}}});
  net.builder.output(net.node("Resize", {"x", "", "", "to"}, "y", {{"mode", std::string("linear")}}));
}
void classifier(Network& net) {
  net.node("Relu", {net.conv("x", 3, 8, 3, 2, "a")}, "b");
  net.node("GlobalAveragePool", {"b"}, "c");
  net.node("Flatten", {"c"}, "d");
  net.builder.output(net.linear("d", 8, 6, "y"));
}
void normalized(Network& net) {
  net.weights("scale", Shape{3}, 1.0f), net.weights("bias", Shape{3}, 1.0f);
  net.builder.output(net.node("InstanceNormalization", {"x", "scale", "bias"}, "y"));
}
void batch_normalized(Network& net) {
  for (const char* name : {"scale", "bias", "mean"}) net.weights(name, Shape{3}, 1.0f);
  net.builder.initializer("variance", floats({3}, {1, 2, 3}));
  net.node("BatchNormalization", {"x", "scale", "bias", "mean", "variance"}, "a");
  net.builder.output(net.node("Relu", {"a"}, "y"));
}
// As exporters write F.pad and a convolution of stride 2: the pads are computed of H and W.
void padded_to_even(Network& net) {
  net.node("Mod", {net.extents("x", 2, "hw"), net.ints("two", {2, 2})}, "odd");
  net.node("Concat", {net.ints("before", {0, 0, 0, 0, 0, 0}), "odd"}, "pads", {{"axis", std::int64_t{0}}});
  net.node("Pad", {"x", "pads"}, "even");
  net.builder.output(net.conv("even", 3, 4, 3, 2, "y"));
}
// Windows of 2x2 pixels, as Swin cuts them.
void windows(Network& net) {
  net.node("Transpose", {"x"}, "last", {{"perm", Ints{0, 2, 3, 1}}});
  net.node("Shape", {"last"}, "shape");
  for (const std::int64_t axis : {0, 1, 2}) {
    const std::string name = "d" + std::to_string(axis);
    net.node("Gather", {"shape", net.ints(name + "_at", {axis})}, name);
  }
  net.ints("two", {2});
  net.node("Div", {"d1", "two"}, "lines"), net.node("Div", {"d2", "two"}, "columns");
  net.node("Concat", {"d0", "lines", "two", "columns", "two", net.ints("c", {3})}, "cut", {{"axis", std::int64_t{0}}});
  net.node("Reshape", {"last", "cut"}, "parts", {{"allowzero", std::int64_t{1}}});
  net.node("Transpose", {"parts"}, "by_window", {{"perm", Ints{0, 1, 3, 2, 4, 5}}});
  net.builder.output(net.node("Reshape", {"by_window", net.ints("flat", {-1, 4, 3})}, "y"));
}
// What vision transformers do: patches become rows, a class token stands before them.
void patches(Network& net) {
  net.weights("w", Shape{8, 3, 4, 4}, 0.2f), net.weights("token", Shape{1, 1, 8}, 1.0f);
  net.node("Conv", {"x", "w"}, "a", {{"strides", Ints{4, 4}}});
  net.node("Shape", {"a"}, "shape");
  net.node("Slice", {"shape", net.ints("start", {0}), net.ints("end", {2})}, "nc");
  net.node("Concat", {"nc", net.ints("rest", {-1})}, "to", {{"axis", std::int64_t{0}}});
  net.node("Transpose", {net.node("Reshape", {"a", "to"}, "b")}, "rows", {{"perm", Ints{0, 2, 1}}});
  net.extent("x", 0, "n");
  net.node("Concat", {"n", net.ints("one", {1, 8})}, "as", {{"axis", std::int64_t{0}}});
  net.node("Expand", {"token", "as"}, "tokens");
  net.builder.output(net.node("Concat", {"tokens", "rows"}, "y", {{"axis", std::int64_t{1}}}));
}
void signal(Network& net) {
  net.builder.input("x", DType::f32, {-1, 2, -2});
  net.weights("w", Shape{4, 2, 5}, 0.3f);
  net.node("Conv", {"x", "w"}, "a", {{"strides", Ints{2}}, {"pads", Ints{2, 2}}});
  net.builder.output(net.node("AveragePool", {"a"}, "y", {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}}));
}
void merged_scales(Network& net) {
  net.node("Relu", {net.conv("x", 3, 4, 3, 2, "a")}, "half");
  net.node("Relu", {net.conv("half", 4, 4, 3, 2, "b")}, "quarter");
  net.node("Concat", {net.resized("quarter", "half", "up"), "half"}, "both", {{"axis", std::int64_t{1}}});
  net.builder.output(net.conv("both", 8, 3, 1, 1, "y"));
}

}  // namespace

std::vector<SizeGraph> image_graphs() {
  const auto no_pixels = [](const SizeMap& sizes) { return sizes.at("N2") == 0 || sizes.at("N3") == 0; };
  // Of no images, pools make none.
  const auto images_without = [=](const SizeMap& sizes) { return sizes.at("N") != 0 && no_pixels(sizes); };
  // A window has to find what it stands on.
  const auto least = [](std::int64_t height, std::int64_t width) {
    return [=](const SizeMap& sizes) { return sizes.at("N2") < height || sizes.at("N3") < width; };
  };
  const Ints pads = {1, 1, 1, 1};
  const Attributes same = {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 2}}};
  const Attributes ceil = {
      {"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", pads}, {"ceil_mode", std::int64_t{1}}};
  Attributes counted = ceil;
  counted.push_back({"count_include_pad", std::int64_t{1}});
  const Attributes blocks = {{"blocksize", std::int64_t{2}}};
  return {
      {.name = "conv_with_strides",
       .bytes = conv({4, 3, 3, 3}, {{"strides", Ints{3, 2}}, {"pads", pads}}),
       .is_refused = no_pixels},
      {.name = "conv_with_dilations",
       .bytes = conv({4, 3, 3, 3}, {{"dilations", Ints{2, 3}}, {"pads", Ints{2, 3, 2, 3}}}),
       .is_refused = no_pixels},
      {.name = "conv_without_padding", .bytes = conv({4, 3, 3, 2}, {}), .is_refused = least(3, 2)},
      {.name = "conv_same", .bytes = conv({4, 3, 3, 3}, same), .is_refused = no_pixels},
      {.name = "conv_depthwise",
       .bytes = conv({3, 1, 3, 3}, {{"group", std::int64_t{3}}, {"pads", pads}}),
       .is_refused = no_pixels},
      {.name = "conv_transposed",
       .bytes = conv({3, 4, 3, 3}, {{"strides", Ints{2, 2}}, {"pads", pads}}, "ConvTranspose"),
       .is_refused = no_pixels},
      {.name = "max_pool_ceil", .bytes = one("MaxPool", 3, ceil), .is_refused = images_without},
      {.name = "max_pool_larger",
       .bytes = one("MaxPool", 3, {{"kernel_shape", Ints{3, 4}}, {"strides", Ints{2, 2}}}),
       .is_refused = [=](const SizeMap& sizes) { return images_without(sizes) || sizes.at("N3") == 0; }},
      {.name = "max_pool_dilated",
       .bytes = one("MaxPool", 3, {{"kernel_shape", Ints{3, 3}}, {"dilations", Ints{2, 2}}, {"pads", pads}}),
       .is_refused = least(2, 2)},
      {.name = "average_pool_larger",
       .bytes =
           one("AveragePool", 3, {{"kernel_shape", Ints{5, 5}}, {"strides", Ints{5, 4}}, {"pads", Ints{0, 1, 0, 1}}}),
       .is_refused = images_without},
      {.name = "average_pool_ceil", .bytes = one("AveragePool", 3, ceil, 19), .is_refused = images_without},
      {.name = "average_pool_counted", .bytes = one("AveragePool", 3, counted, 19), .is_refused = images_without},
      {.name = "depth_to_space", .bytes = one("DepthToSpace", 8, blocks)},
      {.name = "space_to_depth",
       .bytes = one("SpaceToDepth", 3, blocks),
       .is_refused = [](const SizeMap& s) { return s.at("N2") % 2 != 0 || s.at("N3") % 2 != 0; }},
      {.name = "resized_twice", .bytes = with_images(3, resized_twice)},
      {.name = "resized_by_factors", .bytes = with_images(3, resized_by_factors)},
      {.name = "resized_to_numbers", .bytes = with_images(3, resized_to_numbers), .is_refused = no_pixels},
      {.name = "classifier", .bytes = with_images(3, classifier), .is_refused = no_pixels},
      {.name = "normalized", .bytes = with_images(3, normalized)},
      {.name = "batch_normalized", .bytes = with_images(3, batch_normalized)},
      {.name = "padded_to_even", .bytes = with_images(3, padded_to_even), .is_refused = no_pixels},
      {.name = "windows",
       .bytes = with_images(3, windows),
       .is_refused =
           [](const SizeMap& s) {
             return s.at("N") * s.at("N2") * s.at("N3") != s.at("N") * (s.at("N2") / 2 * 2) * (s.at("N3") / 2 * 2);
           }},
      {.name = "patches",
       .bytes = with_images(3, patches),
       .is_refused = [](const SizeMap& s) { return s.at("N") == 0 || s.at("N2") < 4 || s.at("N3") < 4; }},
      {.name = "signal", .bytes = onnx_of(signal), .is_refused = [](const SizeMap& s) { return s.at("N2") == 0; }},
      {.name = "merged_scales", .bytes = with_images(3, merged_scales), .is_refused = no_pixels},
      {.name = "pyramid", .bytes = file_of(write_pyramid), .is_refused = no_pixels},
      {.name = "flattened", .bytes = file_of(write_flattened)},
      {.name = "segmenter", .bytes = file_of(write_segmenter), .is_refused = no_pixels},
  };
}

}  // namespace octavo::testing
