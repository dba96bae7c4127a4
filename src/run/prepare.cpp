// What a plan must hold so that running it stays within its memory, and preparing it. Part of run/.
#include "run/prepare.h"

#include <algorithm>

#include "base/parallel.h"
#include "ops/list.h"
#include "run/device.h"

namespace octavo {
namespace {

// Larger than any model that fits a machine; a file that asks for more is refused before memory is.
constexpr std::uint64_t kMaxArenaBytes = std::uint64_t{1} << 36;
constexpr std::size_t kMaxRank = 64;
constexpr std::int64_t kMaxSlices = std::int64_t{1} << 24;  // times an arena, within 64 bits
constexpr int kStepsOfThread = 8;                           // fewer take no longer than starting it

Error damaged(std::string found, std::string expected) {
  return {.kind = ErrorKind::invalid_input, .found = std::move(found), .expected = std::move(expected)};
}

// Errors of one thing, with its name before what they already say of the place.
Errors within(const std::string& where, Errors errors) {
  for (Error& error : errors) error.where = where + (error.where.empty() ? "" : ", " + error.where);
  return errors;
}

Result<std::uint64_t> bytes_of(DType dtype, const std::vector<std::int64_t>& shape) {
  if (shape.size() > kMaxRank)
    return damaged("a tensor of rank " + std::to_string(shape.size()), "at most " + std::to_string(kMaxRank));
  const auto elements = checked_elements(shape);
  if (!elements)
    return damaged("impossible dimensions",
                   "dimensions of at least 0 and at most " + std::to_string(kMaxElements) + " elements");
  return static_cast<std::uint64_t>(*elements) * size_of(dtype);
}

// [offset, offset + bytes) and the readable slack after it lie in a memory of `size` bytes, aligned.
Status check_extent(std::uint64_t offset, std::uint64_t bytes, std::uint64_t size, std::string_view memory) {
  if (offset % kAlignment != 0)
    return damaged("offset " + std::to_string(offset), "a multiple of " + std::to_string(kAlignment));
  if (offset > size || size - offset < bytes + kReadSlack) {
    return damaged(std::to_string(bytes) + " bytes at offset " + std::to_string(offset),
                   "a place inside the " + std::string(memory) + " of " + std::to_string(size) + " bytes");
  }
  return ok_status();
}

bool is_in_arena(const PlanValue& value) { return value.place == Place::arena || value.place == Place::region; }

bool has_same_extent(const PlanValue& a, const PlanValue& b) {
  return a.place == b.place && a.offset == b.offset && a.bytes() == b.bytes();
}

// Of operands of one step, `slices` times as large in the arena; tensors of the caller are apart from each other, as a
// context checks.
bool prepare_overlap(const PlanValue& a, const PlanValue& b, std::uint64_t slices) {
  if (a.place != b.place) return false;
  if (a.place == Place::output) return a.offset == b.offset;
  const std::uint64_t times = a.place == Place::arena ? slices : 1;
  return is_in_arena(a) && a.offset < b.offset + times * b.bytes() && b.offset < a.offset + times * a.bytes();
}

// Whether a step finds in both plans what its preparation asks of a value. Where it lies in an arena is no part of
// that.
bool is_same_operand(const Plan& a, ValueIndex in_a, const Plan& b, ValueIndex in_b) {
  if (in_a == kNoValue || in_b == kNoValue) return in_a == in_b;
  const PlanValue &of_a = a.value(in_a), &of_b = b.value(in_b);
  return of_a.place == of_b.place && of_a.dtype == of_b.dtype && of_a.shape == of_b.shape &&
         (of_a.place != Place::constant || of_a.offset == of_b.offset);
}

bool is_same_call(const Plan& a, const Plan& b, std::size_t index) {
  if (index >= a.steps.size() || index >= b.steps.size()) return false;
  const PlanStep &in_a = a.steps[index], &in_b = b.steps[index];
  const auto is_same = [&](ValueIndex of_a, ValueIndex of_b) { return is_same_operand(a, of_a, b, of_b); };
  return in_a.kernel == in_b.kernel && in_a.op == in_b.op && in_a.attrs == in_b.attrs &&
         in_a.schedule == in_b.schedule && a.calls_of(index) == b.calls_of(index) &&
         std::ranges::equal(in_a.inputs, in_b.inputs, is_same) &&
         std::ranges::equal(in_a.outputs, in_b.outputs, is_same) &&
         std::ranges::equal(in_a.packed, in_b.packed, is_same);
}

class StepPreparer {
 public:
  StepPreparer(const Plan& plan, const ConstantSource& constants, const LoadOptions& options, std::size_t index)
      : plan_(plan),
        constants_(constants),
        options_(options),
        step_(plan.steps[index]),
        region_(plan.region_of(index)),
        slices_(static_cast<std::uint64_t>(plan.calls_of(index))) {}

