// Every kernel of the conv family against the meaning of quantized_conv, exactly.
#include "kernels/conv/conv.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "kernels/conv/conv_step.h"
#include "ops/quantized_conv/quantized_conv.h"

namespace octavo {
namespace {

// Memory that ends where a page begins that may not be touched, as a caller's tensor may.
class EdgeBuffer {
 public:
  explicit EdgeBuffer(std::size_t bytes) : bytes_(bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    body_ = (bytes + page - 1) / page * page;
    pages_ = static_cast<std::byte*>(mmap(nullptr, body_ + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mapped_ = body_ + page;
    mprotect(pages_ + body_, page, PROT_NONE);
  }
  ~EdgeBuffer() { munmap(pages_, mapped_); }
  EdgeBuffer(const EdgeBuffer&) = delete;
  EdgeBuffer& operator=(const EdgeBuffer&) = delete;
  std::byte* data() { return pages_ + body_ - bytes_; }

 private:
  std::size_t bytes_, body_ = 0, mapped_ = 0;
  std::byte* pages_ = nullptr;
};

struct Case {
  std::int64_t batch = 1, height = 5, width = 5, channels = 8, out_channels = 16;
  std::int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  std::int64_t top = 0, left = 0, bottom = 0, right = 0;
  std::int64_t groups = 1;
  bool has_offset = false;
  bool has_rest = false;
  DType to = DType::u8;
  std::int32_t zero_point = 0, lowest = 0, highest = 255;
  Residual residual = Residual::none;
  DType residual_type = DType::u8;
  std::int32_t shift = 0;  // of the addition after rounding
  bool has_table = false;
  DType table_type = DType::u8;
  float multiplier = 0.0f;  // 0: of a size that spreads the outputs
};

std::string describe(const Case& c) {
  std::string text = "x " + Shape{c.batch, c.height, c.width, c.channels}.to_string() + " oc " + std::to_string(c.out_channels);
  text += " k " + Shape{c.kernel_h, c.kernel_w}.to_string() + " s " + Shape{c.stride_h, c.stride_w}.to_string();
  text += " d " + Shape{c.dilation_h, c.dilation_w}.to_string() + " p " + Shape{c.top, c.left, c.bottom, c.right}.to_string();
  text += " groups " + std::to_string(c.groups) + " offset " + std::to_string(c.has_offset) + " rest " + std::to_string(c.has_rest) + " to " +
          std::string(name_of(c.to));
  return text + " zp " + std::to_string(c.zero_point) + " residual " + std::string(name_of(c.residual)) + " table " + std::to_string(c.has_table);
}

// A case with its tensors and the exact answer.
struct Problem {
  QuantizedConvAttrs attrs;
  Shape x_shape, w_shape, y_shape;
  std::vector<std::uint8_t> x;
  Tensor w, bias, multiplier, table, w_offset, bias_rest;
  std::vector<std::byte> residual;
  std::vector<std::byte> expected;
  DType y_type = DType::u8;
};

template <class T>
T extreme_or_random(std::mt19937& random, T lowest, T highest) {
  const unsigned kind = random() % 8;
  if (kind == 0) return lowest;
  if (kind == 1) return highest;
  return static_cast<T>(lowest + static_cast<int>(random() % static_cast<unsigned>(highest - lowest + 1)));
}

QuantizedConvAttrs attrs_of(const Case& c) {
  QuantizedConvAttrs attrs;
  attrs.window = {{c.kernel_h, c.kernel_w}, {c.stride_h, c.stride_w}, {c.dilation_h, c.dilation_w}, {c.top, c.left}, {c.bottom, c.right}};
  attrs.groups = c.groups;
  attrs.x_zero_point = 117;
  attrs.to = c.to;
  attrs.zero_point = c.zero_point;
  attrs.lowest = c.lowest;
  attrs.highest = c.highest;
  attrs.residual = c.residual;
  attrs.residual_zero_point = 3;
  attrs.residual_ratio = 0.37f;
  attrs.add = AddForm::of(0.031f, 2, 0.017f, 5, 0.027f, 1);
  attrs.integer_add = IntegerAddForm::of(0.031f, 2, 0.017f, 5, 0.027f, c.to == DType::s8 ? -7 : 40, 1);
  // An addition in integers has no shift: its bias and zero point are those of the stored values.
  const std::int32_t shift = c.residual == Residual::after_rounding_integer ? 0 : c.shift;
  attrs.add.shift = shift;
  attrs.add_lowest = c.to == DType::s8 ? -100 : 4 - shift;
  attrs.add_highest = c.to == DType::s8 ? 90 : 251 - shift;
  return attrs;
}

void answer(Problem& p, const Case& c) {
  const auto given = [](bool is_there, DType dtype, const Shape& shape, const void* data) {
    return is_there ? ConstTensorView{dtype, shape, static_cast<const std::byte*>(data)} : ConstTensorView{};
  };
  const ConstTensorView inputs[] = {given(true, DType::u8, p.x_shape, p.x.data()),
                                    p.w.view(),
                                    p.bias.view(),
                                    given(c.to != DType::s32, DType::f32, p.multiplier.shape(), p.multiplier.data()),
                                    given(c.residual != Residual::none, c.residual_type, p.y_shape, p.residual.data()),
                                    given(c.has_table, c.table_type, p.table.shape(), p.table.data()),
                                    given(c.has_offset, DType::s32, p.w_offset.shape(), p.w_offset.data()),
                                    given(c.has_rest, DType::f32, p.bias_rest.shape(), p.bias_rest.data())};
  p.expected.resize(static_cast<std::size_t>(p.y_shape.elements()) * size_of(p.y_type));
  const TensorView y{p.y_type, p.y_shape, p.expected.data()};
  kQuantizedConv.reference(p.attrs, InputViews(inputs), OutputViews(&y, 1));
}

Problem make_problem(const Case& c, unsigned seed) {
  std::mt19937 random(seed);
  Problem p{.attrs = attrs_of(c),
            .x_shape = {c.batch, c.height, c.width, c.channels},
            .w_shape = {c.out_channels, c.kernel_h, c.kernel_w, c.channels / c.groups}};
  const auto out = output_sizes(p.attrs.window, std::vector<std::int64_t>{c.height, c.width}, Rounding::floor);
  EXPECT_TRUE(out.ok()) << describe(c);
  p.y_shape = {c.batch, (*out)[0], (*out)[1], c.out_channels};
  p.y_type = c.has_table ? c.table_type : c.to;
  p.x.resize(static_cast<std::size_t>(p.x_shape.elements()));
  for (auto& v : p.x) v = extreme_or_random<std::uint8_t>(random, 0, 255);
  p.w = Tensor(DType::s8, p.w_shape);
  for (auto& v : p.w.span<std::int8_t>()) v = extreme_or_random<std::int8_t>(random, -128, 127);
  p.bias = Tensor(DType::s32, {c.out_channels});
  for (auto& v : p.bias.span<std::int32_t>()) v = static_cast<std::int32_t>(random() % 200001) - 100000;
  p.w_offset = Tensor(DType::s32, {c.out_channels});
  for (auto& v : p.w_offset.span<std::int32_t>()) v = extreme_or_random<std::int32_t>(random, -127, 128);
  p.bias_rest = Tensor(DType::f32, {c.out_channels});
  for (auto& v : p.bias_rest.span<float>()) v = static_cast<float>(random() % 1001) / 1000.0f - 0.5f;
  p.multiplier = Tensor(DType::f32, {c.out_channels});
  const double terms = static_cast<double>(p.w_shape.elements() / c.out_channels);
  const float spread = c.multiplier != 0.0f ? c.multiplier : static_cast<float>(80.0 / (128.0 * 100.0 * std::sqrt(terms)));
  for (auto& v : p.multiplier.span<float>()) v = spread * (0.5f + static_cast<float>(random() % 1000) / 1000.0f);
  p.table = Tensor(c.table_type, {256});
  for (auto& v : p.table.span<std::uint8_t>()) v = static_cast<std::uint8_t>(random());
  p.residual.resize(static_cast<std::size_t>(p.y_shape.elements()));
  for (auto& v : p.residual) v = std::byte{extreme_or_random<std::uint8_t>(random, 0, 255)};
  answer(p, c);
  return p;
}

// Where the output goes.
enum class Place { apart, over_residual };

// Packs, prepares and runs one kernel on buffers that end at forbidden pages.
class Runner {
 public:
  Runner(const Kernel& kernel, const Case& c, const Problem& p) : kernel_(kernel), attrs_(p.attrs), has_residual_(c.residual != Residual::none) {
    const auto constant = [](const Tensor& t) {
      return Fact{.dtype = t.dtype(), .shape = t.shape(), .quant = {}, .constant = std::make_shared<Tensor>(t)};
    };
    facts_ = {{.dtype = DType::u8, .shape = p.x_shape},       constant(p.w),     constant(p.bias),     constant(p.multiplier),
              {.dtype = c.residual_type, .shape = p.y_shape}, constant(p.table), constant(p.w_offset), constant(p.bias_rest)};
    call_.attrs = &attrs_;
    for (const Fact& fact : facts_) call_.inputs.push_back(&fact);
    if (c.to == DType::s32) call_.inputs[3] = nullptr;
    if (!has_residual_) call_.inputs[4] = nullptr;
    if (!c.has_table) call_.inputs[5] = nullptr;
    if (!c.has_offset) call_.inputs[6] = nullptr;
    if (!c.has_rest) call_.inputs[7] = nullptr;
    call_.outputs = {{.dtype = p.y_type, .shape = p.y_shape}};
  }

  void prepare(int threads) {
    ASSERT_EQ(refusal(), "");
    packed_ = kernel_.pack(call_);
    StepSpec spec{.attrs = &attrs_, .threads = threads};
    for (const Fact* fact : call_.inputs)
      spec.inputs.push_back(fact ? StepOperand{true, fact->dtype, fact->shape, nullptr} : StepOperand{.is_present = false});
    spec.outputs.push_back({true, call_.outputs[0].dtype, call_.outputs[0].shape, nullptr});
    for (const Tensor& tensor : packed_) spec.packed.push_back(tensor.view());
    auto made = kernel_.prepare(spec);
    ASSERT_TRUE(made.ok()) << to_string(made.errors());
    step_ = std::move(*made);
  }

  std::string refusal() const { return kernel_.refusal(call_); }
  int in_place_input() const { return kernel_.in_place_input(call_); }

  // Runs all items in `parts` ranges, the last range first.
  std::vector<std::byte> run(const Problem& p, int parts, Place place = Place::apart) {
    EdgeBuffer x(p.x.size()), residual(p.residual.size()), y(p.expected.size());
    std::memcpy(x.data(), p.x.data(), p.x.size());
    std::memcpy(residual.data(), p.residual.data(), p.residual.size());
    std::memset(y.data(), 0x5a, p.expected.size());
    Tensor scratch(DType::u8, {static_cast<std::int64_t>(step_->scratch_bytes())});
    const std::byte* inputs[] = {x.data(), nullptr, nullptr, nullptr, has_residual_ ? residual.data() : nullptr, nullptr, nullptr, nullptr};
    std::byte* outputs[] = {place == Place::over_residual ? residual.data() : y.data()};
    const StepBuffers buffers{inputs, outputs, scratch.data()};
    for (int part = parts; part-- > 0;) step_->run(buffers, {step_->items() * part / parts, step_->items() * (part + 1) / parts});
    return {outputs[0], outputs[0] + p.expected.size()};
  }

  StepSpec spec_with(std::vector<ConstTensorView> packed) const {
    StepSpec spec{.spec = &kQuantizedConv, .attrs = &attrs_};
    for (const Fact* fact : call_.inputs)
      spec.inputs.push_back(fact ? StepOperand{true, fact->dtype, fact->shape, nullptr} : StepOperand{.is_present = false});
    spec.outputs.push_back({true, call_.outputs[0].dtype, call_.outputs[0].shape, nullptr});
    spec.packed = std::move(packed);
    return spec;
  }
  const std::vector<Tensor>& packed() const { return packed_; }

 private:
  const Kernel kernel_;
  Attrs attrs_;
  bool has_residual_;
  std::vector<Fact> facts_;
  OpCall call_;
  std::vector<Tensor> packed_;
  std::unique_ptr<Step> step_;
};

std::string first_difference(const std::vector<std::byte>& found, const std::vector<std::byte>& expected) {
  const auto at = std::mismatch(found.begin(), found.end(), expected.begin(), expected.end()).first - found.begin();
  int count = 0;
  for (std::size_t i = 0; i < found.size(); ++i) count += found[i] != expected[i];
  return std::to_string(count) + " of " + std::to_string(found.size()) + " bytes differ, first at " + std::to_string(at);
}

// The family's table, and the AVX-VNNI tiles in the encoding that AVX-512 machines have.
std::vector<Kernel> kernels_of_this_machine() {
  std::vector<Kernel> kernels(conv_kernels().begin(), conv_kernels().end());
  Kernel evex = kernels[0];
  evex.name = "conv_u8s8_6x2_avx512vnni_ymm";
  evex.needs = Isa::avx512vnni;
  evex.refusal = [](const OpCall& call) { return direct_refusal(call, kTileVnni256Evex); };
  evex.pack = [](const OpCall& call) { return pack_conv(call, kTileVnni256Evex); };
  evex.prepare = [](const StepSpec& spec) { return prepare_conv(spec, kTileVnni256Evex); };
  kernels.push_back(evex);
  std::erase_if(kernels, [](const Kernel& kernel) { return !host_machine().isa.has(kernel.needs); });
  return kernels;
}

void check(const Case& c, unsigned seed) {
  const Problem p = make_problem(c, seed);
  for (const Kernel& kernel : kernels_of_this_machine()) {
    Runner runner(kernel, c, p);
    if (c.has_offset && runner.refusal() == "needs weights without an offset") continue;
    for (int threads : {1, 3}) {
      runner.prepare(threads);
      if (testing::Test::HasFatalFailure()) return;
      const auto found = runner.run(p, threads);
      if (runner.in_place_input() == kConvResidual) {
        ASSERT_TRUE(runner.run(p, threads, Place::over_residual) == p.expected) << kernel.name << ": " << describe(c) << " in place";
      }
      ASSERT_TRUE(found == p.expected) << kernel.name << ": " << describe(c) << " seed " << seed << ": " << first_difference(found, p.expected);
    }
  }
}

// The rest of a bias: rounded with the sum, or multiplied where the result is real.
TEST(Conv, RestOfTheBias) {
  for (std::int64_t oc : {1, 9, 16, 41, 64, 80}) {
    for (Residual residual : {Residual::none, Residual::before_rounding, Residual::after_rounding_conv_first}) {
      const bool has_table = oc == 64;
      check({.width = 33, .channels = 24, .out_channels = oc, .has_rest = true, .residual = residual, .has_table = has_table, .multiplier = 0.3f},
            51);
    }
    check({.width = 33, .channels = 24, .out_channels = oc, .has_rest = true, .to = DType::f32}, 52);
    check({.width = 9,
           .channels = 24,
           .out_channels = oc,
           .has_offset = true,
           .has_rest = true,
           .to = DType::s8,
           .zero_point = -3,
           .lowest = -128,
           .highest = 127},
          53);
  }
}

TEST(Conv, ChannelCounts) {
  for (std::int64_t oc : {1, 3, 7, 8, 9, 15, 16, 17, 24, 31, 33, 48, 50, 63, 64, 65, 80, 100, 129}) {
    for (std::int64_t ic : {1, 2, 3, 4, 5, 16, 19}) check({.height = 3, .width = 10, .channels = ic, .out_channels = oc}, 1);
  }
}

TEST(Conv, WeightOffsets) {
  for (std::int64_t oc : {1, 15, 16, 33, 64, 65, 130}) {
    for (std::int64_t ic : {1, 3, 8, 17}) {
      check({.height = 4, .width = 30, .channels = ic, .out_channels = oc, .has_offset = true}, 41);
      check({.height = 6,
             .width = 7,
             .channels = ic,
             .out_channels = oc,
             .kernel_h = 3,
             .kernel_w = 3,
             .stride_w = 2,
             .dilation_h = 2,
             .dilation_w = 2,
             .top = 2,
             .left = 2,
             .bottom = 1,
             .right = 2,
             .has_offset = true},
            42);
    }
  }
  for (Residual residual : {Residual::before_rounding, Residual::after_rounding_conv_first}) {
    check({.width = 33, .channels = 24, .out_channels = 80, .groups = 4, .has_offset = true, .residual = residual, .has_table = true}, 43);
  }
  for (DType to : {DType::s32, DType::f32}) check({.width = 33, .channels = 24, .out_channels = 41, .has_offset = true, .to = to}, 44);
}

TEST(Conv, PixelCounts) {
  for (std::int64_t oc : {16, 32, 48, 64}) {
    for (std::int64_t width = 1; width <= 60; ++width) check({.height = 1, .width = width, .channels = 12, .out_channels = oc}, 2);
  }
}

TEST(Conv, Windows) {
  for (std::int64_t channels : {3, 8, 13}) {
    check({.height = 9,
           .width = 11,
           .channels = channels,
           .out_channels = 20,
           .kernel_h = 3,
           .kernel_w = 3,
           .top = 1,
           .left = 1,
           .bottom = 1,
           .right = 1},
          3);
    check({.height = 23,
           .width = 30,
           .channels = channels,
           .out_channels = 20,
           .kernel_h = 7,
           .kernel_w = 7,
           .stride_h = 2,
           .stride_w = 2,
           .top = 3,
           .left = 3,
           .bottom = 3,
           .right = 3},
          4);
    check({.height = 14,
           .width = 16,
           .channels = channels,
           .out_channels = 20,
           .kernel_h = 3,
           .kernel_w = 3,
           .stride_h = 2,
           .stride_w = 2,
           .top = 0,
           .left = 0,
           .bottom = 1,
           .right = 1},
          5);
    check({.height = 12,
           .width = 13,
           .channels = channels,
           .out_channels = 20,
           .kernel_h = 3,
           .kernel_w = 3,
           .dilation_h = 2,
           .dilation_w = 3,
           .top = 2,
           .left = 3,
           .bottom = 2,
           .right = 3},
          6);
    check({.batch = 3, .height = 8, .width = 8, .channels = channels, .out_channels = 40, .stride_h = 2, .stride_w = 3}, 7);
    check({.batch = 2, .height = 6, .width = 9, .channels = channels, .out_channels = 5, .kernel_h = 1, .kernel_w = 7, .left = 3, .right = 3}, 8);
    check({.batch = 2, .height = 9, .width = 3, .channels = channels, .out_channels = 5, .kernel_h = 7, .kernel_w = 1, .top = 3, .bottom = 3}, 9);
    check({.height = 2,
           .width = 2,
           .channels = channels,
           .out_channels = 70,
           .kernel_h = 5,
           .kernel_w = 5,
           .top = 4,
           .left = 4,
           .bottom = 4,
           .right = 4},
          10);
    check({.height = 7, .width = 7, .channels = channels, .out_channels = 70, .kernel_h = 7, .kernel_w = 7}, 11);
    check({.batch = 2, .height = 5, .width = 40, .channels = channels, .out_channels = 64, .kernel_h = 2, .kernel_w = 2, .has_offset = true}, 12);
    check({.batch = 1,
           .height = 5,
           .width = 6,
           .channels = channels,
           .out_channels = 30,
           .kernel_h = 3,
           .kernel_w = 3,
           .top = 1,
           .left = 1,
           .bottom = 1,
           .right = 1,
           .has_offset = true},
          13);
  }
}

TEST(Conv, Groups) {
  const std::int64_t widths[][3] = {{2, 4, 4},  {32, 4, 4},  {8, 8, 8},   {5, 3, 6}, {3, 16, 24}, {6, 1, 2},
                                    {12, 1, 1}, {3, 40, 56}, {2, 64, 64}, {7, 5, 9}, {32, 2, 3}};
  for (const auto& [groups, in, out] : widths) {
    check({.height = 6,
           .width = 9,
           .channels = groups * in,
           .out_channels = groups * out,
           .kernel_h = 3,
           .kernel_w = 3,
           .top = 1,
           .left = 1,
           .bottom = 1,
           .right = 1,
           .groups = groups},
          14);
    check({.batch = 2, .height = 4, .width = 5, .channels = groups * in, .out_channels = groups * out, .groups = groups}, 15);
    check({.height = 7,
           .width = 7,
           .channels = groups * in,
           .out_channels = groups * out,
           .kernel_h = 3,
           .kernel_w = 3,
           .stride_h = 2,
           .stride_w = 2,
           .dilation_w = 2,
           .top = 1,
           .left = 2,
           .groups = groups},
          16);
  }
}

TEST(Conv, FullyConnected) {
  for (std::int64_t batch : {1, 2, 5, 13, 64}) {
    check({.batch = batch, .height = 1, .width = 1, .channels = 515, .out_channels = 10}, 17);
    check({.batch = batch, .height = 1, .width = 1, .channels = 96, .out_channels = 1000}, 18);
  }
}

TEST(Conv, OutputTypes) {
  for (std::int64_t oc : {5, 16, 31, 64, 77}) {
    for (DType to : {DType::s32, DType::f32}) check({.height = 4, .width = 11, .channels = 20, .out_channels = oc, .to = to}, 19);
    check({.height = 4, .width = 11, .channels = 20, .out_channels = oc, .to = DType::s8, .zero_point = -17, .lowest = -128, .highest = 127}, 20);
    check({.height = 4, .width = 11, .channels = 20, .out_channels = oc, .to = DType::s8, .zero_point = 4, .lowest = -20, .highest = 90}, 21);
    check({.height = 4, .width = 11, .channels = 20, .out_channels = oc, .to = DType::u8, .zero_point = 131}, 22);
    check({.height = 4, .width = 11, .channels = 20, .out_channels = oc, .to = DType::u8, .zero_point = 30, .lowest = 30, .highest = 201}, 23);
  }
}

TEST(Conv, Multipliers) {
  const float huge = 3e38f, infinite = std::numeric_limits<float>::infinity(), none = std::numeric_limits<float>::quiet_NaN();
  for (float multiplier : {1e-20f, 0.49f, 0.9f, 7.0f, 1e5f, huge, infinite, none, -0.01f, -1e9f}) {
    check({.height = 4, .width = 11, .channels = 20, .out_channels = 40, .zero_point = 12, .multiplier = multiplier}, 24);
    check({.height = 4,
           .width = 11,
           .channels = 20,
           .out_channels = 40,
           .to = DType::s8,
           .zero_point = -12,
           .lowest = -128,
           .highest = 127,
           .multiplier = multiplier},
          25);
  }
}

TEST(Conv, Residuals) {
  for (Residual residual :
       {Residual::before_rounding, Residual::after_rounding_conv_first, Residual::after_rounding_conv_second, Residual::after_rounding_integer}) {
    for (std::int64_t oc : {4, 13, 16, 23, 32, 64, 66, 79}) {
      for (DType type : {DType::u8, DType::s8}) {
        check({.height = 5, .width = 9, .channels = 24, .out_channels = oc, .zero_point = 9, .residual = residual, .residual_type = type}, 26);
        check({.height = 5,
               .width = 9,
               .channels = 24,
               .out_channels = oc,
               .to = DType::s8,
               .zero_point = -9,
               .lowest = -128,
               .highest = 127,
               .residual = residual,
               .residual_type = type},
              27);
        check({.height = 5,
               .width = 9,
               .channels = 24,
               .out_channels = oc,
               .zero_point = 120,
               .residual = residual,
               .residual_type = type,
               .shift = 128},
              35);
        check({.height = 3, .width = 9, .channels = 24, .out_channels = oc, .residual = residual, .residual_type = type, .multiplier = 40.0f}, 28);
      }
    }
  }
}

TEST(Conv, Tables) {
  for (std::int64_t oc : {3, 16, 24, 32, 40, 64, 96, 130}) {
    check({.height = 5, .width = 30, .channels = 24, .out_channels = oc, .zero_point = 90, .has_table = true}, 29);
    check({.height = 5, .width = 9, .channels = 24, .out_channels = oc, .zero_point = 100, .has_table = true, .table_type = DType::s8}, 30);
    check({.height = 5,
           .width = 9,
           .channels = 24,
           .out_channels = oc,
           .to = DType::s8,
           .zero_point = 1,
           .lowest = -128,
           .highest = 127,
           .residual = Residual::before_rounding,
           .has_table = true},
          31);
  }
}

TEST(Conv, RandomCases) {
  std::random_device device;
  const unsigned seed = device();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto pick = [&](int lowest, int highest) {
    return static_cast<std::int64_t>(lowest + static_cast<int>(random() % static_cast<unsigned>(highest - lowest + 1)));
  };
  for (int i = 0; i < 150; ++i) {
    Case c{.batch = pick(1, 3), .height = pick(1, 12), .width = pick(1, 40), .kernel_h = pick(1, 4), .kernel_w = pick(1, 4)};
    c.stride_h = pick(1, 3), c.stride_w = pick(1, 3), c.dilation_h = pick(1, 2), c.dilation_w = pick(1, 2);
    c.top = pick(0, 3), c.left = pick(0, 3), c.bottom = pick(6, 8), c.right = pick(6, 8);
    c.groups = pick(0, 2) == 0 ? pick(2, 6) : 1;
    c.channels = c.groups * pick(1, 20), c.out_channels = c.groups * pick(1, 70);
    c.has_offset = pick(0, 1) == 1, c.has_rest = c.to != DType::s32 && pick(0, 1) == 1, c.zero_point = static_cast<std::int32_t>(pick(0, 255));
    c.residual = static_cast<Residual>(pick(0, 4)), c.has_table = pick(0, 3) == 0;
    check(c, random());
    if (HasFatalFailure()) return;
  }
}

TEST(Conv, PackedConstantsAreChecked) {
  const Case c{.channels = 8, .out_channels = 24, .residual = Residual::before_rounding, .has_table = true};
  const Problem p = make_problem(c, 32);
  for (const Kernel& kernel : kernels_of_this_machine()) {
    Runner runner(kernel, c, p);
    runner.prepare(1);
    std::vector<ConstTensorView> good;
    for (const Tensor& tensor : runner.packed()) good.push_back(tensor.view());
    ASSERT_EQ(good.size(), 4u);
    ASSERT_TRUE(kernel.prepare(runner.spec_with(good)).ok());
    for (std::size_t input : {kConvX, kConvResidual}) {
      StepSpec lie = runner.spec_with(good);
      lie.inputs[input].is_packed = true;
      EXPECT_FALSE(kernel.prepare(lie).ok()) << "input " << input;
    }
    for (std::size_t i = 0; i < good.size(); ++i) {
      auto bad = good;
      bad[i].shape = Shape{bad[i].shape[0] - 1};
      EXPECT_FALSE(kernel.prepare(runner.spec_with(bad)).ok());
      bad = good;
      bad[i].dtype = DType::f64;
      EXPECT_FALSE(kernel.prepare(runner.spec_with(bad)).ok());
      bad = good;
      bad.pop_back();
      EXPECT_FALSE(kernel.prepare(runner.spec_with(bad)).ok());
    }
  }
}

}  // namespace
}  // namespace octavo
