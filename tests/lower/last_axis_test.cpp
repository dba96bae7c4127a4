// Operators along the last axis of an image that was turned: transposed, computed in integers, and turned back.
#include "lower/last_axis.h"

#include "lower/graph_builder.h"
#include "lower/rules/fuse_l2_norm.h"
#include "lower/rules/fuse_softmax.h"
#include "ops/reduce/reduce.h"
#include "ops/softmax/softmax.h"
#include "ops/transpose/transpose.h"

namespace octavo {
namespace {

ValueId last_axis_quantize(GraphBuilder& b, ValueId x, Profile profile, float scale, int zero) {
  return b.add(kQuantize, QuantizeAttrs{.profile = profile}, {x, b.scalar(scale), b.zero_point(DType::u8, zero)});
}

// The answers along axis 1 of [2, 5, 3] are those along the last axis of the same values, transposed.
template <class Make>
void expect_same_lines(const Matcher& rule, const Make& make) {
  GraphBuilder turned, plain;
  make(turned, turned.input(DType::u8, {2, 5, 3}), 1);
  const ValueId x = plain.add(kTranspose, TransposeAttrs{{0, 2, 1}}, {plain.input(DType::u8, {2, 5, 3})});
  make(plain, x, 2);
  for (GraphBuilder* b : {&turned, &plain}) {
    EXPECT_EQ(rewrite(b->graph, "rule", rule).applied(), 1);
    EXPECT_EQ(count(b->graph, kQuantize), 0);
  }
  const Tensor ours = answers(turned.graph).front(), lines = answers(plain.graph).front();
  for (int i = 0; i < 2 * 5 * 3; ++i) {
    const int image = i / 15, row = i / 3 % 5, column = i % 3;
    EXPECT_EQ(ours.as<std::uint8_t>()[i], lines.as<std::uint8_t>()[image * 15 + column * 5 + row]);
  }
}

TEST(WithAxisLast, Softmax) {
  expect_same_lines(fuse_softmax, [](GraphBuilder& b, ValueId x, std::int64_t axis) {
    const ValueId y = b.add(kSoftmax, SoftmaxAttrs{.axis = axis}, {b.dequantize(x, 0.1f, 100)});
    b.output(last_axis_quantize(b, y, Profile::tflite_xnnpack, 0x1p-8f, 0));
  });
}

TEST(WithAxisLast, L2Normalization) {
  expect_same_lines(fuse_l2_norm, [](GraphBuilder& b, ValueId q, std::int64_t axis) {
    const ValueId x = b.dequantize(q, 0.1f, 100);
    const ValueId norm = b.add(kReduce, ReduceAttrs{ReduceKind::l2, {axis}, true}, {x});
    const ValueId y = b.binary(BinaryKind::div, x, b.binary(BinaryKind::max, norm, b.scalar(1e-6f)));
    b.output(last_axis_quantize(b, y, Profile::tflite_double, 0x1p-7f, 128));
  });
}

}  // namespace
}  // namespace octavo
