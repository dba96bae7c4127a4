// Epilogues: every stage against hand-computed values, what is refused, encoding, and the rewrites: the same results.
#include "ops/epilogue.h"

#include <algorithm>
#include <limits>

#include "ops_test.h"

namespace octavo::ops_test {
namespace {

Tensor epilogue_floats(const std::vector<float>& values) {
  return Tensor::of<float>({static_cast<std::int64_t>(values.size())}, values);
}
Tensor epilogue_ints(const std::vector<std::int32_t>& values) {
  return Tensor::of<std::int32_t>({static_cast<std::int64_t>(values.size())}, values);
}
Tensor epilogue_bytes(const std::vector<std::uint8_t>& values) {
  return Tensor::of<std::uint8_t>({static_cast<std::int64_t>(values.size())}, values);
}

// What becomes of the sums of a line; one channel each.
template <class T>
std::vector<T> finished(const Epilogue& epilogue, const std::vector<std::int32_t>& sums,
                        const std::vector<Tensor>& operands, EpilogueInput input = EpilogueInput::sum) {
  const Shape shape{static_cast<std::int64_t>(sums.size())};
  std::vector<Fact> facts;
  std::vector<ConstTensorView> views;
  std::vector<const Fact*> pointers;
  for (const Tensor& operand : operands) {
    facts.push_back({.dtype = operand.dtype(), .shape = operand.shape()});
    views.push_back(operand.view());
  }
  for (const Fact& fact : facts) pointers.push_back(&fact);
  const auto type = infer_epilogue(epilogue, input, pointers, shape);
  EXPECT_TRUE(type.ok()) << (type.ok() ? "" : to_string(type.errors()));
  if (!type.ok()) return {};
  Tensor y(*type, shape);
  const EpilogueReference reference(epilogue, views, y.view());
  for (std::size_t i = 0; i < sums.size(); ++i) reference.store(static_cast<std::int64_t>(i), sums[i]);
  return values<T>(y);
}

using U8 = std::vector<std::uint8_t>;

TEST(Epilogue, NoStagesGiveTheSum) {
  EXPECT_EQ(finished<std::int32_t>({.to = DType::s32}, {-7, 1 << 30}, {}), (std::vector<std::int32_t>{-7, 1 << 30}));
}

TEST(Epilogue, RoundTakesItsZeroPointBeforeOrAfter) {
  const std::vector<std::int32_t> sums{1, 3, 5, 1000, -1000};
  const Tensor half = epilogue_floats({0.5f});
  EXPECT_EQ(
      finished<std::uint8_t>({{Scale{}, Round{.after = 1, .lowest = 1, .highest = 100}}, DType::u8}, sums, {half}),
      (U8{1, 3, 3, 100, 1}));
  // 0.5 + 1, 1.5 + 1, 2.5 + 1 before rounding.
  EXPECT_EQ(finished<std::uint8_t>({{Scale{}, Round{.before = 1, .highest = 100}}, DType::u8}, sums, {half}),
            (U8{2, 2, 4, 100, 0}));
  EXPECT_EQ(
      finished<std::uint8_t>({{Scale{}, Round{.before = -5, .after = 128, .lowest = 123}}, DType::u8}, sums, {half}),
      (U8{124, 124, 126, 255, 123}));
}

TEST(Epilogue, RoundSaturatesWithoutOverflow) {
  using Limits = std::numeric_limits<std::int32_t>;
  const std::vector<std::int32_t> sums{Limits::min(), Limits::max()};
  const auto ends = [&](float scale, const Round& round) {
    return finished<std::int8_t>({{Scale{}, round}, DType::s8}, sums, {epilogue_floats({scale})});
  };
  const std::vector<std::int8_t> both{-128, 127};
  for (const float scale : {1.0f, 1e30f}) {
    EXPECT_EQ(ends(scale, {.lowest = -128, .highest = 127}), both);
    EXPECT_EQ(ends(scale, {.before = 10, .lowest = -128, .highest = 127}), both);
  }
  EXPECT_EQ(finished<std::int8_t>({{Round{.after = 10, .lowest = -128, .highest = 127}}, DType::s8}, sums, {}), both);
}

TEST(Epilogue, AffineRoundsTheProductAndTheSum) {
  // 1 / 4 + 2.5 is 2.75, 3 / 4 + 2.5 is 3.25.
  EXPECT_EQ(finished<float>({{Affine{0.25f, 2.5f}}, DType::f32}, {1, 3}, {}), (std::vector<float>{2.75f, 3.25f}));
  EXPECT_EQ(finished<std::uint8_t>({{Affine{0.25f, 2.5f}, Round{.after = 7}}, DType::u8}, {1, 3, 4}, {}),
            (U8{10, 10, 11}));
}

TEST(Epilogue, RealsAreDividedAndRoundedWithTheZeroPointIn) {
  const Epilogue epilogue{{Divide{2.0f}, Round{.before = 3}}, DType::u8};
  Tensor y(DType::u8, {2});
  ASSERT_TRUE(infer_epilogue(epilogue, EpilogueInput::real, {}, y.shape()).ok());
  const EpilogueReference reference(epilogue, {}, y.view());
  reference.store_real(0, 1.0f);
  reference.store_real(1, 1e30f);
  // 0.5 + 3 is 3.5: 4.
  EXPECT_EQ(values<std::uint8_t>(y), (U8{4, 255}));
  EXPECT_FALSE(infer_epilogue(epilogue, EpilogueInput::sum, {}, y.shape()).ok());
}

TEST(Epilogue, FixedScaleRoundsAsItsProfileSays) {
  // 2^30 * 2^(0 - 31): a half; -3 / 2 is -1 with halves up, and -2 with the high product's halves away from 0 last.
  const std::vector<Tensor> half = {epilogue_ints({1 << 30}), epilogue_ints({0})};
  const auto with = [](Profile profile) { return Epilogue{{FixedScale{profile}, Round{.after = 100}}, DType::u8}; };
  const std::vector<std::int32_t> sums{-3, 3, 500, std::numeric_limits<std::int32_t>::min()};
  for (Profile profile : {Profile::tflite_double, Profile::tflite_single}) {
    U8 expected;
    for (const std::int32_t sum : sums)
      expected.push_back(static_cast<std::uint8_t>(
          std::clamp<std::int64_t>(std::int64_t{FixedMultiplier{1 << 30, 0}.apply(profile, sum)} + 100, 0, 255)));
    EXPECT_EQ(finished<std::uint8_t>(with(profile), sums, half), expected);
  }
  // A shift from a run is clamped to what there is.
  EXPECT_EQ(finished<std::uint8_t>(with(Profile::tflite_double), {1 << 30},
                                   {epilogue_ints({1 << 30}), epilogue_ints({-1000})}),
            (U8{100}));
}

TEST(Epilogue, DoubleScaleRoundsHalvesAwayFromZero) {
  const Tensor half = Tensor::of<double>({1}, std::vector<double>{0.5});
  EXPECT_EQ(finished<std::uint8_t>({{DoubleScale{}, Round{.after = 10}}, DType::u8}, {1, -1, 5, -5}, {half}),
            (U8{11, 9, 13, 7}));
}

TEST(Epilogue, ScaleAndAddRoundsOnce) {
  // 1 * 0.25 + (3 - 1) * 0.125 = 0.5 -> 0; + 5.
  EXPECT_EQ(finished<std::uint8_t>({{ScaleAndAdd{0.125f, 1}, Round{.after = 5}}, DType::u8}, {1},
                                   {epilogue_floats({0.25f}), epilogue_bytes({3})}),
            (U8{5}));
}

TEST(Epilogue, AdditionsKeepTheOrderOfOperands) {
  const AddForm form = AddForm::of(1.0f, 0, 0.5f, 0, 1.0f, 0);
  const auto with = [&](Side side) {
    return Epilogue{{Scale{}, Round{}, AddReal{side, form.a_ratio, form.b_ratio, form.fixed}, Round{}}, DType::u8};
  };
  EXPECT_EQ(finished<std::uint8_t>(with(Side::first), {7}, {epilogue_floats({1.0f}), epilogue_bytes({20})}), (U8{17}));
  EXPECT_EQ(finished<std::uint8_t>(with(Side::second), {7}, {epilogue_floats({1.0f}), epilogue_bytes({20})}), (U8{24}));
}

TEST(Epilogue, AdditionIsTheSumOfWhatIsMeant) {
  const AddForm form = AddForm::of(0.5f, 3, 0.25f, 4, 0.25f, 5);
  const AddReal add{Side::first, form.a_ratio, form.b_ratio, form.fixed};
  for (int a = 0; a < 256; ++a) {
    // All ratios are powers of two, so that the exact answer is an integer.
    for (int b = 0; b < 256; ++b) ASSERT_EQ(add.apply(a, b), static_cast<float>((a - 3) * 2 + (b - 4) + 5));
  }
}

TEST(Epilogue, ProductsAreExact) {
  const Epilogue epilogue{{Multiply{10, 5}, Affine{0.5f, 50.0f}, Round{}}, DType::u8};
  EXPECT_EQ(finished<std::uint8_t>(epilogue, {10, 20, 20, 0}, {epilogue_bytes({5, 10, 0, 255})}, EpilogueInput::stored),
            (U8{50, 75, 25, 0}));
  const FixedBinaryForm form = FixedBinaryForm::of(FixedBinaryKind::mul, 1.0f, 0.5f, 1.0f);
  EXPECT_EQ(finished<std::uint8_t>({{FixedBinary{form, Profile::tflite_double, 10, 5}, Round{.after = 50}}, DType::u8},
                                   {10, 20, 20, 0}, {epilogue_bytes({5, 10, 0, 255})}, EpilogueInput::stored),
            (U8{50, 75, 25, 0}));
}

TEST(Epilogue, IntegerAdditionIsThatOfTheRuleBook) {
  const IntegerAddForm form = IntegerAddForm::of(0.03f, 3, 0.05f, 7, 0.06f, 11, -1);
  const U8 a{0, 3, 100, 255}, b{255, 7, 9, 0};
  U8 expected;
  for (std::size_t i = 0; i < a.size(); ++i)
    expected.push_back(static_cast<std::uint8_t>(form.apply(a[i], b[i], 5, 250)));
  EXPECT_EQ(finished<std::uint8_t>({{AddInteger{form, 5, 250}}, DType::u8}, {a.begin(), a.end()}, {epilogue_bytes(b)},
                                   EpilogueInput::stored),
            expected);
}

TEST(Epilogue, OperandsAreBroadcast) {
  const Epilogue epilogue{{AddReal{.a_ratio = 1.0f, .b_ratio = 1.0f}, Round{}}, DType::u8};
  EXPECT_EQ(finished<std::uint8_t>(epilogue, {1, 2, 3}, {epilogue_bytes({10})}, EpilogueInput::stored),
            (U8{11, 12, 13}));
}

TEST(Epilogue, OrderTypesAndNumbersAreChecked) {
  const Fact multiplier = fact(DType::f32, {6}), other = fact(DType::u8, {2, 6}), table = fact(DType::s8, {256});
  const auto type = [](const Epilogue& epilogue, const std::vector<Fact>& facts,
                       EpilogueInput input = EpilogueInput::sum) -> std::optional<DType> {
    std::vector<const Fact*> pointers;
    for (const Fact& fact : facts) pointers.push_back(&fact);
    const auto found = infer_epilogue(epilogue, input, pointers, Shape{2, 6});
    return found.ok() ? std::optional(*found) : std::nullopt;
  };
  EXPECT_EQ(type({{Scale{}, Round{}}, DType::u8}, {multiplier}), DType::u8);
  EXPECT_EQ(type({{Scale{}, Round{}}, DType::u8}, {fact(DType::f32, {1})}), DType::u8);
  EXPECT_EQ(type({{Scale{}, Round{}, Lookup{}}, DType::u8}, {multiplier, table}), DType::s8);
  EXPECT_EQ(type({{Scale{}}, DType::f32}, {multiplier}), DType::f32);
  // s16 has neither tables nor additions in integers.
  EXPECT_EQ(type({{Scale{}, Round{}}, DType::s16}, {multiplier}), DType::s16);
  EXPECT_EQ(type({{Scale{}, Round{}, Lookup{}}, DType::s16}, {multiplier, table}), std::nullopt);
  EXPECT_EQ(type({{Scale{}, Round{}, AddInteger{}}, DType::s16}, {multiplier, fact(DType::u8, {2, 6})}), std::nullopt);
  EXPECT_EQ(type({{ScaleAndAdd{}, Round{}}, DType::u8}, {multiplier, fact(DType::s16, {2, 6})}), DType::u8);
  EXPECT_EQ(type({{AddReal{}, Round{}}, DType::u8}, {fact(DType::s16, {2, 6})}, EpilogueInput::stored), std::nullopt);
  // Types that do not hold the last value, and others than there are.
  EXPECT_EQ(type({{Scale{}}, DType::u8}, {multiplier}), std::nullopt);
  EXPECT_EQ(type({{}, DType::u8}, {}), std::nullopt);
  EXPECT_EQ(type({{Scale{}, Round{}}, DType::u16}, {multiplier}), std::nullopt);
  EXPECT_EQ(type({{Scale{}, Round{}}, DType::f32}, {multiplier}), std::nullopt);
  // Stages that do not take what comes.
  EXPECT_EQ(type({{Lookup{}}, DType::u8}, {table}), std::nullopt);
  EXPECT_EQ(type({{AddReal{}, Round{}}, DType::u8}, {other}), std::nullopt);
  EXPECT_EQ(type({{AddReal{}, Round{}}, DType::u8}, {other}, EpilogueInput::stored), DType::u8);
  EXPECT_EQ(type({{Scale{}, FixedScale{}, Round{}}, DType::u8}, {multiplier, multiplier, multiplier}), std::nullopt);
  EXPECT_EQ(type({{Scale{}, Round{}, Lookup{}, Lookup{}}, DType::u8}, {multiplier, table, table}), std::nullopt);
  // Operands too few, too many, of other types or shapes.
  EXPECT_EQ(type({{Scale{}, Round{}}, DType::u8}, {}), std::nullopt);
  EXPECT_EQ(type({{Scale{}, Round{}}, DType::u8}, {multiplier, table}), std::nullopt);
  EXPECT_EQ(type({{Scale{}, Round{}}, DType::u8}, {other}), std::nullopt);
  EXPECT_EQ(type({{Scale{}, Round{}}, DType::u8}, {fact(DType::f32, {5})}), std::nullopt);
  EXPECT_EQ(type({{ScaleAndAdd{}, Round{}}, DType::u8}, {multiplier, fact(DType::u8, {3, 6})}), std::nullopt);
  // Numbers.
  const float infinity = std::numeric_limits<float>::infinity();
  for (const Round& round : {Round{.after = 256}, Round{.lowest = -1}, Round{.lowest = 9, .highest = 8},
                             Round{.highest = 256}, Round{.before = 1000}})
    EXPECT_EQ(type({{Scale{}, round}, DType::u8}, {multiplier}), std::nullopt) << print(round);
  EXPECT_EQ(type({{ScaleAndAdd{.ratio = infinity}, Round{}}, DType::u8}, {multiplier, other}), std::nullopt);
  EXPECT_EQ(type({{AddReal{.a_ratio = infinity}, Round{}}, DType::u8}, {other}, EpilogueInput::stored), std::nullopt);
  EXPECT_EQ(type({{AddInteger{{.right_shift = 31}}}, DType::u8}, {other}, EpilogueInput::stored), std::nullopt);
  EXPECT_EQ(type({{FixedScale{Profile::onnx}, Round{}}, DType::u8}, {fact(DType::s32, {1}), fact(DType::s32, {1})}),
            std::nullopt);
  EXPECT_EQ(type({{Scale{}, ClampReal{1.0f, 0.0f}}, DType::f32}, {multiplier}), std::nullopt);
  for (const Affine& affine : {Affine{infinity}, Affine{1.0f, infinity}})
    EXPECT_EQ(type({{affine, Round{}}, DType::u8}, {}), std::nullopt);
  EXPECT_EQ(type({{Divide{0.0f}, Round{}}, DType::u8}, {}, EpilogueInput::real), std::nullopt);
  EXPECT_EQ(type({{Multiply{}, Affine{}, Round{}}, DType::u8}, {other}, EpilogueInput::stored), DType::u8);
  for (const Multiply& product : {Multiply{256}, Multiply{0, -256}})
    EXPECT_EQ(type({{product, Affine{}, Round{}}, DType::u8}, {other}, EpilogueInput::stored), std::nullopt);
  const auto of_two = [&](const FixedBinary& fixed) {
    return type({{fixed, Round{}}, DType::u8}, {other}, EpilogueInput::stored);
  };
  EXPECT_EQ(of_two({}), DType::u8);
  EXPECT_EQ(of_two({.profile = Profile::pt2e}), std::nullopt);
  EXPECT_EQ(of_two({.value_zero_point = 256}), std::nullopt);
  EXPECT_EQ(of_two({.other_zero_point = -256}), std::nullopt);
  for (const FixedMultiplier wrong : {FixedMultiplier{-1, 0}, FixedMultiplier{1, 31}, FixedMultiplier{1, -32}})
    EXPECT_EQ(of_two({.form = {.kind = FixedBinaryKind::add, .a = wrong, .b = {}, .y = {}}}), std::nullopt);
}

TEST(Epilogue, EncodesDecodesAndPrints) {
  const Epilogue epilogue{{AddRest{}, ScaleAndAdd{0.5f, 3}, Round{.after = 4}, AddInteger{}, Lookup{}}, DType::s8};
  const Bytes encoded = encode(epilogue);
  EXPECT_EQ(decode_all<Epilogue>(encoded), epilogue);
  for (std::size_t size = 0; size < encoded.size(); ++size)
    EXPECT_FALSE(decode_all<Epilogue>(std::span(encoded).first(size)).has_value()) << size;
  Bytes unknown = encoded;
  unknown[8] = std::byte{200};  // the first stage, after their number
  EXPECT_FALSE(decode_all<Epilogue>(unknown).has_value());
  EXPECT_EQ(print(Epilogue{{Scale{}, Round{.after = 3}}, DType::s8}), "{stages=[scale,round{after=3}] to=s8}");
  EXPECT_EQ(print_structure(Epilogue{{ScaleInRun{RunForm::tflite}, Round{.after = 3}}, DType::s8}),
            "scale_in_run(form=tflite) round to=s8");
}

TEST(Epilogue, ClampedCutsTheStoredResult) {
  const Epilogue scaled{{Scale{}, Round{.before = 3, .after = 7}}, DType::u8};
  const IntegerAddForm form = IntegerAddForm::of(0.03f, 3, 0.05f, 7, 0.06f, 11, 1);
  const Epilogue added = scaled.appended({{AddInteger{form, 3, 240}}, DType::u8});
  const std::vector<std::int32_t> sums{-100, 0, 50, 100, 200, 400};
  for (const Epilogue& epilogue : {scaled, added}) {
    ASSERT_TRUE(epilogue.has_bounds());
    std::vector<Tensor> operands = {epilogue_floats({1.0f})};
    if (&epilogue != &scaled && epilogue.stages.size() > 2)
      operands.push_back(epilogue_bytes({1, 20, 77, 130, 200, 255}));
    U8 expected = finished<std::uint8_t>(epilogue, sums, operands);
    for (std::uint8_t& value : expected) value = std::clamp<std::uint8_t>(value, 60, 150);
    EXPECT_EQ(finished<std::uint8_t>(epilogue.clamped(60, 150), sums, operands), expected);
  }
  EXPECT_FALSE(scaled.appended({{Lookup{}}, DType::u8}).has_bounds());
}

// s8 with 128 added is the u8 of the same bytes with the top bit flipped.
Tensor flipped(const Tensor& x) {
  Tensor y(x.dtype() == DType::s8 ? DType::u8 : DType::s8, x.shape());
  for (std::int64_t i = 0; i < x.elements(); ++i) y.as<std::uint8_t>()[i] = x.as<std::uint8_t>()[i] ^ 0x80u;
  return y;
}

TEST(Epilogue, RelabelledGivesTheSameResults) {
  const std::vector<std::int32_t> sums{-30000, -517, -3, 0, 1, 77, 900, 30000};
  const Tensor multiplier = epilogue_floats({0.013f});
  Tensor other(DType::s8, {8});
  for (std::int64_t i = 0; i < 8; ++i) other.as<std::int8_t>()[i] = static_cast<std::int8_t>(i * 36 - 128);
  const AddForm form = AddForm::of(0.031f, 13, 0.047f, -5, 0.053f, 3);
  const AddReal add{Side::second, form.a_ratio, form.b_ratio, form.fixed};
  const IntegerAddForm integers = IntegerAddForm::of(0.031f, 13, 0.047f, -5, 0.053f, 3, 1);
  const Round round{.before = 2, .after = -20, .lowest = -100, .highest = 120}, last{.lowest = -90, .highest = 111};
  const std::vector<Stage> tails[] = {{}, {add, last}, {AddInteger{integers, -90, 111}}};
  for (const auto& tail : tails) {
    for (const bool is_added_first : {false, true}) {
      if (is_added_first && !tail.empty()) continue;
      Epilogue epilogue{{Scale{}, round}, DType::s8};
      if (is_added_first) epilogue.stages[0] = ScaleAndAdd{0.77f, -5};
      epilogue = epilogue.appended({tail, DType::s8});
      std::vector<Tensor> operands = {multiplier};
      if (epilogue.operands().size() > 1) operands.push_back(other);
      const auto expected = finished<std::int8_t>(epilogue, sums, operands);
      for (const bool flips_other : {false, true}) {
        std::vector<Tensor> changed = operands;
        if (flips_other && changed.size() > 1) changed[1] = flipped(other);
        const Epilogue relabelled = epilogue.relabelled(false, {false, flips_other});
        EXPECT_EQ(relabelled.to, DType::u8);
        auto found = finished<std::uint8_t>(relabelled, sums, changed);
        std::vector<std::int8_t> back;
        for (const std::uint8_t value : found) back.push_back(static_cast<std::int8_t>(value ^ 0x80u));
        EXPECT_EQ(back, expected) << print(epilogue);
      }
    }
  }
}

TEST(Epilogue, RelabelledInputsAreStoredOnesWith128Added) {
  const AddForm form = AddForm::of(0.031f, 13, 0.047f, -5, 0.053f, 3);
  const Round last{.after = 3, .lowest = -90, .highest = 111};
  const FixedBinaryForm fixed = FixedBinaryForm::of(FixedBinaryKind::sub, 0.031f, 0.047f, 0.053f);
  const Tensor other = Tensor::of<std::int8_t>({3}, std::vector<std::int8_t>{-128, 5, 127});
  for (const std::vector<Stage>& stages :
       {std::vector<Stage>{AddReal{Side::first, form.a_ratio, form.b_ratio, form.fixed}, last},
        std::vector<Stage>{Multiply{13, -5}, Affine{0.0123f}, last},
        std::vector<Stage>{FixedBinary{fixed, Profile::tflite_single, 13, -5}, last}}) {
    const Epilogue epilogue{stages, DType::s8};
    const auto expected = finished<std::int8_t>(epilogue, {-128, 3, 127}, {other}, EpilogueInput::stored);
    const auto found = finished<std::uint8_t>(epilogue.relabelled(true, {true}), {0, 131, 255}, {flipped(other)},
                                              EpilogueInput::stored);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(found[i], expected[i] + 128);
  }
}

}  // namespace
}  // namespace octavo::ops_test
