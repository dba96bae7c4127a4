// Runs OpSpec::reference on a step's operands. Part of kernels/.
#include "kernels/reference/reference.h"

#include <new>

namespace octavo {
namespace {

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
    auto* inputs = reinterpret_cast<ConstTensorView*>(buffers.scratch);
    auto* outputs = reinterpret_cast<TensorView*>(buffers.scratch + inputs_.size() * sizeof(ConstTensorView));
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      (new (inputs + i) ConstTensorView(inputs_[i]))->data = buffers.inputs[i];
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      (new (outputs + i) TensorView(outputs_[i]))->data = buffers.outputs[i];
    spec_->reference(attrs_, {inputs, inputs_.size()}, {outputs, outputs_.size()});
    std::destroy_n(inputs, inputs_.size());
    std::destroy_n(outputs, outputs_.size());
  }

 private:
  const OpSpec* spec_;
  Attrs attrs_;
  std::vector<ConstTensorView> inputs_;
  std::vector<TensorView> outputs_;
};

std::string refusal(const OpCall& call) {
  return call.spec->reference == nullptr ? "the operator has no reference" : "";
}

// Scalar code that recomputes every index: some 20 ns per element touched, many times more for windows. Anything else
// is chosen before it.
double cost(const OpCall& call, const Machine&) {
  double elements = 0.0;
  for (const Fact* input : call.inputs)
    elements += input == nullptr ? 0.0 : static_cast<double>(input->shape.elements());
  for (const Fact& output : call.outputs) elements += static_cast<double>(output.shape.elements());
  return 1e6 + 1000.0 * elements;
}

Result<std::unique_ptr<Step>> prepare(const StepSpec& spec) {
  return std::unique_ptr<Step>(std::make_unique<ReferenceStep>(spec));
}

constexpr Kernel kKernels[] = {{.name = "reference", .op = "*", .refusal = refusal, .cost = cost, .prepare = prepare}};

}  // namespace

std::span<const Kernel> reference_kernels() { return kKernels; }

}  // namespace octavo