  Result<PreparedStep> prepare() {
    if (Status status = find_names(); !status) return status.errors();
    if (Status status = check_operands(); !status) return status.errors();
    PreparedStep prepared{.attrs = std::make_shared<const Attrs>(*attrs_)};
    if (Status status = check_meaning(prepared.in_place); !status) return status.errors();
    spec_.spec = op_;
    spec_.attrs = prepared.attrs.get();
    spec_.threads = options_.threads;
    if (is_of_device(kernel_->needs) || !is_for_device(plan_)) spec_.speeds = plan_.machine.speeds;
    spec_.schedule = step_.schedule;
    auto step = kernel_->prepare(spec_);
    if (!step) return step.errors();
    prepared.step = std::move(*step);
    if (prepared.step->items() < 1) return damaged("a step without work", "at least one item");
    return prepared;
  }

  // One that was prepared for the same call: what is left to check is where its operands lie.
  Result<PreparedStep> share(const PreparedStep& same) {
    for (const auto* operands : {&step_.inputs, &step_.outputs}) {
      for (std::size_t i = 0; i < operands->size(); ++i) {
        if (Status status = check_place((*operands)[i], operands == &step_.inputs); !status)
          return within((operands == &step_.inputs ? "input " : "output ") + std::to_string(i), status.errors());
      }
    }
    if (Status status = check_overlap(same.in_place); !status) return status.errors();
    return same;
  }

 private:
  Status check_place(ValueIndex index, bool is_input) const {
    if (index == kNoValue) return ok_status();
    const PlanValue& operand = plan_.value(index);
    if (is_in_arena(operand)) return check_arena(operand, operand.bytes());
    if (operand.place == Place::input || operand.place == Place::output)
      return check_model_tensor(operand, is_input ? plan_.inputs : plan_.outputs);
    return ok_status();
  }

  Status find_names() {
    op_ = find_op(step_.op);
    if (op_ == nullptr) return damaged("operator '" + step_.op + "'", "one of this release");
    const auto has_name = [&](const KernelCode* kernel) { return kernel->name == step_.kernel; };
    const auto it = std::find_if(options_.kernels.begin(), options_.kernels.end(), has_name);
    if (it == options_.kernels.end()) return no_kernel();
    kernel_ = *it;
    if (kernel_->op != "*" && kernel_->op != step_.op)
      return damaged("kernel '" + step_.kernel + "' for " + step_.op, "a kernel of that operator");
    if (!host_machine().isa.has(kernel_->needs) && !(is_of_device(kernel_->needs) && is_for_device(plan_))) {
      return Error{.kind = ErrorKind::resource,
                   .found = "a kernel that needs " + std::string(name_of(kernel_->needs)),
                   .expected = "one for this machine, which has " + host_machine().isa.to_string()};
    }
    attrs_ = op_->decode_attrs(step_.attrs);
    if (!attrs_) return damaged("attributes that cannot be decoded", "those of " + step_.op);
    if (!step_.schedule.empty() && kernel_->knobs.empty())
      return damaged("a schedule", "none: kernel '" + step_.kernel + "' has one way only");
    return ok_status();
  }

