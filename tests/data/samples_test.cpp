// Sample sources: what is accepted, what is refused and how it is said. Part of tests/analyze/.
#include "data/samples.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "base/file.h"
#include "data/image_decode.h"
#include "data/npy.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

class SamplesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = (fs::temp_directory_path() / ("octavo_samples_" + std::to_string(::getpid()))).string();
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void copy_image(const std::string& name) const {
    fs::copy_file(std::string(OCTAVO_SOURCE_DIR) + "/tests/data/images/photo.jpg", path(name));
  }
  static Error error_of(const Result<std::unique_ptr<SampleSource>>& result) {
    return result ? Error{} : result.errors()[0];
  }

  std::string folder_;
  const std::vector<InputSpec> image_{{"x", DType::f32, Shape{1, 3, 8, 8}}};
  const std::vector<InputSpec> vector_{{"x", DType::f32, Shape{1, 4}}};
  const SampleOptions torch_{.preprocess = *parse_preprocess("torch")};
};

TEST_F(SamplesTest, EmptyFolder) {
  const Error error = error_of(open_samples(folder_, image_, torch_));
  EXPECT_EQ(error.kind, ErrorKind::invalid_input);
  EXPECT_EQ(error.where, folder_);
}

TEST_F(SamplesTest, MissingPath) {
  EXPECT_EQ(error_of(open_samples(path("none"), image_, torch_)).kind, ErrorKind::resource);
}

TEST_F(SamplesTest, ImagesNeedPreprocess) {
  copy_image("a.jpg");
  EXPECT_EQ(error_of(open_samples(folder_, image_, {})).kind, ErrorKind::usage);
}

TEST_F(SamplesTest, ImagesInOrderOfTheirNames) {
  copy_image("b.jpg");
  ASSERT_TRUE(write_text(path("a.jpg"), "no image"));
  const auto source = open_samples(folder_, image_, torch_);
  ASSERT_TRUE(source) << to_string(source.errors());
  ASSERT_EQ((*source)->size(), 2);
  const auto broken = (*source)->sample(0);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.errors()[0].kind, ErrorKind::invalid_input);
  EXPECT_EQ(broken.errors()[0].where, path("a.jpg"));
  const auto good = (*source)->sample(1);
  ASSERT_TRUE(good) << to_string(good.errors());
  EXPECT_EQ((*good)[0].shape(), (Shape{1, 3, 8, 8}));
}

TEST_F(SamplesTest, ArraysWithLeadingAxis) {
  ASSERT_TRUE(write_npy(
      path("x.npy"), Tensor::of<float>(Shape{3, 4}, std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}).view()));
  const auto source = open_samples(path("x.npy"), vector_, {});
  ASSERT_TRUE(source) << to_string(source.errors());
  ASSERT_EQ((*source)->size(), 3);
  const auto sample = (*source)->sample(2);
  ASSERT_TRUE(sample);
  EXPECT_TRUE((*sample)[0] == Tensor::of<float>(Shape{1, 4}, std::vector<float>{8, 9, 10, 11}));
}

TEST_F(SamplesTest, AFileCutOffMeanwhileIsAnErrorOfItsSamples) {
  ASSERT_TRUE(write_npy(path("x.npy"), Tensor(DType::f32, Shape{3, 4}).view()));
  const auto source = open_samples(path("x.npy"), vector_, {});
  ASSERT_TRUE(source) << to_string(source.errors());
  fs::resize_file(path("x.npy"), fs::file_size(path("x.npy")) - 1);
  EXPECT_TRUE((*source)->sample(1));
  const auto sample = (*source)->sample(2);
  ASSERT_FALSE(sample);
  EXPECT_EQ(sample.errors()[0].kind, ErrorKind::resource);
  EXPECT_EQ(sample.errors()[0].where, path("x.npy"));
}

std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t pages = 0, resident = 0;
  statm >> pages >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

