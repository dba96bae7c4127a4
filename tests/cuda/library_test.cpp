// Steps that are calls of NVIDIA's libraries, by pretended ones: answers, failures, what is said where they are not
// there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "cuda/libraries/libraries.h"
#include "cuda/pretended.h"
#include "ops/fused_conv/fused_conv.h"
#include "planner/trial.h"
#include "support/child.h"

namespace octavo {
namespace {

using testing::answer;
using testing::expect_said;
using testing::Fake;
using testing::Outcome;
using testing::ScratchFolder;

Tensor random_floats(Shape shape, unsigned seed) {
  std::mt19937 random(seed);
  Tensor tensor(DType::f32, std::move(shape));
  for (float& value : tensor.span<float>()) value = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
  return tensor;
}

struct Layer {
  std::int64_t channels = 8, kernel = 1, stride = 1;
  UnaryKind activation = UnaryKind::identity;
  bool has_bias = true;
};

class Network {
 public:
  Network() : last_(graph.add_input("x", DType::f32, Shape{2, 9, 10, 4})) {}
  Graph graph;

  ValueId add(const std::string& name, const Layer& layer, ValueId residual = {}) {
    const std::int64_t pad = layer.kernel / 2, channels = graph.fact(last_).shape[3].fixed();
    FusedConvAttrs attrs{
        .window = {{layer.kernel, layer.kernel}, {layer.stride, layer.stride}, {1, 1}, {pad, pad}, {pad, pad}},
        .activation = {.kind = layer.activation}};
    const Shape weights{layer.channels, layer.kernel, layer.kernel, channels};
    std::vector<ValueId> inputs{last_, graph.add_constant(name + ".w", random_floats(weights, ++seed_)), ValueId{}};
    if (layer.has_bias) inputs[2] = graph.add_constant(name + ".b", random_floats(Shape{layer.channels}, ++seed_));
    if (residual.exists()) attrs.residual = ResidualPlace::before_activation, inputs.push_back(residual);
    return last_ = testing::add_or_die(graph, kFusedConv, attrs, std::move(inputs), name);
  }
  Graph finish() {
    graph.add_output(last_, "y");
    return std::move(graph);
  }

