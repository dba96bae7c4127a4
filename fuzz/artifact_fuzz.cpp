// Fuzz target: bytes as an .octv file. The checksum is repaired so that what lies behind it is reached, and what loads
// is written again and run.
#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "artifact/artifact.h"
#include "fuzz/field_mutator.h"
#include "fuzz/planning.h"
#include "fuzz/scratch_folder.h"
#include "ops/list.h"
#include "planner/open_planner.h"
#include "run/model.h"
#include "run/program.h"

namespace octavo {
namespace {

// A plan that loads may legally take minutes; the fuzzer only runs small ones.
bool is_small(const Plan& plan) {
  constexpr std::uint64_t kMostWork = std::uint64_t{1} << 23;
  std::uint64_t work = plan.arena_bytes;
  for (const Region& region : plan.regions) {
    work += region.arena_bytes;
    if (region.slices > 64) return false;
  }
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    std::uint64_t largest[2] = {1, 1};  // elements of the largest input and output
    for (int side : {0, 1}) {
      for (const ValueIndex operand : side == 0 ? step.inputs : step.outputs) {
        if (operand == kNoValue) continue;
        const auto elements = checked_elements(plan.value(operand).shape);
        if (!elements || static_cast<std::uint64_t>(*elements) > kMostWork) return false;
        largest[side] = std::max(largest[side], static_cast<std::uint64_t>(*elements));
      }
    }
    // No operator touches more than every input for every output.
    if ((work += largest[0] * largest[1] * static_cast<std::uint64_t>(std::max<std::int64_t>(plan.calls_of(i), 0))) >
        kMostWork)
      return false;
  }
  return true;
}

std::vector<Tensor> tensors_for(const Plan& plan, const std::vector<PlanPort>& ports) {
  std::vector<Tensor> tensors;
  for (const PlanPort& port : ports)
    tensors.emplace_back(plan.value(port.value).dtype, Shape(plan.value(port.value).shape));
  return tensors;
}

bool are_small(const Plan& plan, const std::vector<PlanPort>& ports) {
  return std::all_of(ports.begin(), ports.end(), [&](const PlanPort& port) {
    const auto elements = checked_elements(plan.value(port.value).shape);
    return elements && *elements < std::int64_t{1} << 20;
  });
}

// Through a file where `by_file`: writing syncs, so that it takes longer than all the rest.
Result<CompiledModel> written_and_read(const CompiledModel& model, bool by_file) {
  static const fuzz::ScratchFolder folder;
  if (!by_file) return parse_artifact(encode_artifact(model), "again.octv");
  const std::string path = folder.path() + "/m.octv";
  if (Status written = write_artifact(model, path); !written) return written.errors();
  return read_artifact(path);
}

// What can be read, written and read again is the same file as before.
void check_round_trip(const CompiledModel& model) {
  const AlignedBytes bytes = encode_artifact(model);
  const bool by_file = XXH3_64bits(bytes.data(), bytes.size()) % 64 == 0;
  const auto again = written_and_read(model, by_file);
  if (!again || encode_artifact(*again) != bytes) std::abort();
}

bool is_quick(const Plan& plan) {
  return is_small(plan) && are_small(plan, plan.inputs) && are_small(plan, plan.outputs);
}

void run_once(const std::shared_ptr<const Model>& model, ContextOptions options) {
  auto context = Context::create(model, std::move(options));
  if (!context) return;
  const Plan& plan = context->plan();
  std::vector<Tensor> inputs = tensors_for(plan, plan.inputs), outputs = tensors_for(plan, plan.outputs);
  std::vector<ConstTensorView> in;
  std::vector<TensorView> out;
  for (const Tensor& tensor : inputs) in.push_back(tensor.view());
  for (Tensor& tensor : outputs) out.push_back(tensor.view());
  static_cast<void>(context->run(in, out).ok());
}

// At sizes at which this graph of the network holds: that is the one that is planned, or lowered first.
void run_at(const std::shared_ptr<const Model>& model, const StoredGraph& stored, std::span<const std::int64_t> sizes) {
  const auto table = Sizes::restored(stored.sizes);
  const auto values = table && stored.sizes.sizes.size() == sizes.size() ? (*table)->evaluate(sizes)
                                                                         : Result<std::vector<std::int64_t>>(Error{});
  if (!values) return;
  const auto graph = graph_at(stored, model->constants(), *values);
  if (!graph || !fuzz::is_small(*graph)) return;
  std::vector<Shape> shapes;
  for (const ValueId input : graph->inputs()) shapes.push_back(graph->fact(input).shape);
  const auto prepared = model->plan_for(shapes);
  if (prepared && is_quick(*(*prepared)->plan)) run_once(model, {.prepared = *prepared});
}

void run_at(const std::shared_ptr<const Model>& model, std::span<const std::int64_t> sizes) {
  const OpenNetwork& network = *model->compiled().network;
  run_at(model, network.graph, sizes);
  for (const StoredGraph& unlowered : network.unlowered) run_at(model, unlowered, sizes);
}

// On inputs of one element each: control flow that fits them runs.
void load_program_and_run(CompiledModel compiled) {
  for (const CompiledModel& network : compiled.networks) {
    if (!std::all_of(network.plans.begin(), network.plans.end(), is_quick)) return;
  }
  auto model = load_program(std::move(compiled), {.threads = 1, .context_bytes = 64 << 20, .max_iterations = 20});
  if (!model) return;
  const Program& program = (*model)->program();
  std::vector<Tensor> inputs;
  for (const std::int32_t input : program.blocks[0].inputs) {
    std::vector<std::int64_t> dims;
    const std::size_t rank = input < 0 ? 0 : program.values[static_cast<std::size_t>(input)].shape.size();
    dims.assign(std::min<std::size_t>(rank, 8), 1);
    inputs.emplace_back(input < 0 ? DType::f32 : program.values[static_cast<std::size_t>(input)].dtype, Shape(dims));
  }
  std::vector<ConstTensorView> views;
  for (const Tensor& input : inputs) views.push_back(std::as_const(input).view());
  ProgramContext context(*model, nullptr);
  for (int i = 0; i < 2; ++i) static_cast<void>(context.run(views).ok());
}

void load_and_run(std::span<const std::byte> bytes) {
  auto compiled = parse_artifact(bytes, "fuzz.octv");
  if (!compiled) return;
  check_round_trip(*compiled);
  if (compiled->program) return load_program_and_run(std::move(*compiled));
  if (!std::all_of(compiled->plans.begin(), compiled->plans.end(), is_quick)) return;
  auto model = load_model(std::move(*compiled), {.threads = 1});
  if (!model) return;
  for (std::size_t i = 0; i < (*model)->plans().size(); ++i) run_once(*model, {.plan = i});
  const Sizes* sizes = (*model)->sizes();
  if (sizes == nullptr) return;
  for (const std::int64_t steps : {0, 3}) run_at(*model, fuzz::small_sizes(*sizes, steps));
}

// Names that a plan may hold.
std::vector<std::string> words() {
  std::vector<std::string> words;
  for (const OpSpec* op : all_ops()) words.emplace_back(op->name);
  for (const KernelCode* kernel : all_codes()) words.emplace_back(kernel->name);
  return words;
}

// One value of the plans or of the network of open sizes changed and the file written anew; 0 where it cannot be.
std::size_t mutate_fields(std::uint8_t* data, std::size_t size, std::size_t room, unsigned seed) {
  std::vector<std::byte> bytes(reinterpret_cast<const std::byte*>(data),
                               reinterpret_cast<const std::byte*>(data) + size);
  repair_checksum(bytes);
  auto model = parse_artifact(bytes, "fuzz.octv");
  const bool has_any = model && (!model->plans.empty() || model->network || model->program);
  if (!has_any) return 0;
  static const std::vector<std::string> known = words();
  fuzz::FieldMutator mutator(seed, known);
  const bool changes_network = model->network && (model->plans.empty() || seed / 16 % 2 == 0);
  for (unsigned i = 0; i <= seed / 4 % 3; ++i) {
    if (model->program) mutator.mutate(*model->program);
    else if (changes_network) mutator.mutate(*model->network);
    else mutator.mutate(model->plans);
  }
  const AlignedBytes encoded = encode_artifact(*model);
  if (encoded.size() > room) return 0;
  std::memcpy(data, encoded.data(), encoded.size());
  return encoded.size();
}

}  // namespace
}  // namespace octavo

// One in four as plain bytes.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  const std::size_t mutated = seed % 4 == 0 ? 0 : octavo::mutate_fields(data, size, max_size, seed);
  return mutated != 0 ? mutated : LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::byte> bytes(reinterpret_cast<const std::byte*>(data),
                               reinterpret_cast<const std::byte*>(data) + size);
  octavo::repair_checksum(bytes);
  octavo::load_and_run(bytes);
  return 0;
}
