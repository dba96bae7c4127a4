// The public compile(): file -> import -> quantize -> lower -> plan, for each batch. Part of api/.
#include <algorithm>
#include <filesystem>

#include "api/ends.h"
#include "api/planned_sizes.h"
#include "api/program_samples.h"
#include "api/quantizer.h"
#include "api/readings.h"
#include "artifact/artifact.h"
#include "base/fields.h"
#include "lower/lower.h"
#include "planner/machine_file.h"
#include "planner/measurement_log.h"
#include "planner/open_planner.h"
#include "planner/planner.h"
#include "quantize/node_pattern.h"

namespace octavo::v1 {

namespace {

// What rows with scales of their own have no form for.
void check_per_token(const CompileOptions& options, Errors& errors) {
  if (options.activations != Activations::per_token) return;
  const auto refuse = [&](std::string found, std::string expected) {
    errors.push_back(usage("--activations per-token", std::move(found), std::move(expected)));
  };
  if (options.integer_only) refuse("--integer-only", "per-tensor: scales that are found in a run are real numbers");
  if (options.precision == Precision::fp32) refuse("--precision fp32", "int8");
  if (options.global_scale) refuse("--global-scale", "samples, or none");
  if (options.placement != PairPlacement::fused) refuse("--placement per-operator", "fused");
}

}  // namespace

Status check_options(const CompileOptions& options) {
  Errors errors;
  if (options.batches.empty()) errors.push_back(usage("--batch", "no batch", "at least one"));
  for (const std::int64_t batch : options.batches) {
    if (batch < 1) errors.push_back(usage("--batch", std::to_string(batch), "at least 1"));
    if (std::count(options.batches.begin(), options.batches.end(), batch) > 1) {
      errors.push_back(usage("--batch", std::to_string(batch) + " more than once", "each batch once"));
      break;
    }
  }
  if (!options.planned_shapes.empty() && options.batches != std::vector<std::int64_t>{1})
    errors.push_back(
        usage("--batch", print(options.batches) + " beside shapes to plan for", "none: they say the batch"));
  if (options.samples.count > 0 && !options.samples.fill)
    errors.push_back(usage("calibration samples", "no function", "one that fills in a sample"));
  if (const auto preprocess = parse_preprocess(options.pictures); !options.pictures.empty() && !preprocess)
    errors.insert(errors.end(), preprocess.errors().begin(), preprocess.errors().end());
  if (const auto type = options.output_type; type && *type != DType::f32 && !is_8bit(*type))
    errors.push_back(usage("--output-type", std::string(name_of(*type)), "f32, u8 or s8"));
  if (options.output_sqnr && !(*options.output_sqnr >= 0.0 && *options.output_sqnr <= 100.0))
    errors.push_back(usage("--output-sqnr", print(*options.output_sqnr), "0 to 100 dB"));
  check_per_token(options, errors);
  if (!errors.empty()) return errors;
  return ok_status();
}

namespace {

Error host_of_no_device(const std::string& target) {
  return {.kind = ErrorKind::usage,
          .where = "--allow-host",
          .found = "the target " + target,
          .expected = "cuda: processors compute all of their plans"};
}

Error tf32_of_no_device(const std::string& target) {
  return {.kind = ErrorKind::usage,
          .where = "--precision tf32",
          .found = "the target " + target,
          .expected = "cuda: tf32 is what NVIDIA's libraries compute there"};
}

// Whether another answer gives another graph, which is worth keeping the weights twice: extents that are or are not
// some number. Bounds (sums that fit 32 bits, positions in a table) and extents that have to agree stay refusals.
bool is_choice(const SizeCondition& condition) {
  return condition.relation == SizeRelation::not_zero ||
         (condition.relation == SizeRelation::zero && !condition.is_of_shapes);
}

// The constants of a file. Those of a network of open sizes, whose graph lives as long, are known by where they lie in
// memory, as a run knows them by where they lie in the file.
class NetworkConstants final : public ConstantSink {
 public:
  NetworkConstants(ConstantPool& pool, const Graph& graph) : pool_(pool), is_of_network_(graph.sizes() != nullptr) {}
  std::optional<std::uint64_t> offset_of(const std::byte* data) const override {
    const auto found = offsets_.find(data);
    return found == offsets_.end() ? std::nullopt : std::optional(found->second);
  }
  void reserve(std::uint64_t bytes) override { pool_.reserve(bytes); }
  std::uint64_t add(const ConstTensorView& tensor) override {
    const std::uint64_t offset = pool_.add(tensor);
    if (is_of_network_ && tensor.bytes() > 0) offsets_.emplace(tensor.data, offset);
    return offset;
  }
  // The network's are all there.
  std::uint64_t seal() {
    is_of_network_ = false;
    return pool_.seal();
  }

