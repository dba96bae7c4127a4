// Sparse constants of TFLite files, by matrices written out by hand. Part of the tests of import/.
#include <gtest/gtest.h>

#include "import/one_operator.h"

namespace octavo::testing {
namespace {

constexpr int kDensify = 124;

// The file of a sparse constant that DENSIFY takes.
TfliteBuilder file_of(std::vector<std::int32_t> shape, TfliteSparsity sparsity, const Values& stored) {
  TfliteBuilder builder;
  const Tensor data = Tensor::of<float>(Shape{std::ssize(stored)}, stored);
  const int c = builder.tensor({.name = "c", .shape = std::move(shape), .data = data, .sparsity = std::move(sparsity)});
  return builder.add({.code = kDensify, .inputs = {c}, .outputs = {builder.output({.name = "y"})}});
}

Values dense_of(std::vector<std::int32_t> shape, const TfliteSparsity& sparsity, const Values& stored) {
  const auto results = answers(file_of(std::move(shape), sparsity, stored), {});
  return results.empty() ? Values{} : as_floats(results[0]);
}

std::string tflite_sparse_message_of(std::vector<std::int32_t> shape, const TfliteSparsity& sparsity,
                                     const Values& stored) {
  const auto model = file_of(std::move(shape), sparsity, stored).import();
  if (model) return "";
  std::string text = to_string(model.errors());
  const std::string prefix = "test.tflite: subgraph 0, tensor 0 'c', sparse data";
  EXPECT_EQ(text.substr(0, prefix.size()), prefix);
  return text.substr(std::min(prefix.size(), text.size()));
}

const Values kMatrix = {1, 0, 0, 2, 0, 0, 0, 0, 0, 3, 0, 0, 4, 0, 5, 6};
const TfliteSparsity kByRows{.order = {0, 1}, .levels = {{.size = 4}, {0, {0, 2, 2, 3, 6}, {0, 3, 1, 0, 2, 3}}}};
const TfliteSparsity kByColumns{.order = {1, 0}, .levels = {{.size = 4}, {0, {0, 2, 3, 4, 6}, {0, 3, 2, 3, 0, 3}}}};
const TfliteSparsity kByBlocks{.order = {0, 1, 2, 3},
                               .blocks = {0, 1},
                               .levels = {{.size = 2}, {0, {0, 2, 3}, {0, 1, 1}}, {.size = 2}, {.size = 2}}};

TEST(TfliteSparse, RowsAndColumns) {
  for (const int width : {8, 16, 32}) {
    TfliteSparsity rows = kByRows;
    rows.width = width;
    EXPECT_EQ(dense_of({4, 4}, rows, {1, 2, 3, 4, 5, 6}), kMatrix) << width;
  }
  EXPECT_EQ(dense_of({4, 4}, kByColumns, {1, 4, 3, 5, 2, 6}), kMatrix);
}

TEST(TfliteSparse, Blocks) {
  const Values matrix = {1, 0, 2, 3, 0, 4, 0, 0, 0, 0, 5, 0, 0, 0, 0, 6};
  const Values stored = {1, 0, 0, 4, 2, 3, 0, 0, 5, 0, 0, 6};
  EXPECT_EQ(dense_of({4, 4}, kByBlocks, stored), matrix);
  // The columns of a block before its rows.
  TfliteSparsity turned = kByBlocks;
  turned.order = {0, 1, 3, 2};
  EXPECT_EQ(dense_of({4, 4}, turned, {1, 0, 0, 4, 2, 0, 3, 0, 5, 0, 0, 6}), matrix);
  // Blocks of one axis alone, of two levels of lists.
  const TfliteSparsity pairs{
      .order = {0, 1, 2}, .blocks = {1}, .levels = {{0, {0, 2}, {1, 2}}, {0, {0, 1, 1}, {1}}, {.size = 2}}};
  EXPECT_EQ(dense_of({3, 4}, pairs, {7, 8}), (Values{0, 0, 0, 0, 0, 0, 7, 8, 0, 0, 0, 0}));
}

TEST(TfliteSparse, WhatIsWrong) {
  const auto changed = [](auto change) {
    TfliteSparsity sparsity = kByRows;
    change(sparsity);
    return tflite_sparse_message_of({4, 4}, sparsity, {1, 2, 3, 4, 5, 6});
  };
  using S = TfliteSparsity;
  EXPECT_EQ(changed([](S& s) { s.order = {0, 0}; }), ", traversal order: found [0,0], expected each level once");
  EXPECT_EQ(changed([](S& s) { s.order = {0}; }), ", traversal order: found [0], expected 2 numbers for 4x4");
  EXPECT_EQ(changed([](S& s) { s.order = {0, 1, 2}, s.blocks = {7}; }), ", block map: found [7], expected axes of 4x4");
  EXPECT_EQ(changed([](S& s) { s.levels.pop_back(); }), ", levels: found 1, expected 2");
  EXPECT_EQ(changed([](S& s) { s.levels[0].size = 5; }), ", level 0: found 5 positions, expected 4");
  EXPECT_EQ(changed([](S& s) { s.levels[1].indices[2] = 4; }), ", level 1, indices: found 4, expected 0 to 3");
  EXPECT_EQ(changed([](S& s) { s.levels[1].indices[2] = -1; }), ", level 1, indices: found -1, expected 0 to 3");
  EXPECT_EQ(changed([](S& s) {
              s.levels[1].segments = {0, 2, 1, 3, 6};
            }),
            ", level 1, segments: found 1 after 2, expected rising numbers up to 6");
  EXPECT_EQ(changed([](S& s) {
              s.levels[1].segments = {0, 2, 2, 3, 7};
            }),
            ", level 1, segments: found 7 after 3, expected rising numbers up to 6");
  EXPECT_EQ(changed([](S& s) {
              s.levels[1].segments = {0, 2, 2, 3};
            }),
            ", level 1, segments: found 4, expected one for each position before, and the end");
  EXPECT_EQ(changed([](S& s) { s.levels[1].segments = {0, 2, 2, 3, 5}; }), ", data: found 6 elements, expected 5");
  EXPECT_EQ(tflite_sparse_message_of({4, 4}, kByRows, {1, 2, 3}),
            ", data: found 3 elements, expected one for each place that is listed");
  TfliteSparsity uneven = kByBlocks;
  uneven.levels[3].size = 3;
  EXPECT_EQ(tflite_sparse_message_of({4, 4}, uneven, {1}),
            ", block of axis 1: found 3 positions, expected a number that divides 4, dense");
}

// A small file may say that a tensor of zeros is large.
TEST(TfliteSparse, LargeTensorsOfZeros) {
  const TfliteSparsity nothing{.order = {0, 1}, .levels = {{0, {0, 0}, {}}, {0, {0, 0}, {}}}};
  EXPECT_NE(
      tflite_sparse_message_of({1 << 14, 1 << 13}, nothing, {1}).find("found 134217728 elements, expected at most"),
      std::string::npos);
}

}  // namespace
}  // namespace octavo::testing
