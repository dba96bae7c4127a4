// Small graphs with open sizes as TFLite files and as archives of torch.export; what all tables share. For the tests of
// api/.
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "api/size_graphs.h"
#include "support/answers.h"
#include "support/tflite_builder.h"

namespace octavo::testing {
namespace {

using Dims32 = std::vector<std::int32_t>;

Tensor s32s(Shape shape, const std::vector<std::int32_t>& values) {
  return Tensor::of<std::int32_t>(std::move(shape), values);
}
Tensor drawn(const Shape& shape) {
  Tensor tensor(DType::f32, shape);
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    tensor.as<float>()[i] = static_cast<float>(i * 37 % 101) / 100 - 0.5f;
  return tensor;
}

// Tensors of a file whose inputs have -1 in their signatures, and operators by their numbers.
class Lite {
 public:
  TfliteBuilder builder;

  int input(const std::string& name, const Dims32& signature, DType dtype = DType::f32, float scale = 0) {
    TfliteTensor tensor = quantized(name, dtype, scale);
    tensor.signature = tensor.shape = signature;
    for (std::int32_t& dim : tensor.shape) dim = std::max(dim, std::int32_t{1});
    return builder.input(tensor);
  }
  int between(DType dtype = DType::f32, float scale = 0) {
    return builder.tensor(quantized("t" + std::to_string(count_++), dtype, scale));
  }
  int output(DType dtype = DType::f32, float scale = 0) {
    return builder.output(quantized("y" + std::to_string(count_++), dtype, scale));
  }
  void add(int code, std::vector<std::int32_t> inputs, int output, tfl::BuiltinOptions kind = tfl::BuiltinOptions::NONE,
           TfliteOptions options = {}) {
    builder.add(
        {.code = code, .inputs = std::move(inputs), .outputs = {output}, .kind = kind, .options = std::move(options)});
  }

