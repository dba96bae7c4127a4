// The f32 kernels through oneDNN against the references, to 1e-5 of the largest element.
#include "onednn/onednn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <thread>

#include "onednn/layout.h"
#include "onednn/slices.h"
#include "ops/evaluate.h"
#include "ops/fused_conv/fused_conv.h"
#include "ops/matmul/matmul.h"
#include "ops/unary/unary.h"

// GCC's runtime, which oneDNN calls, by hand: other compilers cannot read its omp.h.
extern "C" int omp_get_max_threads() noexcept;
extern "C" void omp_set_num_threads(int threads) noexcept;

namespace octavo {
namespace {

using onednn::ConvSize;
using onednn::RowSlice;

Tensor random_floats(std::mt19937& random, Shape shape) {
  Tensor tensor(DType::f32, std::move(shape));
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  for (float& value : tensor.span<float>()) value = uniform(random);
  return tensor;
}

// A call with data; inputs that are left out are tensors of no elements.
struct Case {
  const KernelChoice* kernel = nullptr;
  const OpSpec* spec = nullptr;
  Attrs attrs = NoAttrs{};
  std::vector<Tensor> inputs;
  bool has_constants = true;  // the second and third input

  bool has(std::size_t i) const { return i < inputs.size() && inputs[i].elements() != 0; }
  std::vector<Fact> facts() const {
    std::vector<Fact> facts;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Fact fact{.dtype = DType::f32, .shape = inputs[i].shape()};
      if (has_constants && (i == 1 || i == 2)) fact.constant = std::make_shared<const Tensor>(inputs[i]);
      facts.push_back(std::move(fact));
    }
    return facts;
  }
  Tensor expected() const {
    std::vector<ConstTensorView> views;
    for (std::size_t i = 0; i < inputs.size(); ++i) views.push_back(has(i) ? inputs[i].view() : ConstTensorView{});
    auto outputs = evaluate_op(*spec, attrs, views);
    EXPECT_TRUE(outputs.ok()) << (outputs.ok() ? "" : to_string(outputs.errors()));
    return outputs->front();
  }
  OpCall call(const std::vector<Fact>& facts, const Tensor& y) const {
    OpCall call{.spec = spec, .attrs = &attrs, .outputs = {{.dtype = DType::f32, .shape = y.shape()}}};
    for (std::size_t i = 0; i < facts.size(); ++i) call.inputs.push_back(has(i) ? &facts[i] : nullptr);
    return call;
  }
  StepSpec step(const std::vector<Tensor>& packed, const Tensor& y, int threads) const {
    StepSpec step{.spec = spec, .attrs = &attrs, .outputs = {{.shape = y.shape()}}, .threads = threads};
    for (std::size_t i = 0; i < inputs.size(); ++i)
      step.inputs.push_back({.is_present = has(i), .shape = inputs[i].shape()});
    for (const Tensor& tensor : packed) step.packed.push_back(tensor.view());
    return step;
  }
};

enum class Buffers { separate, in_place };

// Every item as a call of its own, last first.
Tensor run_items(const Step& step, const Case& test, Shape shape, Buffers where) {
  Tensor y(DType::f32, shape);
  if (where == Buffers::in_place) y = Tensor::copy_of(test.inputs[3].view());
  Tensor scratch(DType::u8, {static_cast<std::int64_t>(step.scratch_bytes())});
  std::vector<const std::byte*> inputs = {test.inputs[0].data(), nullptr, nullptr, nullptr};
  if (!test.has_constants && test.has(1)) inputs[1] = test.inputs[1].data();
  if (test.has(3)) inputs[3] = where == Buffers::in_place ? y.data() : test.inputs[3].data();
  std::vector<std::byte*> outputs = {y.data()};
  StepFailure failure;
  for (std::int64_t item = step.items() - 1; item >= 0; --item)
    step.run({inputs, outputs, scratch.data(), &failure}, {item, item + 1});
  EXPECT_EQ(failure.take(), nullptr);
  return y;
}

void expect_close(const Tensor& found, const Tensor& expected) {
  double largest = 0.0;
  for (float value : expected.span<float>()) largest = std::max(largest, std::fabs(static_cast<double>(value)));
  double worst = 0.0;
  for (std::size_t i = 0; i < expected.span<float>().size(); ++i) {
    const double distance = std::fabs(static_cast<double>(found.span<float>()[i]) - expected.span<float>()[i]);
    if (!(distance <= worst)) worst = distance;  // NaN counts as worse
  }
  EXPECT_LE(worst, 1e-5 * std::max(largest, 1e-3));
}

void check(const Case& test) {
  const Tensor expected = test.expected();
  const std::vector<Fact> facts = test.facts();
  const OpCall call = test.call(facts, expected);
  ASSERT_EQ(test.kernel->refusal(call), "");
  const std::vector<Tensor> packed = test.kernel->pack == nullptr ? std::vector<Tensor>{} : test.kernel->pack(call);
  for (int threads : {1, 2, 3}) {
    SCOPED_TRACE(std::to_string(threads) + " threads");
    auto step = test.kernel->code.prepare(test.step(packed, expected, threads));
    ASSERT_TRUE(step.ok()) << to_string(step.errors());
    expect_close(run_items(**step, test, expected.shape(), Buffers::separate), expected);
    if (test.has(3)) expect_close(run_items(**step, test, expected.shape(), Buffers::in_place), expected);
  }
}

struct ConvShape {
  std::int64_t n, h, w, ic, oc, groups;
  Window window;
};

Window window_of(std::int64_t kernel, std::int64_t stride, std::int64_t pad, std::int64_t dilation = 1) {
  return {{kernel, kernel}, {stride, stride}, {dilation, dilation}, {pad, pad}, {pad, pad}};
}

Case conv_case(const ConvShape& shape, UnaryAttrs activation, bool has_bias, ResidualPlace residual = {}) {
  std::mt19937 random(7);
  FusedConvAttrs attrs{.window = shape.window, .groups = shape.groups, .activation = activation, .residual = residual};
  Case test{.kernel = &onednn_conv_choices()[0], .spec = &kFusedConv, .attrs = attrs};
  test.inputs = {
      random_floats(random, {shape.n, shape.h, shape.w, shape.ic}),
      random_floats(random, {shape.oc, shape.window.kernel[0], shape.window.kernel[1], shape.ic / shape.groups}),
      has_bias ? random_floats(random, {shape.oc}) : Tensor()};
  if (residual != ResidualPlace::none) {
    const auto sizes = output_sizes(shape.window, std::vector<Dim>{shape.h, shape.w}, Rounding::floor);
    test.inputs.push_back(random_floats(random, {shape.n, (*sizes)[0], (*sizes)[1], shape.oc}));
  }
  return test;
}

const std::vector<ConvShape>& conv_shapes() {
  static const std::vector<ConvShape> shapes = {
      {1, 31, 29, 3, 32, 1, window_of(3, 2, 1)},                         // stem
      {1, 14, 14, 64, 64, 1, window_of(3, 1, 1)},                        // the usual
      {2, 7, 7, 96, 33, 1, window_of(3, 1, 1)},                          // odd channels, two images
      {3, 9, 11, 17, 24, 1, window_of(1, 1, 0)},                         // pointwise
      {1, 8, 8, 32, 48, 1, window_of(1, 2, 0)},                          // pointwise with a stride
      {1, 15, 13, 40, 40, 40, window_of(3, 1, 1)},                       // depthwise
      {1, 15, 13, 40, 40, 40, window_of(5, 2, 2)},                       // depthwise, 5x5
      {1, 12, 12, 32, 64, 4, window_of(3, 1, 1)},                        // groups
      {1, 20, 20, 8, 16, 1, window_of(3, 1, 2, 2)},                      // dilation
      {1, 6, 5, 4, 4, 1, {{3, 2}, {2, 1}, {1, 1}, {2, 0}, {0, 1}}},      // nothing symmetric
      {2, 1, 37, 24, 40, 1, {{1, 3}, {1, 2}, {1, 1}, {0, 1}, {0, 1}}},   // lines
      {1, 1, 50, 12, 12, 12, {{1, 5}, {1, 1}, {1, 2}, {0, 4}, {0, 3}}},  // a line, depthwise, dilation
      {2, 37, 1, 24, 40, 1, {{3, 1}, {2, 1}, {1, 1}, {1, 0}, {1, 0}}},   // columns
  };
  return shapes;
}

TEST(OnednnConv, EveryShape) {
  for (const ConvShape& shape : conv_shapes()) {
    for (bool has_bias : {false, true}) {
      SCOPED_TRACE(print(shape.window) + " " + std::to_string(shape.ic) + " to " + std::to_string(shape.oc) +
                   (has_bias ? " with bias" : ""));
      check(conv_case(shape, {}, has_bias));
    }
  }
}

TEST(OnednnConv, ResidualIsAddedBeforeTheActivation) {
  for (const ConvShape& shape : conv_shapes()) {
    SCOPED_TRACE(print(shape.window));
    check(conv_case(shape, {.kind = UnaryKind::relu}, true, ResidualPlace::before_activation));
  }
}

TEST(OnednnConv, ResidualIsAddedAfterTheActivation) {
  for (const ConvShape& shape : conv_shapes()) {
    SCOPED_TRACE(print(shape.window));
    check(conv_case(shape, {.kind = UnaryKind::silu}, true, ResidualPlace::after_activation));
  }
}

TEST(OnednnConv, EveryActivation) {
  const ConvShape shape = {1, 10, 10, 16, 32, 1, window_of(3, 1, 1)};
  const auto kernel = onednn_conv_choices()[0];
  int taken = 0;
  for (int kind = 0; kind < count_of(UnaryKind{}); ++kind) {
    const UnaryAttrs activation{.kind = static_cast<UnaryKind>(kind), .alpha = 0.1f, .beta = 0.5f};
    SCOPED_TRACE(std::string(name_of(activation.kind)));
    if (activation.kind == UnaryKind::sqrt) continue;  // its argument is negative half of the time
    Case test = conv_case(shape, activation, true);
    const Tensor expected(DType::f32, {1, 10, 10, 32});
    const std::vector<Fact> facts = test.facts();
    if (!kernel.refusal(test.call(facts, expected)).empty()) continue;
    check(test);
    ++taken;
  }
  EXPECT_GE(taken, 16);
}

Case matmul_case(Shape a, Shape b) {
  std::mt19937 random(9);
  Case test{.kernel = &onednn_dense_choices()[0], .spec = &kMatmul};
  test.inputs = {random_floats(random, std::move(a)), random_floats(random, std::move(b))};
  return test;
}

TEST(OnednnMatmul, EveryShape) {
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{1, 512}, {512, 1000}}, {{1, 7}, {7, 1}},        {{64, 33}, {33, 10}},  {{65, 100}, {100, 70}},
      {{2, 3, 17}, {17, 129}}, {{200, 64}, {64, 1500}}, {{2048}, {2048, 100}}, {{5, 1}, {1, 64}},
  };
  for (const auto& [a, b] : shapes) {
    SCOPED_TRACE(a.to_string() + " times " + b.to_string());
    check(matmul_case(a, b));
  }
}

