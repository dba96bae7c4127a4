// Graph -> Plan: order, kernels, aliases, places. Part of planner/.
//
// Values that share memory (a value and its reshapes) have one root, the value that is computed; roots get places:
// the caller's input, the caller's output, a constant, or a buffer in the arena, which several roots may use one after
// the other in place.
#include "planner/planner.h"

#include <algorithm>
#include <map>

#include "ops/reshape/reshape.h"
#include "planner/choice_memo.h"
#include "planner/image_loop.h"
#include "planner/macs.h"
#include "planner/packing_key.h"

namespace octavo {
namespace {

// A step before its operands have places. A copy writes the caller's output directly; other steps write values.
struct Draft {
  NodeId node;  // none: a copy
  std::string name, origin;
  OpCall call;
  Attrs attrs = NoAttrs{};
  Choice choice;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;  // empty for a copy
  int copies_to = -1;            // a copy: the index of the graph output, and its name
  std::string copies_to_name;
};

struct Root {
  int readers = 0;  // steps that read it
  int last_reader = -1;
  std::vector<int> graph_outputs;  // indices
  int input = -1;                  // index of the graph input it is
  int output = -1;                 // index of the graph output in whose memory it lies
  int buffer = -1;                 // index of its arena buffer
  bool is_of_image = false;        // that buffer is in the arena of an image
  ValueIndex value = kNoValue;     // of the plan
};

std::optional<ValueScale> scale_of(const Fact& fact) {
  if (!fact.quant || fact.quant->scale.size() != 1 || fact.quant->zero_point.size() != 1) return std::nullopt;
  return ValueScale{fact.quant->scale[0], fact.quant->zero_point[0]};
}

Fact without_constant(const Fact& fact) { return {.dtype = fact.dtype, .shape = fact.shape, .quant = fact.quant}; }

class Planner {
 public:
  // `consumed` is `graph` where nobody needs it afterwards, else null.
  Planner(const Graph& graph, Graph* consumed, const Machine& machine, const PlanOptions& options, ConstantSink& pool)
      : graph_(graph),
        consumed_(consumed),
        machine_(machine),
        options_(options),
        pool_(pool),
        images_(options.batch),
        root_of_(graph.value_count()),
        roots_(graph.value_count()) {
    for (int i = 0; i < graph.value_count(); ++i) values_.push_back(graph.value({i}));
  }

  Result<Plan> make() {
    find_roots();
    draft_steps();
    if (!errors_.empty()) return errors_;
    // A device takes a batch at once: what one image needs does not fill it.
    if (options_.batch > 1 && options_.batch_order != BatchOrder::steps && !is_device(machine_)) loop_over_images();
    if (!errors_.empty()) return errors_;
    find_places();
    const std::uint64_t slice_bytes = plan_.regions.empty() ? 0 : plan_.regions.front().arena_bytes;
    if (Status fits = check_arena_bytes(std::max(plan_.arena_bytes, slice_bytes)); !fits) return fits.errors();
    describe();
    reserve_constants();
    if (consumed_ != nullptr) *consumed_ = {};
    for (const Draft& draft : drafts_) emit(draft);
    finish_outputs();
    trace_.lifetimes = std::move(buffers_);
    return std::move(plan_);
  }
  PlanTrace& trace() { return trace_; }

 private:
  static bool is_alias(const Node& node) { return node.spec->is_view; }
  ValueId root_of(ValueId value) const { return root_of_[at(value)]; }
  Root& root(ValueId value) { return roots_[at(root_of(value))]; }
  const Fact& fact(ValueId value) const { return values_[at(value)].fact; }
  bool is_stored_constant(ValueId value) const {
    return fact(value).is_constant() && !values_[at(value)].producer.exists();
  }
  // Steps that pack constants do not read them in a run.
  bool is_packed(const Draft& draft, ValueId value) const {
    return draft.choice.kernel->code.packs && fact(value).is_constant();
  }

  // What the graph holds, and an eighth for padding that packing adds. Pages that are not used after all cost nothing.
  void reserve_constants() {
    std::uint64_t bytes = 0;
    for (const Value& value : values_) {
      if (value.fact.is_constant()) bytes += value.fact.constant->bytes();
    }
    pool_.reserve(bytes + bytes / 8);
  }

