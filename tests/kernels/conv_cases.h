// Convolutions with their exact answers, and what runs a kernel on them: shared by the tests of the kernels of
// quantized_conv.
#ifndef OCTAVO_TESTS_KERNELS_CONV_CASES_H_
#define OCTAVO_TESTS_KERNELS_CONV_CASES_H_

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/choice.h"
#include "kernels/conv/conv_step.h"
#include "ops/quantized_conv/quantized_conv.h"

namespace octavo {

// Memory that ends where a page begins that may not be touched, as a caller's tensor may.
class EdgeBuffer {
 public:
  explicit EdgeBuffer(std::size_t bytes) : bytes_(bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    body_ = (bytes + page - 1) / page * page;
    pages_ = static_cast<std::byte*>(
        mmap(nullptr, body_ + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
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

struct ConvCase {
  std::int64_t batch = 1, height = 5, width = 5, channels = 8, out_channels = 16;
  std::int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  std::int64_t top = 0, left = 0, bottom = 0, right = 0;
  std::int64_t groups = 1;
  bool has_offset = false;
  bool has_rest = false;
  DType to = DType::u8;
  std::int32_t x_zero_point = 117;
  std::int32_t zero_point = 0, lowest = 0, highest = 255;
  Addition residual = Addition::none;
  DType residual_type = DType::u8;
  std::int32_t shift = 0;  // of the addition after rounding
  bool has_table = false;
  DType table_type = DType::u8;
  bool table_flips = false;  // the highest bit, and does nothing else
  float multiplier = 0.0f;   // 0: of a size that spreads the outputs
  std::int8_t least_weight = -128, greatest_weight = 127;
};

inline std::string describe(const ConvCase& c) {
  std::string text =
      "x " + Shape{c.batch, c.height, c.width, c.channels}.to_string() + " oc " + std::to_string(c.out_channels);
  text += " k " + Shape{c.kernel_h, c.kernel_w}.to_string() + " s " + Shape{c.stride_h, c.stride_w}.to_string();
  text += " d " + Shape{c.dilation_h, c.dilation_w}.to_string() + " p " +
          Shape{c.top, c.left, c.bottom, c.right}.to_string();
  text += " groups " + std::to_string(c.groups) + " offset " + std::to_string(c.has_offset) + " rest " +
          std::to_string(c.has_rest) + " to " + std::string(name_of(c.to)) + " x zp " + std::to_string(c.x_zero_point);
  return text + " zp " + std::to_string(c.zero_point) + " residual " + std::to_string(static_cast<int>(c.residual)) +
         " table " + std::to_string(c.has_table);
}

// A case with its tensors and the exact answer.
struct ConvProblem {
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

inline Epilogue epilogue_of(const ConvCase& c) {
  Epilogue e{{}, c.to};
  if (c.to == DType::s32) return e;
  if (c.has_rest) e.stages.emplace_back(AddRest{});
  if (c.residual == Addition::before_rounding) e.stages.emplace_back(ScaleAndAdd{0.37f, 3});
  else e.stages.emplace_back(Scale{});
  if (c.to == DType::f32) return e;
  e.stages.emplace_back(Round{.after = c.zero_point, .lowest = c.lowest, .highest = c.highest});
  const std::int32_t lowest = c.to == DType::s8 ? -100 : 4, highest = c.to == DType::s8 ? 90 : 251;
  if (c.residual == Addition::integer) {
    const std::int32_t zero_point = c.to == DType::s8 ? -7 : 40;
    e.stages.emplace_back(AddInteger{IntegerAddForm::of(0.031f, 2, 0.017f, 5, 0.027f, zero_point, 1), lowest, highest});
  } else if (c.residual == Addition::real_first || c.residual == Addition::real_second) {
    const AddForm form = AddForm::of(0.031f, 2, 0.017f, 5, 0.027f, 1);
    const Side side = c.residual == Addition::real_first ? Side::first : Side::second;
    e.stages.emplace_back(AddReal{side, form.a_ratio, form.b_ratio, form.fixed, c.shift, c.shift});
    e.stages.emplace_back(Round{.after = c.shift, .lowest = lowest, .highest = highest});
  }
  if (c.has_table) e.stages.emplace_back(Lookup{});
  return e;
}

inline QuantizedConvAttrs attrs_of(const ConvCase& c) {
  QuantizedConvAttrs attrs;
  attrs.window = {{c.kernel_h, c.kernel_w},
                  {c.stride_h, c.stride_w},
                  {c.dilation_h, c.dilation_w},
                  {c.top, c.left},
                  {c.bottom, c.right}};
  attrs.groups = c.groups;
  attrs.x_zero_point = c.x_zero_point;
  attrs.epilogue = epilogue_of(c);
  return attrs;
}

// One for each operand of the epilogue, in its order.
template <class T>
std::vector<T> operands_of(const ConvCase& c, const T& rest, const T& multiplier, const T& residual, const T& table) {
  std::vector<T> operands;
  if (c.to == DType::s32) return operands;
  if (c.has_rest) operands.push_back(rest);
  operands.push_back(multiplier);
  if (c.residual != Addition::none) operands.push_back(residual);
  if (c.has_table) operands.push_back(table);
  return operands;
}

inline void answer(ConvProblem& p, const ConvCase& c) {
  const auto given = [](DType dtype, const Shape& shape, const void* data) {
    return ConstTensorView{dtype, shape, static_cast<const std::byte*>(data)};
  };
  std::vector<ConstTensorView> inputs = {given(DType::u8, p.x_shape, p.x.data()), p.w.view(), p.bias.view(),
                                         c.has_offset ? p.w_offset.view() : ConstTensorView{}};
  const ConstTensorView residual = given(c.residual_type, p.y_shape, p.residual.data());
  for (const ConstTensorView& operand :
       operands_of<ConstTensorView>(c, p.bias_rest.view(), p.multiplier.view(), residual, p.table.view()))
    inputs.push_back(operand);
  p.expected.resize(static_cast<std::size_t>(p.y_shape.elements()) * size_of(p.y_type));
  const TensorView y{p.y_type, p.y_shape, p.expected.data()};
  kQuantizedConv.reference(p.attrs, inputs, OutputViews(&y, 1));
}

inline ConvProblem make_problem(const ConvCase& c, unsigned seed) {
  std::mt19937 random(seed);
  ConvProblem p{.attrs = attrs_of(c),
                .x_shape = {c.batch, c.height, c.width, c.channels},
                .w_shape = {c.out_channels, c.kernel_h, c.kernel_w, c.channels / c.groups}};
  const auto out = output_sizes(p.attrs.window, std::vector<Dim>{c.height, c.width}, Rounding::floor);
  EXPECT_TRUE(out.ok()) << describe(c);
  p.y_shape = Shape{c.batch, (*out)[0], (*out)[1], c.out_channels};
  p.y_type = c.has_table ? c.table_type : c.to;
  p.x.resize(static_cast<std::size_t>(p.x_shape.elements()));
  for (auto& v : p.x) v = extreme_or_random<std::uint8_t>(random, 0, 255);
  p.w = Tensor(DType::s8, p.w_shape);
  for (auto& v : p.w.span<std::int8_t>()) v = extreme_or_random<std::int8_t>(random, c.least_weight, c.greatest_weight);
  p.bias = Tensor(DType::s32, {c.out_channels});
  for (auto& v : p.bias.span<std::int32_t>()) v = static_cast<std::int32_t>(random() % 200001) - 100000;
  p.w_offset = Tensor(DType::s32, {c.out_channels});
  for (auto& v : p.w_offset.span<std::int32_t>()) v = extreme_or_random<std::int32_t>(random, -127, 128);
  p.bias_rest = Tensor(DType::f32, {c.out_channels});
  for (auto& v : p.bias_rest.span<float>()) v = static_cast<float>(random() % 1001) / 1000.0f - 0.5f;
  p.multiplier = Tensor(DType::f32, {c.out_channels});
  const double terms = static_cast<double>(p.w_shape.elements() / c.out_channels);
  const float spread =
      c.multiplier != 0.0f ? c.multiplier : static_cast<float>(80.0 / (128.0 * 100.0 * std::sqrt(terms)));
  for (auto& v : p.multiplier.span<float>()) v = spread * (0.5f + static_cast<float>(random() % 1000) / 1000.0f);
  p.table = Tensor(c.table_type, {256});
  for (auto& v : p.table.span<std::uint8_t>()) v = static_cast<std::uint8_t>(random());
  for (unsigned i = 0; c.table_flips && i < 256; ++i)
    p.table.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(i ^ 0x80);
  p.residual.resize(static_cast<std::size_t>(p.y_shape.elements()) * size_of(c.residual_type));
  for (auto& v : p.residual) v = std::byte{extreme_or_random<std::uint8_t>(random, 0, 255)};
  answer(p, c);
  return p;
}

// Where the output goes.
enum class Place { apart, over_residual };

// Packs, prepares and runs one kernel on buffers that end at forbidden pages.
class ConvRunner {
 public:
  ConvRunner(const KernelChoice& kernel, const ConvCase& c, const ConvProblem& p) : kernel_(kernel), attrs_(p.attrs) {
    const auto constant = [](const Tensor& t) {
      return Fact{.dtype = t.dtype(), .shape = t.shape(), .quant = {}, .constant = std::make_shared<Tensor>(t)};
    };
    facts_ = {{.dtype = DType::u8, .shape = p.x_shape}, constant(p.w), constant(p.bias), constant(p.w_offset)};
    const Fact residual{.dtype = c.residual_type, .shape = p.y_shape};
    for (const Fact& operand :
         operands_of(c, constant(p.bias_rest), constant(p.multiplier), residual, constant(p.table)))
      facts_.push_back(operand);
    call_.attrs = &attrs_;
    for (const Fact& fact : facts_) call_.inputs.push_back(&fact);
    if (!c.has_offset) call_.inputs[kConvOffset] = nullptr;
    const auto parts = EpilogueParts::of(p.attrs.epilogue, kConvOperands);
    residual_at = parts->other;
    call_.outputs = {{.dtype = p.y_type, .shape = p.y_shape}};
  }

  // For one thread with x in an arena, where more can be read behind it; for several with the caller's.
  void prepare(int threads, std::span<const std::byte> schedule = {}) {
    ASSERT_EQ(refusal(), "");
    packed_ = kernel_.pack(call_);
    slack_ = threads == 1 ? kReadSlack : 0;
    StepSpec spec{.attrs = &attrs_, .schedule = schedule, .threads = threads};
    for (const Fact* fact : call_.inputs)
      spec.inputs.push_back(fact ? StepOperand{.dtype = fact->dtype, .shape = fact->shape, .is_padded = slack_ > 0}
                                 : StepOperand{.is_present = false});
    spec.outputs.push_back({true, call_.outputs[0].dtype, call_.outputs[0].shape, nullptr});
    for (const Tensor& tensor : packed_) spec.packed.push_back(tensor.view());
    auto made = kernel_.code.prepare(spec);
    ASSERT_TRUE(made.ok()) << to_string(made.errors());
    step_ = std::move(*made);
  }

  const OpCall& call() const { return call_; }
  std::string refusal() const { return kernel_.refusal(call_); }
  int in_place_input() const { return kernel_.code.in_place_input(call_); }

  // What items read of the packed weights.
  std::span<const std::byte> reads(int part, int parts) const {
    return step_->reads({step_->items() * part / parts, step_->items() * (part + 1) / parts});
  }

  // Runs all items in `parts` ranges, the last range first; what they read is what they fetch for the next step.
  std::vector<std::byte> run(const ConvProblem& p, int parts, Place place = Place::apart) {
    EdgeBuffer x(p.x.size() + slack_), residual(p.residual.size()), y(p.expected.size());
    std::memcpy(x.data(), p.x.data(), p.x.size());
    std::memcpy(residual.data(), p.residual.data(), p.residual.size());
    std::memset(y.data(), 0x5a, p.expected.size());
    Tensor scratch(DType::u8, {static_cast<std::int64_t>(step_->scratch_bytes())});
    std::vector<const std::byte*> inputs(call_.inputs.size(), nullptr);
    inputs[kConvX] = x.data();
    if (residual_at >= 0) inputs[static_cast<std::size_t>(residual_at)] = residual.data();
    std::byte* outputs[] = {place == Place::over_residual ? residual.data() : y.data()};
    StepBuffers buffers{.inputs = inputs, .outputs = outputs, .scratch = scratch.data()};
    for (int part = parts; part-- > 0;) {
      buffers.ahead = reads(part, parts);
      step_->run(buffers, {step_->items() * part / parts, step_->items() * (part + 1) / parts});
    }
    return {outputs[0], outputs[0] + p.expected.size()};
  }

  StepSpec spec_with(std::vector<ConstTensorView> packed) const {
    StepSpec spec{.spec = &kQuantizedConv, .attrs = &attrs_};
    for (const Fact* fact : call_.inputs)
      spec.inputs.push_back(fact ? StepOperand{true, fact->dtype, fact->shape, nullptr}
                                 : StepOperand{.is_present = false});
    spec.outputs.push_back({true, call_.outputs[0].dtype, call_.outputs[0].shape, nullptr});
    spec.packed = std::move(packed);
    return spec;
  }
  const std::vector<Tensor>& packed() const { return packed_; }
  int residual_at = -1;  // among the inputs
  void use(std::unique_ptr<Step> step) { step_ = std::move(step); }

 private:
  const KernelChoice kernel_;
  Attrs attrs_;
  std::vector<Fact> facts_;
  OpCall call_;
  std::vector<Tensor> packed_;
  std::size_t slack_ = 0;
  std::unique_ptr<Step> step_;
};

inline std::string first_difference(const std::vector<std::byte>& found, const std::vector<std::byte>& expected) {
  const auto at = std::mismatch(found.begin(), found.end(), expected.begin(), expected.end()).first - found.begin();
  int count = 0;
  for (std::size_t i = 0; i < found.size(); ++i) count += found[i] != expected[i];
  return std::to_string(count) + " of " + std::to_string(found.size()) + " bytes differ, first at " +
         std::to_string(at);
}

inline bool is_depthwise(const ConvCase& c) { return c.groups > 1 && c.channels == c.groups; }

inline constexpr std::string_view kNeedsHigherWeights = "needs weights above -128";
// What devices lack.
inline constexpr std::array<std::string_view, 2> kNotOnDevices = {"needs results and additions of 8 bits",
                                                                  "needs an addition in f32"};

inline void check(const ConvCase& c, unsigned seed, const std::vector<KernelChoice>& kernels) {
  const ConvProblem p = make_problem(c, seed);
  for (const KernelChoice& kernel : kernels) {
    ConvRunner runner(kernel, c, p);
    if (c.least_weight == -128 && runner.refusal() == kNeedsHigherWeights) {
      ConvCase higher = c;
      higher.least_weight = -127;
      higher.greatest_weight = std::max(c.greatest_weight, higher.least_weight);
      check(higher, seed, {kernel});
      if (::testing::Test::HasFatalFailure()) return;
      continue;
    }
    if (c.has_offset && runner.refusal() == "needs weights without an offset") continue;
    if (kernel.code.needs == Isa::cuda && std::ranges::count(kNotOnDevices, runner.refusal()) != 0) continue;
    if (is_depthwise(c) && runner.refusal() == "needs more than one input channel per group") continue;
    for (int threads : {1, 3}) {
      runner.prepare(threads);
      if (::testing::Test::HasFatalFailure()) return;
      const auto found = runner.run(p, threads);
      if (runner.in_place_input() >= 0) {
        ASSERT_TRUE(runner.run(p, threads, Place::over_residual) == p.expected)
            << kernel.code.name << ": " << describe(c) << " in place";
      }
      ASSERT_TRUE(found == p.expected) << kernel.code.name << ": " << describe(c) << " seed " << seed << ": "
                                       << first_difference(found, p.expected);
    }
  }
}

}  // namespace octavo

#endif  // OCTAVO_TESTS_KERNELS_CONV_CASES_H_