// 2 GiB of zeros that take no room on disk.
TEST_F(SamplesTest, ALargeArrayIsNotHeldInMemory) {
  constexpr std::int64_t kSamples = 2048, kValues = 1 << 18;
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(kSamples) + ", " +
                             std::to_string(kValues) + "), }\n";
  std::string begin("\x93NUMPY\x01\x00", 8);
  begin += {static_cast<char>(header.size()), '\0'};
  ASSERT_TRUE(write_text(path("x.npy"), begin + header));
  fs::resize_file(path("x.npy"), begin.size() + header.size() + kSamples * kValues * sizeof(float));
  const std::int64_t before = resident_bytes();
  const auto source = open_samples(path("x.npy"), {{"x", DType::f32, Shape{1, kValues}}}, {});
  ASSERT_TRUE(source) << to_string(source.errors());
  ASSERT_EQ((*source)->size(), kSamples);
  for (std::int64_t i = 0; i < kSamples; i += 40) ASSERT_TRUE((*source)->sample(i)) << i;
  EXPECT_LT(resident_bytes() - before, 16 << 20);
}

TEST_F(SamplesTest, WrongShapeTypeAndNaNNameTheSample) {
  ASSERT_TRUE(write_npy(path("shape.npy"), Tensor(DType::f32, Shape{3, 5}).view()));
  ASSERT_TRUE(write_npy(path("type.npy"), Tensor(DType::s32, Shape{3, 4}).view()));
  ASSERT_TRUE(write_npy(
      path("nan.npy"),
      Tensor::of<float>(Shape{1, 4}, std::vector<float>{0, 1, std::numeric_limits<float>::quiet_NaN(), 3}).view()));
  for (const char* name : {"shape.npy", "type.npy", "nan.npy"}) {
    const auto source = open_samples(path(name), vector_, {});
    ASSERT_TRUE(source) << name;
    const auto sample = (*source)->sample(0);
    ASSERT_FALSE(sample) << name;
    EXPECT_EQ(sample.errors()[0].kind, ErrorKind::invalid_input);
    EXPECT_EQ(sample.errors()[0].where, path(name) + ": sample 0");
  }
}

// x [N, 3, H, W], with 16 for H and W.
std::vector<InputSpec> open_image() {
  const OpenSize side{.name = "H", .range = {4, 64}, .step = 4};
  OpenSize other = side;
  other.name = "W";
  return {{.name = "x",
           .dtype = DType::f32,
           .shape = Shape{1, 3, 16, 16},
           .open = {OpenSize{.name = "N", .range = {}}, std::nullopt, side, other}}};
}

std::vector<Shape> shapes_in(const SampleSource& source) {
  std::vector<Shape> all;
  for (std::int64_t i = 0; i < source.size(); ++i) {
    const auto shapes = source.shapes(i);
    const auto sample = source.sample(i);
    EXPECT_TRUE(shapes) << to_string(shapes.errors());
    EXPECT_TRUE(sample) << to_string(sample.errors());
    if (!shapes || !sample) return all;
    EXPECT_EQ(shapes->at(0), sample->at(0).shape());
    all.push_back(shapes->at(0));
  }
  return all;
}

TEST_F(SamplesTest, EachFileHasItsOwnSizeWhereSizesAreOpen) {
  ASSERT_TRUE(write_npy(path("a.npy"), Tensor(DType::f32, Shape{1, 3, 8, 20}).view()));
  ASSERT_TRUE(write_npy(path("b.npy"), Tensor(DType::f32, Shape{3, 12, 4}).view()));
  ASSERT_TRUE(write_npy(path("c.npy"), Tensor(DType::f64, Shape{5, 3, 16, 16}).view()));
  const auto source = open_samples(folder_, open_image(), {});
  ASSERT_TRUE(source) << to_string(source.errors());
  EXPECT_EQ(shapes_in(**source), (std::vector<Shape>{{1, 3, 8, 20}, {1, 3, 12, 4}, {5, 3, 16, 16}}));
  EXPECT_EQ((*source)->name(1), path("b.npy"));
  const auto some = open_samples(folder_, open_image(), {.limit = 2});
  ASSERT_TRUE(some);
  EXPECT_EQ(shapes_in(**some), (std::vector<Shape>{{1, 3, 8, 20}, {1, 3, 12, 4}}));
}

