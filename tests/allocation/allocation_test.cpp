// No memory is allocated in a run of an integer plan, on any thread, and where a library is refused its memory a run is
// an error. A program of its own, since it replaces the allocator. Tests of run/.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <random>
#include <thread>

#include "octavo/compile.h"
#include "ops/fused_conv/fused_conv.h"
#include "ops/matmul/matmul.h"
#include "ops/unary/unary.h"
#include "run/access.h"
#include "support/sanitizers.h"
#include "support/small_graphs.h"

#ifndef OCTAVO_SANITIZED
#define OCTAVO_COUNTS_ALLOCATIONS 1
#endif

namespace {

std::atomic<bool> is_counting{false};
std::atomic<long> allocations{0};

// While it is set, malloc and calloc have no memory for this thread.
thread_local bool is_refused = false;

[[maybe_unused]] void count() {
  if (is_counting.load(std::memory_order_relaxed)) allocations.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

#if defined(OCTAVO_COUNTS_ALLOCATIONS)
// operator new ends in malloc or aligned_alloc, so these catch it, too.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) {
  count();
  return is_refused ? nullptr : __libc_malloc(size);
}
void* calloc(std::size_t items, std::size_t size) {
  count();
  return is_refused ? nullptr : __libc_calloc(items, size);
}
void* realloc(void* memory, std::size_t size) {
  count();
  return __libc_realloc(memory, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  count();
  return __libc_memalign(alignment, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  count();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  count();
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
void* mmap(void* address, std::size_t size, int protection, int flags, int fd, off_t offset) {
  count();
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, size, protection, flags, fd, offset));
}
}
#endif

namespace octavo {
namespace {

// Runs `body` and returns how often anything was allocated meanwhile, on any thread.
template <class Body>
long allocations_during(const Body& body) {
  allocations = 0;
  is_counting = true;
  body();
  is_counting = false;
  return allocations;
}

struct Allocation : ::testing::Test {
  void SetUp() override {
#if !defined(OCTAVO_COUNTS_ALLOCATIONS)
    GTEST_SKIP() << "a sanitizer owns the allocator";
#endif
  }
};

TEST_F(Allocation, PlantedOnesAreCaught) {
  void* volatile kept = nullptr;
  EXPECT_EQ(allocations_during([&] { kept = std::malloc(10); }), 1);
  std::free(kept);
  EXPECT_EQ(allocations_during([&] { kept = std::calloc(2, 10); }), 1);
  EXPECT_EQ(allocations_during([&] { kept = std::realloc(kept, 1000); }), 1);
  std::free(kept);
  EXPECT_EQ(allocations_during([&] { kept = std::aligned_alloc(64, 128); }), 1);
  std::free(kept);
  EXPECT_EQ(allocations_during([&] { kept = ::operator new(10); }), 1);
  ::operator delete(kept);
  EXPECT_EQ(allocations_during([&] { kept = ::operator new (10, std::align_val_t{64}); }), 1);
  ::operator delete (kept, std::align_val_t{64});
  EXPECT_EQ(allocations_during([&] { kept = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }), 1);
  munmap(kept, 4096);
}

// A step that allocates on the threads of the pool.
struct AllocatingStep final : Step {
  std::int64_t items() const override { return 2; }
  void run(const StepBuffers&, ItemRange range) const noexcept override {
    if (range.begin == 0) return;
    void* volatile memory = std::malloc(10);
    std::free(memory);
  }
};

// Counts from the very first run on: whatever a run needs is there when the context is.
long allocations_of_runs(const std::shared_ptr<const Model>& model, int threads) {
  auto context = Context::create(model, {.executor = std::make_shared<ThreadPool>(threads)});
  if (!context) return -1;
  std::vector<Tensor> inputs, outputs;
  std::vector<ConstTensorView> in;
  std::vector<TensorView> out;
  const Plan& plan = context->plan();
  for (std::size_t i = 0; i < plan.inputs.size(); ++i)
    inputs.emplace_back(plan.input(i).dtype, Shape(plan.input(i).shape));
  for (std::size_t i = 0; i < plan.outputs.size(); ++i)
    outputs.emplace_back(plan.output(i).dtype, Shape(plan.output(i).shape));
  for (const Tensor& tensor : inputs) in.push_back(tensor.view());
  for (Tensor& tensor : outputs) out.push_back(tensor.view());
  bool ok = true;
  const long count = allocations_during([&] {
    for (int run = 0; run < 20; ++run) ok = context->run(in, out).ok() && ok;
  });
  EXPECT_TRUE(ok);
  return count;
}

TEST_F(Allocation, OneInAStepOnAnotherThreadIsCaught) {
  const Graph graph = testing::chain_graph();
  const KernelChoice kernel{
      .code = {.name = "allocating", .op = "*", .prepare = [](const StepSpec&) -> Result<std::unique_ptr<Step>> {
                 return std::unique_ptr<Step>(std::make_unique<AllocatingStep>());
               }}};
  const std::vector<const KernelChoice*> kernels = {&kernel};
  ConstantPool pool;
  auto plan = make_plan(graph, *machine_for_target("scalar"), {.kernels = kernels}, pool);
  ASSERT_TRUE(plan) << to_string(plan.errors());
  CompiledModel compiled;
  compiled.plans.push_back(std::move(*plan));
  adopt_constants(compiled, pool);
  const std::vector<const KernelCode*> codes = {&kernel.code};
  auto model = load_model(std::move(compiled), {.threads = 2, .kernels = codes});
  ASSERT_TRUE(model) << to_string(model.errors());
  EXPECT_EQ(allocations_of_runs(*model, 2), 3 * 20);
}

// References may allocate; no other kernel does.
bool runs_references(const CompiledModel& model) {
  const auto is_reference = [](const PlanStep& step) { return step.kernel == "reference"; };
  return std::any_of(model.plans[0].steps.begin(), model.plans[0].steps.end(), is_reference);
}

TEST_F(Allocation, ThereIsNoneInARun) {
  if (!host_machine().isa.has(Isa::avx2)) GTEST_SKIP() << "needs avx2: the references allocate";
  for (unsigned seed = 0; seed < 10; ++seed) {
    const Graph graph = testing::random_graph(seed, 30);
    for (const int threads : {1, 4}) {
      CompiledModel compiled = testing::compile_graphs({&graph});
      ASSERT_FALSE(runs_references(compiled));
      auto model = load_model(std::move(compiled), {.threads = threads});
      ASSERT_TRUE(model) << to_string(model.errors());
      EXPECT_EQ(allocations_of_runs(*model, threads), 0) << threads << " threads, seed " << seed;
    }
  }
}

// Two samples of random numbers.
v1::SampleFunction random_samples() {
  return {.count = 2, .fill = [](std::int64_t index, std::span<const v1::TensorRef> inputs) -> Status {
            std::mt19937 random(static_cast<unsigned>(index));
            std::uniform_real_distribution<float> uniform(-2.0f, 2.0f);
            for (const v1::TensorRef& input : inputs) {
              const std::int64_t elements =
                  Shape(std::vector<std::int64_t>(input.shape.begin(), input.shape.end())).elements();
              std::generate_n(static_cast<float*>(input.data), elements, [&] { return uniform(random); });
            }
            return ok_status();
          }};
}

// The first runs of a file's plan, by one thread and by four.
void expect_no_allocation(const std::string& path, const v1::CompileOptions& options) {
  const auto compiled = v1::compile(path, options);
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.errors());
  ASSERT_FALSE(runs_references(v1::Access::of(*compiled)));
  for (const int threads : {1, 4}) {
    auto model = load_model(v1::Access::of(*compiled), {.threads = threads});
    ASSERT_TRUE(model) << to_string(model.errors());
    EXPECT_EQ(allocations_of_runs(*model, threads), 0)
        << path << " " << name_of(*options.precision) << ", " << threads << " threads";
  }
}

const std::string kDigits = OCTAVO_SOURCE_DIR "/examples/digits/digits.onnx";

TEST_F(Allocation, ThereIsNoneInAnInt8Run) {
  for (const char* target : {"avx2", "avxvnni", "avx512vnni"}) {
    if (!host_machine().isa.contains(machine_for_target(target)->isa)) continue;
    for (const std::int64_t batch : {1, 5}) {
      expect_no_allocation(
          kDigits, {.precision = Precision::int8, .target = target, .batches = {batch}, .samples = random_samples()});
    }
  }
}

// One call of a kernel while malloc refuses: what it told StepFailure.
std::string failure_without_memory(std::string_view kernel_name, const OpSpec& spec, const Attrs& attrs,
                                   const std::vector<Shape>& shapes) {
  const KernelChoice* kernel = find_choice(kernel_name);
  std::vector<Tensor> tensors;
  std::vector<Fact> facts;
  std::vector<const std::byte*> inputs;
  StepSpec step_spec{.spec = &spec, .attrs = &attrs};
  for (const Shape& shape : shapes) {
    tensors.emplace_back(DType::f32, shape);
    facts.push_back({.dtype = DType::f32, .shape = shape});
    const bool is_weight = tensors.size() == 2;
    if (is_weight) facts.back().constant = std::make_shared<const Tensor>(tensors.back());
    step_spec.inputs.push_back({.shape = shape, .is_packed = is_weight});
  }
  OpCall call{.spec = &spec, .attrs = &attrs};
  for (std::size_t i = 0; i < facts.size(); ++i) {
    call.inputs.push_back(&facts[i]);
    inputs.push_back(i == 1 ? nullptr : tensors[i].data());
  }
  call.outputs = *infer_checked(spec, attrs, call.inputs);
  EXPECT_EQ(kernel->refusal(call), "");
  const std::vector<Tensor> packed = kernel->code.packs ? kernel->pack(call) : std::vector<Tensor>{};
  for (const Tensor& tensor : packed) step_spec.packed.push_back(tensor.view());
  step_spec.outputs.push_back({.shape = call.outputs[0].shape});
  const auto step = kernel->code.prepare(step_spec);
  if (!step) return to_string(step.errors());
  Tensor y(DType::f32, call.outputs[0].shape);
  Tensor scratch(DType::u8, {static_cast<std::int64_t>((*step)->scratch_bytes())});
  std::byte* outputs[] = {y.data()};
  StepFailure failure;
  const StepBuffers buffers{inputs, outputs, scratch.data(), &failure};
  (*step)->run(buffers, {0, (*step)->items()});
  EXPECT_EQ(failure.take(), nullptr) << "with memory";
  is_refused = true;
  (*step)->run(buffers, {0, (*step)->items()});
  is_refused = false;
  const char* reason = failure.take();
  return reason == nullptr ? "" : reason;
}

TEST_F(Allocation, OnednnWithoutMemorySaysSo) {
  if (!host_machine().isa.has(Isa::avx2)) GTEST_SKIP() << "needs avx2";
  const FusedConvAttrs conv{.window = {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}};
  EXPECT_EQ(failure_without_memory("conv_f32_onednn", kFusedConv, conv, {{1, 9, 9, 8}, {8, 3, 3, 8}}),
            "not enough memory");
  EXPECT_EQ(failure_without_memory("matmul_f32_onednn", kMatmul, NoAttrs{}, {{4, 8}, {8, 8}}), "not enough memory");
  EXPECT_EQ(failure_without_memory("unary_f32_onednn", kUnary, UnaryAttrs{.kind = UnaryKind::tanh}, {{1, 100}}),
            "not enough memory");
}

// They lie outside the project, at $OCTAVO_DATA or ../shared/data.
TEST_F(Allocation, ThereIsNoneInARunOfRealModels) {
  namespace fs = std::filesystem;
  if (!host_machine().isa.has(Isa::avx2)) GTEST_SKIP() << "needs avx2: the references allocate";
  const char* folder = std::getenv("OCTAVO_DATA");
  const fs::path models =
      (folder != nullptr ? fs::path(folder) : fs::path(OCTAVO_SOURCE_DIR) / ".." / "shared" / "data") / "models";
  std::error_code none;
  int files = 0;
  for (const auto& entry : fs::directory_iterator(models, none)) {
    if (entry.path().extension() != ".onnx") continue;
    if (entry.path().stem() == "minilm_l6_v2_fp32") continue;  // which Octavo does not read yet
    expect_no_allocation(entry.path().string(), {.precision = Precision::int8, .samples = random_samples()});
    ++files;
  }
  if (files == 0) GTEST_SKIP() << "needs models at " << models;
}

}  // namespace
}  // namespace octavo
