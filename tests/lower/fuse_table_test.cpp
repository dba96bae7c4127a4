// Functions of one quantized value become tables, bit for bit what the chain of operators gives.
#include "lower/rules/fuse_table.h"

#include <algorithm>
#include <numeric>

#include "base/math.h"
#include "lower/graph_builder.h"
#include "lower/rules/fuse_binary.h"
#include "lower/rules/fuse_convolution.h"
#include "lower/rules/fuse_residual.h"
#include "lower/table_region.h"
#include "ops/fixed_l2_norm/fixed_l2_norm.h"
#include "ops/quantized_conv/quantized_conv.h"
#include "ops/quantized_elementwise/quantized_elementwise.h"
#include "ops/quantized_matmul/quantized_matmul.h"
#include "ops/quantized_pool/quantized_pool.h"
#include "ops/table/table.h"

namespace octavo {
namespace {

TEST(FuseTable, OneFunction) {
  for (UnaryKind kind :
       {UnaryKind::sigmoid, UnaryKind::silu, UnaryKind::hard_swish, UnaryKind::gelu, UnaryKind::tanh, UnaryKind::exp}) {
    GraphBuilder b;
    const ValueId x = b.dequantize(b.input(DType::s8, {3, 100}), 0.037f, -11);
    b.output(b.quantize(b.unary(kind, x), 0.0213f, 5, DType::s8));
    ASSERT_EQ(apply_exactly(b.graph, fuse_table), 1);
    EXPECT_EQ(b.graph.node_count(), 1);
  }
}

// Functions of f32 are computed in f32 where they are run, and in f64 for a table.
TEST(FuseTable, FunctionsAreRoundedOnce) {
  int differing = 0;
  for (UnaryKind kind : {UnaryKind::silu, UnaryKind::gelu, UnaryKind::tanh, UnaryKind::exp, UnaryKind::mish}) {
    GraphBuilder b;
    const ValueId q = b.input(DType::u8, {256});
    const ValueId x = b.dequantize(q, 0.037f, 128);
    const ValueId y = b.unary(kind, x), power = b.binary(BinaryKind::pow, b.unary(UnaryKind::exp, x), b.scalar(1.7f));
    b.output(y);
    b.output(power);
    const auto values = tabulate(b.graph, y, q), powers = tabulate(b.graph, power, q);
    ASSERT_TRUE(values.ok() && powers.ok());
    std::vector<std::uint8_t> all(256);
    std::iota(all.begin(), all.end(), std::uint8_t{0});
    const std::vector<Tensor> inputs = {Tensor::of(Shape{256}, all)};
    const Tensor run = evaluate(b.graph, inputs)->front();
    for (int i = 0; i < 256; ++i) {
      const float real = static_cast<float>(i - 128) * 0.037f;
      EXPECT_EQ(values->as<float>()[i], static_cast<float>(evaluate_unary(UnaryAttrs{kind}, real)));
      EXPECT_EQ(powers->as<float>()[i], static_cast<float>(math_pow(static_cast<float>(math_exp(real)), 1.7f)));
      differing += values->as<float>()[i] != run.as<float>()[i] ? 1 : 0;
    }
  }
  EXPECT_GT(differing, 0);
}

TEST(FuseTable, SiluWithPairsInside) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {2, 200}), 0.05f, 77);
  const ValueId gate = b.dequantize(b.quantize(b.unary(UnaryKind::sigmoid, x), 1.0f / 256, 0), 1.0f / 256, 0);
  b.output(b.quantize(b.binary(BinaryKind::mul, x, gate), 0.031f, 9));
  apply_exactly(b.graph, fuse_table);
  EXPECT_EQ(b.graph.node_count(), 1);
  EXPECT_EQ(count(b.graph, kTable), 1);
}