// Broadcast batches, one matrix in rows for several threads, one row.
TEST(OnednnProduct, OfTwoVariables) {
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{3, 17, 64}, {3, 64, 29}}, {{2, 1, 5, 8}, {3, 8, 7}}, {{300, 40}, {40, 130}}, {{1, 9}, {9, 1}}, {{4, 9}, {9}},
      {{7}, {2, 7, 3}},
  };
  for (const auto& [a, b] : shapes) {
    SCOPED_TRACE(a.to_string() + " times " + b.to_string());
    Case test = matmul_case(a, b);
    test.kernel = &onednn_product_choices()[0];
    const std::vector<Fact> facts = test.facts();
    EXPECT_NE(test.kernel->refusal(test.call(facts, test.expected())), "");
    test.has_constants = false;
    check(test);
  }
}

TEST(OnednnDense, ConvolutionsOfFewPixels) {
  const std::vector<ConvShape> shapes = {{1, 1, 1, 512, 1000, 1, window_of(1, 1, 0)},
                                         {1, 1, 1, 24, 7, 1, window_of(1, 1, 0)},
                                         {5, 1, 1, 33, 2100, 1, window_of(1, 1, 0)},
                                         {1, 4, 4, 16, 32, 1, window_of(1, 1, 0)}};
  for (const ConvShape& shape : shapes) {
    for (UnaryKind activation : {UnaryKind::identity, UnaryKind::silu, UnaryKind::sigmoid}) {
      SCOPED_TRACE(std::to_string(shape.ic) + " to " + std::to_string(shape.oc) + " " +
                   std::string(name_of(activation)));
      Case test = conv_case(shape, {.kind = activation}, activation != UnaryKind::identity);
      const std::vector<Fact> facts = test.facts();
      EXPECT_NE(test.kernel->refusal(test.call(facts, test.expected())), "");
      test.kernel = &onednn_dense_choices()[1];
      check(test);
    }
  }
  Case image = conv_case(conv_shapes()[1], {}, true);
  image.kernel = &onednn_dense_choices()[1];
  const std::vector<Fact> facts = image.facts();
  EXPECT_NE(image.kernel->refusal(image.call(facts, image.expected())), "");
}

