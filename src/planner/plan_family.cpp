// A plan for other sizes: the same steps with other shapes, attributes and places. Part of planner/.
#include "planner/plan_family.h"

#include <algorithm>

#include "ops/list.h"
#include "ops/reshape/reshape.h"
#include "planner/choice_list.h"
#include "planner/macs.h"
#include "planner/packing_key.h"

namespace octavo {
namespace {

constexpr std::int32_t kNone = -1;

// Whose shape or attributes a plan has; kNone: nothing's of the network.
struct Sources {
  std::vector<std::int32_t> values;  // by value of the plan: the network's
  std::vector<std::int32_t> nodes;   // by step: the network's; kNone: a copy to an output
  std::vector<const KernelChoice*> kernels;
  std::vector<int> buffers;  // by value of the plan: whose memory it lies in
  std::vector<ArenaBuffer> lifetimes;
};

Error not_of_family(std::string where, std::string found, std::string expected) {
  return {.kind = ErrorKind::unsupported,
          .where = std::move(where),
          .found = std::move(found),
          .expected = std::move(expected)};
}

// The making of one plan.
class Member {
 public:
  Member(const OpenNetwork& network, const ConstantSource& source, const Sources& sources, const Plan& one,
         std::span<const std::int64_t> values, ConstantSink& sink)
      : network_(network),
        source_(source),
        sources_(sources),
        one_(one),
        values_(values),
        dims_(values.begin(), values.end()),
        sink_(sink),
        plan_(one),
        is_other_(one.values.size()) {}

  Result<Plan> make() {
    for (std::size_t v = 0; v < plan_.values.size(); ++v) {
      if (Status set = set_shape(v); !set) return set.errors();
    }
    if (Status placed = place(); !placed) return placed.errors();
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      if (Status set = set_step(i); !set) return set.errors();
    }
    if (!plan_.inputs.empty() && !plan_.input(0).shape.empty()) plan_.batch = plan_.input(0).shape[0];
    return std::move(plan_);
  }

 private:
  const StoredValue& stored(std::int32_t index) const { return network_.graph.values[static_cast<std::size_t>(index)]; }
  PlanValue& value(ValueIndex index) { return plan_.values[static_cast<std::size_t>(index)]; }
  bool is_other(ValueIndex index) const { return index != kNoValue && is_other_[static_cast<std::size_t>(index)]; }

  std::vector<std::int64_t> shape_of(const StoredValue& from) const {
    std::vector<std::int64_t> shape;
    for (const Dim& dim : from.shape) shape.push_back(dim.at(values_));
    return shape;
  }

  Tensor extents_of(const StoredValue& from) const {
    Tensor numbers(from.dtype, Shape(shape_of(from)));
    for (std::size_t i = 0; i < from.extents.size(); ++i)
      store_double(numbers.view(), static_cast<std::int64_t>(i), static_cast<double>(from.extents[i].at(values_)));
    return numbers;
  }

  Status set_shape(std::size_t index) {
    const std::int32_t from = sources_.values[index];
    PlanValue& own = plan_.values[index];
    if (from == kNone) return ok_status();
    own.shape = shape_of(stored(from));
    const auto elements = checked_elements(own.shape);
    if (!elements || (*elements == 0) != (Shape(one_.values[index].shape).elements() == 0))
      return not_of_family("value '" + stored(from).name + "'", print(own.shape), "elements, or none, as before");
    if (own.place == Place::constant && !stored(from).extents.empty()) {
      const Tensor numbers = extents_of(stored(from));
      own.offset = sink_.add(numbers.view());
    }
    if (own.place == Place::constant && own.view_of != kNoValue) own.offset = value(own.view_of).offset;
    is_other_[index] = own.shape != one_.values[index].shape ||
                       (own.place == Place::constant && own.offset != one_.values[index].offset);
    return ok_status();
  }

  Status place() {
    std::vector<ArenaBuffer> buffers = sources_.lifetimes;
    const auto buffer_of = [&](std::size_t v) -> ArenaBuffer* {
      return sources_.buffers[v] < 0 ? nullptr : &buffers[static_cast<std::size_t>(sources_.buffers[v])];
    };
    for (ArenaBuffer& buffer : buffers) buffer.bytes = 0;
    for (std::size_t v = 0; v < plan_.values.size(); ++v) {
      if (ArenaBuffer* buffer = buffer_of(v)) buffer->bytes = std::max(buffer->bytes, plan_.values[v].bytes());
    }
    plan_.arena_bytes = place_buffers(buffers);
    for (std::size_t v = 0; v < plan_.values.size(); ++v) {
      if (const ArenaBuffer* buffer = buffer_of(v)) plan_.values[v].offset = buffer->offset;
    }
    return check_arena_bytes(plan_.arena_bytes);
  }