  // ---- what shares memory ----

  void find_roots() {
    for (int i = 0; i < graph_.value_count(); ++i) root_of_[static_cast<std::size_t>(i)] = {i};
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      if (is_alias(node)) root_of_[at(node.outputs[0])] = root_of(node.inputs[0]);
    }
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      if (is_alias(node)) continue;
      for (const ValueId input : node.inputs) {
        if (input.exists()) ++root(input).readers;
      }
    }
    for (std::size_t i = 0; i < graph_.inputs().size(); ++i) root(graph_.inputs()[i]).input = static_cast<int>(i);
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i)
      root(graph_.outputs()[i]).graph_outputs.push_back(static_cast<int>(i));
  }

  // Only a value that is computed, read by no step and an output once can be computed in the caller's memory.
  bool needs_copies(ValueId value) {
    const Root& r = root(value);
    return graph_.producer(root_of(value)) == nullptr || r.readers > 0 || r.graph_outputs.size() > 1;
  }

  // ---- steps and their kernels ----

  void draft_steps() {
    std::vector<bool> is_drafted(roots_.size(), false);
    for (const ValueId output : graph_.outputs()) {
      const ValueId r = root_of(output);
      if (graph_.producer(r) != nullptr || is_drafted[at(r)]) continue;
      is_drafted[at(r)] = true;
      draft_copies(r);
    }
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      if (is_alias(node)) continue;
      draft_node(id);
      for (const ValueId output : node.outputs) {
        if (needs_copies(output)) draft_copies(output);
      }
    }
  }

  void draft_node(NodeId id) {
    const Node& node = graph_.node(id);
    Draft draft{.node = id,
                .name = node.name,
                .origin = node.origin,
                .attrs = node.attrs,
                .inputs = node.inputs,
                .outputs = node.outputs};
    draft.call = {.spec = node.spec};
    for (const ValueId input : node.inputs) draft.call.inputs.push_back(input.exists() ? &fact(input) : nullptr);
    for (const ValueId output : node.outputs) draft.call.outputs.push_back(fact(output));
    choose_kernel(std::move(draft));
  }

  void draft_copies(ValueId root_value) {
    for (const int index : root(root_value).graph_outputs) {
      const ValueId value = graph_.outputs()[static_cast<std::size_t>(index)];
      const std::string& name = graph_.output_names()[static_cast<std::size_t>(index)];
      const Fact& own = fact(value);
      Draft draft{.name = "copy to output '" + name + "'",
                  .attrs = ReshapeAttrs{.shape = own.shape.to_vector()},
                  .inputs = {value},
                  .copies_to = index,
                  .copies_to_name = name};
      draft.call = {.spec = &kReshape, .inputs = {&own}, .outputs = {without_constant(own)}};
      choose_kernel(std::move(draft));
    }
  }

  void choose_kernel(Draft draft) {
    auto choice = choice_for(draft, options_.threads);
    if (!choice) return add_errors(draft, choice.errors());
    draft.choice = std::move(*choice);
    drafts_.push_back(std::move(draft));
  }

  Result<Choice> choice_for(const Draft& draft, int threads) const {
    const OpCall call = call_of(draft);
    const SelectOptions selection = selection_of(draft, threads);
    if (options_.memo == nullptr) return choose(call, machine_, selection, options_.kernels);
    return options_.memo->choose(draft.name, call, machine_, selection, options_.kernels);
  }

  void add_errors(const Draft& draft, Errors errors) {
    for (Error& error : errors) {
      error.where = draft.origin.empty() ? "node '" + draft.name + "'" : draft.origin;
      errors_.push_back(std::move(error));
    }
  }

  SelectOptions selection_of(const Draft& draft, int threads) const {
    SelectOptions selection{.needs_exact = options_.needs_exact || options_.precision != Precision::fp32,
                            .allow_reference = options_.allow_reference,
                            .measured = options_.measured,
                            .threads = threads};
    if (may_be_tuned(draft)) selection.tuned = options_.tuned;
    return selection;
  }

  // Trials read memory that is padded, and schedules may need that; a caller's tensors are not, unless they are copied
  // to a device.
  bool may_be_tuned(const Draft& draft) const {
    return is_device(machine_) || std::none_of(draft.inputs.begin(), draft.inputs.end(), [&](ValueId value) {
             return value.exists() && roots_[at(root_of(value))].input >= 0;
           });
  }

  static OpCall call_of(const Draft& draft) {
    OpCall call = draft.call;
    call.attrs = &draft.attrs;
    return call;
  }

  // ---- image by image ----

  // The step on one image; nothing where its operator needs the batch at once or no kernel takes it.
  std::optional<Draft> image_draft(const Draft& batch) {
    Draft image = batch;
    auto attrs = images_.image_of(call_of(batch), image.call);
    if (!attrs) return std::nullopt;
    image.attrs = std::move(*attrs);
    auto choice = choice_for(image, 1);
    if (!choice) {
      if (choice.errors()[0].kind != ErrorKind::unsupported) add_errors(batch, choice.errors());
      return std::nullopt;
    }
    image.choice = std::move(*choice);
    return image;
  }

  void loop_over_images() {
    std::vector<Draft> images;
    std::vector<LoopCost> costs;
    for (const Draft& batch : drafts_) {
      auto image = image_draft(batch);
      if (!image) break;
      costs.push_back(loop_cost(image->call, batch.choice.predicted_ns, image->choice.predicted_ns));
      images.push_back(std::move(*image));
    }
    const std::size_t steps =
        options_.batch_order == BatchOrder::images ? images.size() : steps_by_image(costs, options_.batch, machine_);
    if (steps == 0) return;
    plan_.regions = {{.steps = static_cast<std::int64_t>(steps), .slices = options_.batch}};
    std::move(images.begin(), images.begin() + static_cast<std::ptrdiff_t>(steps), drafts_.begin());
  }

  bool is_in_loop(int step) const { return plan_.region_of(static_cast<std::size_t>(step)) != nullptr; }

  // ---- places ----

  void find_places() {
    for (std::size_t step = 0; step < drafts_.size(); ++step) {
      const Draft& draft = drafts_[step];
      for (const ValueId input : draft.inputs) {
        if (input.exists() && !is_packed(draft, input)) root(input).last_reader = static_cast<int>(step);
      }
    }
    for (std::size_t step = 0; step < drafts_.size(); ++step) {
      for (std::size_t i = 0; i < drafts_[step].outputs.size(); ++i) place_output(static_cast<int>(step), i);
    }
    plan_.arena_bytes = place_buffers(buffers_);
    if (!plan_.regions.empty()) plan_.regions.front().arena_bytes = place_buffers(image_buffers_);
  }

  std::vector<ArenaBuffer>& buffers_of(const Root& r) { return r.is_of_image ? image_buffers_ : buffers_; }

  void place_output(int step, std::size_t index) {
    const Draft& draft = drafts_[static_cast<std::size_t>(step)];
    const ValueId output = draft.outputs[index];
    Root& r = root(output);
    if (!r.graph_outputs.empty() && !needs_copies(output)) {
      r.output = r.graph_outputs.front();
      return;
    }
    const int last_step = std::max(step, r.last_reader);
    const bool outlives_loop = is_in_loop(step) && !is_in_loop(last_step);
    r.is_of_image = is_in_loop(last_step);
    const ValueId reused = index == 0 && !outlives_loop ? in_place_input(step) : ValueId{};
    std::vector<ArenaBuffer>& buffers = buffers_of(r);
    if (reused.exists()) {
      r.buffer = root(reused).buffer;
      buffers[static_cast<std::size_t>(r.buffer)].last_step = last_step;
      return;
    }
    r.buffer = static_cast<int>(buffers.size());
    // Some image is at any step of the loop while it runs.
    const Fact& own = r.is_of_image ? draft.call.outputs[index] : fact(output);
    buffers.push_back({.bytes = static_cast<std::uint64_t>(bytes_of(own)),
                       .first_step = outlives_loop ? 0 : step,
                       .last_step = last_step});
  }

  // The input whose buffer the step's first output takes over: the kernel allows it, and nobody else needs the input
  // any more.
  ValueId in_place_input(int step) {
    const Draft& draft = drafts_[static_cast<std::size_t>(step)];
    const KernelCode& kernel = draft.choice.kernel->code;
    const int index = kernel.in_place_input == nullptr ? -1 : kernel.in_place_input(call_of(draft));
    if (index < 0 || index >= static_cast<int>(draft.inputs.size())) return {};
    const ValueId input = draft.inputs[static_cast<std::size_t>(index)];
    if (!input.exists() || root(input).buffer < 0 || root(input).last_reader != step) return {};
    const auto shares_root = [&](ValueId other) { return other.exists() && root_of(other) == root_of(input); };
    if (std::count_if(draft.inputs.begin(), draft.inputs.end(), shares_root) != 1) return {};
    const Fact& from = *draft.call.inputs[static_cast<std::size_t>(index)];
    const Fact& to = draft.call.outputs[0];
    return size_of(from.dtype) == size_of(to.dtype) && from.shape.elements() == to.shape.elements() ? input : ValueId{};
  }

  // ---- writing it down ----

  // Constants that no step after this one reads. Who else holds them keeps them.
  void forget_constants_of(const Draft& draft) {
    for (const ValueId input : draft.inputs) {
      if (!input.exists() || draft.copies_to >= 0 || --root(input).readers > 0 || !root(input).graph_outputs.empty())
        continue;
      values_[at(input)].fact.constant.reset();
      values_[at(root_of(input))].fact.constant.reset();
    }
  }

  // `own` is the fact of `of` in the graph, or of an image of it.
  ValueIndex add_value(ValueId of, const Fact& own, Place place, std::uint64_t offset, std::string name) {
    trace_.values.push_back(of);
    trace_.buffers.push_back(-1);
    plan_.values.push_back({.place = place,
                            .dtype = own.dtype,
                            .shape = fixed(own.shape.dims()),
                            .offset = offset,
                            .scale = scale_of(own)});
    plan_.report.values.push_back(std::move(name));
    return static_cast<ValueIndex>(plan_.values.size()) - 1;
  }

  // The value itself, or a view of it in the shape of `own`, the fact of `of`.
  ValueIndex seen_as(ValueIndex value, ValueId of, const Fact& own) {
    std::vector<std::int64_t> shape = fixed(own.shape.dims());
    if (plan_.value(value).shape == shape) return value;
    const auto [it, is_new] = views_.try_emplace({value, shape}, kNoValue);
    if (!is_new) return it->second;
    const PlanValue seen = plan_.value(value);
    it->second = add_value(of, own, seen.place, seen.offset, {});
    plan_.values.back().view_of = value;
    return it->second;
  }

  ValueIndex input_value(const Draft& draft, std::size_t index) {
    const ValueId value = draft.inputs[index];
    if (!value.exists()) return kNoValue;
    const Fact& own = *draft.call.inputs[index];
    if (is_packed(draft, value)) return add_value(value, own, Place::packed, 0, {});
    Root& r = root(value);
    if (r.value == kNoValue)
      r.value =
          add_value(value, own, Place::constant, pool_.add(std::as_const(*fact(root_of(value)).constant).view()), {});
    return seen_as(r.value, value, own);
  }

  ValueIndex output_value(ValueId output, const Fact& own) {
    Root& r = root(output);
    const std::string& name = values_[at(output)].name;
    if (r.output >= 0)
      return r.value = add_value(output, own, Place::output, static_cast<std::uint64_t>(r.output), name);
    const std::uint64_t offset = buffers_of(r)[static_cast<std::size_t>(r.buffer)].offset;
    r.value = add_value(output, own, r.is_of_image ? Place::region : Place::arena, offset, name);
    trace_.buffers.back() = r.buffer;
    return r.value;
  }

  // What the step packs; afterwards it needs its constants no more.
  std::vector<PackedTensor> pack(const Draft& draft, const OpCall& call, std::span<const std::byte> attrs) {
    // Before the pool grows: the weights of a large product are in memory twice then, not thrice.
    return packed_tensors(*draft.choice.kernel, call, attrs, pool_, [&] { forget_constants_of(draft); });
  }

  void emit(const Draft& draft) {
    const KernelChoice& kernel = *draft.choice.kernel;
    const OpCall call = call_of(draft);
    const std::int64_t calls = plan_.calls_of(plan_.steps.size());
    if (options_.on_step && may_be_tuned(draft) && is_timed(kernel))
      options_.on_step(call, selection_of(draft, calls > 1 ? 1 : options_.threads), calls);
    PlanStep step{.op = std::string(call.spec->name),
                  .kernel = std::string(kernel.code.name),
                  .attrs = draft.attrs.encoded(),
                  .schedule = draft.choice.schedule,
                  .predicted_ns = draft.choice.predicted_ns};
    for (std::size_t i = 0; i < draft.inputs.size(); ++i) step.inputs.push_back(input_value(draft, i));
    for (std::size_t i = 0; i < draft.outputs.size(); ++i)
      step.outputs.push_back(output_value(draft.outputs[i], call.outputs[i]));
    if (draft.copies_to >= 0) {
      step.outputs.push_back(add_value(draft.inputs[0], call.outputs[0], Place::output,
                                       static_cast<std::uint64_t>(draft.copies_to), draft.copies_to_name));
      plan_.outputs[static_cast<std::size_t>(draft.copies_to)].value = step.outputs.back();
    }
    for (const PackedTensor& tensor : pack(draft, call, step.attrs))
      step.packed.push_back(
          add_value({}, {.dtype = tensor.dtype, .shape = tensor.shape}, Place::constant, tensor.offset, {}));
    plan_.needs.add(kernel.code.needs);
    if (is_of_device(kernel.code.needs)) plan_.needs.add(Isa::cuda);
    plan_.report.steps.push_back({.name = draft.name,
                                  .origin = draft.origin,
                                  .macs = saturating_sum(0, macs_of(call), calls),
                                  .refusals = draft.choice.refusals});
    plan_.report.macs = saturating_sum(plan_.report.macs, macs_of(call), calls);
    plan_.steps.push_back(std::move(step));
    trace_.steps.push_back(draft.node);
  }

  // What the graph says of the whole; it may be gone afterwards.
  void describe() {
    plan_.precision = options_.precision;
    plan_.batch = options_.batch;
    plan_.machine = machine_;
    if (!is_device(machine_)) plan_.machine.cores = Machine{}.cores;  // the plan is the same wherever it is made
    for (std::size_t i = 0; i < graph_.inputs().size(); ++i) {
      const ValueId input = graph_.inputs()[i];
      root(input).value = add_value(input, fact(input), Place::input, i, values_[at(input)].name);
      plan_.inputs.push_back({values_[at(input)].name, root(input).value});
    }
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
      output_ids_.push_back(graph_.outputs()[i]);
      output_facts_.push_back(without_constant(fact(output_ids_.back())));
      plan_.outputs.push_back({.name = graph_.output_names()[i]});
    }
  }

  // The caller sees an output in the shape that the graph gives it.
  void finish_outputs() {
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
      ValueIndex& value = plan_.outputs[i].value;
      if (value == kNoValue) value = root(output_ids_[i]).value;
      value = seen_as(value, output_ids_[i], output_facts_[i]);
    }
  }

  const Graph& graph_;  // empty once steps are emitted
  Graph* consumed_;
  const Machine& machine_;
  const PlanOptions& options_;
  ConstantSink& pool_;
  ImageCalls images_;
  std::vector<Value> values_;  // of the graph; their constants leave one by one
  std::vector<ValueId> root_of_;
  std::vector<Root> roots_;  // by value; only those of roots are used
  std::vector<Draft> drafts_;
  std::vector<ArenaBuffer> buffers_, image_buffers_;
  std::map<std::pair<ValueIndex, std::vector<std::int64_t>>, ValueIndex> views_;
  std::vector<ValueId> output_ids_;
  std::vector<Fact> output_facts_;
  Plan plan_;
  PlanTrace trace_;
  Errors errors_;
};

}  // namespace

Result<Plan> make_plan(const Graph& graph, const Machine& machine, const PlanOptions& options,
                       ConstantSink& constants) {
  return Planner(graph, nullptr, machine, options, constants).make();
}

Result<Plan> make_plan(Graph&& graph, const Machine& machine, const PlanOptions& options, ConstantSink& constants,
                       PlanTrace* trace) {
  Planner planner(graph, &graph, machine, options, constants);
  auto plan = planner.make();
  if (trace != nullptr) *trace = std::move(planner.trace());
  return plan;
}

}  // namespace octavo