TEST_F(SamplesTest, WhatIsFixedHasToFit) {
  ASSERT_TRUE(write_npy(path("a.npy"), Tensor(DType::f32, Shape{1, 4, 8, 20}).view()));
  ASSERT_TRUE(write_npy(path("b.npy"), Tensor(DType::f32, Shape{8, 20}).view()));
  const auto source = open_samples(folder_, open_image(), {});
  ASSERT_TRUE(source) << to_string(source.errors());
  for (const auto& [index, shape] : {std::pair(0, "1x4x8x20"), std::pair(1, "8x20")}) {
    const std::string expected =
        path(index == 0 ? "a.npy" : "b.npy") + ": found shape " + shape + ", expected Nx3xHxW for input 'x'";
    for (const auto& errors : {(*source)->sample(index).errors(), (*source)->shapes(index).errors()})
      EXPECT_EQ(to_string(errors), expected);
  }
}

TEST_F(SamplesTest, AFolderOfArchivesIsReadOneAfterTheOther) {
  ASSERT_TRUE(write_npz(path("a.npz"), {{"x", Tensor(DType::f32, Shape{2, 3, 8, 20})}}));
  ASSERT_TRUE(write_npz(path("b.npz"), {{"x", Tensor::of<float>(Shape{1, 3, 4, 4}, std::vector<float>(48, 5.0f))}}));
  const auto source = open_samples(folder_, open_image(), {});
  ASSERT_TRUE(source) << to_string(source.errors());
  EXPECT_EQ(shapes_in(**source), (std::vector<Shape>{{1, 3, 8, 20}, {1, 3, 8, 20}, {1, 3, 4, 4}}));
  EXPECT_EQ((*source)->name(2), path("b.npz") + ": sample 0");
  EXPECT_EQ((*source)->sample(2)->at(0).as<float>()[7], 5.0f);
  EXPECT_EQ((*source)->sample(1)->at(0).as<float>()[7], 0.0f);
  const auto other = open_samples(folder_, {{"y", DType::f32, Shape{1, 2}}, {"z", DType::f32, Shape{1, 2}}}, {});
  ASSERT_FALSE(other);
  EXPECT_EQ(to_string(other.errors()),
            path("a.npz") + ": found no array named 'y', expected one array per input of the model");
}

TEST_F(SamplesTest, PicturesHaveTheirOwnSizeWhereNothingElseIsSaid) {
  copy_image("a.jpg");
  const auto shape_with = [&](const char* spec, const std::vector<InputSpec>& inputs) {
    const auto source = open_samples(folder_, inputs, {.preprocess = *parse_preprocess(spec)});
    EXPECT_TRUE(source) << to_string(source.errors());
    const auto shapes = source ? shapes_in(**source) : std::vector<Shape>{};
    return shapes.empty() ? Shape{} : shapes[0];
  };
  std::vector<InputSpec> wide = open_image();
  wide[0].open[2]->range = wide[0].open[3]->range = {4, 4096};
  const auto photo = read_image(path("a.jpg"));
  ASSERT_TRUE(photo);
  EXPECT_EQ(shape_with("torch,resize=0", wide), (Shape{1, 3, photo->height / 4 * 4, photo->width / 4 * 4}));
  std::vector<InputSpec> narrow = open_image();
  narrow[0].open[3]->range.highest = 24;
  EXPECT_EQ(shape_with("torch,resize=0", narrow), (Shape{1, 3, photo->height / 4 * 4, 24}));  // the most there may be
  EXPECT_EQ(shape_with("torch", wide), (Shape{1, 3, 16, 16}));
  EXPECT_EQ(shape_with("torch,crop=32", wide), (Shape{1, 3, 32, 32}));
  EXPECT_EQ(shape_with("torch,resize=0,crop=24", wide), (Shape{1, 3, 24, 24}));
  wide[0].shape = Shape{1, 3, 0, 0};
  EXPECT_EQ(shape_with("torch,crop=32", wide), (Shape{1, 3, 32, 32}));
  const auto unknown = open_samples(folder_, wide, torch_);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.errors()[0].kind, ErrorKind::usage);
  EXPECT_EQ(unknown.errors()[0].found, "pictures for input 'x' of open sizes (Nx3xHxW)");
}