  Error no_kernel() const {
    const std::string library(library_of(step_.kernel));
    const auto is_of_it = [&](const KernelCode* kernel) { return library_of(kernel->name) == library; };
    if (library.empty() || std::any_of(options_.kernels.begin(), options_.kernels.end(), is_of_it))
      return damaged("kernel '" + step_.kernel + "'", "one of this release");
    return {.kind = ErrorKind::unsupported,
            .found = "kernel '" + step_.kernel + "' of " + library + ", which this program does not link",
            .expected = "a kernel that it links",
            .hint = library == "octavo_cuda" ? "Link octavo_cuda too"
                                             : "Link octavo_onednn too; from Python: pip install 'octavo[onednn]'"};
  }

  Status check_operands() {
    for (std::size_t i = 0; i < step_.inputs.size(); ++i) {
      if (Status status = add_input(step_.inputs[i]); !status)
        return within("input " + std::to_string(i), status.errors());
    }
    for (std::size_t i = 0; i < step_.outputs.size(); ++i) {
      if (Status status = add_output(step_.outputs[i]); !status)
        return within("output " + std::to_string(i), status.errors());
    }
    if (!step_.packed.empty() && !kernel_->packs) return damaged("packed constants", "none for this kernel");
    for (std::size_t i = 0; i < step_.packed.size(); ++i) {
      if (Status status = add_packed(step_.packed[i]); !status)
        return within("packed constant " + std::to_string(i), status.errors());
    }
    return ok_status();
  }

  Status add_input(ValueIndex index) {
    if (index == kNoValue) {
      spec_.inputs.push_back({.is_present = false});
      return ok_status();
    }
    const PlanValue& operand = plan_.value(index);
    const auto bytes = bytes_of(operand.dtype, operand.shape);
    if (!bytes) return bytes.errors();
    StepOperand input{.dtype = operand.dtype, .shape = Shape(operand.shape)};
    switch (operand.place) {
      case Place::arena:
      case Place::region:
        if (Status status = check_arena(operand, *bytes); !status) return status;
        input.is_padded = !is_slice(operand);
        break;
      case Place::constant:
        input.constant = constants_.find(operand.offset, *bytes);
        if (input.constant == nullptr) return outside_constants(operand, *bytes);
        break;
      case Place::input:
        if (Status status = check_model_tensor(operand, plan_.inputs); !status) return status;
        input.is_padded = false;
        break;
      case Place::packed:
        if (!kernel_->packs) return damaged("a packed constant", "a kernel that packs");
        input.is_packed = true;
        break;
      default: return damaged("place '" + std::string(name_of(operand.place)) + "'", "one that can be read");
    }
    spec_.inputs.push_back(std::move(input));
    return ok_status();
  }

  Status add_output(ValueIndex index) {
    const PlanValue& operand = plan_.value(index);
    const auto bytes = bytes_of(operand.dtype, operand.shape);
    if (!bytes) return bytes.errors();
    StepOperand output{.dtype = operand.dtype, .shape = Shape(operand.shape)};
    if (is_in_arena(operand)) {
      if (Status status = check_arena(operand, *bytes); !status) return status;
      output.is_padded = !is_slice(operand);
    } else if (operand.place == Place::output) {
      if (Status status = check_model_tensor(operand, plan_.outputs); !status) return status;
      output.is_padded = false;
    } else {
      return damaged("place '" + std::string(name_of(operand.place)) + "'", "one that can be written");
    }
    spec_.outputs.push_back(std::move(output));
    return ok_status();
  }

  static Error outside_constants(const PlanValue& operand, std::uint64_t bytes) {
    return damaged(std::to_string(bytes) + " bytes at offset " + std::to_string(operand.offset),
                   "a place inside the constants, at a multiple of " + std::to_string(kAlignment));
  }

  // One of several that lie without gaps.
  bool is_slice(const PlanValue& operand) const { return region_ != nullptr && operand.place == Place::arena; }

  Status check_arena(const PlanValue& operand, std::uint64_t bytes) const {
    if (operand.place == Place::arena) {
      if (bytes > kMaxArenaBytes) return check_extent(operand.offset, bytes, plan_.arena_bytes, "arena");
      return check_extent(operand.offset, bytes * slices_, plan_.arena_bytes, "arena");
    }
    if (region_ == nullptr) return damaged("place 'region' in a step of none", "the arena");
    return check_extent(operand.offset, bytes, region_->arena_bytes, "arena of a slice");
  }