TEST(OnednnEltwise, EveryFunctionInBlocks) {
  const KernelChoice& kernel = onednn_eltwise_choices()[0];
  std::mt19937 random(12);
  for (const UnaryAttrs& attrs :
       {UnaryAttrs{UnaryKind::sigmoid}, UnaryAttrs{UnaryKind::silu}, UnaryAttrs{UnaryKind::gelu},
        UnaryAttrs{UnaryKind::gelu_tanh}, UnaryAttrs{UnaryKind::tanh}, UnaryAttrs{UnaryKind::exp},
        UnaryAttrs{UnaryKind::mish}, UnaryAttrs{UnaryKind::elu, 0.7f}, UnaryAttrs{UnaryKind::hard_swish},
        UnaryAttrs{UnaryKind::clip, -0.25f, 0.5f}, UnaryAttrs{UnaryKind::leaky_relu, 0.1f}, UnaryAttrs{UnaryKind::neg},
        UnaryAttrs{UnaryKind::abs}}) {
    for (const std::int64_t elements : {1, 7, 16384, 16385, 40000}) {
      SCOPED_TRACE(std::string(name_of(attrs.kind)) + " of " + std::to_string(elements));
      const Case test{
          .kernel = &kernel, .spec = &kUnary, .attrs = attrs, .inputs = {random_floats(random, {elements})}};
      const Tensor expected = test.expected();
      const std::vector<Fact> facts = test.facts();
      ASSERT_EQ(kernel.refusal(test.call(facts, expected)), "");
      const auto step = kernel.code.prepare(test.step({}, expected, 2));
      ASSERT_TRUE(step.ok()) << to_string(step.errors());
      expect_close(run_items(**step, test, expected.shape(), Buffers::separate), expected);
    }
  }
  const Case none{
      .kernel = &kernel, .spec = &kUnary, .attrs = UnaryAttrs{UnaryKind::erf}, .inputs = {random_floats(random, {4})}};
  const std::vector<Fact> facts = none.facts();
  EXPECT_NE(kernel.refusal(none.call(facts, none.expected())), "");
}