// Scales of EfficientNet-B3: dequantizing both factors, multiplying and quantizing gives 75 for 166, the product of
// quantized values 74.
TEST(FuseTable, ProductsInsideRoundAsProductsOfQuantizedValues) {
  std::vector<std::uint8_t> all(256);
  std::iota(all.begin(), all.end(), std::uint8_t{0});
  const auto answers = [&](bool is_table) {
    GraphBuilder b;
    const ValueId x = b.dequantize(b.input(DType::u8, {256}), 0x1.95f0bep-6f, 127);
    constexpr float kGateScale = 0x1.ed70fp-9f;
    const ValueId gate = b.dequantize(b.quantize(b.unary(UnaryKind::sigmoid, x), kGateScale, 0), kGateScale, 0);
    b.output(b.quantize(b.binary(BinaryKind::mul, x, gate), 0x1.abca08p-7f, 21));
    if (!is_table) rewrite(b.graph, "fuse_binary", fuse_binary);
    rewrite(b.graph, "fuse_table", fuse_table);
    EXPECT_EQ(count(b.graph, kQuantizedElementwise), is_table ? 0 : 1);
    const std::vector<Tensor> inputs = {Tensor::of(Shape{256}, all)};
    return evaluate(b.graph, inputs)->front();
  };
  const Tensor table = answers(true), product = answers(false);
  EXPECT_TRUE(std::equal(table.data(), table.data() + 256, product.data()));
  EXPECT_EQ(table.as<std::uint8_t>()[166], 74);
}

TEST(FuseTable, ConstantsMayBeQuantized) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {200}), 0.05f, 77);
  const ValueId three = b.dequantize(b.constant<std::uint8_t>({1}, {60}), 0.05f, 0);
  b.output(b.quantize(b.unary(UnaryKind::clip, b.binary(BinaryKind::add, x, three), 0.0f, 6.0f), 0.025f, 0));
  EXPECT_EQ(apply_exactly(b.graph, fuse_table), 1);
  EXPECT_EQ(count(b.graph, kTable), 1);
}

TEST(FuseTable, RequantizationIsATable) {
  GraphBuilder b;
  b.output(b.quantize(b.dequantize(b.input(DType::u8, {300}), 0.05f, 77), 0.043f, -3, DType::s8));
  EXPECT_EQ(apply_exactly(b.graph, fuse_table), 1);
}

TEST(FuseTable, RefusesTwoValuesAndBroadcasts) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {8}), 0.05f, 77);
  const ValueId y = b.dequantize(b.input(DType::u8, {8}), 0.05f, 77);
  b.output(b.quantize(b.binary(BinaryKind::mul, x, y), 0.05f, 0));
  EXPECT_EQ(refusal(b.graph, fuse_table), "");
  GraphBuilder c;
  const ValueId z = c.dequantize(c.input(DType::u8, {4}), 0.05f, 77);
  c.output(c.quantize(c.binary(BinaryKind::mul, z, c.constant<float>({4}, {1, 2, 3, 4})), 0.05f, 0));
  EXPECT_EQ(refusal(c.graph, fuse_table), "");
}

TEST(TableIntoProducer, ConvolutionAppliesItLast) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {1, 4, 4, 2}), 0x1p-6f, 3);
  const ValueId q = b.quantize(b.conv(x, b.weights({2, 1, 1, 2}), {1, 1}, Layout::channels_last), 0x1p-5f, 128);
  b.output(b.quantize(b.unary(UnaryKind::silu, b.dequantize(q, 0x1p-5f, 128)), 0.017f, 20));
  EXPECT_EQ(apply_exactly(b.graph, fuse_table), 1);
  EXPECT_EQ(apply_exactly(b.graph, fuse_convolution), 1);
  EXPECT_EQ(apply_exactly(b.graph, table_into_producer), 1);
  EXPECT_EQ(b.graph.node_count(), 1);
}

TEST(TableIntoProducer, AClampBecomesBounds) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {1, 4, 4, 2}), 0x1p-6f, 3);
  const ValueId q = b.quantize(b.conv(x, b.weights({2, 1, 1, 2}), {1, 1}, Layout::channels_last), 0x1p-5f, 100);
  b.output(b.quantize(b.unary(UnaryKind::relu, b.dequantize(q, 0x1p-5f, 100)), 0x1p-5f, 100));
  apply_exactly(b.graph, fuse_table);
  apply_exactly(b.graph, fuse_convolution);
  EXPECT_EQ(apply_exactly(b.graph, table_into_producer), 1);
  const Node& conv = first(b.graph, kQuantizedConv);
  EXPECT_EQ(conv.attrs.as<QuantizedConvAttrs>().epilogue.find<Round>()->lowest, 100);
  EXPECT_EQ(conv.inputs.size(), kConvOperands + 1u);
}

