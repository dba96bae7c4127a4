// ATen operators that pick and write by position, in programs of one node. Part of the tests of import/.
#include <gtest/gtest.h>

#include "import/one_aten_node.h"

namespace octavo::testing {
namespace {

TEST(AtenSelection, Gathers) {
  EXPECT_EQ(result_of({.target = "aten.gather.default",
                       .tensors = {kRows, integers({2, 1}, {2, 0})},
                       .arguments = {{"self", kX0}, {"dim", integer(1)}, {"index", kX1}},
                       .shape = {2, 1}}),
            (Values{3, 4}));
  EXPECT_EQ(result_of({.target = "aten.index_select.default",
                       .tensors = {kRows, integers({2}, {2, 0})},
                       .arguments = {{"self", kX0}, {"dim", integer(-1)}, {"index", kX1}},
                       .shape = {2, 2}}),
            (Values{3, 1, 6, 4}));
  EXPECT_EQ(
      result_of({.target = "aten.index.Tensor",
                 .tensors = {kRows, integers({3}, {1, 0, 1}), integers({1}, {2})},
                 .arguments = {{"self", kX0}, {"indices", R"({"as_optional_tensors":[)" + kX1 + "," + kX2 + "]}"}},
                 .shape = {3}}),
      (Values{6, 3, 6}));
  EXPECT_EQ(result_of({.target = "aten.index.Tensor",
                       .tensors = {kRows, integers({1}, {1})},
                       .arguments = {{"self", kX0}, {"indices", R"({"as_optional_tensors":[)" + kX1 + "]}"}},
                       .shape = {1, 3}}),
            (Values{4, 5, 6}));
}

TEST(AtenSelection, Scatters) {
  const Tensor at = integers({1, 2}, {2, 2});
  EXPECT_EQ(result_of({.target = "aten.scatter.src",
                       .tensors = {kRows, at, floats({2, 3}, {7, 8, 9, 9, 9, 9})},
                       .arguments = {{"self", kX0}, {"dim", integer(1)}, {"index", kX1}, {"src", kX2}},
                       .shape = {2, 3}}),
            (Values{1, 2, 8, 4, 5, 6}));
  EXPECT_EQ(result_of({.target = "aten.scatter.value",
                       .tensors = {kRows, at},
                       .arguments = {{"self", kX0}, {"dim", integer(1)}, {"index", kX1}, {"value", integer(7)}},
                       .shape = {2, 3}}),
            (Values{1, 2, 7, 4, 5, 6}));
  EXPECT_EQ(result_of({.target = "aten.scatter_add.default",
                       .tensors = {kRows, at, floats({1, 2}, {7, 8})},
                       .arguments = {{"self", kX0}, {"dim", integer(1)}, {"index", kX1}, {"src", kX2}},
                       .shape = {2, 3}}),
            (Values{1, 2, 18, 4, 5, 6}));
  EXPECT_EQ(result_of({.target = "aten.index_put.default",
                       .tensors = {kRows, integers({1}, {0}), floats({3}, {7, 8, 9})},
                       .arguments = {{"self", kX0},
                                     {"indices", R"({"as_optional_tensors":[)" + kX1 + "]}"},
                                     {"values", kX2},
                                     {"accumulate", R"({"as_bool":true})"}},
                       .shape = {2, 3}}),
            (Values{8, 10, 12, 4, 5, 6}));
}

TEST(AtenSelection, ByPosition) {
  EXPECT_EQ(result_of({.target = "aten.triu.default",
                       .tensors = {kRows},
                       .arguments = {{"self", kX0}, {"diagonal", integer(1)}},
                       .shape = {2, 3}}),
            (Values{0, 2, 3, 0, 0, 6}));
  EXPECT_EQ(
      result_of({.target = "aten.tril.default", .tensors = {kRows}, .arguments = {{"self", kX0}}, .shape = {2, 3}}),
      (Values{1, 0, 0, 4, 5, 0}));
  EXPECT_EQ(result_of({.target = "aten.flip.default",
                       .tensors = {kRows},
                       .arguments = {{"self", kX0}, {"dims", list("0,1")}},
                       .shape = {2, 3}}),
            (Values{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(result_of({.target = "aten.roll.default",
                       .tensors = {kRows},
                       .arguments = {{"self", kX0}, {"shifts", list("1,-1")}, {"dims", list("0,1")}},
                       .shape = {2, 3}}),
            (Values{5, 6, 4, 2, 3, 1}));
  Tensor mask(DType::boolean, {2, 3});
  mask.as<std::uint8_t>()[4] = 1;
  EXPECT_EQ(result_of({.target = "aten.masked_fill.Scalar",
                       .tensors = {kRows, mask},
                       .arguments = {{"self", kX0}, {"mask", kX1}, {"value", R"({"as_float":-1.5})"}},
                       .shape = {2, 3}}),
            (Values{1, 2, 3, 4, -1.5f, 6}));
}

TEST(AtenSelection, TopElementsAndProducts) {
  const auto top = results_of({.target = "aten.topk.default",
                               .tensors = {kRows},
                               .arguments = {{"self", kX0}, {"k", integer(2)}},
                               .shape = {2, 2},
                               .types = {DType::f32, DType::s64}});
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(as_floats(top[0]), (Values{3, 2, 6, 5}));
  EXPECT_EQ(as_floats(top[1]), (Values{2, 1, 2, 1}));
  EXPECT_EQ(result_of({.target = "aten.einsum.default",
                       .tensors = {kRows, floats({3}, {1, 10, 100})},
                       .arguments = {{"equation", R"({"as_string":"ij,j->i"})"},
                                     {"tensors", R"({"as_tensors":[{"name":"x0"},{"name":"x1"}]})"}},
                       .shape = {2}}),
            (Values{321, 654}));
}

TEST(AtenConstants, NumbersAndPositions) {
  const auto made = [](const std::string& target, std::vector<Argument> arguments, Shape shape, DType type) {
    return result_of({.target = target,
                      .tensors = {kRows},
                      .arguments = std::move(arguments),
                      .shape = std::move(shape),
                      .types = {type}});
  };
  EXPECT_EQ(made("aten.full.default", {{"size", list("2")}, {"fill_value", integer(7)}}, {2}, DType::s64),
            (Values{7, 7}));
  EXPECT_EQ(made("aten.ones.default", {{"size", list("2")}}, {2}, DType::f32), (Values{1, 1}));
  EXPECT_EQ(made("aten.zeros_like.default", {{"self", kX0}}, {2, 3}, DType::f32), (Values{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(
      made("aten.new_full.default", {{"self", kX0}, {"size", list("1")}, {"fill_value", integer(2)}}, {1}, DType::f32),
      Values{2});
  EXPECT_EQ(made("aten.arange.start_step", {{"start", integer(-1)}, {"end", integer(6)}, {"step", integer(3)}}, {3},
                 DType::s64),
            (Values{-1, 2, 5}));
  EXPECT_EQ(made("aten.arange.default", {{"end", integer(3)}}, {3}, DType::s64), (Values{0, 1, 2}));
}

TEST(AtenConstants, PartsWrittenAnew) {
  EXPECT_EQ(
      result_of(
          {.target = "aten.slice_scatter.default",
           .tensors = {kRows, floats({2, 1}, {8, 9})},
           .arguments = {{"self", kX0}, {"src", kX1}, {"dim", integer(1)}, {"start", integer(1)}, {"end", integer(2)}},
           .shape = {2, 3}}),
      (Values{1, 8, 3, 4, 9, 6}));
  EXPECT_EQ(result_of({.target = "aten.select_scatter.default",
                       .tensors = {kRows, floats({3}, {7, 8, 9})},
                       .arguments = {{"self", kX0}, {"src", kX1}, {"dim", integer(0)}, {"index", integer(-1)}},
                       .shape = {2, 3}}),
            (Values{1, 2, 3, 7, 8, 9}));
  EXPECT_EQ(result_of({.target = "aten.repeat_interleave.self_int",
                       .tensors = {kRows},
                       .arguments = {{"self", kX0}, {"repeats", integer(2)}, {"dim", integer(0)}},
                       .shape = {4, 3}}),
            (Values{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}));
}

TEST(AtenElementwise, BitsAndFlags) {
  const Tensor a = integers({2}, {6, -1}), b = integers({2}, {3, 3});
  const auto bits = [&](const std::string& target) {
    return result_of({.target = target,
                      .tensors = {a, b},
                      .arguments = {{"self", kX0}, {"other", kX1}},
                      .shape = {2},
                      .types = {DType::s64}});
  };
  EXPECT_EQ(bits("aten.bitwise_and.Tensor"), (Values{2, 3}));
  EXPECT_EQ(bits("aten.bitwise_or.Tensor"), (Values{7, -1}));
  EXPECT_EQ(bits("aten.bitwise_xor.Tensor"), (Values{5, -4}));
  EXPECT_EQ(result_of({.target = "aten.bitwise_not.default",
                       .tensors = {a},
                       .arguments = {{"self", kX0}},
                       .shape = {2},
                       .types = {DType::s64}}),
            (Values{-7, 0}));
  EXPECT_EQ(result_of({.target = "aten.ne.Tensor",
                       .tensors = {kRows, floats({2, 3}, {1, 0, 3, 0, 5, 6})},
                       .arguments = {{"self", kX0}, {"other", kX1}},
                       .shape = {2, 3},
                       .types = {DType::boolean}}),
            (Values{0, 1, 0, 1, 0, 0}));
  const Values angle = result_of(
      {.target = "aten.atan.default", .tensors = {floats({1}, {1})}, .arguments = {{"self", kX0}}, .shape = {1}});
  ASSERT_EQ(angle.size(), 1u);
  EXPECT_NEAR(angle[0], 0.7853982f, 1e-6f);
}

// Integers beside fractions, and their quotients, are f32; truths beside whole numbers are integers.
TEST(AtenElementwise, NumbersOfWiderKinds) {
  const auto of = [](const std::string& target, const Tensor& x, const std::string& number, DType type) {
    return result_of({.target = target,
                      .tensors = {x},
                      .arguments = {{"self", kX0}, {"other", number}},
                      .shape = {2},
                      .types = {type}});
  };
  const Tensor whole = integers({2}, {3, -1});
  const std::string half = R"({"as_float":0.5})";
  EXPECT_EQ(of("aten.add.Tensor", whole, half, DType::f32), (Values{3.5f, -0.5f}));
  EXPECT_EQ(of("aten.gt.Scalar", integers({2}, {0, 1}), half, DType::boolean), (Values{0, 1}));
  EXPECT_EQ(of("aten.div.Tensor", whole, integer(4), DType::f32), (Values{0.75f, -0.25f}));
  EXPECT_EQ(of("aten.mul.Tensor", whole, integer(4), DType::s64), (Values{12, -4}));
  Tensor truths(DType::boolean, {2});
  truths.as<std::uint8_t>()[0] = 1;
  truths.as<std::uint8_t>()[1] = 0;
  EXPECT_EQ(of("aten.add.Tensor", truths, integer(4), DType::s64), (Values{5, 4}));
}

TEST(AtenElementwise, PowersExtremesAndQuotients) {
  const Tensor x = floats({2}, {3, -5}), y = floats({2}, {2, 1});
  const auto of = [&](const std::string& target, std::vector<Argument> arguments) {
    return result_of({.target = target, .tensors = {x, y}, .arguments = std::move(arguments), .shape = {2}});
  };
  EXPECT_EQ(of("aten.pow.Scalar", {{"self", integer(10)}, {"exponent", kX1}}), (Values{100, 10}));
  EXPECT_EQ(of("aten.max.other", {{"self", kX0}, {"other", kX1}}), (Values{3, 1}));
  EXPECT_EQ(of("aten.min.other", {{"self", kX0}, {"other", kX1}}), (Values{2, -5}));
  const Argument floor{"rounding_mode", R"({"as_string":"floor"})"};
  EXPECT_EQ(of("aten.div.Tensor_mode", {{"self", kX0}, {"other", integer(2)}, floor}), (Values{1, -3}));
}

TEST(AtenReductions, NormsOfVectors) {
  const auto norm = [](const std::string& order) {
    return result_of({.target = "aten.linalg_vector_norm.default",
                      .tensors = {floats({2, 2}, {3, -4, 0, 2})},
                      .arguments = {{"self", kX0}, {"ord", order}, {"dim", list("-1")}},
                      .shape = {2}});
  };
  EXPECT_EQ(norm(integer(2)), (Values{5, 2}));
  EXPECT_EQ(norm(R"({"as_float":1.0})"), (Values{7, 2}));
  EXPECT_EQ(norm(R"({"as_float":"Infinity"})"), (Values{4, 2}));
  EXPECT_EQ(norm(R"({"as_float":"-Infinity"})"), (Values{3, 0}));
}

TEST(AtenSelection, GridsAndOneAxis) {
  const auto grid = [](const std::string& order, Shape shape) {
    return results_of({.target = "aten.meshgrid.indexing",
                       .tensors = {floats({2}, {1, 2}), floats({3}, {3, 4, 5})},
                       .arguments = {{"tensors", R"({"as_tensors":[{"name":"x0"},{"name":"x1"}]})"},
                                     {"indexing", R"({"as_string":")" + order + R"("})"}},
                       .shape = std::move(shape),
                       .types = {DType::f32, DType::f32}});
  };
  const auto rows = grid("ij", {2, 3}), columns = grid("xy", {3, 2});
  ASSERT_EQ(rows.size(), 2u);
  ASSERT_EQ(columns.size(), 2u);
  EXPECT_EQ(as_floats(rows[0]), (Values{1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(as_floats(rows[1]), (Values{3, 4, 5, 3, 4, 5}));
  EXPECT_EQ(as_floats(columns[0]), (Values{1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(as_floats(columns[1]), (Values{3, 3, 4, 4, 5, 5}));
  EXPECT_EQ(
      result_of({.target = "aten.index.Tensor",
                 .tensors = {kRows, integers({2}, {2, 0})},
                 .arguments = {{"self", kX0}, {"indices", R"({"as_optional_tensors":[{"as_none":true},)" + kX1 + "]}"}},
                 .shape = {2, 2}}),
      (Values{3, 1, 6, 4}));
  EXPECT_EQ(result_of({.target = "aten.reshape_as.default",
                       .tensors = {kRows, floats({3, 2}, {0, 0, 0, 0, 0, 0})},
                       .arguments = {{"self", kX0}, {"other", kX1}},
                       .shape = {3, 2}}),
            (Values{1, 2, 3, 4, 5, 6}));
}

// What masks of exported encoders are made with.
TEST(AtenSelection, MasksOfBooleansAndNumbers) {
  Tensor a(DType::boolean, {2, 1}), b(DType::boolean, {1, 2});
  a.as<std::uint8_t>()[0] = b.as<std::uint8_t>()[0] = 1;
  a.as<std::uint8_t>()[1] = b.as<std::uint8_t>()[1] = 0;
  const std::vector<Argument> both{{"self", kX0}, {"other", kX1}};
  const auto logical = [&](const std::string& target) {
    return result_of(
        {.target = target, .tensors = {a, b}, .arguments = both, .shape = {2, 2}, .types = {DType::boolean}});
  };
  EXPECT_EQ(logical("aten.__and__.Tensor"), (Values{1, 0, 0, 0}));
  EXPECT_EQ(logical("aten.__or__.Tensor"), (Values{1, 1, 1, 0}));
  EXPECT_EQ(logical("aten.__xor__.Tensor"), (Values{0, 1, 1, 0}));
  const Tensor row = floats({1, 2}, {3, 4});
  EXPECT_EQ(result_of({.target = "aten.where.ScalarOther",
                       .tensors = {a, row},
                       .arguments = {{"condition", kX0}, {"self", kX1}, {"other", R"({"as_float":-8.0})"}},
                       .shape = {2, 2}}),
            (Values{3, 4, -8, -8}));
  EXPECT_EQ(result_of({.target = "aten.where.ScalarSelf",
                       .tensors = {a, row},
                       .arguments = {{"condition", kX0}, {"self", R"({"as_float":-8.0})"}, {"other", kX1}},
                       .shape = {2, 2}}),
            (Values{-8, -8, 3, 4}));
  EXPECT_EQ(result_of({.target = "aten.expand_as.default",
                       .tensors = {row, floats({2, 2}, {0, 0, 0, 0})},
                       .arguments = both,
                       .shape = {2, 2}}),
            (Values{3, 4, 3, 4}));
}

TEST(AtenPools, AdaptiveOverOneAxis) {
  const auto pooled = [&](int size) {
    return result_of({.target = "aten.adaptive_avg_pool1d.default",
                      .tensors = {floats({1, 1, 4}, {1, 3, 5, 9})},
                      .arguments = {{"self", kX0}, {"output_size", list(std::to_string(size))}},
                      .shape = {1, 1, size}});
  };
  EXPECT_EQ(pooled(1), Values{4.5f});
  EXPECT_EQ(pooled(2), (Values{2, 7}));
  EXPECT_EQ(pooled(4), (Values{1, 3, 5, 9}));
}

// Of the core set: what is put together of other operators; the answers are PyTorch's definitions.
}  // namespace
}  // namespace octavo::testing