TEST(OnednnMatmul, Refusals) {
  const auto refusal = [](const Case& test, Shape y) {
    const Tensor result(DType::f32, std::move(y));
    const std::vector<Fact> facts = test.facts();
    return test.kernel->refusal(test.call(facts, result));
  };
  EXPECT_NE(refusal(matmul_case({2, 3, 4}, {2, 4, 5}), {2, 3, 5}), "");
  EXPECT_EQ(refusal(matmul_case({2, 3, 4}, {4, 5}), {2, 3, 5}), "");
  const Case test = matmul_case({1, 4}, {4, 5});
  std::vector<Fact> facts = test.facts();
  facts[1].constant = nullptr;
  EXPECT_EQ(test.kernel->refusal(test.call(facts, Tensor(DType::f32, {1, 5}))), "needs constant weights");
}

TEST(OnednnMatmul, RefusesDamagedWeights) {
  const Case test = matmul_case({3, 40}, {40, 100});
  const Tensor expected = test.expected();
  const std::vector<Fact> facts = test.facts();
  const std::vector<Tensor> good = test.kernel->pack(test.call(facts, expected));
  const auto refuses = [&](std::size_t which, Tensor replacement) {
    std::vector<Tensor> packed = good;
    packed[which] = std::move(replacement);
    return !test.kernel->code.prepare(test.step(packed, expected, 2)).ok();
  };
  EXPECT_TRUE(refuses(0, Tensor(DType::f32, {good[0].elements() - 1})));
  EXPECT_TRUE(refuses(1, Tensor(DType::f32, good[1].shape())));
  EXPECT_TRUE(refuses(2, Tensor(DType::s32, {2})));
  EXPECT_TRUE(refuses(2, Tensor(DType::s32, {0})));
  EXPECT_FALSE(test.kernel->code.prepare(test.step({}, expected, 2)).ok());
  StepSpec without_x = test.step(good, expected, 2);
  EXPECT_TRUE(test.kernel->code.prepare(without_x).ok());
  without_x.inputs[0].is_packed = true;
  EXPECT_FALSE(test.kernel->code.prepare(without_x).ok());
}