TEST_F(SamplesTest, NpzByInputName) {
  const std::vector<InputSpec> two{{"a", DType::f32, Shape{1, 2}}, {"b", DType::s64, Shape{1, 1}}};
  ASSERT_TRUE(
      write_npz(path("x.npz"), {{"a", Tensor(DType::f32, Shape{2, 2})},
                                {"b", Tensor::of<std::int64_t>(Shape{2, 1}, std::vector<std::int64_t>{5, 6})}}));
  const auto source = open_samples(path("x.npz"), two, {});
  ASSERT_TRUE(source) << to_string(source.errors());
  EXPECT_EQ((*(*source)->sample(1))[1].as<std::int64_t>()[0], 6);
  ASSERT_TRUE(
      write_npz(path("short.npz"), {{"a", Tensor(DType::f32, Shape{2, 2})}, {"b", Tensor(DType::s64, Shape{3, 1})}}));
  EXPECT_EQ(error_of(open_samples(path("short.npz"), two, {})).kind, ErrorKind::invalid_input);
  ASSERT_TRUE(
      write_npz(path("other.npz"), {{"a", Tensor(DType::f32, Shape{2, 2})}, {"c", Tensor(DType::s64, Shape{2, 1})}}));
  EXPECT_EQ(error_of(open_samples(path("other.npz"), two, {})).found, "no array named 'b'");
}

Tensor tokens(const Shape& shape, const std::vector<std::int64_t>& values) {
  return Tensor::of<std::int64_t>(shape, values);
}

// Padding is left out, sentences follow each other through the files, what is left at the end is dropped.
TEST_F(SamplesTest, TokensOfAnyLengthBecomeRows) {
  const std::vector<InputSpec> inputs{{"ids", DType::s64, Shape{1, 4}},
                                      {"attention_mask", DType::boolean, Shape{1, 4}}};
  ASSERT_TRUE(write_npz(path("a.npz"), {{"ids", tokens({2, 5}, {1, 2, 3, 0, 0, 4, 5, 0, 0, 0})},
                                        {"attention_mask", tokens({2, 5}, {1, 1, 1, 0, 0, 1, 1, 0, 0, 0})}}));
  ASSERT_TRUE(write_npz(path("b.npz"),
                        {{"ids", tokens({2, 2}, {6, 0, 8, 9})}, {"attention_mask", tokens({2, 2}, {1, 1, 1, 1})}}));
  const auto source = open_samples(folder_, inputs, {});
  ASSERT_TRUE(source) << to_string(source.errors());
  ASSERT_EQ((*source)->size(), 2);
  EXPECT_EQ((*(*source)->sample(0))[0], tokens({1, 4}, {1, 2, 3, 4}));
  EXPECT_EQ((*(*source)->sample(1))[0], tokens({1, 4}, {5, 6, 0, 8}));
  const auto masks = (*source)->sample(1);
  ASSERT_TRUE(masks);
  EXPECT_EQ((*masks)[1].dtype(), DType::boolean);
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ((*masks)[1].as<std::uint8_t>()[i], 1) << i;
  // Less than a row is repeated.
  const auto less = open_samples(path("b.npz"), {{"ids", DType::s32, Shape{1, 6}}}, {});
  ASSERT_TRUE(less) << to_string(less.errors());
  ASSERT_EQ((*less)->size(), 1);
  EXPECT_EQ((*(*less)->sample(0))[0],
            Tensor::of<std::int32_t>(Shape{1, 6}, std::vector<std::int32_t>{6, 0, 8, 9, 6, 0}));
  // Arrays of the input's length without padding are samples as they are.
  const auto whole = open_samples(path("b.npz"), {{"ids", DType::s64, Shape{1, 2}}}, {});
  ASSERT_TRUE(whole);
  EXPECT_EQ((*(*whole)->sample(1))[0], tokens({1, 2}, {8, 9}));
}

