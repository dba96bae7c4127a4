// The same samples give the same scales, weights and corrections on every machine: its instruction sets and the number
// of its cores do not show. Tests of quantize/.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include "export/onnx.h"
#include "import/import.h"
#include "kernels/kernel.h"
#include "ops/binary/binary.h"
#include "ops/conv/conv.h"
#include "ops/matmul/matmul.h"
#include "ops/reduce/reduce.h"
#include "ops/unary/unary.h"
#include "quantize/observed_network.h"
#include "quantize/quantize.h"
#include "quantize/scales_file.h"
#include "support/sanitizers.h"

namespace octavo {
namespace {

// Samples of the graph's inputs, drawn from a seed.
class SameScalesNoise final : public SampleSource {
 public:
  SameScalesNoise(const Graph& graph, std::int64_t size) : size_(size) {
    for (const ValueId input : graph.inputs()) facts_.push_back(graph.fact(input));
  }
  std::int64_t size() const override { return size_; }
  Result<std::vector<Tensor>> sample(std::int64_t index) const override {
    std::mt19937 random(static_cast<unsigned>(index));
    std::vector<Tensor> tensors;
    for (const Fact& fact : facts_) {
      tensors.emplace_back(fact.dtype, Shape(fact.shape));
      for (float& value : tensors.back().span<float>()) {
        value = 0.0f;
        for (int i = 0; i < 4; ++i) value += static_cast<float>(random() % 4096) * 0x1p-12f - 0.5f;
      }
    }
    return tensors;
  }

 private:
  std::int64_t size_;
  std::vector<Fact> facts_;
};

class Builder {
 public:
  Graph graph;

  ValueId constant(const std::string& name, Shape shape, float size) {
    Tensor values(DType::f32, std::move(shape));
    for (float& value : values.span<float>()) value = size * (static_cast<float>(random_() % 2048) * 0x1p-10f - 1.0f);
    return graph.add_constant(name, std::move(values));
  }
  ValueId conv(const std::string& name, ValueId x, std::int64_t out, Window window, std::int64_t groups = 1) {
    const std::int64_t in = Shape(graph.fact(x).shape)[1] / groups;
    const ValueId w = constant(name + ".w", {out, in, window.kernel[0], window.kernel[1]}, 0.4f);
    return *graph.add(kConv, ConvAttrs{.window = std::move(window), .groups = groups},
                      {x, w, constant(name + ".b", {out}, 0.1f)}, name);
  }
  ValueId unary(const std::string& name, UnaryAttrs attrs, ValueId x) { return *graph.add(kUnary, attrs, {x}, name); }
  ValueId binary(const std::string& name, BinaryKind kind, ValueId a, ValueId b) {
    return *graph.add(kBinary, BinaryAttrs{.kind = kind}, {a, b}, name);
  }