 private:
  ConstantPool& pool_;
  bool is_of_network_;
  std::unordered_map<const std::byte*, std::uint64_t> offsets_;
};

class Compiler {
 public:
  Compiler(const ModelSource& source, const CompileOptions& options, const OwnOptions& own)
      : source_(source),
        path_(source.name),
        options_(options),
        own_(own),
        monitor_{options.stop, options.progress},
        quantizer_(source, options, own),
        notes_(own.notes) {}

  Result<octavo::CompiledModel> run() {
    auto machine = compiled_for(options_.target, options_.machine_file);
    if (!machine) return machine.errors();
    auto log = MeasurementLog::open(options_.tuning_log, timed_machine(*machine));
    if (!log) return log.errors();
    log_ = std::move(*log);
    if (options_.tuning_mode == TuningMode::off) {
      const Status settled = log_.settle_machine(options_.uses_foreign_log ? ForeignLog::use : ForeignLog::refuse);
      if (!settled) return settled.errors();
    }
    tuned_ = tuned_by(log_);
    // Behind the log: a device's times are the same beside any host.
    if (options_.allow_host) {
      if (!is_device(*machine)) return host_of_no_device(options_.target);
      machine->isa.bits |= host_machine().isa.bits;
    }
    if (options_.allow_tf32) {
      if (!is_device(*machine)) return tf32_of_no_device(options_.target);
      machine->isa.add(Isa::tf32);
    }
    auto imported = quantizer_.import_open();
    if (!imported) return imported.errors();
    if (imported->program) return compile_program(std::move(*imported), *machine);
    std::vector<Graph> others;
    if (imported->graph.sizes() != nullptr) others = quantizer_.import_others(imported->graph);
    auto sizes = sizes_to_plan(imported->graph, options_, path_);
    if (!sizes) return sizes.errors();
    if (sizes->empty() && own_.plans_examples && imported->graph.sizes()->has_example()) {
      sizes->push_back(example_sizes(imported->graph));
      notes_.push_back("sizes: none are given, so examples of them: " +
                       text_of(shapes_at(imported->graph, sizes->back())));
    }
    return compile_network(std::move(*imported), *sizes, *machine, nullptr, std::move(others));
  }

 private:
  octavo::CompiledModel described(const ImportedModel& imported) const {
    return {.source = std::filesystem::path(path_).filename().string(),
            .dialect = imported.dialect,
            .source_nodes = imported.source_nodes,
            .pictures = options_.pictures,
            .states = imported.states};
  }