  // Attributes of a step at these sizes.
  Result<Attrs> attrs_of(std::size_t index) const {
    const std::int32_t node = sources_.nodes[index];
    const PlanStep& step = plan_.steps[index];
    if (node == kNone) return Attrs(ReshapeAttrs{.shape = dims_of(step.inputs[0])});
    const auto attrs = find_op(step.op)->decode_attrs(network_.graph.nodes[static_cast<std::size_t>(node)].attrs);
    if (!attrs) return not_of_family("step '" + step.op + "'", "attributes that cannot be decoded", "its own");
    return attrs->with_extents(dims_);
  }
  std::vector<Dim> dims_of(ValueIndex index) const {
    const std::vector<std::int64_t>& shape = plan_.value(index).shape;
    return {shape.begin(), shape.end()};
  }

  Status set_step(std::size_t index) {
    PlanStep& step = plan_.steps[index];
    const std::int32_t node = sources_.nodes[index];
    const bool is_touched = std::ranges::any_of(step.inputs, [&](ValueIndex v) { return is_other(v); }) ||
                            std::ranges::any_of(step.outputs, [&](ValueIndex v) { return is_other(v); });
    // Attributes in which no number stands for an expression are the step's as they are.
    const bool is_fixed = node == kNone || network_.graph.nodes[static_cast<std::size_t>(node)].attrs == step.attrs;
    if (!is_touched && is_fixed) return ok_status();
    const auto attrs = attrs_of(index);
    if (!attrs) return attrs.errors();
    step.attrs = attrs->encoded();
    std::vector<Fact> facts;
    facts.reserve(step.inputs.size());
    OpCall call{.spec = find_op(step.op), .attrs = &*attrs};
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      const ValueIndex input = step.inputs[i];
      call.inputs.push_back(input == kNoValue ? nullptr : &facts.emplace_back(fact_of(input)));
    }
    auto outputs = infer_checked(*call.spec, *attrs, call.inputs);
    if (!outputs) return outputs.errors();
    call.outputs = std::move(*outputs);
    for (std::size_t i = 0; i < step.outputs.size(); ++i) {
      if (i < call.outputs.size() && fixed(call.outputs[i].shape.dims()) == plan_.value(step.outputs[i]).shape) {
        call.outputs[i].quant = fact_of(step.outputs[i]).quant;
        continue;
      }
      return not_of_family("step '" + step.op + "'", "a result of another shape", "that of the network");
    }
    return set_call(index, call);
  }

  Fact fact_of(ValueIndex index) const {
    const PlanValue& own = plan_.value(index);
    Fact fact{.dtype = own.dtype, .shape = Shape(own.shape)};
    const std::int32_t from = sources_.values[static_cast<std::size_t>(index)];
    if (from == kNone) return fact;
    const StoredValue& value = stored(from);
    if (value.scale) fact.quant = {value.scale->scale, value.scale->zero_point, value.scale->axis};
    if (!value.extents.empty()) fact.constant = std::make_shared<const Tensor>(extents_of(value));
    else if (value.constant != kNoConstant)
      fact.constant = std::make_shared<const Tensor>(Tensor::borrowed(
          {own.dtype, Shape(own.shape), source_.find(static_cast<std::uint64_t>(value.constant), own.bytes())}));
    return fact;
  }

  std::optional<Choice> chosen(const KernelChoice& kernel, const OpCall& call, const SelectOptions& selection) const {
    if (give_same_bits(*call.spec, selection)) {
      if (auto alike = choose_alike(kernel, call, network_.machine, selection)) return alike;
    }
    auto own = choose(call, network_.machine, selection);
    return own ? std::optional(*std::move(own)) : std::nullopt;
  }

