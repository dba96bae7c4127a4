// Importing and quantizing for the public functions. Part of api/.
#include "api/quantizer.h"

#include <algorithm>

#include "api/planned_sizes.h"
#include "api/readings.h"
#include "base/fields.h"
#include "base/sizes.h"
#include "quantize/drawn_ids.h"

namespace octavo::v1 {
namespace {

// dB. Errors of a tenth: boxes and landmarks are of use, and what classifiers give is mostly within.
constexpr double kOutputSqnr = 20.0;
// What that may cost unasked: with less in integers a network is not faster than in fp32.
constexpr double kMostInF32 = 0.75;

// A caller's function as the quantizer's source of samples.
class FunctionSource final : public SampleSource {
 public:
  FunctionSource(SampleFunction function, const Graph& graph) : function_(std::move(function)) {
    for (const ValueId input : graph.inputs()) inputs_.push_back(graph.fact(input));
  }
  std::int64_t size() const override { return function_.count; }
  Result<std::vector<Tensor>> sample(std::int64_t index) const override {
    std::vector<Tensor> tensors;
    std::vector<TensorRef> refs;
    tensors.reserve(inputs_.size());
    for (const Fact& fact : inputs_) {
      tensors.emplace_back(fact.dtype, fact.shape);
      refs.push_back({fact.dtype, tensors.back().shape().dims(), tensors.back().data()});
    }
    if (Status status = function_.fill(index, refs); !status) return status.errors();
    return tensors;
  }

 private:
  SampleFunction function_;
  std::vector<Fact> inputs_;
};

}  // namespace

std::string method_text(const CompileOptions& options) {
  if (options.calibrated && !Access::of(options.calibrated).scales.empty()) return "scales of a file";
  if (options.global_scale) return "global scale";
  switch (options.calibration) {
    case CalibrationMethod::minmax: return "minmax";
    case CalibrationMethod::percentile: return "percentile:" + print(options.percentile);
    case CalibrationMethod::mse: return "mse";
    case CalibrationMethod::average: return "average";
    case CalibrationMethod::entropy: return "entropy";
    case CalibrationMethod::automatic: return "auto";
  }
  return "";
}

Error usage(std::string where, std::string found, std::string expected, std::string hint) {
  return {.kind = ErrorKind::usage,
          .where = std::move(where),
          .found = std::move(found),
          .expected = std::move(expected),
          .hint = std::move(hint)};
}

namespace {

// Whether samples, or what they taught, say how large activations are.
bool has_ranges(const CompileOptions& options, const OwnOptions& own) {
  if (own.samples != nullptr || own.expects_samples || options.samples.count > 0 || options.global_scale) return true;
  if (!options.calibrated) return false;
  const Calibrated& known = Access::of(options.calibrated);
  return !known.ranges.empty() || !known.scales.empty();
}

}  // namespace

Error refuse_program(const std::string& path, std::string what) {
  return usage(path, "a model of several parts: its control flow or shapes depend on data",
               "one network for " + std::move(what),
               "Compile, run, bench, inspect and explain it in fp32, by samples, or quantized by its file");
}

bool has_calibration(const CompileOptions& options, const OwnOptions& own) {
  return has_ranges(options, own) || options.calibrated || options.activations == Activations::per_token;
}

Error float_refusal(const std::string& path, const std::string& what, std::string found) {
  return {ErrorKind::unsupported, path + ": " + what, std::move(found), "integers, which --integer-only asks for", ""};
}

void refuse_float_wires(const std::string& path, const Graph& graph, Errors& errors) {
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const bool makes_floats = std::any_of(node.outputs.begin(), node.outputs.end(),
                                          [&](ValueId value) { return is_float(graph.fact(value).dtype); });
    if (makes_floats)
      errors.push_back(
          float_refusal(path, "node '" + node.name + "' (" + std::string(node.spec->name) + ")", "a result in float"));
  }
}