TEST_F(SamplesTest, TokensThatAreNoneAreRefused) {
  const std::vector<InputSpec> inputs{{"ids", DType::s32, Shape{1, 4}}, {"mask", DType::s64, Shape{1, 4}}};
  const auto found = [&](const Tensor& ids, const Tensor& mask) {
    EXPECT_TRUE(write_npz(path("x.npz"), {{"ids", ids}, {"mask", mask}}));
    return error_of(open_samples(path("x.npz"), inputs, {})).found;
  };
  EXPECT_EQ(found(tokens({1, 3}, {1, 2, 3}), tokens({1, 3}, {0, 0, 0})), "no position that counts");
  EXPECT_EQ(found(tokens({1, 3}, {1, 2, 3}), tokens({1, 2}, {1, 1})), "s64[1x2]");
  EXPECT_EQ(found(tokens({1, 3}, {1, std::int64_t{1} << 40, 3}), tokens({1, 3}, {1, 1, 1})), "1099511627776");
  EXPECT_EQ(found(tokens({0, 3}, {}), tokens({0, 3}, {})), "no position that counts");
  ASSERT_TRUE(write_npz(path("x.npz"), {{"ids", tokens({1, 3}, {1, 2, 3})}}));
  EXPECT_EQ(error_of(open_samples(folder_, inputs, {})).found, "no array named 'mask'");
}

TEST_F(SamplesTest, SmallImagesOfAnNpzAreTakenAsTheyAre) {
  Tensor images(DType::u8, Shape{2, 8, 8, 1});
  images.as<std::uint8_t>()[64] = 255;
  ASSERT_TRUE(write_npz(path("x.npz"), {{"images", images}}));
  const std::vector<InputSpec> grey{{"input", DType::f32, Shape{1, 1, 8, 8}}};
  const auto source = open_samples(path("x.npz"), grey, {.preprocess = *parse_preprocess("tf")});
  ASSERT_TRUE(source) << to_string(source.errors());
  const auto sample = (*source)->sample(1);
  ASSERT_TRUE(sample);
  EXPECT_EQ((*sample)[0].as<float>()[0], 1.0f);
  EXPECT_EQ((*sample)[0].as<float>()[1], -1.0f);
}

TEST_F(SamplesTest, RandomIsTheSameEveryTime) {
  const auto source = open_samples("random", vector_, {.limit = 3});
  ASSERT_TRUE(source);
  EXPECT_EQ((*source)->size(), 3);
  EXPECT_TRUE((*(*source)->sample(1))[0] == (*(*source)->sample(1))[0]);
  EXPECT_FALSE((*(*source)->sample(1))[0] == (*(*source)->sample(2))[0]);
}

TEST_F(SamplesTest, LimitSpreadsOverAll) {
  ASSERT_TRUE(write_npy(
      path("x.npy"),
      Tensor::of<float>(Shape{4, 4}, std::vector<float>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}).view()));
  const auto source = open_samples(path("x.npy"), vector_, {.limit = 2});
  ASSERT_TRUE(source);
  EXPECT_EQ((*source)->size(), 2);
  EXPECT_EQ((*(*source)->sample(1))[0].as<float>()[0], 2.0f);
}