  // Each network for itself, those of open sizes when these come.
  Result<octavo::CompiledModel> compile_program(ImportedModel imported, const Machine& machine) {
    if (Status can = check_program_options(imported); !can) return can.errors();
    const auto taught = teach(imported);
    if (!taught) return taught.errors();
    octavo::CompiledModel model = described(imported);
    auto others =
        taught->empty() ? quantizer_.import_others(*imported.program) : std::vector<std::vector<Graph>>(taught->size());
    model.program = std::move(imported.program->program);
    for (std::size_t i = 0; i < imported.program->networks.size(); ++i) {
      Graph& graph = imported.program->networks[i];
      std::vector<SizeValues> sizes;
      if (graph.sizes() == nullptr) sizes.emplace_back();
      ImportedModel network{.graph = std::move(graph),
                            .dialect = imported.dialect,
                            .is_quantized = imported.is_quantized,
                            .source_nodes = 0,
                            .program = std::nullopt,
                            .states = {}};
      const NetworkSamples* own = taught->empty() ? nullptr : &(*taught)[i];
      auto compiled = compile_network(std::move(network), sizes, machine, own, std::move(others[i]));
      if (!compiled) return compiled.errors();
      model.networks.push_back(std::move(*compiled));
    }
    return model;
  }

  bool is_taught(const ImportedModel& imported) const {
    return !imported.is_quantized && options_.precision != Precision::fp32 && has_calibration(options_, own_);
  }

  // What each network reads while the program runs in fp32 on the samples; nothing where it is not to be quantized.
  Result<std::vector<NetworkSamples>> teach(const ImportedModel& imported) const {
    if (!is_taught(imported)) return std::vector<NetworkSamples>();
    const auto samples = quantizer_.samples_of_program();
    if (!samples) return samples.errors();
    std::vector<std::string> unknown = options_.skip;
    for (const Graph& graph : imported.program->networks) unknown = unmatched_patterns(graph, unknown);
    if (!unknown.empty()) return usage("--skip", "'" + unknown[0] + "'", "a node of the model, by its name");
    CompileOptions options = options_;
    options.precision = Precision::fp32;
    options.skip.clear();
    auto program = Compiler(source_, options, {}).run();
    if (!program) return program.errors();
    return samples_of_networks(Access::make<CompiledModel>(std::move(*program)), imported.program->networks.size(),
                               **samples, monitor_);
  }

  // What is not for models of several parts.
  Status check_program_options(const ImportedModel& imported) const {
    Errors errors;
    const auto refuse = [&](bool is_asked, const char* what) {
      if (is_asked) errors.push_back(refuse_program(path_, what));
    };
    refuse(is_taught(imported) && options_.activations == Activations::per_token, "--activations per-token");
    refuse(is_taught(imported) && options_.global_scale.has_value(), "a global scale");
    refuse(is_taught(imported) && options_.calibrated, "known scales");
    refuse(is_taught(imported) && options_.integer_only, "--integer-only");
    refuse(!options_.pictures.empty(), "pictures as inputs");
    refuse(options_.output_type.has_value(), "another type of outputs");
    const bool asks_batch = !own_.guesses_batch && options_.batches != std::vector<std::int64_t>{1};
    refuse(!options_.planned_shapes.empty() || asks_batch, "plans of several shapes or batches");
    if (!errors.empty()) return errors;
    return ok_status();
  }

  // `taught`: of a network of a program that is quantized by samples.
  Result<octavo::CompiledModel> compile_network(ImportedModel imported, const std::vector<SizeValues>& sizes,
                                                const Machine& machine, const NetworkSamples* taught = nullptr,
                                                std::vector<Graph> others = {}) {
    octavo::CompiledModel model = described(imported);
    auto lowered = lower_once(std::move(imported), taught, std::move(others));
    if (!lowered) return lowered.errors();
    ConstantPool pool;
    NetworkConstants constants(pool, lowered->graph);
    if (lowered->graph.sizes() != nullptr) model.network = stored(*lowered, machine, constants);
    for (const SizeValues& at : sizes) {
      const auto done = static_cast<std::int64_t>(model.plans.size());
      const Status begun = monitor_.at(Phase::planning, done, static_cast<std::int64_t>(sizes.size()));
      if (!begun) return begun.errors();
      const bool is_last = &at == &sizes.back();
      auto plan = plan_at(is_last && !model.network ? std::move(*lowered) : Lowered(*lowered), at, machine, constants);
      if (!plan) return plan.errors();
      model.plans.push_back(std::move(*plan));
    }
    if (sizes.empty() && lowered->graph.sizes()->has_example()) {
      // What no run could plan is said now. What kernels make of the weights is kept for the first size, but not of a
      // model of several parts: data may never lead to one, and its file would hold the weights twice.
      ConstantPool trial;
      NetworkConstants apart(trial, lowered->graph);
      NetworkConstants& made = taught == nullptr ? constants : apart;
      const SizeValues example = example_sizes(lowered->graph);
      if (auto plan = plan_at(*lowered, example, machine, made); !plan) return plan.errors();
    }
    if (model.network) {
      model.network->times = log_.call_times();
      model.packings = constants.packed().stored();
    }
    adopt_constants(model, pool);
    return model;
  }