void refuse_float_ends(const std::string& path, const Graph& graph, Errors& errors) {
  const auto check = [&](const std::string& what, const Fact& fact) {
    if (is_float(fact.dtype)) errors.push_back(float_refusal(path, what, std::string(name_of(fact.dtype))));
  };
  for (const ValueId id : graph.inputs()) check("input '" + graph.value(id).name + "'", graph.fact(id));
  for (std::size_t i = 0; i < graph.outputs().size(); ++i)
    check("output '" + graph.output_names()[i] + "'", graph.fact(graph.outputs()[i]));
}

namespace {

ImportOptions import_options(const CompileOptions& options, const OwnOptions& own) {
  return {.examples = options.planned_shapes.empty() ? own.examples : options.planned_shapes.front(),
          .shapes = options.shapes,
          .dequantizes_dynamic = has_calibration(options, own) || options.precision == Precision::fp32,
          .seed = options.seed,
          .profile = options.rounding};
}

ImportOptions open_import_options(const CompileOptions& options, const OwnOptions& own) {
  ImportOptions import = import_options(options, own);
  import.keeps_open = true;
  import.opens_batch = options.batches != std::vector<std::int64_t>{1};
  return import;
}

Result<ImportedModel> import_source(const ModelSource& source, const ImportOptions& options) {
  if (options.inputs != nullptr) *options.inputs = Graph();
  return source.bytes ? import_model(*source.bytes, source.name, options) : import_model(source.name, options);
}

// How often other examples are tried because the file's constants demand them: each is one size or several.
constexpr int kMostExamples = 16;

// Examples with which the shape rule that refused first accepts: three channels for a convolution whose weights have
// three, the pixels that a table of positions has rows for. False where there are none, or none that are new.
bool take_demanded(const std::vector<std::shared_ptr<const Sizes>>& tables, ImportOptions& import) {
  for (const std::shared_ptr<const Sizes>& table : tables) {
    for (const SizeCondition& refused : table->refused()) {
      const auto sizes = table->example_for(refused);
      if (!sizes) continue;
      bool is_new = false;
      for (std::size_t i = 0; i < sizes->size(); ++i) {
        const auto [at, is_first] = import.example_sizes.try_emplace(table->sizes()[i].name, (*sizes)[i]);
        is_new = is_new || is_first || at->second != (*sizes)[i];
        at->second = (*sizes)[i];
      }
      if (is_new) return true;
    }
  }
  return false;
}

// Of networks that read lines of text; windows that leave one row of it leave one of 32, too.
constexpr std::int64_t kTextHeight = 48;
// Of those that read sound: what detectors of speech take at a time at 16 kHz, and a second.
constexpr std::int64_t kSoundPiece = 512, kSoundSecond = 16000;

}  // namespace

Result<ImportedModel> Quantizer::import_open() const {
  const ImportOptions import = open_import_options(options_, own_);
  auto imported = import_open(import);
  if (imported || own_.examples.empty() || !options_.planned_shapes.empty()) return imported;
  // Samples have shapes at which the file has no meaning: where it has one at others, the error is of the sample.
  ImportOptions usual = import;
  usual.examples.clear();
  auto other = import_open(std::move(usual));
  return other ? std::move(other) : std::move(imported);
}

