// s8 becomes u8 without a change of a single bit.
#include "lower/relabel.h"

#include <limits>

#include "lower/graph_builder.h"
#include "lower/lower.h"
#include "ops/cast/cast.h"
#include "ops/concat/concat.h"
#include "ops/fixed_l2_norm/fixed_l2_norm.h"
#include "ops/integer_resize/integer_resize.h"
#include "ops/max_pool/max_pool.h"
#include "ops/pad/pad.h"
#include "ops/quantized_conv/quantized_conv.h"
#include "ops/quantized_elementwise/quantized_elementwise.h"
#include "ops/quantized_matmul/quantized_matmul.h"
#include "ops/quantized_pool/quantized_pool.h"
#include "ops/quantized_softmax/quantized_softmax.h"
#include "ops/reshape/reshape.h"
#include "ops/table/table.h"

namespace octavo {
namespace {

// No s8 wire is left but the graph's own inputs and outputs; same bits.
void relabel(Graph& graph) {
  const std::vector<Tensor> before = answers(graph);
  const Status changed = relabel_signed(graph);
  ASSERT_TRUE(changed.ok()) << to_string(changed.errors());
  const Status verified = verify(graph);
  ASSERT_TRUE(verified.ok()) << to_string(verified.errors()) << to_string(graph);
  EXPECT_EQ(answers(graph), before) << to_string(graph);
  for (NodeId id : graph.order()) {
    for (ValueId output : graph.node(id).outputs) {
      const bool is_inner = !graph.is_output(output);
      EXPECT_FALSE(is_inner && graph.fact(output).dtype == DType::s8) << to_string(graph);
    }
  }
}

// What may follow a scaled and rounded sum.
std::vector<std::vector<Stage>> tails() {
  const AddForm form = AddForm::of(0.031f, 13, 0.047f, -5, 0.053f, 3);
  const Round last{.lowest = -90, .highest = 111};
  return {{},
          {AddReal{Side::first, form.a_ratio, form.b_ratio, form.fixed}, last},
          {AddReal{Side::second, form.a_ratio, form.b_ratio, form.fixed}, last},
          {AddInteger{IntegerAddForm::of(0.031f, 13, 0.047f, -5, 0.053f, 3, 1), -90, 111}}};
}

void relabel_convolution(const Epilogue& epilogue, DType added = DType::s8) {
  GraphBuilder b;
  const ValueId x = b.input(DType::s8, {2, 3, 4, 3});
  QuantizedConvAttrs attrs{.window = unit_window({2, 2}), .x_zero_point = -9, .epilogue = epilogue};
  attrs.window.pad_begin = attrs.window.pad_end = {1, 1};
  std::vector<ValueId> inputs = {x, b.random_constant(DType::s8, {2, 2, 2, 3}),
                                 b.constant<std::int32_t>({2}, {300, -77}), ValueId{}};
  for (const StageOperand operand : epilogue.operands()) {
    const bool is_stored = operand == StageOperand::stored || operand == StageOperand::stored_or_s16;
    inputs.push_back(is_stored                        ? b.input(added, {2, 4, 5, 2})
                     : operand == StageOperand::table ? b.random_constant(DType::s8, {256}, 4)
                                                      : b.constant<float>({2}, {0.00123f, 0.00431f}));
  }
  const ValueId y = b.add(kQuantizedConv, attrs, inputs);
  b.output(b.add(kTable, NoAttrs{}, {y, b.random_constant(DType::f32, {256})}));
  relabel(b.graph);
}

TEST(Relabel, ConvolutionsOfEveryKind) {
  for (const std::vector<Stage>& tail : tails()) {
    for (const bool has_table : {false, true}) {
      Epilogue epilogue = requantized(DType::s8, 13, -100, 120).appended({tail, DType::s8});
      if (has_table) epilogue.stages.emplace_back(Lookup{});
      relabel_convolution(epilogue);
      if (!tail.empty()) continue;
      epilogue.stages.front() = ScaleAndAdd{0.77f, -5};
      relabel_convolution(epilogue);
    }
  }
}

// In integers each of the two may be signed.
TEST(Relabel, ASumInIntegersOfOneSignedOperand) {
  const IntegerAddForm form = IntegerAddForm::of(0.031f, 13, 0.047f, -5, 0.053f, 3, 1);
  for (const DType made : {DType::s8, DType::u8}) {
    for (const DType added : {DType::s8, DType::u8}) {
      SCOPED_TRACE(std::string(name_of(made)) + " + " + std::string(name_of(added)));
      const std::int32_t lowest = made == DType::u8 ? 20 : -90, highest = made == DType::u8 ? 200 : 111;
      relabel_convolution(requantized(made, 13, lowest, highest).appended({{AddInteger{form, lowest, highest}}, made}),
                          added);
    }
  }
}

TEST(Relabel, AdditionsAndProductsKeepTheirArithmetic) {
  const AddForm form = AddForm::of(0.0173f, -3, 0.0291f, 77, 0.0313f, -41);
  const Round round{.lowest = -41, .highest = 127}, after{.after = -41, .lowest = -41, .highest = 127};
  const FixedBinaryForm fixed = FixedBinaryForm::of(FixedBinaryKind::sub, 0.0173f, 0.0291f, 0.0313f);
  const std::vector<Stage> forms[] = {
      {AddReal{Side::first, form.a_ratio, form.b_ratio, form.fixed}, round},
      {Multiply{-3, 77}, Affine{0.0161f, -41.0f}, round},
      {AddInteger{IntegerAddForm::of(0.0173f, -3, 0.0291f, 77, 0.0313f, -41, -1), -41, 127}},
      {FixedBinary{fixed, Profile::tflite_double, -3, 77}, after}};
  for (const std::vector<Stage>& stages : forms) {
    SCOPED_TRACE(print(stages[0]));
    GraphBuilder b;
    QuantizedElementwiseAttrs attrs{{stages, DType::s8}};
    const ValueId y =
        b.add(kQuantizedElementwise, attrs, {b.input(DType::s8, {1, 64, 64}), b.input(DType::s8, {1, 64, 64})});
    const ValueId mixed = b.add(kQuantizedElementwise, attrs, {b.input(DType::u8, {64}), y});
    attrs.epilogue.stages.emplace_back(Lookup{});
    b.output(b.add(kQuantizedElementwise, attrs,
                   {mixed, b.random_constant(DType::s8, {64}), b.random_constant(DType::s8, {256}, 3)}));
    relabel(b.graph);
  }
}

TEST(Relabel, PoolsSoftmaxMatmulAndStructure) {
  GraphBuilder b;
  ValueId x = b.quantize(b.input(DType::f32, {1, 4, 4, 6}), 0.013f, -3, DType::s8);
  const QuantizedPoolAttrs pool{
      .form = QuantizedPoolForm::real_average,
      .window = unit_window({3, 3}),
      .x_scale = 0.013f,
      .x_zero_point = -3,
      .epilogue = {{Divide{0.017f}, Round{.before = 15, .lowest = -128, .highest = 127}}, DType::s8}};
  x = b.add(kQuantizedPool, pool, {x});
  x = b.add(kPad, PadAttrs{PadMode::constant, {0, 1, 0, 0}, {0, 0, 0, 0}}, {x});
  x = b.add(kMaxPool, MaxPoolAttrs{unit_window({2, 1}), Rounding::floor, Layout::channels_last}, {x});
  x = b.add(kReshape, ReshapeAttrs{{2, 12}}, {x});
  const ValueId both = b.add(kConcat, ConcatAttrs{0}, {x, b.random_constant(DType::s8, {3, 12})});
  const QuantizedMatmulAttrs matmul{
      .a_zero_point = 15,
      .b_zero_point = -2,
      .epilogue = {{Affine{0.0031f}, Round{.after = 5, .lowest = -128, .highest = 127}}, DType::s8}};
  const ValueId product = b.add(kQuantizedMatmul, matmul, {both, b.random_constant(DType::s8, {12, 7})});
  const QuantizedSoftmaxAttrs softmax{DType::s8, Profile::onnx, 1.0f / 256, -128, 0.02f};
  const ValueId soft = b.add(kQuantizedSoftmax, softmax, {product});
  b.output(b.dequantize(soft, 1.0f / 256, -128));
  b.output(soft);
  relabel(b.graph);
}

TEST(Relabel, SumsNormsAndInterpolations) {
  GraphBuilder b;
  const ValueId x = b.quantize(b.input(DType::f32, {1, 4, 4, 6}), 0.013f, -3, DType::s8);
  const Round round{.after = -7, .lowest = -100, .highest = 120};
  const QuantizedPoolAttrs sum{
      .window = unit_window({4, 4}), .x_zero_point = -3, .epilogue = {{FixedScale{}, round}, DType::s8}};
  const ValueId total =
      b.add(kQuantizedPool, sum, {x, b.constant<std::int32_t>({1}, {1 << 30}), b.constant<std::int32_t>({1}, {-2})});
  const FixedL2NormAttrs norm{.x_zero_point = -7,
                              .epilogue = {{Round{.lowest = -128, .highest = 127}, Lookup{}}, DType::s8}};
  b.output(b.dequantize(b.add(kFixedL2Norm, norm, {total, b.random_constant(DType::s8, {256}, 5)}), 0.1f, 0));
  const ValueId taps = b.constant<std::int32_t>({2, 2}, {0, 1, 2, 3});
  const ValueId weights = b.constant<float>({2}, {100.0f, 700.0f});
  const ValueId small = b.add(kIntegerResize, IntegerResizeAttrs{}, {x, taps, weights, taps, weights});
  b.output(b.dequantize(small, 0.013f, -3));
  relabel(b.graph);
}

TEST(Relabel, OperatorsWithoutAUnsignedFormGetTheirType) {
  GraphBuilder b;
  const ValueId x = b.quantize(b.input(DType::f32, {8}), 0.013f, -3, DType::s8);
  b.output(b.add(kCast, CastAttrs{DType::s32}, {x}));
  ASSERT_TRUE(relabel_signed(b.graph).ok());
  EXPECT_EQ(count(b.graph, kTable), 1);
}

TEST(Relabel, NothingToDoForU8) {
  GraphBuilder b;
  b.output(b.dequantize(b.quantize(b.input(DType::f32, {8}), 0.013f, 3), 0.013f, 3));
  relabel(b.graph);
  EXPECT_EQ(b.graph.node_count(), 2);
}

}  // namespace
}  // namespace octavo