  Result<Precision> precision_for(const ImportedModel& imported) const {
    if (options_.precision) return *options_.precision;
    if (imported.is_quantized || has_calibration(options_, own_)) return Precision::int8;
    if (options_.unquantized == Unquantized::fp32) return Precision::fp32;
    return usage(path_, "an fp32 model and neither a precision nor calibration data",
                 "--precision fp32, or --calibrate PATH or --activations per-token for int8");
  }

  // What is the same for all sizes.
  struct Lowered {
    Graph graph;
    Precision precision;
    bool waits_for_sizes;
    std::set<std::string> kept_in_f32;
    std::vector<Island> islands;
    std::vector<std::string> notes;
    // Where lowering asked for sizes, the graph before; and what the file means at other sizes.
    std::vector<Reading> unlowered;
  };

  // A network of a program that no run of the samples came to stays in fp32; one without products is no better for
  // 8 bits, and computes in floats with the same bits everywhere.
  Result<Precision> precision_for(const ImportedModel& imported, const NetworkSamples* taught) const {
    if (taught == nullptr) return precision_for(imported);
    return *taught || !has_products(imported.graph) ? Precision::int8 : Precision::fp32;
  }

  Result<Lowered> lower_once(ImportedModel imported, const NetworkSamples* taught, std::vector<Graph> others) {
    const auto precision = precision_for(imported, taught);
    if (!precision) return precision.errors();
    std::vector<std::string> kept;
    if (taught != nullptr && *precision == Precision::fp32) kept.emplace_back("no sample came here: in fp32");
    const bool is_worth_it = taught == nullptr || has_products(imported.graph);
    if (*precision == Precision::int8 && !imported.is_quantized && is_worth_it) {
      const auto report =
          taught == nullptr ? quantizer_.quantize(imported.graph) : quantizer_.quantize_part(imported.graph, **taught);
      if (!report) return report.errors();
      kept = report->notes;
      for (const std::string& reason : report->kept_in_float) kept.push_back("kept in float: " + reason);
    }
    if (imported.is_quantized) {
      if (options_.activations == Activations::per_token)
        return usage("--activations per-token", "a quantized model (" + imported.dialect + ")",
                     "an fp32 one: a quantized one has its scales, or how they are found");
      if (const Status patterns = check_patterns(imported.graph, options_.skip, "--skip"); !patterns)
        return patterns.errors();
    }
    LowerOptions lowering{.precision = *precision,
                          .kept_in_f32 = matching_nodes(imported.graph, options_.skip),
                          .floats_of_file_in_bytes = options_.precision == Precision::int8};
    if (const Status changed = change_ends(imported.graph, lowering, kept); !changed) return changed.errors();
    std::optional<Reading> before;
    if (imported.graph.sizes() != nullptr) before = reading_of(imported.graph);
    auto report = lower(imported.graph, lowering);
    if (!report) return report.errors();
    report->notes.insert(report->notes.end(), kept.begin(), kept.end());
    Lowered lowered{.graph = std::move(imported.graph),
                    .precision = *precision,
                    .waits_for_sizes = report->waits_for_sizes,
                    .kept_in_f32 = lowering.kept_in_f32,
                    .islands = std::move(report->islands),
                    .notes = std::move(report->notes),
                    .unlowered = {}};
    if (!before) return lowered;
    const std::vector<SizeCondition>& asked = before->graph.sizes()->conditions();
    const auto choices = std::count_if(asked.begin(), asked.end(), is_choice);
    const bool is_chosen = choices > std::ssize(before->sizes.conditions);
    if (is_chosen || !others.empty() || means_more(*before, *lowered.graph.sizes()))
      lowered.unlowered.push_back(std::move(*before));
    for (Graph& other : others) {
      if (prepared(other, *precision, imported.is_quantized)) lowered.unlowered.push_back(reading_of(other));
    }
    return lowered;
  }

