// Extents over open sizes: normal form, ranges, conditions, values.
#include "base/sizes.h"

#include <gtest/gtest.h>

#include <random>

namespace octavo {
namespace {

// A batch, and a height and width that are multiples of 32.
struct Picture {
  Sizes sizes;
  Dim n = sizes.add({"n", {1, 64}}, 4);
  Dim h = sizes.add({"h", {32, 1024}, 32}, 224);
  Dim w = sizes.add({"w", {32, 1024}}, 160);

  std::int64_t value(const Dim& dim, std::vector<std::int64_t> at) const {
    const auto values = sizes.evaluate(at);
    EXPECT_TRUE(values) << to_string(values.errors());
    return dim.is_number() ? dim.example() : (*values)[static_cast<std::size_t>(dim.expression()->index)];
  }
};

TEST(Sizes, NumbersStayNumbers) {
  const Dim a = 7, b = -2;
  EXPECT_TRUE((a + b).is_number());
  EXPECT_EQ((a * b).example(), -14);
  EXPECT_EQ((a / b).example(), -4);
  EXPECT_EQ((b / 3).example(), -1);
  EXPECT_EQ((a % 4).example(), 3);
  EXPECT_EQ(smaller(a, b).example(), -2);
  EXPECT_TRUE(a > b && a != b && a >= 7 && b < 0);
}

TEST(Sizes, EqualExpressionsAreOne) {
  Picture p;
  EXPECT_EQ(((p.n + 1) * (p.w - 2)).expression(), (p.n * p.w + p.w - 2 - 2 * p.n).expression());
  EXPECT_TRUE((p.w - p.w).is_number());
  EXPECT_EQ((p.n * p.w / p.w).expression(), p.n.expression());
  EXPECT_EQ((p.n * p.w * 3 / (p.w * 3)).expression(), p.n.expression());
  EXPECT_EQ(((p.w + 5) / 2).expression(), ((p.w + 1) / 2 + 2).expression());
  EXPECT_EQ(to_string(p.h / 32 * 7 - p.n), "-n + 7 * (h / 32)");
  EXPECT_EQ(to_string((p.w - 1) / 2 + 1), "floor((w + 1) / (2))");
  EXPECT_TRUE(p.sizes.conditions().empty());
}

TEST(Sizes, StepsDivide) {
  Picture p;
  EXPECT_EQ((p.h % 16).example(), 0);
  EXPECT_TRUE((p.h % 16).is_number());
  EXPECT_EQ(((p.h - 1) / 2 + 1).expression(), (p.h / 2).expression());  // a convolution of stride 2
  EXPECT_FALSE((p.w % 16).is_number());
}

// Two counts of what data say: their examples mean nothing where both have to be equal.
TEST(Sizes, WhatMustBeEqualIsACondition) {
  Sizes found(SizesOf::data);
  const Dim a = found.add({"a", {0, 100}}, 5), b = found.add({"b", {0, 100}}, 1);
  EXPECT_TRUE(must_equal(a, a));
  EXPECT_TRUE(found.conditions().empty());
  EXPECT_FALSE(must_equal(a + 1, 0));  // the range answers
  EXPECT_TRUE(must_equal(a, b + 4));
  EXPECT_TRUE(found.has_example());
  EXPECT_TRUE(must_equal(a, b));
  EXPECT_FALSE(found.has_example());
  EXPECT_FALSE(found.evaluate(std::vector<std::int64_t>{5, 1}));
  Picture p;
  EXPECT_FALSE(must_equal(p.n, p.w));  // as the example says
  EXPECT_TRUE(p.sizes.has_example());
}

TEST(Sizes, NothingAmongNoneIsNothing) {
  Sizes found(SizesOf::data);
  const Dim n = found.add({"n", {0, 100}}, 3), share = (n + 4) / (2 * n),
            none = n / (3 * n + found.add({"m", {0, 9}}, 1));
  const std::int64_t at = none.expression()->index;
  EXPECT_EQ((*found.evaluate(std::vector<std::int64_t>{1, 0}))[static_cast<std::size_t>(at)], 0);
  // There is no number for the share, which is nobody's concern until somebody reads it.
  EXPECT_GE((*found.evaluate(std::vector<std::int64_t>{0, 0}))[static_cast<std::size_t>(share.expression()->index)],
            SizeRange::kUnbounded);
  Sizes alone(SizesOf::data);
  const Dim k = alone.add({"k", {0, 100}}, 3), of_none = k / (3 * k + alone.add({"m", {0, 9}}, 1));
  EXPECT_EQ((*alone.evaluate(std::vector<std::int64_t>{0, 0}))[static_cast<std::size_t>(of_none.expression()->index)],
            0);
}

// Conditions of sizes that are less than usual are checked only at such sizes.
TEST(Sizes, LessThanUsual) {
  Sizes open;
  const Dim n = open.add({"n", {0, 100}, 1, 1}, 4);
  const auto refusal = [&] {
    const auto values = open.evaluate(std::vector<std::int64_t>{0});
    return values ? std::string() : values.errors()[0].expected;
  };
  const Dim longer = n + 3, none = (n * 5) / 5, far = smaller(n - 1, n);
  EXPECT_FALSE(n + 1 == 0);
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ((*open.evaluate(std::vector<std::int64_t>{0}))[static_cast<std::size_t>(longer.expression()->index)], 3);
  EXPECT_EQ(none.expression(), n.expression());
  EXPECT_EQ(far.expression(), (n - 1).expression());
  open.set_asking("node 'crop'");
  EXPECT_EQ(larger(n, 1).expression(), n.expression());
  EXPECT_TRUE(open.conditions().empty());
  EXPECT_EQ(refusal(), "n >= 1");
  EXPECT_TRUE(open.evaluate(std::vector<std::int64_t>{1}));
  EXPECT_EQ(open.program().unusual.size(), 1u);
}

// An expression that was simplified for usual sizes refuses the sizes at which that would be wrong.
TEST(Sizes, SimplerAtUsualSizes) {
  const auto evaluates = [](auto make) {
    Sizes open;
    make(open.add({"n", {0, 100}, 1, 1}, 4), open.add({"m", {0, 100}, 1, 1}, 5));
    EXPECT_TRUE(open.conditions().empty());
    EXPECT_TRUE(open.evaluate(std::vector<std::int64_t>{1, 1}));
    return open.evaluate(std::vector<std::int64_t>{0, 0}).ok();
  };
  EXPECT_TRUE(evaluates([](const Dim& n, const Dim& m) { static_cast<void>(n + m * 4); }));
  EXPECT_FALSE(evaluates([](const Dim& n, const Dim&) { static_cast<void>(n / n); }));
  EXPECT_FALSE(evaluates([](const Dim& n, const Dim& m) { static_cast<void>(n * m / m); }));
  EXPECT_TRUE(evaluates([](const Dim& n, const Dim&) { static_cast<void>((n - 1) / 200); }));
  EXPECT_FALSE(evaluates([](const Dim& n, const Dim& m) { static_cast<void>(n + m > 1); }));
  EXPECT_FALSE(evaluates([](const Dim& n, const Dim&) { static_cast<void>(n == 0); }));
}

// A size that is less than usual is a number in the table that is made for it.
TEST(Sizes, AtAnExampleOfNone) {
  Sizes open;
  const Dim past = open.add({"past", {0, 100}, 1, 1}, 4), n = open.add({"n", {0, 8}, 1, 1}, 2);
  const Dim made[] = {past, past + n, n * 3};
  EXPECT_FALSE(past + n == 1);
  const std::vector<std::int64_t> first = {0, 3};
  const auto other = Sizes::at_example(open.program(), first);
  ASSERT_TRUE(other) << to_string(other.errors());
  EXPECT_TRUE(is_zero(Dim(encoded(made[0])).at(other->dims)));
  EXPECT_TRUE(is_same(Dim(encoded(made[1])).at(other->dims) * 3, Dim(encoded(made[2])).at(other->dims)));
  EXPECT_TRUE(other->sizes->evaluate(first));
  EXPECT_FALSE(other->sizes->evaluate(std::vector<std::int64_t>{1, 3}));
}

TEST(Sizes, RangesAnswer) {
  Picture p;
  EXPECT_TRUE(p.n >= 1);
  EXPECT_FALSE(p.w < 32);
  EXPECT_FALSE(p.w == 0);
  EXPECT_TRUE(p.n * p.w > 0);
  EXPECT_TRUE(p.w + 1 > p.n - 100);
  EXPECT_EQ(smaller(p.w, 2000).expression(), p.w.expression());
  EXPECT_EQ(larger(p.w, 8).expression(), p.w.expression());
  EXPECT_TRUE(p.sizes.conditions().empty());
}

TEST(Sizes, OtherAnswersAreConditions) {
  Picture p;
  p.sizes.set_asking("node 'crop'");
  EXPECT_TRUE(p.w > 100);
  EXPECT_FALSE(p.n == 1);
  EXPECT_TRUE(p.w > 100);
  const std::int64_t batch = p.n;
  EXPECT_EQ(batch, 4);
  ASSERT_EQ(p.sizes.conditions().size(), 3u);  // each once
  EXPECT_TRUE(p.sizes.evaluate(std::vector<std::int64_t>{4, 64, 101}));
  const auto refused = p.sizes.evaluate(std::vector<std::int64_t>{4, 64, 100});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.errors()[0].where, "node 'crop'");
  EXPECT_EQ(refused.errors()[0].found, "n = 4, h = 64, w = 100");
  EXPECT_EQ(refused.errors()[0].expected, "100 < w");
  EXPECT_FALSE(p.sizes.evaluate(std::vector<std::int64_t>{1, 64, 101}));
}

// Equal in meaning at every size, with another answer where the example's was one.
TEST(Sizes, AtAnotherExample) {
  Picture p;
  const Dim made[] = {(p.w - 1) / 2 + p.n * p.h, smaller(p.w, p.h) * 3, larger(p.n, p.w / p.n), p.h / 32 - 1};
  EXPECT_FALSE(p.n == 1);
  const std::vector<std::int64_t> one = {1, 64, 33};
  const auto other = Sizes::at_example(p.sizes.program(), one);
  ASSERT_TRUE(other) << to_string(other.errors());
  for (const std::vector<std::int64_t>& sizes : std::vector<std::vector<std::int64_t>>{{2, 64, 70}, {64, 1024, 32}}) {
    const auto values = other->sizes->evaluate(sizes);
    ASSERT_TRUE(values) << to_string(values.errors());
    for (const Dim& dim : made) {
      const Dim there = Dim(encoded(dim)).at(other->dims);
      EXPECT_EQ(there.at(*values), p.value(dim, sizes)) << to_string(dim);
    }
  }
  EXPECT_EQ(Dim(encoded(made[0])).at(other->dims).example(), 16 + 64);
  EXPECT_FALSE(other->sizes->evaluate(one));  // the condition was taken along
}

TEST(Sizes, ExamplesAreFoundForWhatIsDemanded) {
  Picture p;
  const auto found = [&](const Dim& dim, SizeRelation relation) {
    return p.sizes.example_for({.expression = dim.expression()->index, .relation = relation});
  };
  using Found = std::optional<std::vector<std::int64_t>>;
  EXPECT_EQ(found(p.n - 3, SizeRelation::zero), (Found({3, 224, 160})));
  EXPECT_EQ(found((p.h / 32) * (p.w / 32) - 49, SizeRelation::zero), (Found({4, 224, 224})));
  EXPECT_EQ(found((p.h / 32) * (p.w / 32) - 121, SizeRelation::zero), (Found({4, 352, 352})));
  EXPECT_EQ(found(p.w - 1000, SizeRelation::not_negative), (Found({4, 224, 1000})));
  EXPECT_EQ(found(p.n - 65, SizeRelation::zero), std::nullopt);
}

// What only shape rules asked is another condition.
TEST(Sizes, ShapeRulesAreTold) {
  Picture p;
  {
    const ShapeRuleAsks asks(&p.sizes);
    EXPECT_FALSE(p.n == 1);
    EXPECT_FALSE(p.w == 40);
    p.sizes.note_refusal();
  }
  EXPECT_FALSE(p.n == 1);
  ASSERT_EQ(p.sizes.conditions().size(), 2u);
  EXPECT_FALSE(p.sizes.conditions()[0].is_of_shapes);
  EXPECT_TRUE(p.sizes.conditions()[1].is_of_shapes);
  ASSERT_EQ(p.sizes.refused().size(), 1u);
  EXPECT_EQ(p.sizes.refused()[0].relation, SizeRelation::zero);
  EXPECT_EQ(p.sizes.text(p.sizes.refused()[0]), "w = 40");
}

TEST(Sizes, SizesOutsideTheirRange) {
  Picture p;
  for (const std::vector<std::int64_t>& bad : std::vector<std::vector<std::int64_t>>{
           {0, 64, 64}, {-1, 64, 64}, {65, 64, 64}, {4, 48, 64}, {4, 64, std::int64_t{1} << 31}})
    EXPECT_FALSE(p.sizes.evaluate(bad));
  Sizes open;
  const Dim n = open.add({"n"}, 1);
  const Dim cube = n * n * n;
  const auto beyond = open.evaluate(std::vector<std::int64_t>{std::int64_t{1} << 40});
  ASSERT_TRUE(beyond);
  EXPECT_EQ(cube.at(*beyond), SizeRange::kUnbounded);
}

// Random expressions against the same arithmetic on numbers.
TEST(Sizes, ValuesAreThoseOfNumbers) {
  std::mt19937 random(3);
  const auto pick = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  for (int round = 0; round < 200; ++round) {
    Picture p;
    std::vector<Dim> dims = {p.n, p.h, p.w, 1, 2, 3, 32};
    const std::vector<std::int64_t> at = {1 + pick(64), 32 * (1 + pick(32)), 32 + pick(993)};
    std::vector<std::int64_t> numbers = {at[0], at[1], at[2], 1, 2, 3, 32};
    for (int step = 0; step < 12; ++step) {
      const auto a = static_cast<std::size_t>(pick(static_cast<int>(dims.size())));
      const auto b = static_cast<std::size_t>(pick(static_cast<int>(dims.size())));
      const Dim x = dims[a], y = dims[b], u = numbers[a], v = numbers[b];
      if (std::abs(u.example()) > 10000 || std::abs(v.example()) > 10000) continue;
      const int kind = pick(6);
      if (kind >= 4 && (v.example() <= 0 || (!y.is_number() && y.expression()->range.lowest <= 0))) continue;
      Dim made, number;
      switch (kind) {
        case 0: made = x + y, number = u + v; break;
        case 1: made = x - y, number = u - v; break;
        case 2: made = x * y, number = u * v; break;
        case 3: made = smaller(x, y), number = smaller(u, v); break;
        case 4: made = x / y, number = u / v; break;
        default: made = x % y, number = u % v; break;
      }
      dims.push_back(made);
      numbers.push_back(number.example());
    }
    for (std::size_t i = 0; i < dims.size(); ++i) {
      EXPECT_EQ(p.value(dims[i], at), numbers[i]) << to_string(dims[i]);
      if (dims[i].is_number()) continue;
      EXPECT_LE(dims[i].expression()->range.lowest, numbers[i]) << to_string(dims[i]);
      EXPECT_GE(dims[i].expression()->range.highest, numbers[i]) << to_string(dims[i]);
    }
    EXPECT_TRUE(p.sizes.conditions().empty());
  }
}

}  // namespace
}  // namespace octavo