  Status add_packed(ValueIndex index) {
    const PlanValue& operand = plan_.value(index);
    const auto bytes = bytes_of(operand.dtype, operand.shape);
    if (!bytes) return bytes.errors();
    if (operand.place != Place::constant)
      return damaged("place '" + std::string(name_of(operand.place)) + "'", "constant");
    const std::byte* data = constants_.find(operand.offset, *bytes);
    if (data == nullptr) return outside_constants(operand, *bytes);
    spec_.packed.push_back({.dtype = operand.dtype, .shape = Shape(operand.shape), .data = data});
    return ok_status();
  }

  // The step may see the caller's tensor, or a slice of it, under another shape of equally many elements.
  Status check_model_tensor(const PlanValue& operand, const std::vector<PlanPort>& ports) const {
    if (operand.offset >= ports.size()) {
      return damaged("tensor " + std::to_string(operand.offset) + " of the model",
                     "one of " + std::to_string(ports.size()));
    }
    const PlanPort& port = ports[operand.offset];
    const PlanValue& tensor = plan_.value(port.value);
    const std::int64_t slices = static_cast<std::int64_t>(slices_);
    const std::int64_t elements = Shape(tensor.shape).elements();
    if (operand.dtype != tensor.dtype || elements % slices != 0 ||
        Shape(operand.shape).elements() != elements / slices) {
      return damaged((slices > 1 ? std::to_string(slices) + " of " : "") + std::string(name_of(operand.dtype)) + " " +
                         Shape(operand.shape).to_string(),
                     "the type and size of '" + port.name + "', " + std::string(name_of(tensor.dtype)) + " " +
                         Shape(tensor.shape).to_string());
    }
    return ok_status();
  }

  // The operator accepts these inputs and its outputs are those of the plan. Whether the kernel takes the call, its
  // prepare checks.
  Status check_meaning(int& in_place) const {
    std::vector<Fact> facts;
    facts.reserve(spec_.inputs.size());
    OpCall call{.spec = op_, .attrs = &*attrs_};
    for (const StepOperand& input : spec_.inputs) {
      Fact& fact = facts.emplace_back(Fact{.dtype = input.dtype, .shape = input.shape});
      if (input.constant != nullptr)
        fact.constant = std::make_shared<const Tensor>(Tensor::borrowed({input.dtype, input.shape, input.constant}));
      call.inputs.push_back(input.is_present ? &fact : nullptr);
    }
    auto outputs = infer_checked(*op_, *attrs_, call.inputs);
    if (!outputs) return outputs.errors();
    if (outputs->size() != spec_.outputs.size()) {
      return damaged(std::to_string(spec_.outputs.size()) + " outputs", std::to_string(outputs->size()));
    }
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      const Fact& fact = (*outputs)[i];
      if (fact.dtype == spec_.outputs[i].dtype && fact.shape == spec_.outputs[i].shape) continue;
      return within("output " + std::to_string(i),
                    {damaged(std::string(name_of(spec_.outputs[i].dtype)) + " " + spec_.outputs[i].shape.to_string(),
                             std::string(name_of(fact.dtype)) + " " + fact.shape.to_string())});
    }
    call.outputs = std::move(*outputs);
    in_place = kernel_->in_place_input == nullptr ? -1 : kernel_->in_place_input(call);
    return check_overlap(in_place);
  }

  // What a step writes is nothing else that it reads or writes, but for the one input that its kernel may overwrite.
  Status check_overlap(int in_place) const {
    for (std::size_t o = 0; o < step_.outputs.size(); ++o) {
      const PlanValue& output = plan_.value(step_.outputs[o]);
      const auto refused = [&](const std::string& other) {
        return within("output " + std::to_string(o),
                      {damaged("memory that " + other + " occupies", "memory of its own")});
      };
      for (std::size_t i = 0; i < step_.inputs.size(); ++i) {
        if (step_.inputs[i] == kNoValue) continue;
        const PlanValue& input = plan_.value(step_.inputs[i]);
        const bool may_be_same = o == 0 && static_cast<int>(i) == in_place && has_same_extent(input, output);
        if (!may_be_same && prepare_overlap(input, output, slices_)) return refused("input " + std::to_string(i));
      }
      for (std::size_t other = 0; other < o; ++other) {
        if (prepare_overlap(plan_.value(step_.outputs[other]), output, slices_))
          return refused("output " + std::to_string(other));
      }
    }
    return ok_status();
  }