// One step, more threads than it was prepared for, each with buffers of its own.
TEST(OnednnConv, ManyThreadsShareAStep) {
  const Case test = conv_case({1, 14, 14, 32, 32, 1, window_of(3, 1, 1)}, {.kind = UnaryKind::relu}, true,
                              ResidualPlace::before_activation);
  const Tensor expected = test.expected();
  const std::vector<Fact> facts = test.facts();
  const std::vector<Tensor> packed = test.kernel->pack(test.call(facts, expected));
  const auto step = test.kernel->code.prepare(test.step(packed, expected, 1));
  ASSERT_TRUE(step.ok());
  const Tensor alone = run_items(**step, test, expected.shape(), Buffers::separate);
  std::vector<Tensor> results(8);
  std::vector<std::thread> threads;
  for (Tensor& result : results) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) result = run_items(**step, test, expected.shape(), Buffers::separate);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Tensor& result : results) EXPECT_EQ(result, alone);
}

// The calling program's own OpenMP regions keep their threads.
TEST(OnednnConv, LeavesOpenMpAsItWas) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(3);
  check(conv_case({1, 8, 8, 16, 16, 1, window_of(3, 1, 1)}, {}, true));
  EXPECT_EQ(omp_get_max_threads(), 3);
  omp_set_num_threads(before);
}

TEST(OnednnConv, PlainWeightsAreReorderedAtLoad) {
  Case test = conv_case(conv_shapes()[1], {}, true);
  const Tensor expected = test.expected();
  const std::vector<std::int32_t> order = {0, 2, 3, 1};
  const Tensor weights = test.inputs[1].reshaped({test.inputs[1].elements()});
  const std::vector<Tensor> packed = {weights, Tensor::of<std::int32_t>({4}, order), test.inputs[2]};
  auto step = test.kernel->code.prepare(test.step(packed, expected, 2));
  ASSERT_TRUE(step.ok()) << to_string(step.errors());
  expect_close(run_items(**step, test, expected.shape(), Buffers::separate), expected);
}

