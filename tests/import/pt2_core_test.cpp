// ATen operators of the core set that are others put together, in programs of one node. Part of the tests of import/.
#include <gtest/gtest.h>

#include "import/one_aten_node.h"

namespace octavo::testing {
namespace {

Values core_result(const std::string& name, const Tensor& x, std::vector<Argument> arguments, Shape shape,
                   DType type = DType::f32) {
  arguments.insert(arguments.begin(), {"self", kX0});
  return result_of({.target = "aten." + name,
                    .tensors = {x},
                    .arguments = std::move(arguments),
                    .shape = std::move(shape),
                    .types = {type}});
}

TEST(AtenCore, ImagesAndGates) {
  const Tensor x = floats({1, 4, 1, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  const Values shuffled{0, 2, 1, 3, 4, 6, 5, 7};
  EXPECT_EQ(core_result("pixel_shuffle.default", x, {{"upscale_factor", integer(2)}}, {1, 1, 2, 4}), shuffled);
  EXPECT_EQ(core_result("pixel_unshuffle.default", floats({1, 1, 2, 4}, shuffled), {{"downscale_factor", integer(2)}},
                        {1, 4, 1, 2}),
            as_floats(x));
  EXPECT_EQ(core_result("glu.default", floats({1, 4}, {1, 2, 0, 0}), {{"dim", integer(-1)}}, {1, 2}),
            (Values{0.5f, 1}));
  const Tensor line = floats({1, 1, 3}, {1, 2, 3});
  EXPECT_EQ(core_result("reflection_pad1d.default", line, {{"padding", list("2,1")}}, {1, 1, 6}),
            (Values{3, 2, 1, 2, 3, 2}));
  EXPECT_EQ(core_result("replication_pad1d.default", line, {{"padding", list("1,0")}}, {1, 1, 4}),
            (Values{1, 1, 2, 3}));
}

TEST(AtenCore, Reductions) {
  const Tensor& x = kRows;
  const Argument row{"dim", list("1")}, whole{"dim", integer(1)};
  EXPECT_EQ(core_result("prod.dim_int", x, {whole}, {2}), (Values{6, 120}));
  EXPECT_EQ(core_result("var.correction", x, {row, {"correction", integer(1)}}, {2}), (Values{1, 1}));
  EXPECT_EQ(core_result("any.dim", floats({2, 2}, {0, 0, 0, 3}), {whole}, {2}, DType::boolean), (Values{0, 1}));
  EXPECT_EQ(core_result("all.dim", floats({2, 2}, {0, 1, 2, 3}), {whole}, {2}, DType::boolean), (Values{0, 1}));
  EXPECT_EQ(core_result("remainder.Scalar", x, {{"other", R"({"as_float":-4.0})"}}, {2, 3}),
            (Values{-3, -2, -1, 0, -3, -2}));
  EXPECT_EQ(core_result("trunc.default", floats({3}, {-1.5f, 0.5f, 2.5f}), {}, {3}), (Values{-1, 0, 2}));
  EXPECT_EQ(core_result("log2.default", floats({2}, {1, 8}), {}, {2}), (Values{0, 3}));
}

TEST(AtenCore, ExtremesAndWhereTheyAre) {
  const auto found = results_of({.target = "aten.max.dim",
                                 .tensors = {kRows},
                                 .arguments = {{"self", kX0}, {"dim", integer(0)}},
                                 .shape = {3},
                                 .types = {DType::f32, DType::s64}});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(as_floats(found[0]), (Values{4, 5, 6}));
  EXPECT_EQ(as_floats(found[1]), (Values{1, 1, 1}));
  EXPECT_EQ(core_result("min.default", kRows, {}, {}), (Values{1}));
}

TEST(AtenCore, ScatteredAndReduced) {
  const auto reduced = [](const std::string& kind, bool includes_self) {
    return result_of({.target = "aten.scatter_reduce.two",
                      .tensors = {floats({3}, {10, 20, 30}), integers({4}, {0, 0, 2, 2}), floats({4}, {1, 2, 3, 4})},
                      .arguments = {{"self", kX0},
                                    {"dim", integer(0)},
                                    {"index", kX1},
                                    {"src", kX2},
                                    {"reduce", R"({"as_string":")" + kind + R"("})"},
                                    {"include_self", includes_self ? R"({"as_bool":true})" : R"({"as_bool":false})"}},
                      .shape = {3}});
  };
  EXPECT_EQ(reduced("sum", true), (Values{13, 20, 37}));
  EXPECT_EQ(reduced("sum", false), (Values{3, 20, 7}));
  EXPECT_EQ(reduced("amax", false), (Values{2, 20, 4}));
  EXPECT_EQ(reduced("amin", true), (Values{1, 20, 3}));
  EXPECT_EQ(reduced("prod", false), (Values{2, 20, 12}));
  Tensor some(DType::boolean, {2, 3});
  for (const std::int64_t place : {1, 3, 5}) some.as<bool>()[place] = true;
  EXPECT_EQ(result_of({.target = "aten.masked_scatter.default",
                       .tensors = {kRows, some, floats({4}, {7, 8, 9, 10})},
                       .arguments = {{"self", kX0}, {"mask", kX1}, {"source", kX2}},
                       .shape = {2, 3}}),
            (Values{1, 7, 3, 8, 5, 9}));
}

TEST(AtenCore, DiagonalsDistancesAndAngles) {
  EXPECT_EQ(core_result("diagonal.default", kRows, {{"offset", integer(1)}}, {2}), (Values{2, 6}));
  EXPECT_EQ(core_result("diagonal.default", kRows, {{"offset", integer(-1)}}, {1}), (Values{4}));
  EXPECT_EQ(core_result("diagonal.default", kRows, {{"offset", integer(5)}}, {0}), Values{});
  EXPECT_EQ(result_of({.target = "aten._cdist_forward.default",
                       .tensors = {floats({1, 2}, {0, 0}), floats({2, 2}, {3, 4, 0, -2})},
                       .arguments = {{"x1", kX0}, {"x2", kX1}, {"p", R"({"as_float":2.0})"}},
                       .shape = {1, 2}}),
            (Values{5, 2}));
  const Values angles = result_of({.target = "aten.atan2.default",
                                   .tensors = {floats({5}, {0, 1, 1, -1, 0}), floats({5}, {0, -0.0f, -1, -1, -1})},
                                   .arguments = {{"self", kX0}, {"other", kX1}},
                                   .shape = {5}});
  ASSERT_EQ(angles.size(), 5u);
  const Values quarters{0, 0.5f, 0.75f, -0.75f, 1};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(angles[i], quarters[i] * 3.14159265f, 1e-6f) << i;
}

// x [1, 1, 2, 2]: each pixel where it is, and outside the nearest or nothing.
TEST(AtenCore, ImagesReadAtPositions) {
  const auto sampled = [](int padding) {
    return result_of({.target = "aten.grid_sampler_2d.default",
                      .tensors = {floats({1, 1, 2, 2}, {1, 2, 3, 4}), floats({1, 1, 3, 2}, {-1, -1, 1, 1, 3, 1})},
                      .arguments = {{"input", kX0},
                                    {"grid", kX1},
                                    {"interpolation_mode", integer(0)},
                                    {"padding_mode", integer(padding)},
                                    {"align_corners", R"({"as_bool":true})"}},
                      .shape = {1, 1, 1, 3}});
  };
  EXPECT_EQ(sampled(0), (Values{1, 4, 0}));
  EXPECT_EQ(sampled(1), (Values{1, 4, 4}));
  EXPECT_EQ(core_result("col2im.default", floats({1, 2, 2}, {1, 2, 3, 4}),
                        {{"output_size", list("1,3")},
                         {"kernel_size", list("1,2")},
                         {"dilation", list("1,1")},
                         {"padding", list("0,0")},
                         {"stride", list("1,1")}},
                        {1, 1, 1, 3}),
            (Values{1, 5, 4}));
}

// One layer of one unit, whose states a third weight projects.
TEST(AtenRecurrent, ProjectionsAreRefusedByName) {
  const std::string states = R"({"as_tensors":[{"name":"x1"},{"name":"x1"}]})",
                    params = R"({"as_tensors":[{"name":"x2"},{"name":"x2"},{"name":"x2"}]})",
                    no = R"({"as_bool":false})";
  const auto model =
      import_of({.target = "aten.lstm.input",
                 .tensors = {floats({2, 1, 1}, {1, 2}), floats({1, 1, 1}, {0}), floats({4, 1}, {1, 1, 1, 1})},
                 .arguments = {{"input", kX0},
                               {"hx", states},
                               {"params", params},
                               {"has_biases", no},
                               {"num_layers", integer(1)},
                               {"dropout", R"({"as_float":0.0})"},
                               {"train", no},
                               {"bidirectional", no},
                               {"batch_first", no}},
                 .shape = {2, 1, 1}});
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.errors().front().kind, ErrorKind::unsupported);
  EXPECT_NE(to_string(model.errors()).find("(proj_size)"), std::string::npos) << to_string(model.errors());
}

}  // namespace
}  // namespace octavo::testing