  // Another reading of the file, with what was done to the first. False where it cannot be quantized as that was.
  bool prepared(Graph& other, Precision precision, bool is_quantized) {
    if (precision == Precision::int8 && !is_quantized && !quantizer_.quantize(other)) return false;
    LowerOptions lowering;
    std::vector<std::string> notes;
    return change_ends(other, lowering, notes).ok();
  }

  // After samples were looked at, which are the file's own inputs.
  Status change_ends(Graph& graph, LowerOptions& lowering, std::vector<std::string>& notes) const {
    if (!options_.pictures.empty()) {
      const auto preprocess = parse_preprocess(options_.pictures);
      if (!preprocess) return preprocess.errors();
      const auto added = take_pictures(graph, *preprocess, path_);
      if (!added) return added.errors();
      // Nothing comes before an input, so nothing that is not kept in fp32 does.
      if (!lowering.kept_in_f32.empty()) lowering.kept_in_f32.insert(added->begin(), added->end());
      notes.push_back("input '" + graph.value(graph.inputs()[0]).name + "' takes pictures, u8 with channels last: '" +
                      options_.pictures + "' is computed inside");
    }
    return options_.output_type ? deliver_as(*options_.output_type, graph, path_) : ok_status();
  }

  // What plans of other sizes are made of in a run.
  OpenNetwork stored(const Lowered& network, const Machine& machine, NetworkConstants& constants) const {
    OpenNetwork stored;
    stored.graph = stored_graph(network.graph, constants);
    for (const Reading& reading : network.unlowered) {
      stored.unlowered.push_back(stored_graph(reading.graph, constants));
      stored.unlowered.back().sizes = reading.sizes;
    }
    stored.weight_bytes = constants.seal();
    stored.precision = network.precision;
    stored.machine = machine;
    stored.machine.cores = Machine{}.cores;
    stored.allow_reference = options_.allow_reference;
    stored.batch_order = options_.batch_order;
    stored.waits_for_sizes = network.waits_for_sizes;
    stored.kept_in_f32.assign(network.kept_in_f32.begin(), network.kept_in_f32.end());
    stored.islands = told_islands(network.islands, network.kept_in_f32);
    stored.notes = network.notes;
    stored.notes.insert(stored.notes.end(), own_.notes.begin(), own_.notes.end());
    return stored;
  }

  Result<Plan> plan_at(Lowered network, const SizeValues& sizes, const Machine& machine, ConstantSink& constants) {
    if (network.graph.sizes() != nullptr) {
      if (const Status closed = close(network, sizes); !closed) return closed.errors();
    }
    if (options_.integer_only) {
      if (Status status = check_integer_only(network.graph, network.islands); !status) return status.errors();
    }
    PlanOptions plan_options{.precision = network.precision,
                             .batch = batch_of(network.graph),
                             .allow_reference = options_.allow_reference,
                             .tuned = tuned_,
                             .threads = is_device(machine)           ? 1
                                        : options_.tuned_threads > 0 ? options_.tuned_threads
                                                                     : host_machine().cores,
                             .on_step = own_.on_step,
                             .batch_order = options_.batch_order};
    CallTimes times(log_, options_.tuning_mode, monitor_);
    plan_options.measured = times.cost();
    auto plan = make_plan(std::move(network.graph), machine, plan_options, constants);
    if (!plan) return plan.errors();
    if (!times.status()) return times.status().errors();
    plan->report.islands = told_islands(network.islands, network.kept_in_f32);
    plan->report.notes = std::move(network.notes);
    add_tuning_notes(times, timed_machine(machine).name, plan->report.notes);
    plan->report.notes.insert(plan->report.notes.end(), notes_.begin(), notes_.end());
    return plan;
  }