  // Whether the kernel takes the call, and what follows from it.
  Status set_call(std::size_t index, const OpCall& call) {
    PlanStep& step = plan_.steps[index];
    const KernelChoice& kernel = *sources_.kernels[index];
    const SelectOptions selection{.needs_exact = network_.precision != Precision::fp32,
                                  .allow_reference = network_.allow_reference};
    const auto choice = chosen(kernel, call, selection);
    if (!choice || choice->kernel != &kernel)
      return not_of_family("kernel '" + step.kernel + "'", "a call that gets another one", "it");
    step.predicted_ns = choice->predicted_ns;
    std::int64_t& macs = plan_.report.steps[index].macs;
    plan_.report.macs -= macs;
    macs = macs_of(call);
    plan_.report.macs = saturating_sum(plan_.report.macs, macs, 1);
    const std::vector<PackedTensor> packed = packed_tensors(kernel, call, step.attrs, sink_);
    if (packed.size() != step.packed.size())
      return not_of_family("kernel '" + step.kernel + "'", "constants packed in another way", "as before");
    for (std::size_t i = 0; i < packed.size(); ++i) {
      PlanValue& own = value(step.packed[i]);
      own.dtype = packed[i].dtype;
      own.shape.assign(packed[i].shape.begin(), packed[i].shape.end());
      own.offset = packed[i].offset;
    }
    return ok_status();
  }

  const OpenNetwork& network_;
  const ConstantSource& source_;
  const Sources& sources_;
  const Plan& one_;
  std::span<const std::int64_t> values_;
  std::vector<Dim> dims_;
  ConstantSink& sink_;
  Plan plan_;
  std::vector<bool> is_other_;  // by value: another shape, or another constant, than in `one_`
};

class Family final : public PlanFamily {
 public:
  // What other kernels refused is told of the plan itself.
  Family(const OpenNetwork& network, const ConstantSource& source, Sources sources, const Plan& one)
      : network_(network), source_(source), sources_(std::move(sources)), one_(one) {
    for (StepReport& step : one_.report.steps) step.refusals.clear();
  }
  Result<Plan> at(std::span<const std::int64_t> values, ConstantSink& packed) const override {
    return Member(network_, source_, sources_, one_, values, packed).make();
  }

 private:
  const OpenNetwork& network_;
  const ConstantSource& source_;
  const Sources sources_;
  Plan one_;
};

// A value that several uses see as one has one shape at all sizes, not only at those of the plan.
bool is_seen_alike(const StoredGraph& network, const Sources& sources, ValueIndex value, std::int32_t use) {
  if (value == kNoValue || use < 0) return value == kNoValue && use < 0;
  const std::int32_t from = sources.values[static_cast<std::size_t>(value)];
  const auto at = [&](std::int32_t index) -> const StoredValue& {
    return network.values[static_cast<std::size_t>(index)];
  };
  return from == use || (from >= 0 && at(from).shape == at(use).shape);
}

bool are_seen_alike(const StoredGraph& network, const Sources& sources, const Plan& plan) {
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    if (sources.nodes[i] == kNone) continue;
    const StoredNode& node = network.nodes[static_cast<std::size_t>(sources.nodes[i])];
    if (node.inputs.size() != plan.steps[i].inputs.size() || node.outputs.size() != plan.steps[i].outputs.size())
      return false;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (!is_seen_alike(network, sources, plan.steps[i].inputs[k], node.inputs[k])) return false;
    }
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (!is_seen_alike(network, sources, plan.steps[i].outputs[k], node.outputs[k])) return false;
    }
  }
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    if (!is_seen_alike(network, sources, plan.outputs[i].value, network.outputs[i])) return false;
  }
  return true;
}

const KernelChoice* choice_named(std::string_view name) {
  const auto choices = all_choices();
  const auto it = std::ranges::find(choices, name, [](const KernelChoice* choice) { return choice->code.name; });
  return it == choices.end() ? nullptr : *it;
}

}  // namespace

std::shared_ptr<const PlanFamily> family_of(const OpenNetwork& network, const ConstantSource& source, const Plan& plan,
                                            const PlanTrace& trace, std::span<const std::int32_t> stored_values) {
  if (network.waits_for_sizes || !network.times.empty() || is_device(network.machine) || !plan.regions.empty())
    return nullptr;
  Sources sources{.buffers = trace.buffers, .lifetimes = trace.lifetimes};
  for (std::size_t v = 0; v < plan.values.size(); ++v) {
    const ValueIndex root = plan.values[v].view_of;
    if (root != kNoValue) sources.buffers[v] = sources.buffers[static_cast<std::size_t>(root)];
    sources.values.push_back(trace.values[v].exists() ? stored_values[at(trace.values[v])] : kNone);
  }
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    sources.nodes.push_back(trace.steps[i].index);  // nodes are restored in their order
    sources.kernels.push_back(choice_named(plan.steps[i].kernel));
    if (sources.kernels.back() == nullptr) return nullptr;
  }
  if (!are_seen_alike(network.graph, sources, plan)) return nullptr;
  return std::make_shared<const Family>(network, source, std::move(sources), plan);
}

}  // namespace octavo
