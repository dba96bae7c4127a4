// Views of calls. Part of kernels/.
#include "kernels/call.h"

namespace octavo {

CallView view_of(const OpCall& call) {
  CallView view{.attrs = call.attrs};
  auto shapes = std::make_shared<std::vector<Shape>>();
  shapes->reserve(call.inputs.size() + call.outputs.size());
  const auto typed = [&](const Fact& fact) { return OperandType{fact.dtype, &shapes->emplace_back(fact.shape)}; };
  for (const Fact* fact : call.inputs) view.inputs.push_back(fact == nullptr ? OperandType{} : typed(*fact));
  for (const Fact& fact : call.outputs) view.outputs.push_back(typed(fact));
  view.shapes = std::move(shapes);
  return view;
}

CallView view_of(const StepSpec& spec) {
  CallView view{.attrs = spec.attrs};
  for (const StepOperand& operand : spec.inputs)
    view.inputs.push_back(operand.is_present ? OperandType{operand.dtype, &operand.shape} : OperandType{});
  for (const StepOperand& operand : spec.outputs) view.outputs.push_back({operand.dtype, &operand.shape});
  return view;
}

double CallView::bytes() const {
  double sum = 0.0;
  for (const OperandType& operand : inputs) sum += static_cast<double>(operand.bytes());
  for (const OperandType& operand : outputs) sum += static_cast<double>(operand.bytes());
  return sum;
}

Error refused_at_load(const StepSpec& spec, const std::string& reason) {
  return {.kind = ErrorKind::invalid_input,
          .where = std::string(spec.spec->name),
          .found = "a kernel that refuses this call (" + reason + ")",
          .expected = "the kernel that was chosen for it"};
}

Result<std::unique_ptr<Step>> refuse_other_processor(const StepSpec& spec) {
  return refused_at_load(spec, "is for another kind of processor");
}

Result<std::unique_ptr<Step>> prepare_checked(const StepSpec& spec, Refuse refuse, MakeStep make) {
  const CallView call = view_of(spec);
  if (const std::string reason = refuse(call); !reason.empty()) return refused_at_load(spec, reason);
  return make(call, spec);
}

Tensor constant_or_empty(const OpCall& call, std::size_t i) {
  if (i < call.inputs.size() && call.inputs[i] != nullptr) return *call.inputs[i]->constant;
  return Tensor(DType::u8, Shape{0});
}

bool is_read_in_run(const StepSpec& spec, std::size_t i) {
  return i >= spec.inputs.size() || !spec.inputs[i].is_packed;
}

bool is_packed_as(const StepSpec& spec, std::size_t i, DType dtype, std::int64_t elements) {
  return i < spec.packed.size() && spec.packed[i].dtype == dtype && spec.packed[i].shape.elements() == elements;
}

Error not_as_packed(const StepSpec& spec) {
  return {.kind = ErrorKind::invalid_input,
          .where = std::string(spec.spec->name),
          .found = "packed operands of another kind or size",
          .expected = "what the kernel packs"};
}

}  // namespace octavo
