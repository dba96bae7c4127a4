// Plans on a device from loading to answers, by a pretended driver: bits, what is left behind where a call fails, and
// what is said where there is no device.
#include "cuda/device.h"

#include <gtest/gtest.h>

#include <cstring>

#include "cuda/pretended.h"
#include "octavo/octavo.h"
#include "ops/table/table.h"
#include "planner/choice_list.h"
#include "planner/trial.h"
#include "run/context_memory.h"
#include "support/child.h"

namespace octavo {
namespace {

using testing::answer;
using testing::answer_on;
using testing::answer_there;
using testing::are_equal;
using testing::expect_said;
using testing::Fake;
using testing::kX;
using testing::load_for;
using testing::Outcome;
using testing::ScratchFolder;

TEST(CudaDevice, GivesTheBitsOfProcessors) {
  const Fake fake;
  ASSERT_TRUE(fake.is_there());
  const Graph graph = testing::chain_graph();
  const auto host = answer_on("host", graph, kX), device = answer_on("cuda", graph, kX);
  ASSERT_TRUE(host.ok() && device.ok()) << to_string(device.errors());
  EXPECT_TRUE(are_equal(*host, *device));
}

TEST(CudaDevice, ContextsShareAModel) {
  const Fake fake;
  const Graph graph = testing::chain_graph();
  const auto model = load_for("cuda", graph);
  ASSERT_TRUE(model.ok()) << to_string(model.errors());
  auto first = Context::create(*model), second = Context::create(*model);
  ASSERT_TRUE(first.ok() && second.ok());
  for (unsigned seed = 0; seed < 5; ++seed) {
    const Tensor x = testing::random_bytes(Shape{1, 8, 64}, seed);
    const auto expected = answer_on("scalar", graph, x), a = answer(*first, x), b = answer(*second, x);
    ASSERT_TRUE(expected.ok() && a.ok() && b.ok());
    EXPECT_TRUE(are_equal(*expected, *a) && are_equal(*expected, *b)) << seed;
  }
  EXPECT_GT(first->memory_bytes(), 2 * kX.bytes());
}

TEST(CudaDevice, TensorsMayLieInItsMemory) {
  const Fake fake;
  const auto model = load_for("cuda", testing::chain_graph());
  ASSERT_TRUE(model.ok());
  auto context = Context::create(*model);
  ASSERT_TRUE(context.ok());
  const auto expected = answer(*context, kX), there = answer_there(*context, kX);
  ASSERT_TRUE(expected.ok() && there.ok());
  EXPECT_TRUE(are_equal(*expected, *there));
  EXPECT_TRUE(are_equal(*expected, *answer(*context, kX)));
  fake->memory_of = 1;
  const auto elsewhere = answer_there(*context, kX);
  ASSERT_FALSE(elsewhere.ok());
  EXPECT_EQ(elsewhere.errors()[0].kind, ErrorKind::usage);
  expect_said(to_string(elsewhere.errors()), "a tensor in the memory of device 1, expected one of device 0");
}

// What the default stream still does to a tensor that lies there is done before the run reads it.
TEST(CudaDevice, RunsWaitForTheDefaultStream) {
  const Fake fake;
  const auto model = load_for("cuda", testing::chain_graph());
  ASSERT_TRUE(model.ok());
  auto context = Context::create(*model);
  ASSERT_TRUE(context.ok());
  const Tensor y(DType::u8, Shape(context->plan().output(0).shape));
  const Tensor zeros(DType::u8, kX.shape());
  static std::shared_ptr<std::byte> in, out;
  in = *linked_devices()->upload({zeros.data(), zeros.bytes()}, 0);
  out = *linked_devices()->upload({y.data(), y.bytes()}, 0);
  fake->default_stream = [] { std::memcpy(in.get(), kX.data(), kX.bytes()); };
  const ConstTensorView input{DType::u8, kX.shape(), in.get()};
  const TensorView output{DType::u8, y.shape(), out.get()};
  EXPECT_TRUE(context->run({&input, 1}, {&output, 1}).ok());
  EXPECT_EQ(std::memcmp(out.get(), answer(*context, kX)->data(), y.bytes()), 0);
  in = out = nullptr;
  // Nobody waits for it where all tensors are this process's.
  fake->default_stream = [] {};
  EXPECT_TRUE(answer(*context, kX).ok());
  EXPECT_NE(fake->default_stream, nullptr);
}

TEST(CudaDevice, HooksAreToldOfEveryStep) {
  const Fake fake;
  const Graph graph = testing::chain_graph();
  const auto model = load_for("cuda", graph);
  ASSERT_TRUE(model.ok());
  auto context = Context::create(*model);
  ASSERT_TRUE(context.ok());
  std::vector<std::string> kernels;
  context->set_step_hook([&](const StepEvent& event) { kernels.push_back(event.step->kernel); });
  const auto y = answer(*context, kX);
  ASSERT_TRUE(y.ok());
  EXPECT_EQ(kernels, (std::vector<std::string>{"table_cuda", "pairs_q8_cuda", "table_cuda"}));
  EXPECT_TRUE(are_equal(*y, *answer_on("host", graph, kX)));
}

// Whatever call fails, there is an error, and nothing is left behind.
TEST(CudaDevice, EveryCallMayFail) {
  const Graph graph = testing::chain_graph();
  int calls = 0;  // up to the answer: those behind it give back what there is, and have nobody to tell
  {
    const Fake fake;
    const auto model = load_for("cuda", graph);
    ASSERT_TRUE(model.ok());
    auto context = Context::create(*model);
    ASSERT_TRUE(context.ok() && answer(*context, kX).ok());
    calls = fake->calls;
  }
  ASSERT_GT(calls, 20);
  for (int call = 0; call < calls; ++call) {
    const Fake fake;
    fake->fail_at = call;
    const auto y = answer_on("cuda", graph, kX);
    ASSERT_FALSE(y.ok()) << call;
    EXPECT_EQ(y.errors()[0].kind, ErrorKind::resource) << call;
    EXPECT_NE(to_string(y.errors()).find("a pretended failure (719)"), std::string::npos) << to_string(y.errors());
  }
}

// A run that fails leaves a context that is as good as before, if the device is.
TEST(CudaDevice, RunsAgainAfterAFailure) {
  const Fake fake;
  const auto model = load_for("cuda", testing::chain_graph());
  ASSERT_TRUE(model.ok());
  auto context = Context::create(*model);
  ASSERT_TRUE(context.ok());
  fake->fail_at = fake->calls + 1;
  EXPECT_FALSE(answer(*context, kX).ok());
  EXPECT_TRUE(answer(*context, kX).ok());
}

std::string refusal_with(void (*change)(FakeCuda& driver)) {
  const Fake fake;
  change(*fake.operator->());
  const auto model = load_for("cuda", testing::chain_graph());
  return model ? "" : to_string(model.errors());
}

TEST(CudaDevice, SaysWhatIsMissing) {
  expect_said(refusal_with([](FakeCuda& driver) { driver.version = 12080; }),
              "a driver of CUDA 12.8, expected 13.0 or later (driver release 580)");
  expect_said(refusal_with([](FakeCuda& driver) { driver.devices = 0; }), "a driver without a device");
  expect_said(refusal_with([](FakeCuda& driver) { driver.major = 7; }), "compute capability 7.0, expected 8.0");
  expect_said(refusal_with([](FakeCuda& driver) { driver.free_bytes = 100; }), "expected at most the 100 bytes");
  expect_said(refusal_with([](FakeCuda& driver) { driver.has_kernels = false; }),
              "liboctavo_cuda.so without kernels for a pretended device of compute capability 9.0");
}

TEST(CudaDevice, OpensTheOneThatIsAskedFor) {
  const Fake fake;
  fake->devices = 2;
  const Graph graph = testing::chain_graph();
  for (const int number : {1, 0}) {
    EXPECT_TRUE(load_for("cuda", graph, {.threads = 1, .device = number}).ok());
    EXPECT_EQ(fake->opened, number);
  }
  for (const int number : {2, -1}) {
    const auto model = load_for("cuda", graph, {.threads = 1, .device = number});
    ASSERT_FALSE(model.ok());
    EXPECT_EQ(model.errors()[0].kind, ErrorKind::usage);
    expect_said(to_string(model.errors()), "device " + std::to_string(number) + ", expected 0 to 1");
  }
  const auto file = encode_artifact(testing::compile_graphs({&graph}, *machine_for_target("cuda")));
  const octavo_open_options second_of_two{.struct_size = sizeof second_of_two, .device = 1};
  octavo_model* opened = nullptr;
  EXPECT_EQ(octavo_open_bytes(file.data(), file.size(), &second_of_two, &opened), OCTAVO_OK);
  EXPECT_EQ(fake->opened, 1);
  octavo_model_destroy(opened);
  // Plans of two devices at a time.
  const auto first = load_for("cuda", graph), second = load_for("cuda", graph, {.threads = 1, .device = 1});
  ASSERT_TRUE(first.ok() && second.ok());
  auto a = Context::create(*first), b = Context::create(*second);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_TRUE(are_equal(*answer(*a, kX), *answer(*b, kX)));
}

// Told before the device is asked for it.
TEST(CudaDevice, RefusesContextsThatDoNotFit) {
  const Fake fake;
  const auto model = load_for("cuda", testing::chain_graph());
  ASSERT_TRUE(model.ok());
  fake->free_bytes = 1000;
  const auto context = Context::create(*model);
  ASSERT_FALSE(context.ok());
  expect_said(to_string(context.errors()), "bytes for a context, expected at most the 1000 bytes");
}

TEST(CudaDevice, KeepsToALimitOfMemory) {
  const Fake fake;
  const auto model = load_for("cuda", testing::chain_graph(), {.threads = 1, .context_bytes = 1000});
  ASSERT_TRUE(model.ok());
  const auto context = Context::create(*model);
  ASSERT_FALSE(context.ok());
  EXPECT_EQ(context.errors()[0].kind, ErrorKind::resource);
  expect_said(to_string(context.errors()), "bytes of memory for a context, expected at most 1000");
}

TEST(CudaDevice, TellsTheMemoryOfAContextBefore) {
  const Fake fake;
  const auto model = load_for("cuda", testing::chain_graph());
  ASSERT_TRUE(model.ok());
  const std::uint64_t bytes = context_bytes(**(*model)->plan_at(0), 1);
  auto context = Context::create(*model);
  ASSERT_TRUE(context.ok());
  EXPECT_EQ(context->memory_bytes(), bytes);
}

// A kernel was stopped: whatever comes afterwards fails, and is given back all the same.
TEST(CudaDevice, SaysThatADeviceIsLost) {
  const Fake fake;
  const auto model = load_for("cuda", testing::chain_graph());
  ASSERT_TRUE(model.ok());
  auto context = Context::create(*model);
  ASSERT_TRUE(context.ok());
  fake->is_lost = true;
  for (int run = 0; run < 2; ++run) {
    const auto y = answer(*context, kX);
    ASSERT_FALSE(y.ok());
    expect_said(to_string(y.errors()), "The device is lost to this process");
  }
  EXPECT_FALSE(Context::create(*model).ok());
}

TEST(CudaDevice, ADriverIsLookedForByName) {
  const auto driver = cuda::Driver::open("libno_such_driver.so.1");
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.errors()[0].kind, ErrorKind::resource);
  expect_said(to_string(driver.errors()), "no driver: libno_such_driver.so.1");
}

// What nvcc made, where it is there: no spilled registers, tensor core instructions in every loop over K.
TEST(CudaImage, IsAsCounted) {
  if (testing::read_bytes(OCTAVO_SOURCE_DIR "/build/cuda/cuda/kernels.fatbin").empty())
    GTEST_SKIP() << "needs nvcc's image of the kernels (make cuda)";
  const ScratchFolder folder;
  const Outcome counted = testing::run_command(
      folder, "python3 " OCTAVO_SOURCE_DIR "/scripts/cuda_kernels.py " OCTAVO_SOURCE_DIR "/build/cuda");
  EXPECT_EQ(counted.exit_code, 0) << counted.text;
}

// The program, where there is a device and where there is none.
TEST(CudaDevice, TheProgramCompilesAnywhereAndSaysWhereItCannotRun) {
  if (!testing::has_program()) GTEST_SKIP() << "needs the program";
  const ScratchFolder folder;
  ASSERT_EQ(testing::run_program(folder, "zoo mobilenet_v2 -o net.onnx").exit_code, 0);
  const Outcome compiled =
      testing::run_program(folder, "compile net.onnx --calibrate random --samples 1 --target cuda -o net.octv");
  ASSERT_EQ(compiled.exit_code, 0) << compiled.text;
  const Outcome explained = testing::run_program(folder, "explain net.octv");
  EXPECT_EQ(explained.exit_code, 0);
  expect_said(explained.text, "nothing was run: times are predicted");
  const Outcome benched = testing::run_command(folder, "LD_LIBRARY_PATH= octavo bench net.octv --seconds 0.1");
  if (benched.exit_code != 0) {
    EXPECT_EQ(benched.exit_code, 5) << benched.text;
    expect_said(benched.text, "CUDA");
  }
}

TEST(CudaDevice, TheProgramTimesTensorsThatLieThere) {
  if (!testing::has_program()) GTEST_SKIP() << "needs the program";
  const ScratchFolder folder;
  const std::string model = OCTAVO_SOURCE_DIR "/tests/import/litert/conv_u8.tflite";
  const std::string bench =
      "LD_LIBRARY_PATH=" OCTAVO_FAKE_CUDA " octavo bench " + model + " --seconds 0.01 --json b.json";
  const Outcome there = testing::run_command(folder, bench + " --target cuda --tensors device");
  EXPECT_EQ(there.exit_code, 0) << there.text;
  EXPECT_EQ(testing::run_command(folder, "grep -q '\"tensors\": \"device\"' b.json").exit_code, 0);
  const Outcome here = testing::run_command(folder, bench + " --tensors device");
  EXPECT_EQ(here.exit_code, 2) << here.text;
  expect_said(here.text, "a plan for processors, expected one for a device");
}

TEST(CudaDevice, TheProgramKeepsToALimitOfMemory) {
  if (!testing::has_program()) GTEST_SKIP() << "needs the program";
  const ScratchFolder folder;
  const std::string bench = "LD_LIBRARY_PATH=" OCTAVO_FAKE_CUDA " octavo bench " OCTAVO_SOURCE_DIR
                            "/tests/import/litert/conv_u8.tflite --seconds 0.01 --memory-limit ";
  for (const std::string target : {"host", "cuda"}) {
    const Outcome small = testing::run_command(folder, bench + "100 --target " + target);
    EXPECT_EQ(small.exit_code, 5) << small.text;
    expect_said(small.text, "bytes of memory for a context, expected at most 100");
    const Outcome large = testing::run_command(folder, bench + "16M --target " + target);
    EXPECT_EQ(large.exit_code, 0) << large.text;
  }
  for (const std::string wrong : {"0", "1KB", "M", "-1", "18014398509481984K"}) {
    const Outcome refused = testing::run_command(folder, bench + wrong);
    EXPECT_EQ(refused.exit_code, 2) << refused.text;
    expect_said(refused.text, "expected bytes above 0, such as");
  }
}

// Of a table of 64 bytes: constants, operands, a graph. `calls`: of the driver, up to where nothing can fail any more.
Result<std::vector<double>> table_times(const Fake& fake, int& calls) {
  const Fact x{.dtype = DType::u8, .shape = {64}},
      table{.dtype = DType::u8, .shape = {256}, .constant = std::make_shared<const Tensor>(DType::u8, Shape{256})};
  const Attrs attrs = NoAttrs{};
  const OpCall call{.spec = &kTable, .attrs = &attrs, .inputs = {&x, &table}, .outputs = {x}};
  Trial trial(call, 1, {});
  if (const Status prepared = trial.prepare(*find_choice("table_cuda"), {}, 0.0); !prepared) return prepared.errors();
  auto times = trial.time({.number = 1, .repeat = 2, .min_repeat_ms = 0.0});
  calls = fake->calls;
  return times;
}

TEST(CudaTrials, TakeTheTimesOfADevice) {
  int calls = 0, ignored = 0;
  {
    const Fake fake;
    const auto times = table_times(fake, calls);
    ASSERT_TRUE(times.ok()) << to_string(times.errors());
    ASSERT_EQ(times->size(), 2u);
    EXPECT_GT(times->front(), 0.0);
  }
  for (int call = 0; call < calls; ++call) {
    const Fake fake;
    fake->fail_at = call;
    EXPECT_FALSE(table_times(fake, ignored).ok()) << call;
  }
}

TEST(CudaTrials, TheProgramTunes) {
  if (!testing::has_program()) GTEST_SKIP() << "needs the program";
  const ScratchFolder folder;
  const std::string model = OCTAVO_SOURCE_DIR "/tests/import/litert/conv_u8.tflite --target cuda --tuning-log log ";
  const std::string tune = " octavo tune " + model + "--repeat 2 --min-repeat-ms 0 --bench-seconds 0.01 ";
  const Outcome none = testing::run_command(folder, "LD_LIBRARY_PATH=" + tune);
  EXPECT_EQ(none.exit_code, 5) << none.text;
  expect_said(none.text, "CUDA");
  const std::string fake = "LD_LIBRARY_PATH=" OCTAVO_FAKE_CUDA;
  EXPECT_EQ(testing::run_command(folder, fake + tune + "--device 4").exit_code, 2);
  EXPECT_NE(testing::run_command(folder, "test -e log").exit_code, 0) << "nothing was measured";
  const Outcome tuned = testing::run_command(folder, fake + tune + "-o tuned.octv");
  EXPECT_EQ(tuned.exit_code, 0) << tuned.text;
  expect_said(tuned.text, "cuda, 132 multiprocessors");
  expect_said(tuned.text, "quantized_conv u8[1x5x5x3]");
  // What was measured there is known where there is no device.
  const Outcome same =
      testing::run_command(folder, "octavo compile " + model + "-o again.octv && cmp tuned.octv again.octv");
  EXPECT_EQ(same.exit_code, 0) << same.text;
}

// The pretended device computes what is compiled, with these options, bit by bit as this machine does.
void expect_bits_of_this_machine(const ScratchFolder& folder, const std::string& model) {
  const Outcome compared =
      testing::run_command(folder, "export LD_LIBRARY_PATH=" OCTAVO_FAKE_CUDA "; octavo compile " + model +
                                       " --target cuda -o device.octv && octavo compile " + model +
                                       " -o host.octv && octavo compare device.octv host.octv");
  EXPECT_EQ(compared.exit_code, 0) << compared.text;
  expect_said(compared.text, "identical");
}

TEST(CudaNetworks, HaveTheBitsOfThisMachine) {
  if (!testing::has_program()) GTEST_SKIP() << "needs the program";
  const ScratchFolder folder;
  ASSERT_EQ(testing::run_program(folder, "zoo mobilenet_v2 -o net.onnx").exit_code, 0);
  ASSERT_EQ(testing::run_program(folder, "quantize net.onnx --calibrate random --samples 1 -o q.onnx").exit_code, 0);
  expect_bits_of_this_machine(folder, "q.onnx");
}

// An encoder whose products find their scales in the run.
TEST(CudaNetworks, FindScalesInTheRun) {
  if (!testing::has_program()) GTEST_SKIP() << "needs the program";
  const ScratchFolder folder;
  ASSERT_EQ(testing::run_program(folder, "zoo minilm_l6 -o net.onnx").exit_code, 0);
  expect_bits_of_this_machine(folder, "net.onnx --activations per-token");
}

}  // namespace
}  // namespace octavo