TEST_F(SamplesTest, Labels) {
  copy_image("a.jpg");
  copy_image("b c.jpg");
  ASSERT_TRUE(write_text(path("labels.txt"), "b c.jpg 7\n\na.jpg 3\r\n"));
  const auto data = open_labelled(folder_, path("labels.txt"), image_, torch_);
  ASSERT_TRUE(data) << to_string(data.errors());
  EXPECT_EQ(data->labels, (std::vector<std::int64_t>{7, 3}));
  EXPECT_EQ(data->samples->size(), 2);
  for (const char* broken : {"", "a.jpg\n", "a.jpg x\n", "a.jpg -1\n", "missing.jpg 1\n"}) {
    ASSERT_TRUE(write_text(path("broken.txt"), broken));
    const auto refused = open_labelled(folder_, path("broken.txt"), image_, torch_);
    ASSERT_FALSE(refused) << broken;
    EXPECT_EQ(refused.errors()[0].kind, ErrorKind::invalid_input) << broken;
  }
  EXPECT_EQ(open_labelled(folder_, "", image_, torch_).errors()[0].kind, ErrorKind::usage);
}

TEST_F(SamplesTest, LabelsOfAnNpzMustMatchItsImages) {
  ASSERT_TRUE(write_npz(path("x.npz"),
                        {{"images", Tensor(DType::u8, Shape{2, 8, 8, 3})}, {"labels", Tensor(DType::s64, Shape{3})}}));
  const auto refused = open_labelled(path("x.npz"), "", image_, torch_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.errors()[0].found, "2 samples and 3 labels");
  ASSERT_TRUE(write_npz(path("y.npz"), {{"images", Tensor(DType::u8, Shape{2, 8, 8, 3})}}));
  EXPECT_FALSE(open_labelled(path("y.npz"), "", image_, torch_));
}

// An 8-bit input with a scale: preprocessing gives real numbers, which are rounded with it.
TEST_F(SamplesTest, ScaledInputsAreQuantized) {
  const TensorScale scale{DType::u8, 0.02f, 114};
  const std::vector<InputSpec> floats{{"x", DType::f32, Shape{1, 2, 2, 3}}},
      integers{{"x", DType::u8, Shape{1, 2, 2, 3}, scale}};
  Tensor pixels(DType::u8, Shape{1, 2, 2, 3});
  for (int i = 0; i < 12; ++i) pixels.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 23);
  ASSERT_TRUE(write_npy(path("x.npy"), pixels.view()));
  const auto real = open_samples(path("x.npy"), floats, torch_), stored = open_samples(path("x.npy"), integers, torch_);
  ASSERT_TRUE(real && stored);
  const auto a = (*real)->sample(0), b = (*stored)->sample(0);
  ASSERT_TRUE(a && b);
  for (int i = 0; i < 12; ++i) {
    const int expected = static_cast<int>(std::nearbyint((*a)[0].as<float>()[i] / 0.02f)) + 114;
    EXPECT_EQ((*b)[0].as<std::uint8_t>()[i], std::clamp(expected, 0, 255)) << i;
  }
  const auto untouched = open_samples(path("x.npy"), integers, {});
  ASSERT_TRUE(untouched) << to_string(untouched.errors());
  EXPECT_TRUE((*(*untouched)->sample(0))[0] == pixels);  // no preprocessing: stored values
}