Result<ImportedModel> Quantizer::import_open(ImportOptions import) const {
  std::vector<std::shared_ptr<const Sizes>> tables;
  import.tables = &tables;
  auto imported = import_source(source_, import);
  for (int tries = 0; !imported && tries < kMostExamples && take_demanded(tables, import); ++tries) {
    tables.clear();
    imported = import_source(source_, import);
  }
  const bool is_asked =
      std::any_of(tables.begin(), tables.end(), [](const auto& sizes) { return !sizes->conditions().empty(); });
  if (imported || !is_asked) return imported;
  import.tables = nullptr;
  import.example_sizes.clear();
  // A file that calls its batch open may hold at one image only, one that calls its height open at that of a line of
  // text, and windows over sound are longer than most sentences.
  const std::int64_t side = import.example_side, batch = import.example_batch, length = import.example_length;
  struct Examples {
    std::int64_t batch, side, length;
  };
  const Examples others[] = {{1, side, length},          {batch, kTextHeight, length}, {1, kTextHeight, length},
                             {batch, side, kSoundPiece}, {1, side, kSoundPiece},       {batch, side, kSoundSecond},
                             {1, side, kSoundSecond}};
  for (const auto& [other_batch, other_side, other_length] : others) {
    import.example_batch = other_batch, import.example_side = other_side, import.example_length = other_length;
    if (auto other = import_source(source_, import)) return other;
  }
  return imported;
}

std::vector<Graph> Quantizer::import_others(const Graph& first) const {
  ImportOptions import = open_import_options(options_, own_);
  import.examples.clear();
  const std::vector<OpenSize>& open = first.sizes()->sizes();
  return other_readings(first, [&](const SizeValues& sizes) -> std::optional<Graph> {
    for (std::size_t i = 0; i < sizes.size(); ++i) import.example_sizes[open[i].name] = sizes[i];
    auto imported = import_source(source_, import);
    return imported && !imported->program ? std::optional(std::move(imported->graph)) : std::nullopt;
  });
}

// Sizes of 0 would be numbers, which networks do not count among their sizes.
std::vector<std::vector<Graph>> Quantizer::import_others(const ImportedProgram& first) const {
  std::vector<std::vector<Graph>> others(first.networks.size());
  ImportOptions import = open_import_options(options_, own_);
  import.examples.clear();
  for (const Graph& graph : first.networks) {
    if (graph.sizes() == nullptr) continue;
    for (const OpenSize& size : graph.sizes()->sizes()) import.example_sizes[size.name] = 1;
  }
  auto imported = import.example_sizes.empty() ? Errors() : import_source(source_, import);
  if (!imported || !imported->program || imported->program->program.blocks != first.program.blocks) return others;
  for (std::size_t i = 0; i < others.size(); ++i) {
    Graph& graph = imported->program->networks[i];
    const Sizes *own = graph.sizes().get(), *before = first.networks[i].sizes().get();
    const bool is_fit = own != nullptr && before != nullptr && own->sizes() == before->sizes();
    if (is_fit && means_more(reading_of(graph), *before)) others[i].push_back(std::move(graph));
  }
  return others;
}

Result<ImportedModel> Quantizer::import_for(std::int64_t batch) const {
  ImportOptions import = import_options(options_, own_);
  import.batch = import.example_batch = batch;
  auto imported = import_source(source_, import);
  if (imported && imported->program) return refuse_program(source_.name, "quantization");
  return imported;
}

Result<ImportedModel> Quantizer::import_for_samples() const {
  ImportOptions import = open_import_options(options_, own_);
  Graph alone;
  import.inputs = &alone;
  auto imported = import_open(std::move(import));
  if (!imported && alone.sizes() != nullptr)
    return ImportedModel{.graph = std::move(alone), .dialect = "", .program = std::nullopt};
  if (imported && imported->program) imported->graph = std::move(alone);
  return imported;
}

Result<ImportedModel> import_open(const ModelSource& source, const CompileOptions& options, const OwnOptions& own) {
  return Quantizer(source, options, own).import_open();
}

Result<ImportedModel> import_for_samples(const ModelSource& source, const CompileOptions& options,
                                         const OwnOptions& own) {
  return Quantizer(source, options, own).import_for_samples();
}