  // The network at these sizes.
  Status close(Lowered& network, const SizeValues& sizes) const {
    const auto within = [&](Errors errors) {
      for (Error& error : errors) error.where = path_ + ": " + error.where;
      return errors;
    };
    const auto values = network.graph.sizes()->evaluate(sizes);
    if (!values && lower_anew(network, sizes)) return ok_status();
    if (!values) return within(values.errors());
    if (const Status closed = network.graph.close(*values); !closed) return within(closed.errors());
    if (!network.waits_for_sizes) return ok_status();
    auto report = lower_closed(network.graph, {.precision = network.precision, .kept_in_f32 = network.kept_in_f32});
    if (!report) return report.errors();
    network.islands = std::move(report->islands);
    return ok_status();
  }

  // What the file said, at sizes at which the network does not hold. False where that means another thing there.
  bool lower_anew(Lowered& network, const SizeValues& sizes) const {
    for (const Reading& reading : network.unlowered) {
      auto graph = closed_at(reading, sizes);
      if (!graph) continue;
      auto report = lower(*graph, {.precision = network.precision, .kept_in_f32 = network.kept_in_f32});
      if (!report) continue;
      network.graph = std::move(*graph);
      network.islands = std::move(report->islands);
      return true;
    }
    return false;
  }

  // The same whether times were measured now or known before: with them the plan is the same file.
  void add_tuning_notes(const CallTimes& times, const std::string& machine, std::vector<std::string>& notes) const {
    if (times.calls() > 0) {
      notes.push_back("tuning: kernels of " + std::to_string(times.calls()) +
                      (times.calls() == 1 ? " call" : " calls") + " by times measured on " + machine);
    }
    for (const std::string& kernel : log_.unknown_kernels())
      notes.push_back("tuning: times of '" + kernel + "', no kernel of this release");
  }

  // Everything of the graph that is not computed in integers, each by its name.
  Status check_integer_only(const Graph& graph, const std::vector<Island>& islands) const {
    Errors errors;
    refuse_float_ends(path_, graph, errors);
    for (const Island& island : islands)
      errors.push_back(float_refusal(path_, "node '" + island.node + "' (" + island.op + ")",
                                     "an operator in float: " + island.reason));
    if (errors.empty()) refuse_float_wires(path_, graph, errors);
    if (!errors.empty()) return errors;
    return ok_status();
  }

  const ModelSource& source_;
  const std::string& path_;
  const CompileOptions& options_;
  const OwnOptions& own_;
  const Monitor monitor_;
  Quantizer quantizer_;
  MeasurementLog log_;
  TunedWays tuned_;
  std::vector<std::string> notes_;  // for every plan
};

}  // namespace

Result<CompiledModel> compile(const ModelSource& source, const CompileOptions& options, const OwnOptions& own) {
  if (Status status = check_options(options); !status) return status.errors();
  auto model = Compiler(source, options, own).run();
  if (!model) return model.errors();
  return Access::make<CompiledModel>(std::move(*model));
}

Result<CompiledModel> compile(const std::string& path, const CompileOptions& options) {
  return compile(ModelSource{path, {}}, options, {});
}

Result<CompiledModel> compile(std::span<const std::byte> bytes, const std::string& name,
                              const CompileOptions& options) {
  return compile(ModelSource{name, bytes}, options, {});
}

}  // namespace octavo::v1