// y = clamp(x, lowest, highest) of stored u8 or s8 values.
ValueId clamp_table(GraphBuilder& b, ValueId x, int lowest, int highest) {
  const bool is_signed = b.graph.fact(x).dtype == DType::s8;
  std::vector<std::uint8_t> entries;
  for (int i = 0; i < 256; ++i) {
    const int q = is_signed ? static_cast<std::int8_t>(i) : i;
    entries.push_back(static_cast<std::uint8_t>(std::clamp(q, lowest, highest)));
  }
  const Tensor bytes = Tensor::of(Shape{256}, entries);
  Tensor table(b.graph.fact(x).dtype, Shape{256});
  std::copy_n(bytes.data(), 256, table.data());
  return b.add(kTable, NoAttrs{}, {x, b.graph.add_constant("clamp", std::move(table))});
}

// The clamp joins the node before it as bounds: same bits, no table.
void expect_bounds(GraphBuilder& b, ValueId y, int lowest, int highest) {
  b.output(clamp_table(b, y, lowest, highest));
  const Node& before = *b.graph.producer(y);
  const OpSpec& spec = *before.spec;
  const std::size_t inputs = before.inputs.size();
  EXPECT_EQ(apply_exactly(b.graph, table_into_producer), 1);
  EXPECT_EQ(b.graph.node_count(), 1);
  EXPECT_EQ(first(b.graph, spec).inputs.size(), inputs);
}

TEST(TableIntoProducer, AClampAfterTheAdditionInAConvolution) {
  for (const Profile profile : {Profile::onnx, Profile::tflite_xnnpack}) {
    for (const bool conv_is_first : {true, false}) {
      for (const int zero : {0, -20}) {
        GraphBuilder b;
        const auto quantize = [&](ValueId x) {
          return b.add(kQuantize, QuantizeAttrs{.to = DType::s8, .profile = profile},
                       {x, b.scalar(0x1p-5f), b.zero_point(DType::s8, zero)});
        };
        const ValueId x = b.dequantize(b.input(DType::s8, {1, 6, 6, 3}), 0x1p-6f, 3);
        const ValueId w = b.weights({3, 1, 1, 3});
        const ValueId conv = b.dequantize(quantize(b.conv(x, w, {1, 1}, Layout::channels_last)), 0x1p-5f, zero);
        const ValueId other = b.dequantize(b.input(DType::s8, {1, 6, 6, 3}), 0x1p-5f, zero);
        const ValueId sum =
            conv_is_first ? b.binary(BinaryKind::add, conv, other) : b.binary(BinaryKind::add, other, conv);
        b.output(quantize(b.unary(UnaryKind::relu, b.dequantize(quantize(sum), 0x1p-5f, zero))));
        EXPECT_EQ(apply_exactly(b.graph, fuse_table), 1);
        EXPECT_EQ(apply_exactly(b.graph, fuse_convolution), 1);
        EXPECT_EQ(rewrite(b.graph, "fuse_binary", fuse_binary).applied(), 1);
        EXPECT_EQ(apply_exactly(b.graph, fuse_residual), 1);
        EXPECT_EQ(apply_exactly(b.graph, table_into_producer), 1);
        EXPECT_EQ(b.graph.node_count(), 1);
      }
    }
  }
}

// Where the stored value is the rounded one and a shift (a product's zero point that comes after the rounding, s8
// values stored as u8), bounds are those of stored values.
TEST(TableIntoProducer, AClampAfterProductsAndSumsWithAShift) {
  const auto elementwise = [](GraphBuilder& b, const Epilogue& epilogue, DType x) {
    return b.add(kQuantizedElementwise, QuantizedElementwiseAttrs{epilogue},
                 {b.input(x, {40, 40}), b.input(x, {40, 40})});
  };
  for (const int shift : {-128, 10, 127}) {
    GraphBuilder b;
    const Round round{.after = shift, .lowest = -128, .highest = 127};
    const Epilogue mul{{Multiply{3, -7}, Affine{0.0123f}, round}, DType::s8};
    expect_bounds(b, elementwise(b, mul, DType::s8), std::max(shift, -128), std::max(shift, 100));
  }
  GraphBuilder b;
  const AddForm form = AddForm::of(0.7f, 3, 0.8f, -7, 1.0f, 10);
  const AddReal add{Side::first, form.a_ratio, form.b_ratio, form.fixed, 128, 128};
  expect_bounds(b, elementwise(b, {{add, Round{.after = 128}}, DType::u8}, DType::u8), 138, 250);
}