 private:
  static TfliteTensor quantized(const std::string& name, DType dtype, float scale) {
    TfliteTensor tensor{.name = name, .dtype = dtype};
    if (scale > 0) tensor.scale = {scale}, tensor.zero_point = {3};
    return tensor;
  }
  int count_ = 0;
};

std::function<std::string()> lite_of(const std::function<void(Lite&)>& make) {
  return [=] {
    Lite lite;
    make(lite);
    return lite.builder.bytes();
  };
}

constexpr int kAdd = 0, kAveragePool = 1, kConcat = 2, kConv = 3, kFullyConnected = 9, kReshape = 22, kResize = 23,
              kSoftmax = 25, kMean = 40, kStridedSlice = 45, kShape = 77, kPack = 83;

TfliteOptions conv_options(std::int8_t padding, int stride) {
  return options_of(tfl::CreateConv2DOptions, padding, stride, stride, std::int8_t{1}, 1, 1);
}

void lite_conv(Lite& lite) {
  const int x = lite.input("x", {-1, -1, -1, 3}), a = lite.between(), y = lite.output();
  lite.add(kConv, {x, lite.builder.constant(drawn({4, 3, 3, 3})), lite.builder.constant(drawn({4}))}, a,
           tfl::BuiltinOptions::Conv2DOptions, conv_options(0, 2));
  lite.add(kAveragePool, {a}, y, tfl::BuiltinOptions::Pool2DOptions,
           options_of(tfl::CreatePool2DOptions, std::int8_t{0}, 2, 2, 2, 2, std::int8_t{0}));
}
void lite_classifier(Lite& lite) {
  const int x = lite.input("x", {-1, -1, -1, 3}), a = lite.between(), b = lite.between(), c = lite.between();
  lite.add(kConv, {x, lite.builder.constant(drawn({4, 3, 3, 3})), lite.builder.constant(drawn({4}))}, a,
           tfl::BuiltinOptions::Conv2DOptions, conv_options(0, 2));
  lite.add(kMean, {a, lite.builder.constant(s32s({2}, {1, 2}))}, b, tfl::BuiltinOptions::ReducerOptions,
           options_of(tfl::CreateReducerOptions, false));
  lite.builder.add(fully_connected({b, lite.builder.constant(drawn({5, 4})), lite.builder.constant(drawn({5}))}, c));
  lite.add(kSoftmax, {c}, lite.output(), tfl::BuiltinOptions::SoftmaxOptions,
           options_of(tfl::CreateSoftmaxOptions, 1.0f));
}
void lite_rows(Lite& lite) {
  const int x = lite.input("x", {2, -1, 6}), b = lite.input("b", {2, -1, 6}), a = lite.between(), y = lite.output();
  lite.add(kConcat, {x, b}, a, tfl::BuiltinOptions::ConcatenationOptions,
           options_of(tfl::CreateConcatenationOptions, 1, std::int8_t{0}));
  lite.builder.add(fully_connected({a, lite.builder.constant(drawn({4, 6})), -1}, y));
}
// [n, l, 6] -> [n, l * 6], whose shape the file computes.
void lite_reshape(Lite& lite) {
  const int x = lite.input("x", {-1, -1, 6}), shape = lite.between(DType::s32), n = lite.between(DType::s32),
            to = lite.between(DType::s32);
  lite.add(kShape, {x}, shape);
  const auto number = [&](std::int32_t value) { return lite.builder.constant(s32s({1}, {value})); };
  lite.add(kStridedSlice, {shape, number(0), number(1), number(1)}, n, tfl::BuiltinOptions::StridedSliceOptions,
           options_of(tfl::CreateStridedSliceOptions, 0, 0, 0, 0, 1, false));
  lite.add(kPack, {n, lite.builder.constant(s32s({}, {-1}))}, to, tfl::BuiltinOptions::PackOptions,
           options_of(tfl::CreatePackOptions, 2, 0));
  lite.add(kReshape, {x, to}, lite.output());
}
void lite_slices(Lite& lite) {
  const int x = lite.input("x", {-1, -1, 6});
  const auto cut = [&](const Dims32& from, const Dims32& to, const Dims32& steps, int begin_mask, int end_mask) {
    const auto list = [&](const Dims32& values) { return lite.builder.constant(s32s({3}, values)); };
    lite.add(kStridedSlice, {x, list(from), list(to), list(steps)}, lite.output(),
             tfl::BuiltinOptions::StridedSliceOptions,
             options_of(tfl::CreateStridedSliceOptions, begin_mask, end_mask, 0, 0, 0, false));
  };
  cut({0, 1, 0}, {0, 0, 0}, {1, 1, 1}, 5, 7);
  cut({0, -2, 0}, {0, 0, 0}, {1, 1, 1}, 5, 7);
  cut({0, 0, 0}, {0, -1, 0}, {1, 2, 1}, 7, 5);
}
void lite_resize(Lite& lite) {
  const int x = lite.input("x", {-1, -1, -1, 3}), y = lite.output();
  lite.add(kResize, {x, lite.builder.constant(s32s({2}, {7, 5}))}, y, tfl::BuiltinOptions::ResizeBilinearOptions,
           options_of(tfl::CreateResizeBilinearOptions, 0, 0, false, true));
}
void lite_quantized(Lite& lite) {
  const int x = lite.input("x", {-1, -1, -1, 3}, DType::s8, 0.02f);
  const int a = lite.between(DType::s8, 0.05f), b = lite.between(DType::s8, 0.06f);
  Tensor weights(DType::s8, {3, 3, 3, 3});
  for (std::int64_t i = 0; i < weights.elements(); ++i)
    store_double(weights.view(), i, static_cast<double>(i * 37 % 201 - 100));
  lite.add(kConv,
           {x, lite.builder.constant(weights, {0.01f, 0.02f, 0.015f}, {0, 0, 0}),
            lite.builder.constant(s32s({3}, {50, -60, 70}))},
           a, tfl::BuiltinOptions::Conv2DOptions, conv_options(0, 1));
  lite.add(kAdd, {a, x}, b, tfl::BuiltinOptions::AddOptions, options_of(tfl::CreateAddOptions, std::int8_t{0}));
  lite.add(kAveragePool, {b}, lite.output(DType::s8, 0.06f), tfl::BuiltinOptions::Pool2DOptions,
           options_of(tfl::CreatePool2DOptions, std::int8_t{0}, 2, 2, 3, 3, std::int8_t{0}));
}

std::function<std::string()> archive(const std::string& name) {
  return [=] { return contents(std::filesystem::path(OCTAVO_SOURCE_DIR) / "tests" / "import" / "pt2" / name); };
}

}  // namespace

std::function<std::string()> onnx_of(const std::function<void(Network&)>& make, std::int64_t opset) {
  return [=] {
    Network net(opset);
    make(net);
    return net.builder.bytes();
  };
}

std::function<std::string()> file_of(std::string (*write)(const std::string& name)) {
  return [=] {
    const std::string path = write("octavo_size_graph_" + std::to_string(::getpid()) + ".onnx");
    std::string bytes = contents(path);
    std::filesystem::remove(path);
    return bytes;
  };
}

std::vector<SizeGraph> other_format_graphs() {
  const v1::CompileOptions as_the_file{.allow_reference = true};
  const auto no_pixels = [](const SizeMap& sizes) { return sizes.at("x.1") == 0 || sizes.at("x.2") == 0; };
  const auto no_batch = [](const SizeMap& sizes) { return sizes.at("x.0") == 0; };
  std::vector<SizeGraph> graphs = {
      {.name = "lite_conv", .bytes = lite_of(lite_conv), .is_refused = no_pixels},
      {.name = "lite_classifier", .bytes = lite_of(lite_classifier), .is_refused = no_pixels},
      {.name = "lite_rows", .bytes = lite_of(lite_rows)},
      {.name = "lite_reshape", .bytes = lite_of(lite_reshape), .is_refused = no_batch},
      {.name = "lite_slices", .bytes = lite_of(lite_slices)},
      {.name = "lite_resize", .bytes = lite_of(lite_resize), .is_refused = no_pixels},
      {.name = "lite_quantized", .bytes = lite_of(lite_quantized), .is_refused = no_pixels, .options = as_the_file},
  };
  graphs.push_back({.name = "pt2_fp32", .bytes = archive("fp32.pt2")});
  // They view what may be nothing as [n, -1, 5, 6].
  const auto none = [](const SizeMap& sizes) { return sizes.at("s77") == 0; };
  for (const std::string name : {"operators", "operators_core"})
    graphs.push_back({.name = "pt2_" + name, .bytes = archive(name + ".pt2"), .is_refused = none});
  for (const std::string name : {"pt2e", "pt2e_dynamic", "pt2e_tokens", "torchao"})
    graphs.push_back({.name = "pt2_" + name, .bytes = archive(name + ".pt2"), .options = as_the_file});
  return graphs;
}

std::vector<SizeGraph> all_size_graphs() {
  std::vector<SizeGraph> all;
  for (const auto& table : {shaping_graphs(), image_graphs(), row_graphs(), quantized_graphs(), other_format_graphs()})
    all.insert(all.end(), table.begin(), table.end());
  return all;
}

}  // namespace octavo::testing