  const Plan& plan_;
  const ConstantSource& constants_;
  const LoadOptions& options_;
  const PlanStep& step_;
  const Region* region_;        // null: none
  const std::uint64_t slices_;  // how many follow each other in the arena and in the model's tensors
  const OpSpec* op_ = nullptr;
  const KernelCode* kernel_ = nullptr;
  std::optional<Attrs> attrs_;
  StepSpec spec_;
};

Status check_model_tensors(const Plan& plan) {
  for (const auto* ports : {&plan.inputs, &plan.outputs}) {
    for (const PlanPort& port : *ports) {
      const PlanValue& value = plan.value(port.value);
      if (auto bytes = bytes_of(value.dtype, value.shape); !bytes)
        return within("tensor '" + port.name + "'", bytes.errors());
    }
  }
  return ok_status();
}

Status check_arena_bytes(std::uint64_t bytes) {
  if (bytes <= kMaxArenaBytes) return ok_status();
  return Error{.kind = ErrorKind::resource,
               .found = "an arena of " + std::to_string(bytes) + " bytes",
               .expected = "at most " + std::to_string(kMaxArenaBytes)};
}

Status check_memory(const Plan& plan) {
  if (Status status = check_arena_bytes(plan.arena_bytes); !status) return status;
  for (const Region& region : plan.regions) {
    if (Status status = check_arena_bytes(region.arena_bytes); !status) return status;
    if (region.slices < 1 || region.slices > kMaxSlices)
      return damaged("a region of " + std::to_string(region.slices) + " slices", "1 to " + std::to_string(kMaxSlices));
  }
  return ok_status();
}

Status check_outputs_are_made(const Plan& plan) {
  std::vector<bool> is_made(plan.outputs.size(), false);
  for (const PlanStep& step : plan.steps) {
    for (const ValueIndex output : step.outputs) {
      if (plan.value(output).place == Place::output) is_made[plan.value(output).offset] = true;
    }
  }
  for (std::size_t i = 0; i < is_made.size(); ++i) {
    if (!is_made[i])
      return damaged("output '" + plan.outputs[i].name + "', which no step computes", "a step for every output");
  }
  return ok_status();
}

}  // namespace

Status check_speeds(const Machine& machine) {
  return machine.speeds.are_usable() ? ok_status() : damaged("a machine's speed", "a number from 0.001 to 10^9");
}

Result<std::vector<PreparedStep>> prepare_plan(const Plan& plan, const ConstantSource& constants,
                                               const LoadOptions& options, const PreparedPlan* like) {
  if (Status status = check_indices(plan); !status) return status.errors();
  if (Status status = check_model_tensors(plan); !status) return status.errors();
  if (Status status = check_memory(plan); !status) return status.errors();
  if (Status status = check_speeds(plan.machine); !status) return status.errors();
  std::vector<std::optional<Result<PreparedStep>>> prepared(plan.steps.size());
  std::vector<std::size_t> own;
  for (std::size_t i = 0; i < prepared.size(); ++i) {
    if (like == nullptr || !is_same_call(plan, *like->plan, i)) own.push_back(i);
    else prepared[i] = StepPreparer(plan, constants, options, i).share(like->steps[i]);
  }
  const int threads = std::min(options.threads, static_cast<int>(own.size()) / kStepsOfThread);
  for_each_part(own.size(), threads,
                [&](std::size_t i) { prepared[own[i]] = StepPreparer(plan, constants, options, own[i]).prepare(); });
  std::vector<PreparedStep> steps;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    Result<PreparedStep>& step = *prepared[i];
    if (!step)
      return within("step " + std::to_string(i) + " '" + plan.report_of(i).name + "' (" + plan.steps[i].op + ")",
                    std::move(step).errors());
    steps.push_back(std::move(*step));
  }
  if (Status status = check_outputs_are_made(plan); !status) return status.errors();
  return steps;
}

}  // namespace octavo