 private:
  ValueId last_;
  unsigned seed_ = 0;
};

// Windows and products, with and without what libraries do behind them.
Graph small_network() {
  Network network;
  const ValueId first = network.add("first", {.kernel = 3, .activation = UnaryKind::relu});
  network.add("second", {.kernel = 3, .has_bias = false}, first);
  const ValueId third = network.add("third", {.activation = UnaryKind::gelu});
  network.add("fourth", {.activation = UnaryKind::relu}, third);
  network.add("fifth", {.channels = 12, .kernel = 3, .stride = 2, .activation = UnaryKind::silu});
  network.add("last", {.channels = 5});
  return network.finish();
}

const Tensor kInput = random_floats(Shape{2, 9, 10, 4}, 77);
const std::vector<std::string> kKernels{"conv_tf32_cudnn",       "conv_tf32_cudnn", "product_tf32_cublaslt",
                                        "product_tf32_cublaslt", "conv_tf32_cudnn", "product_tf32_cublaslt"};

Machine device_with_libraries() {
  Machine machine = *machine_for_target("cuda");
  machine.isa.add(Isa::tf32);
  return machine;
}

// Without kernels of our own for what libraries compute, which small tensors would get.
CompiledModel compiled_for(const Machine& machine, const Graph& graph) {
  std::vector<const KernelChoice*> kernels;
  std::ranges::copy_if(all_choices(), std::back_inserter(kernels),
                       [](const KernelChoice* kernel) { return !kernel->code.name.starts_with("conv_f32_"); });
  return testing::compile_graphs({&graph}, machine,
                                 {.precision = Precision::fp32, .allow_reference = true, .kernels = kernels});
}

Result<std::shared_ptr<const Model>> load_with_libraries(const Graph& graph) {
  return load_model(compiled_for(device_with_libraries(), graph), {.threads = 1});
}

// The reference's, in f32.
Tensor expected_answer(const Graph& graph) {
  const auto model = load_model(compiled_for(*machine_for_target("scalar"), graph), {.threads = 1});
  auto context = Context::create(*model);
  return *answer(*context, kInput);
}

// As near as factors of 11 bits come, and no nearer.
void expect_near(const Tensor& found, const Tensor& expected) {
  double most = 0.0, largest = 0.0;
  for (std::size_t i = 0; i < expected.span<float>().size(); ++i) {
    most = std::max(most, std::abs(double{found.span<float>()[i]} - expected.span<float>()[i]));
    largest = std::max(largest, std::abs(double{expected.span<float>()[i]}));
  }
  EXPECT_LT(most, 5e-3 * largest);
  EXPECT_GT(most, 1e-6 * largest);
}

TEST(CudaLibraries, ComputeWithinTf32) {
  const Fake fake;
  const Graph graph = small_network();
  const auto model = load_with_libraries(graph);
  ASSERT_TRUE(model.ok()) << to_string(model.errors());
  auto first = Context::create(*model), second = Context::create(*model);
  ASSERT_TRUE(first.ok() && second.ok()) << to_string(first.errors());
  const Tensor expected = expected_answer(graph);
  for (Context* context : {&*first, &*second, &*first}) {
    const auto y = answer(*context, kInput);
    ASSERT_TRUE(y.ok()) << to_string(y.errors());
    expect_near(*y, expected);
  }
}

TEST(CudaLibraries, HooksAreToldOfEveryStep) {
  const Fake fake;
  const auto model = load_with_libraries(small_network());
  ASSERT_TRUE(model.ok());
  auto context = Context::create(*model);
  ASSERT_TRUE(context.ok());
  const auto at_once = answer(*context, kInput);
  std::vector<std::string> kernels;
  context->set_step_hook([&](const StepEvent& event) { kernels.push_back(event.step->kernel); });
  const auto by_steps = answer(*context, kInput);
  ASSERT_TRUE(at_once.ok() && by_steps.ok());
  EXPECT_EQ(kernels, kKernels);
  EXPECT_TRUE(testing::are_equal(*at_once, *by_steps));
}

// Whatever call fails, of the driver or of a library, there is an error, and nothing is left behind.
TEST(CudaLibraries, EveryCallMayFail) {
  const Graph graph = small_network();
  bool is_over = false;
  for (int call = 0; !is_over; ++call) {
    const Fake fake;
    fake->fail_at = call;
    const auto model = load_with_libraries(graph);
    auto context = model ? Context::create(*model) : Result<Context>(model.errors());
    const auto y = context ? answer(*context, kInput) : Result<Tensor>(context.errors());
    is_over = fake->calls <= call;
    ASSERT_EQ(y.ok(), is_over) << call;
    if (!is_over) expect_said(to_string(y.errors()), "a pretended failure (719)");
    fake->fail_at = -1;  // what gives back has nobody to tell
  }
}

TEST(CudaLibraries, SayWhatTheyCannotCompute) {
  for (const bool is_product : {false, true}) {
    const Fake fake;
    fake->has_algorithms = false;
    Network network;
    network.add("layer", {.kernel = is_product ? 1 : 3});
    const auto model = load_with_libraries(network.finish());
    ASSERT_FALSE(model.ok());
    EXPECT_EQ(model.errors()[0].kind, ErrorKind::resource);
    expect_said(to_string(model.errors()), "for an algorithm for step 'layer'");
  }
}

TEST(CudaLibraries, AreLookedForByName) {
  for (const auto open : {cuda::open_cudnn, cuda::open_cublaslt}) {
    const auto none = open("libno_such_library.so.9");
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.errors()[0].kind, ErrorKind::resource);
    expect_said(to_string(none.errors()), "libno_such_library.so.9: cannot open shared object file");
    const auto other = open("libcuda.so.1");
    ASSERT_FALSE(other.ok());
    expect_said(to_string(other.errors()), "found libcuda.so.1 without cu");
  }
}

// Nothing of it runs without the libraries, and no trial times them.
TEST(CudaLibraries, HaveNoTrials) {
  const Fake fake;
  const Fact x{.dtype = DType::f32, .shape = {1, 1, 4, 8}},
      w{.dtype = DType::f32,
        .shape = {8, 1, 1, 8},
        .constant = std::make_shared<const Tensor>(DType::f32, Shape{8, 1, 1, 8})};
  const Attrs attrs = FusedConvAttrs{.window = unit_window({1, 1})};
  const OpCall call{.spec = &kFusedConv, .attrs = &attrs, .inputs = {&x, &w}, .outputs = {x}};
  Trial trial(call, 1, {});
  const Status prepared = trial.prepare(*find_choice("product_tf32_cublaslt"), {}, 0.0);
  ASSERT_FALSE(prepared.ok());
  expect_said(to_string(prepared.errors()), "a step of a processor or a library");
}

TEST(CudaLibraries, TheProgramComparesWithThem) {
  if (!testing::has_program()) GTEST_SKIP() << "needs the program";
  const ScratchFolder folder;
  const std::string model = " " OCTAVO_SOURCE_DIR "/tests/import/litert/conv_u8.tflite ";
  const Outcome compared =
      testing::run_command(folder, "LD_LIBRARY_PATH=" OCTAVO_FAKE_CUDA " octavo bench" + model +
                                       "--target cuda --compare fp32,tf32,int8 --seconds 0.01 --json bench.json");
  EXPECT_EQ(compared.exit_code, 0) << compared.text;
  for (const std::string pair : {"tf32 is ", "int8 is ", " than fp32", " than tf32"}) expect_said(compared.text, pair);
  const std::string measured = testing::run_command(folder, "cat bench.json").text;
  expect_said(measured, "\"precision\": \"tf32\"");
  expect_said(measured, "\"share_of_peak\": null");  // no device's share of what the host could do
  const Outcome compiled = testing::run_program(folder, "compile" + model + "--target cuda --precision tf32 -o m.octv");
  EXPECT_EQ(compiled.exit_code, 0) << compiled.text;
  expect_said(testing::run_program(folder, "explain m.octv").text, "conv_tf32_cudnn");
  const Outcome here = testing::run_program(folder, "bench" + model + "--compare fp32,tf32 --seconds 0.01");
  EXPECT_EQ(here.exit_code, 2) << here.text;
  expect_said(here.text, "--precision tf32: found the target host, expected cuda");
  const Outcome late = testing::run_program(folder, "bench m.octv --precision tf32");
  EXPECT_EQ(late.exit_code, 2) << late.text;
  expect_said(late.text, "found the compiled model m.octv");
}

}  // namespace
}  // namespace octavo
