// Counts multiply-accumulates. Part of plan/.
#include "plan/macs.h"

#include <vector>

#include "ops/list.h"

namespace octavo {

std::int64_t macs_of(const OpCall& call) {
  return call.outputs.empty() ? 0 : macs_of(*call.spec, *call.attrs, call.inputs, call.outputs[0].shape);
}

std::int64_t macs_of(const PlanStep& step) {
  const OpSpec* spec = find_op(step.op);
  const auto attrs = spec == nullptr ? std::nullopt : spec->decode_attrs(step.attrs);
  if (!attrs || step.outputs.empty()) return 0;
  std::vector<Fact> facts;
  for (const PlanOperand& input : step.inputs) facts.push_back({.dtype = input.dtype, .shape = Shape(input.shape)});
  std::vector<const Fact*> inputs;
  for (std::size_t i = 0; i < facts.size(); ++i)
    inputs.push_back(step.inputs[i].place == Place::absent ? nullptr : &facts[i]);
  return macs_of(*spec, *attrs, inputs, Shape(step.outputs[0].shape));
}

}  // namespace octavo