TEST(TableIntoProducer, AClampAfterPoolsAndConvolutionsWithAShift) {
  GraphBuilder b;
  const QuantizedPoolAttrs pool{.form = QuantizedPoolForm::integer_average,
                                .window = unit_window({2, 2}),
                                .x_zero_point = 128,
                                .epilogue = {{Round{.after = 128}}, DType::u8}};
  expect_bounds(b, b.add(kQuantizedPool, pool, {b.input(DType::u8, {1, 9, 9, 3})}), 119, 150);

  GraphBuilder c;
  const AddForm form = AddForm::of(0.7f, 3, 0.8f, 10, 1.0f, 10);
  const Epilogue added{{AddReal{Side::second, form.a_ratio, form.b_ratio, form.fixed, 128, 128}, Round{.after = 128}},
                       DType::u8};
  const QuantizedConvAttrs conv{.window = unit_window({1, 1}),
                                .epilogue = requantized(DType::u8, 138, 0, 255).appended(added)};
  const ValueId y = c.add(kQuantizedConv, conv,
                          {c.input(DType::u8, {1, 9, 9, 3}), c.random_constant(DType::s8, {3, 1, 1, 3}),
                           c.constant<std::int32_t>({3}, {300, -77, 0}), ValueId{},
                           c.constant<float>({3}, {0.003f, 0.004f, 0.005f}), c.input(DType::u8, {1, 9, 9, 3})});
  expect_bounds(c, y, 138, 250);
}

// Whatever has an epilogue takes bounds and tables.
TEST(TableIntoProducer, ProductsOfActivationsAndNorms) {
  for (const bool is_clamp : {true, false}) {
    for (const bool is_norm : {true, false}) {
      GraphBuilder b;
      const Round round{.after = 100};
      const FixedL2NormAttrs norm{.x_zero_point = 7, .epilogue = {{round}, DType::u8}};
      const QuantizedMatmulAttrs matmul{.a_zero_point = 9, .epilogue = {{Affine{0.003f}, round}, DType::u8}};
      const ValueId x = b.input(DType::u8, {9, 9});
      const ValueId y =
          is_norm ? b.add(kFixedL2Norm, norm, {x}) : b.add(kQuantizedMatmul, matmul, {x, b.input(DType::s8, {9, 9})});
      if (is_clamp) {
        expect_bounds(b, y, 60, 150);
        continue;
      }
      b.output(b.add(kTable, NoAttrs{}, {y, b.random_constant(DType::s8, {256}, 2)}));
      EXPECT_EQ(apply_exactly(b.graph, table_into_producer), 1);
      EXPECT_EQ(b.graph.node_count(), 1);
    }
  }
}

TEST(TableIntoProducer, BinaryAndChainsOfTables) {
  GraphBuilder b;
  const ValueId x = b.dequantize(b.input(DType::u8, {64}), 0.03f, 3);
  const ValueId y = b.dequantize(b.input(DType::u8, {64}), 0.05f, 77);
  const ValueId sum = b.quantize(b.binary(BinaryKind::add, x, y), 0.06f, 80);
  const ValueId once = b.add(kTable, NoAttrs{}, {sum, b.random_constant(DType::s8, {256}, 2)});
  b.output(b.add(kTable, NoAttrs{}, {once, b.random_constant(DType::u8, {256}, 3)}));
  const PassReport fused = rewrite(b.graph, "fuse_binary", fuse_binary);
  EXPECT_EQ(fused.applied(), 1);
  EXPECT_EQ(apply_exactly(b.graph, table_into_producer), 2);
  EXPECT_EQ(b.graph.node_count(), 1);
}

}  // namespace
}  // namespace octavo
