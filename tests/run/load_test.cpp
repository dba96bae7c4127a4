// Plans that lie are refused before anything runs. Tests of run/prepare.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "support/small_graphs.h"

namespace octavo {
namespace {

struct LoadLie {
  const char* what;
  std::function<void(CompiledModel&)> tell;
  const char* message;
  ErrorKind kind = ErrorKind::invalid_input;
};

PlanStep& step(CompiledModel& model, std::size_t index) { return model.plans[0].steps[index]; }

// The value as this operand or port alone sees it.
PlanValue& own(CompiledModel& model, ValueIndex& index) {
  std::vector<PlanValue>& values = model.plans[0].values;
  values.push_back(values[static_cast<std::size_t>(index)]);
  index = static_cast<ValueIndex>(values.size()) - 1;
  return values.back();
}

PlanValue& input(CompiledModel& model, std::size_t of_step, std::size_t index) {
  return own(model, step(model, of_step).inputs[index]);
}

PlanValue& output(CompiledModel& model, std::size_t of_step) { return own(model, step(model, of_step).outputs[0]); }

const LoadLie kLoadLies[] = {
    {"operator", [](CompiledModel& m) { step(m, 0).op = "tabel"; }, "operator 'tabel'"},
    {"kernel", [](CompiledModel& m) { step(m, 0).kernel = "fast"; }, "kernel 'fast'"},
    {"kernel of another operator", [](CompiledModel& m) { step(m, 0).kernel = "reshape_copy_portable"; }, "for table"},
    {"attributes", [](CompiledModel& m) { step(m, 0).attrs.push_back(std::byte{1}); },
     "attributes that cannot be decoded"},
    {"arena offset", [](CompiledModel& m) { output(m, 0).offset = m.plans[0].arena_bytes; },
     "a place inside the arena"},
    {"huge offset", [](CompiledModel& m) { output(m, 0).offset = ~std::uint64_t{63}; }, "a place inside the arena"},
    {"unaligned", [](CompiledModel& m) { output(m, 0).offset = 1; }, "a multiple of 64"},
    {"small arena", [](CompiledModel& m) { m.plans[0].arena_bytes = 512; }, "a place inside the arena"},
    {"huge arena", [](CompiledModel& m) { m.plans[0].arena_bytes = std::uint64_t{1} << 60; }, "an arena of",
     ErrorKind::resource},
    {"constant offset", [](CompiledModel& m) { input(m, 0, 1).offset = 64; }, "a place inside the constants"},
    {"no constants", [](CompiledModel& m) { m.constants = {}; }, "a place inside the constants"},
    {"constants as output", [](CompiledModel& m) { output(m, 0).place = Place::constant; }, "one that can be written"},
    {"input as output", [](CompiledModel& m) { output(m, 0).place = Place::input; }, "one that can be written"},
    {"output as input", [](CompiledModel& m) { input(m, 1, 1).place = Place::output; }, "one that can be read"},
    {"input index", [](CompiledModel& m) { input(m, 0, 0).offset = 1; }, "tensor 1 of the model"},
    {"output index", [](CompiledModel& m) { output(m, 2).offset = ~std::uint64_t{0}; }, "of the model"},
    {"input shape",
     [](CompiledModel& m) {
       own(m, m.plans[0].inputs[0].value).shape = {1, 8, 63};
     },
     "the type and size of 'x'"},
    {"output type", [](CompiledModel& m) { own(m, m.plans[0].outputs[0].value).dtype = DType::s8; },
     "the type and size of 'y'"},
    {"operand shape",
     [](CompiledModel& m) {
       input(m, 1, 0).shape = {1, 8, 32};
     },
     "shape"},
    {"negative dimension",
     [](CompiledModel& m) {
       output(m, 0).shape = {-1, 8, 64};
     },
     "impossible dimensions"},
    {"overflowing dimensions",
     [](CompiledModel& m) {
       own(m, m.plans[0].inputs[0].value).shape = {1LL << 62, 1LL << 62};
     },
     "impossible dimensions"},
    {"rank", [](CompiledModel& m) { output(m, 0).shape.assign(1000, 1); }, "rank 1000"},
    {"output shape",
     [](CompiledModel& m) {
       output(m, 0).shape = {1, 8, 32};
     },
     "output 0"},
    {"result type", [](CompiledModel& m) { output(m, 0).dtype = DType::s8; }, "output 0"},
    {"missing input", [](CompiledModel& m) { step(m, 0).inputs.pop_back(); }, "table"},
    {"absent input", [](CompiledModel& m) { step(m, 0).inputs[1] = kNoValue; }, "table"},
    {"missing output", [](CompiledModel& m) { step(m, 0).outputs.clear(); }, "outputs"},
    {"packed input", [](CompiledModel& m) { input(m, 1, 0).place = Place::packed; }, "a packed constant"},
    {"packed constant", [](CompiledModel& m) { step(m, 1).packed.push_back(step(m, 0).inputs[1]); },
     "packed constants"},
    {"result over an operand",
     [](CompiledModel& m) {
       m.plans[0].arena_bytes = 4096;
       output(m, 1).offset = input(m, 1, 0).offset + 64;
     },
     "memory that input 0 occupies"},
    {"value index", [](CompiledModel& m) { step(m, 0).inputs[0] = 1000; }, "value 1000"},
    {"negative value index", [](CompiledModel& m) { step(m, 0).outputs[0] = -1; }, "value -1"},
    {"packed value index", [](CompiledModel& m) { step(m, 0).packed.push_back(-2); }, "value -2"},
    {"port without a value", [](CompiledModel& m) { m.plans[0].outputs[0].value = kNoValue; }, "value -1"},
    {"port that lies elsewhere", [](CompiledModel& m) { m.plans[0].outputs[0].value = 0; }, "place 'input'"},
    {"view of itself", [](CompiledModel& m) { m.plans[0].values[1].view_of = 1; }, "a view of value 1"},
    {"speed that is no number", [](CompiledModel& m) { m.plans[0].machine.speeds.level3_gbytes = std::nan(""); },
     "a machine's speed"},
    {"speed of nothing", [](CompiledModel& m) { m.plans[0].machine.speeds.gigahertz = 0.0; }, "a machine's speed"},
    {"view of another place", [](CompiledModel& m) { output(m, 0).view_of = 0; }, "a view that lies elsewhere"},
    {"schedule", [](CompiledModel& m) { step(m, 0).schedule.push_back(std::byte{1}); }, "a schedule"},
    {"no step for an output", [](CompiledModel& m) { m.plans[0].steps.pop_back(); }, "which no step computes"},
    {"instructions", [](CompiledModel& m) { m.plans[0].needs.bits |= 1u << 31; }, "which needs", ErrorKind::resource},
};

TEST(Load, LiesAreRefusedWithTheirPlace) {
  const Graph graph = testing::chain_graph();
  for (const LoadLie& lie : kLoadLies) {
    SCOPED_TRACE(lie.what);
    CompiledModel model = testing::compile_graphs({&graph}, *machine_for_target("scalar"));
    lie.tell(model);
    const auto loaded = load_model(std::move(model), {.threads = 1});
    ASSERT_FALSE(loaded);
    const Error& error = loaded.errors()[0];
    EXPECT_EQ(error.kind, lie.kind) << error.message();
    EXPECT_NE(error.message().find(lie.message), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("test.onnx"), std::string::npos) << error.message();
  }
}

TEST(Load, AKernelOfALibraryThatIsNotLinkedIsUnsupported) {
  const Graph graph = testing::chain_graph();
  CompiledModel model = testing::compile_graphs({&graph}, *machine_for_target("scalar"));
  step(model, 1).kernel = "conv_f32_onednn";
  std::vector<const KernelCode*> ours(all_codes().begin(), all_codes().end());
  std::erase_if(ours, [](const KernelCode* code) { return !library_of(code->name).empty(); });
  const auto loaded = load_model(std::move(model), {.threads = 1, .kernels = ours});
  ASSERT_FALSE(loaded);
  const Error& error = loaded.errors()[0];
  EXPECT_EQ(error.kind, ErrorKind::unsupported);
  EXPECT_NE(error.message().find("step 1"), std::string::npos) << error.message();
  EXPECT_NE(error.message().find("kernel 'conv_f32_onednn' of octavo_onednn, which this program does not link"),
            std::string::npos)
      << error.message();
}

// Instructions of both processors. A machine has all of one at most.
constexpr Isa kOfX86[] = {Isa::avx2, Isa::avx512, Isa::amx_int8}, kOfArm64[] = {Isa::neon, Isa::dotprod, Isa::i8mm};

bool is_arm64() { return host_machine().isa.has(Isa::neon); }

TEST(Load, MissingInstructionsAreListed) {
  const Graph graph = testing::chain_graph();
  CompiledModel model = testing::compile_graphs({&graph}, *machine_for_target("scalar"));
  IsaSet all;
  for (const Isa isa : is_arm64() ? kOfArm64 : kOfX86) all.add(isa);
  if (host_machine().isa.contains(all)) GTEST_SKIP() << "this machine has every instruction set";
  model.plans[0].needs = all;
  model.plans[0].machine.name = "another machine";
  const auto loaded = load_model(std::move(model), {.threads = 1});
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.errors()[0].kind, ErrorKind::resource);
  const std::string message = loaded.errors()[0].message();
  EXPECT_NE(message.find("another machine"), std::string::npos) << message;
  for (int i = 0; i < kIsaCount; ++i) {
    const Isa isa = static_cast<Isa>(i);
    if (!all.has(isa)) continue;
    EXPECT_TRUE(host_machine().isa.has(isa) || message.find(name_of(isa)) != std::string::npos) << message;
  }
}

TEST(Load, AFileForAnotherProcessorIsRefusedWithWhatItHolds) {
  const Graph graph = testing::chain_graph();
  CompiledModel model = testing::compile_graphs({&graph, &graph}, *machine_for_target("scalar"));
  for (std::size_t i = 0; i < model.plans.size(); ++i) {
    model.plans[i].needs.add((is_arm64() ? kOfX86 : kOfArm64)[i + 1]);
    model.plans[i].machine.name = "machine " + std::to_string(i);
  }
  const auto loaded = load_model(std::move(model), {.threads = 1});
  ASSERT_FALSE(loaded);
  const Error& error = loaded.errors()[0];
  EXPECT_EQ(error.kind, ErrorKind::usage);
  const std::string message = error.message();
  for (const char* part :
       {"another processor", "batch 1 for machine 0, which needs scalar",
        is_arm64() ? "machine 1, which needs scalar amx_int8" : "machine 1, which needs scalar i8mm"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_NE(message.find("instructions of this machine: " + host_machine().isa.to_string()), std::string::npos);
}

}  // namespace
}  // namespace octavo