 private:
  std::mt19937 random_{7};
};

const Window kAround{{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
const Window kHalving{{3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}};

// A stem, a depthwise and a grouped convolution, a residual sum, a gate, activations, a mean and a product.
Graph same_scales_network() {
  Builder b;
  const auto relu6 = UnaryAttrs{.kind = UnaryKind::clip, .alpha = 0.0f, .beta = 6.0f};
  const ValueId stem = b.unary("stem.act", {.kind = UnaryKind::silu},
                               b.conv("stem", b.graph.add_input("x", DType::f32, {1, 3, 13, 11}), 20, kHalving));
  const ValueId depthwise = b.unary("depthwise.act", relu6, b.conv("depthwise", stem, 20, kAround, 20));
  const ValueId grouped = b.conv("grouped", depthwise, 20, kAround, 4);
  const ValueId sum = b.unary("sum.act", {.kind = UnaryKind::relu}, b.binary("sum", BinaryKind::add, grouped, stem));
  const ValueId squeezed = *b.graph.add(kReduce, ReduceAttrs{.kind = ReduceKind::mean, .axes = {2, 3}}, {sum}, "mean");
  const ValueId gate =
      b.unary("gate.act", {.kind = UnaryKind::sigmoid}, b.conv("gate", squeezed, 20, unit_window({1, 1})));
  const ValueId wide = b.unary("wide.act", {.kind = UnaryKind::hard_swish},
                               b.conv("wide", b.binary("gated", BinaryKind::mul, sum, gate), 50, unit_window({1, 1})));
  const ValueId mean =
      *b.graph.add(kReduce, ReduceAttrs{.kind = ReduceKind::mean, .axes = {2, 3}, .keep_dims = false}, {wide}, "pool");
  const ValueId scores = *b.graph.add(kMatmul, NoAttrs{}, {mean, b.constant("fc.w", {50, 10}, 0.5f)}, "fc");
  b.graph.add_output(b.binary("fc.sum", BinaryKind::add, scores, b.constant("fc.b", {10}, 0.2f)), "y");
  return std::move(b.graph);
}

// Machines that this one can stand in for: its instruction sets one after the other, on one core and several.
std::vector<Machine> machines() {
  std::vector<Machine> all;
  for (const char* target : {"scalar", "avx2", "avxvnni", "avx512vnni", "host"}) {
    const auto machine = machine_for_target(target);
    if (!machine || !host_machine().isa.contains(machine->isa)) continue;
    for (const int cores : {1, 3}) {
      all.push_back(*machine);
      all.back().cores = cores;
    }
  }
  return all;
}

// Scales with all that was learned, then the file for other programs.
std::string same_scales_quantized(const Graph& exact, std::int64_t samples, const QuantizeOptions& options) {
  Graph graph = exact;
  const auto report = quantize(graph, SameScalesNoise(exact, samples), options);
  EXPECT_TRUE(report) << to_string(report.errors());
  if (!report) return {};
  const auto file = export_onnx(graph, {.name = "network"});
  EXPECT_TRUE(file) << to_string(file.errors());
  return scales_json(graph, *report, "network", "") + (file ? *file : std::string());
}

void expect_same(const Graph& graph, std::int64_t samples, QuantizeOptions options,
                 const std::vector<Machine>& machines) {
  const std::string first = same_scales_quantized(graph, samples, options);
  ASSERT_FALSE(first.empty());
  for (const Machine& machine : machines) {
    options.machine = machine;
    EXPECT_TRUE(same_scales_quantized(graph, samples, options) == first)
        << machine.isa.to_string() << " on " << machine.cores << " cores";
  }
}

TEST(SameScales, OnEveryInstructionSetAndNumberOfCores) {
  const Graph graph = same_scales_network();
  for (const CalibrationMethod method :
       {CalibrationMethod::automatic, CalibrationMethod::minmax, CalibrationMethod::entropy}) {
    expect_same(graph, 18,
                {.calibration = method, .equalizes = true, .weights = WeightMethod::adaround, .is_standard = true},
                machines());
  }
  expect_same(graph, 18, {.output_sqnr = 40.0, .judges_scores = true, .is_standard = true}, machines());
  expect_same(graph, 18, {.corrects_fast = true, .weights = WeightMethod::mse, .is_standard = true}, machines());
}

TEST(SameScales, OfMobileNetV2) {
#ifdef OCTAVO_SANITIZED
  GTEST_SKIP() << "a whole network takes minutes with a sanitizer";
#endif
  const char* folder = std::getenv("OCTAVO_DATA");
  const auto data = folder != nullptr ? std::filesystem::path(folder)
                                      : std::filesystem::path(OCTAVO_SOURCE_DIR) / ".." / "shared" / "data";
  const auto file = data / "models" / "mobilenet_v2_torchvision_fp32_from_int8.onnx";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "needs ../shared/data";
  const auto imported = import_model(file.string(), {.batch = 1});
  ASSERT_TRUE(imported) << to_string(imported.errors());
  const QuantizeOptions options{
      .calibration = CalibrationMethod::automatic, .weights = WeightMethod::adaround, .is_standard = true};
  // What a library chooses by the host is in no plan.
  const auto same_scales_network = ObservedNetwork::compile(imported->graph, {});
  ASSERT_TRUE(same_scales_network) << to_string(same_scales_network.errors());
  for (const PlanStep& step : same_scales_network->plan().steps) EXPECT_EQ(library_of(step.kernel), "") << step.kernel;
  auto old = machine_for_target("avx2");
  ASSERT_TRUE(old);
  if (!host_machine().isa.contains(old->isa)) GTEST_SKIP() << "needs AVX2";
  old->cores = 1;
  expect_same(imported->graph, 3, options, {*old});
}

}  // namespace
}  // namespace octavo
