// Runs OpSpec::reference on a step's operands. Part of kernels/.
#include "kernels/reference/reference.h"

#include <algorithm>
#include <memory>

#include "base/exceptions.h"
#include "kernels/call.h"
#include "kernels/sliced/sliced.h"

namespace octavo {
namespace {

// Copies of views in memory of the caller, while it lives.
template <class View>
class Copies {
 public:
  Copies(const std::vector<View>& views, View* memory) : memory_(memory), count_(views.size()) {
    std::uninitialized_copy(views.begin(), views.end(), memory);
  }
  ~Copies() { std::destroy_n(memory_, count_); }
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

 private:
  View* memory_;
  std::size_t count_;
};

// The operands' views are made once, without data; a run copies them into its scratch and fills in the pointers.
class ReferenceStep final : public Step {
 public:
  explicit ReferenceStep(const StepSpec& spec) : spec_(spec.spec), attrs_(*spec.attrs) {
    for (const StepOperand& input : spec.inputs) inputs_.push_back({.dtype = input.dtype, .shape = input.shape});
    for (const StepOperand& output : spec.outputs) outputs_.push_back({.dtype = output.dtype, .shape = output.shape});
  }

  std::int64_t items() const override { return 1; }
  std::size_t scratch_bytes() const override {
    return inputs_.size() * sizeof(ConstTensorView) + outputs_.size() * sizeof(TensorView);
  }

  void run(const StepBuffers& buffers, ItemRange range) const noexcept override {
    if (range.begin >= range.end) return;
    const auto fail = [&] { buffers.failure->set("not enough memory"); };
    attempt<std::bad_alloc>([&] { run_reference(buffers); }, fail);
  }

 private:
  void run_reference(const StepBuffers& buffers) const {
    auto* inputs = reinterpret_cast<ConstTensorView*>(buffers.scratch);
    auto* outputs = reinterpret_cast<TensorView*>(buffers.scratch + inputs_.size() * sizeof(ConstTensorView));
    const Copies<ConstTensorView> input_views(inputs_, inputs);
    const Copies<TensorView> output_views(outputs_, outputs);
    for (std::size_t i = 0; i < inputs_.size(); ++i) inputs[i].data = buffers.inputs[i];
    for (std::size_t i = 0; i < outputs_.size(); ++i) outputs[i].data = buffers.outputs[i];
    spec_->reference(attrs_, {inputs, inputs_.size()}, {outputs, outputs_.size()});
  }

  const OpSpec* spec_;
  Attrs attrs_;
  std::vector<ConstTensorView> inputs_;
  std::vector<TensorView> outputs_;
};

constexpr const char* kNoReference = "the operator has no reference";

std::string reference_refusal(const OpCall& call) { return call.spec->reference == nullptr ? kNoReference : ""; }

// Scalar code that recomputes every index: some 20 ns per element touched, many times more for windows. Anything else
// is chosen before it.
double reference_cost(const OpCall& call, const Machine&) {
  double elements = 0.0;
  for (const Fact* input : call.inputs)
    elements += input == nullptr ? 0.0 : static_cast<double>(input->shape.elements());
  for (const Fact& output : call.outputs) elements += static_cast<double>(output.shape.elements());
  return 1e6 + 1000.0 * elements;
}

Result<std::unique_ptr<Step>> prepare(const StepSpec& spec) {
  if (spec.spec->reference == nullptr) return refused_at_load(spec, kNoReference);
  return std::unique_ptr<Step>(std::make_unique<ReferenceStep>(spec));
}

constexpr KernelChoice kReferenceChoices[] = {{.code = {.name = "reference", .op = "*", .prepare = prepare},
                                               .refusal = reference_refusal,
                                               .cost = reference_cost}};
constexpr auto kReferenceCodes = codes_of(kReferenceChoices);

}  // namespace

std::span<const KernelCode> reference_codes() { return kReferenceCodes; }
std::span<const KernelChoice> reference_choices() { return kReferenceChoices; }

bool is_reference_code(std::string_view kernel) {
  const auto has = [&](std::span<const KernelCode> codes) {
    return std::any_of(codes.begin(), codes.end(), [&](const KernelCode& one) { return one.name == kernel; });
  };
  return has(reference_codes()) || has(sliced_codes());
}

}  // namespace octavo