QuantizeOptions Quantizer::quantize_options() const {
  QuantizeOptions options = given_options();
  if (options_.activations == Activations::per_token)
    options.rows = drawn_ || has_ranges(options_, own_) ? RowProducts::all : RowProducts::alone;
  if (drawn_) {
    // They are no texts: what is seldom in these may be all there is in them.
    options.calibration = CalibrationMethod::minmax;
    options.corrects_biases = options.equalizes = false;
    options.output_sqnr = 0.0;
    if (options.weights == WeightMethod::adaround) options.weights = WeightMethod::mse;
  }
  return options;
}

QuantizeOptions Quantizer::given_options() const {
  return {.calibration = options_.calibration,
          .percentile = options_.percentile,
          .skip = options_.skip,
          .global_scale = options_.global_scale,
          .corrects_biases = options_.corrects_biases,
          .corrects_fast = options_.corrects_fast,
          .equalizes = options_.equalizes,
          .smooths = options_.smooths,
          .weights = options_.weights,
          .output_sqnr = options_.output_sqnr.value_or(kOutputSqnr),
          .judges_scores = options_.output_sqnr.has_value(),
          .most_in_f32 = options_.output_sqnr ? 1.0 : kMostInF32,
          .integer_only = options_.integer_only,
          .placement = options_.placement,
          .is_standard = own_.is_for_others,
          .observes_all = options_.observes_all || own_.is_for_others};
}

namespace {

std::string note_of_drawn() {
  return "ranges between products are those of " + std::to_string(kDrawnSamples) +
         " rows of ids drawn from a seed: samples (--calibrate) are the better ones";
}

}  // namespace

Status Quantizer::close_for_samples(Graph& graph) const {
  if (graph.sizes() == nullptr) return ok_status();
  const auto values = graph.sizes()->evaluate(example_sizes(graph));
  return values ? graph.close(*values) : values.errors();
}

// What samples teach serves every size.
Result<QuantizeReport> Quantizer::quantize(Graph& graph) {
  if (!has_calibration(options_, own_)) {
    return usage(source_.name, "an fp32 model and no calibration data",
                 "--calibrate PATH, --scales F or --activations per-token for int8, or --precision fp32");
  }
  if (!calibrated_ && options_.calibrated) calibrated_ = Access::of(options_.calibrated);
  const FunctionSource none({}, graph);
  std::shared_ptr<const SampleSource> source = calibrated_ ? nullptr : own_.samples;
  if (!calibrated_ && !source) {
    Graph one = graph;
    if (const Status closed = close_for_samples(one); !closed) return closed.errors();
    if (options_.activations == Activations::per_token && !has_ranges(options_, own_)) drawn_ = drawn_ids(one);
    source = drawn_;
    if (!source) source = std::make_shared<const FunctionSource>(options_.samples, one);
  }
  QuantizeOptions options = quantize_options();
  options.calibrated = calibrated_;
  options.monitor = monitor_;
  if (graph.sizes() != nullptr) options.sample_sizes = example_sizes(graph);
  auto report = octavo::quantize(graph, source ? *source : none, options);
  if (!report) return report;
  if (!calibrated_) samples_ = report->samples;
  calibrated_ = report->calibrated;
  report->samples = samples_;
  if (drawn_) report->notes.push_back(note_of_drawn());
  return report;
}

Result<QuantizeReport> Quantizer::quantize_part(Graph& graph, const SampleSource& samples) const {
  QuantizeOptions options = given_options();
  options.is_part = true;
  options.monitor = monitor_;
  return octavo::quantize(graph, samples, options);
}

Result<std::shared_ptr<const SampleSource>> Quantizer::samples_of_program() const {
  if (own_.samples) return own_.samples;
  if (options_.samples.count == 0) return refuse_program(source_.name, "ranges without samples");
  auto inputs = import_for_samples();
  if (!inputs) return inputs.errors();
  if (const Status closed = close_for_samples(inputs->graph); !closed) return closed.errors();
  return std::shared_ptr<const SampleSource>(std::make_shared<const FunctionSource>(options_.samples, inputs->graph));
}

}  // namespace octavo::v1
