// Fuzz target: bytes as an .octv file. The checksum is repaired so that what lies behind it is reached, and what loads is run.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "artifact/artifact.h"
#include "run/model.h"

namespace octavo {
namespace {

// A plan that loads may legally take minutes; the fuzzer only runs small ones.
bool is_small(const Plan& plan) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 22;
  std::uint64_t work = plan.arena_bytes;
  for (const PlanStep& step : plan.steps) {
    for (const auto* operands : {&step.inputs, &step.outputs}) {
      for (const PlanOperand& operand : *operands) {
        const auto elements = checked_elements(operand.shape);
        if (!elements || static_cast<std::uint64_t>(*elements) > kLargest) return false;
        work += static_cast<std::uint64_t>(*elements);
      }
    }
  }
  return work < kLargest;
}

std::vector<Tensor> tensors_for(const std::vector<PlanTensor>& described) {
  std::vector<Tensor> tensors;
  for (const PlanTensor& tensor : described) tensors.emplace_back(tensor.dtype, Shape(tensor.shape));
  return tensors;
}

void load_and_run(std::span<const std::byte> bytes) {
  auto compiled = parse_artifact(bytes, "fuzz.octv");
  if (!compiled) return;
  if (!std::all_of(compiled->plans.begin(), compiled->plans.end(), is_small)) return;
  auto model = load_model(std::move(*compiled), {.threads = 1});
  if (!model) return;
  for (std::size_t i = 0; i < (*model)->plans().size(); ++i) {
    auto context = Context::create(*model, {.plan = i});
    if (!context) continue;
    std::vector<Tensor> inputs = tensors_for((*model)->plans()[i].inputs);
    std::vector<Tensor> outputs = tensors_for((*model)->plans()[i].outputs);
    std::vector<ConstTensorView> in;
    std::vector<TensorView> out;
    for (const Tensor& tensor : inputs) in.push_back(tensor.view());
    for (Tensor& tensor : outputs) out.push_back(tensor.view());
    static_cast<void>(context->run(in, out).ok());
  }
}

}  // namespace
}  // namespace octavo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::byte> bytes(reinterpret_cast<const std::byte*>(data), reinterpret_cast<const std::byte*>(data) + size);
  octavo::repair_checksum(bytes);
  octavo::load_and_run(bytes);
  return 0;
}