TEST(OnednnConv, RefusesDamagedWeights) {
  Case test = conv_case(conv_shapes()[1], {}, true);
  const Tensor expected = test.expected();
  const std::vector<Fact> facts = test.facts();
  const std::vector<Tensor> good = test.kernel->pack(test.call(facts, expected));
  const auto refuses = [&](std::size_t which, Tensor replacement) {
    std::vector<Tensor> packed = good;
    packed[which] = std::move(replacement);
    return !test.kernel->code.prepare(test.step(packed, expected, 2)).ok();
  };
  const auto layout = [](std::vector<std::int32_t> numbers) {
    return Tensor::of<std::int32_t>({static_cast<std::int64_t>(numbers.size())}, numbers);
  };
  EXPECT_TRUE(refuses(0, Tensor(DType::f32, {good[0].elements() - 1})));
  EXPECT_TRUE(refuses(0, Tensor(DType::s32, {good[0].elements()})));
  EXPECT_TRUE(refuses(1, layout({0, 1, 2})));
  EXPECT_TRUE(refuses(1, layout({0, 1, 2, 2})));
  EXPECT_TRUE(refuses(1, layout({0, 1, 2, 4})));
  EXPECT_TRUE(refuses(1, layout({-1, 1, 2, 3})));
  EXPECT_TRUE(refuses(1, layout({0, 1, 2, 3, 0, 1})));
  EXPECT_TRUE(refuses(1, layout({0, 1, 2, 3, 16, 9})));
  EXPECT_TRUE(refuses(1, layout({0, 1, 2, 3, 16})));
  EXPECT_TRUE(refuses(1, layout({0, 1, 2, 3, 4096, 0, 4096, 1})));
  EXPECT_TRUE(refuses(1, layout({0, 1, 2, 3, 128, 0})));  // another size
  EXPECT_TRUE(refuses(1, Tensor(DType::f32, {4})));
  EXPECT_TRUE(refuses(2, Tensor(DType::f32, {1})));
  EXPECT_FALSE(test.kernel->code.prepare(test.step({}, expected, 2)).ok());
  StepSpec without_x = test.step(good, expected, 2);
  EXPECT_TRUE(test.kernel->code.prepare(without_x).ok());
  without_x.inputs[0].is_packed = true;
  EXPECT_FALSE(test.kernel->code.prepare(without_x).ok());
}

TEST(OnednnLayout, NumbersSayTheLayout) {
  const onednn::Dims dims = {64, 3, 7, 7};
  const std::vector<std::int32_t> numbers = {0, 2, 3, 1, 4, 1, 16, 0};
  const auto decoded = onednn::decode_layout(dims, numbers);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->get_size(), 64u * 4 * 7 * 7 * 4);  // 3 channels padded to 4
  const auto again = onednn::encode_layout(*decoded);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(onednn::decode_layout(dims, *again), *decoded);
}

// Slices must cover every output row once and read what the whole convolution reads.
TEST(OnednnSlices, CoverTheImage) {
  for (const ConvShape& shape : conv_shapes()) {
    const auto sizes = *output_sizes(shape.window, std::vector<Dim>{shape.h, shape.w}, Rounding::floor);
    const Shape x{shape.n, shape.h, shape.w, shape.ic};
    const Shape y{shape.n, sizes[0], sizes[1], shape.oc};
    const ConvSize size = ConvSize::of({.window = shape.window, .groups = shape.groups}, x, y);
    for (int threads : {1, 2, 3, 7, 64}) {
      const std::int64_t slices = onednn::slices_per_image(size, threads, 64 * 1024);
      ASSERT_GE(slices, 1);
      ASSERT_LE(slices, size.out[0]);
      std::int64_t rows = 0;
      for (std::int64_t i = 0; i < slices; ++i) {
        const RowSlice slice = onednn::slice_of(size, slices, i);
        EXPECT_EQ(slice.out_begin, rows);
        EXPECT_GE(slice.out_rows, 1);
        EXPECT_GE(slice.in_rows, 1);
        EXPECT_LE(slice.in_begin + slice.in_rows, size.in[0]);
        const std::int64_t extent = (size.kernel[0] - 1) * size.dilations[0] + 1;
        EXPECT_EQ(slice.in_rows + slice.pad_begin + slice.pad_end, (slice.out_rows - 1) * size.strides[0] + extent);
        rows += slice.out_rows;
      }
      EXPECT_EQ(rows, size.out[0]);
    }
  }
}

// Without this a sequence runs on one thread.
TEST(OnednnSlices, CutLines) {
  const Window window{{1, 3}, {1, 1}, {1, 1}, {0, 1}, {0, 1}};
  const ConvSize size = ConvSize::of({.window = window}, {1, 1, 3000, 80}, {1, 1, 3000, 384});
  EXPECT_EQ(onednn::slices_per_image(size, 2, 1 << 20) % 2, 0);
}

}  // namespace
}  // namespace octavo