// Pixels are the stored values of a network of [-1, 1), and real values of one that takes 0 to 255.
TEST_F(SamplesTest, RawPixelsOfScaledInputs) {
  Tensor pixels(DType::u8, Shape{1, 2, 2, 3});
  pixels.as<std::uint8_t>()[0] = 250;
  ASSERT_TRUE(write_npy(path("x.npy"), pixels.view()));
  const SampleOptions raw{.preprocess = *parse_preprocess("raw,resize=2")};
  const auto first = [&](const TensorScale& scale) {
    const auto source = open_samples(path("x.npy"), {{"x", scale.type, Shape{1, 2, 2, 3}, scale}}, raw);
    const auto sample = (*source)->sample(0);
    const Tensor& x = (*sample)[0];
    return scale.type == DType::s8 ? int{x.as<std::int8_t>()[0]} : int{x.as<std::uint8_t>()[0]};
  };
  EXPECT_EQ(first({DType::u8, 1.0f / 128.0f, 128}), 250);
  EXPECT_EQ(first({DType::s8, 1.0f / 128.0f, 0}), 122);
  EXPECT_EQ(first({DType::u8, 250.0f / 255.0f, 0}), 255);
  EXPECT_EQ(first({DType::s8, 1.0f, -128}), 122);
}

TEST_F(SamplesTest, FloatArraysForScaledInputs) {
  ASSERT_TRUE(
      write_npy(path("x.npy"), Tensor::of<float>(Shape{1, 4}, std::vector<float>{-9.0f, 0.24f, 0.26f, 9.0f}).view()));
  const auto source = open_samples(path("x.npy"), {{"x", DType::s8, Shape{1, 4}, TensorScale{DType::s8, 0.5f, 3}}}, {});
  ASSERT_TRUE(source) << to_string(source.errors());
  const auto sample = (*source)->sample(0);
  ASSERT_TRUE(sample) << to_string(sample.errors());
  EXPECT_TRUE((*sample)[0] == Tensor::of<std::int8_t>(Shape{1, 4}, std::vector<std::int8_t>{-15, 3, 4, 21}));
  const auto without = open_samples(path("x.npy"), {{"x", DType::s8, Shape{1, 4}}}, {});
  ASSERT_TRUE(without);
  EXPECT_FALSE((*without)->sample(0));
}

// One class for each file, or for each sample of an archive; a batch is no sample with a class.
TEST_F(SamplesTest, LabelledArraysOfSeveralSizes) {
  ASSERT_TRUE(write_npy(path("a.npy"), Tensor(DType::f32, Shape{1, 3, 8, 20}).view()));
  ASSERT_TRUE(write_npy(path("b.npy"), Tensor(DType::f32, Shape{2, 3, 4, 4}).view()));
  ASSERT_TRUE(write_text(path("labels.txt"), "a.npy 7\nb.npy 1\n"));
  const auto files = open_labelled(folder_, path("labels.txt"), open_image(), {});
  ASSERT_TRUE(files) << to_string(files.errors());
  EXPECT_EQ(files->labels, (std::vector<std::int64_t>{7, 1}));
  EXPECT_EQ(files->samples->sample(0)->at(0).shape(), (Shape{1, 3, 8, 20}));
  EXPECT_EQ(files->samples->sample(1).errors()[0].where, path("b.npy"));
  fs::remove(path("a.npy"));
  fs::remove(path("b.npy"));
  const auto labels = [](std::vector<std::int64_t> values) {
    return Tensor::of<std::int64_t>(Shape{static_cast<std::int64_t>(values.size())}, values);
  };
  ASSERT_TRUE(write_npz(path("a.npz"), {{"x", Tensor(DType::f32, Shape{2, 3, 8, 20})}, {"labels", labels({3, 4})}}));
  ASSERT_TRUE(write_npz(path("b.npz"), {{"x", Tensor(DType::f32, Shape{1, 3, 4, 4})}, {"labels", labels({5})}}));
  const auto archives = open_labelled(folder_, "", open_image(), {});
  ASSERT_TRUE(archives) << to_string(archives.errors());
  EXPECT_EQ(archives->labels, (std::vector<std::int64_t>{3, 4, 5}));
  EXPECT_EQ(shapes_in(*archives->samples), (std::vector<Shape>{{1, 3, 8, 20}, {1, 3, 8, 20}, {1, 3, 4, 4}}));
}

}  // namespace
}  // namespace octavo
