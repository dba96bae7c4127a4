// Reading the options that compile. Part of cli/.
#include "cli/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/file.h"
#include "base/requantize.h"
#include "cli/process.h"

namespace octavo::cli {
namespace {

using v1::CompileOptions;

// A value that has a name everywhere.
template <class T>
constexpr Word<T> word_of(T value) {
  return {name_of(value), value};
}

constexpr Word<BatchOrder> kBatchOrders[] = {
    {"auto", BatchOrder::automatic}, {"steps", BatchOrder::steps}, {"images", BatchOrder::images}};
constexpr Word<CalibrationMethod> kCalibrations[] = {
    {"auto", CalibrationMethod::automatic},  {"average", CalibrationMethod::average},
    {"entropy", CalibrationMethod::entropy}, {"minmax", CalibrationMethod::minmax},
    {"mse", CalibrationMethod::mse},         {"percentile", CalibrationMethod::percentile}};
constexpr Word<v1::Activations> kActivations[] = {{"per-tensor", v1::Activations::per_tensor},
                                                  {"per-token", v1::Activations::per_token}};
constexpr Word<PairPlacement> kPlacements[] = {{"fused", PairPlacement::fused},
                                               {"per-operator", PairPlacement::per_operator}};
constexpr Word<Profile> kProfiles[] = {word_of(Profile::onnx), word_of(Profile::tflite_xnnpack),
                                       word_of(Profile::tflite_double), word_of(Profile::tflite_single),
                                       word_of(Profile::pt2e)};
constexpr Word<bool> kInputTypes[] = {{"u8", true}};
constexpr Word<DType> kOutputTypes[] = {word_of(DType::f32), word_of(DType::u8), word_of(DType::s8)};
constexpr Word<TuningMode> kTuningModes[] = {
    {"off", TuningMode::off}, {"quick", TuningMode::quick}, {"full", TuningMode::full}};
constexpr Word<WeightMethod> kWeightMethods[] = {
    {"max", WeightMethod::max}, {"mse", WeightMethod::mse}, {"adaround", WeightMethod::adaround}};

[[noreturn]] void refuse(const std::string& option, const std::string& text, const std::string& expected) {
  throw CLI::ValidationError(option, "found '" + text + "', expected " + expected);
}

// One of the words, or "percentile:99.99".
void read_calibration(const std::string& text, CompileOptions& options) {
  const std::size_t colon = text.find(':');
  options.calibration = value_of("--calibration", text.substr(0, colon), kCalibrations);
  if (colon == std::string::npos) return;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, options.percentile);
  if (options.calibration != CalibrationMethod::percentile || error != std::errc{} || rest != end)
    refuse("--calibration", text, "percentile:99.99");
}

// "none", or words with commas.
void read_corrections(const std::string& text, CompileOptions& options) {
  options.corrects_biases = options.corrects_fast = options.equalizes = options.smooths = false;
  if (text == "none") return;
  int bias_words = 0;
  std::string_view rest = text;
  while (true) {
    const std::string_view word = rest.substr(0, rest.find(','));
    const bool is_fast = word == "fast-bias";
    if (word == "equalize") options.equalizes = true;
    else if (word == "smooth") options.smooths = true;
    else if ((word != "bias" && !is_fast) || ++bias_words > 1)
      refuse("--corrections", text, "bias or fast-bias, equalize, smooth, several with commas, or none");
    else options.corrects_biases = true, options.corrects_fast = is_fast;
    if (word.size() == rest.size()) return;
    rest.remove_prefix(word.size() + 1);
  }
}

void read_preprocess(const std::string& text, CompileArguments& arguments) {
  auto preprocess = parse_preprocess(text);
  if (!preprocess) throw CLI::ValidationError(to_string(preprocess.errors()));
  arguments.request.preprocess = std::move(*preprocess);
  arguments.preprocess = text;
}

// --input-type: what --preprocess says is computed inside.
Status read_pictures(const CompileArguments& arguments, CompileRequest& request) {
  if (!arguments.takes_pictures) return ok_status();
  if (!arguments.preprocess.empty()) {
    request.options.pictures = arguments.preprocess;
    return ok_status();
  }
  return Error{.kind = ErrorKind::usage,
               .where = "--input-type",
               .found = "u8 and no --preprocess",
               .expected = "what becomes of pictures inside: torch, tf, tfq, bgr, raw, ..."};
}

// --scales: what the file holds takes the place of samples.
Status read_scales(const CompileArguments& arguments, SamplesFor samples, CompileRequest& request) {
  if (arguments.scales.empty()) return ok_status();
  if ((!request.calibrate.empty() && samples == SamplesFor::scales) || request.options.global_scale) {
    return Error{.kind = ErrorKind::usage,
                 .where = "--scales",
                 .found = "'" + arguments.scales + "'",
                 .expected = "no --calibrate or --global-scale beside it: the file has the scales"};
  }
  const auto bytes = read_file(arguments.scales);
  if (!bytes) return bytes.errors();
  const auto calibrated =
      v1::parse_scales({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, arguments.scales);
  if (!calibrated) return calibrated.errors();
  request.options.calibrated = *calibrated;
  return ok_status();
}

// Random samples say nothing that could be corrected, or that weights could be rounded by.
void leave_out_random_samples(CompileOptions& options) {
  options.corrects_biases = options.equalizes = options.smooths = false;
  options.output_sqnr = 0.0;
  if (options.weights == WeightMethod::adaround) options.weights = WeightMethod::mse;
}

// For a verb that runs one plan.
Status check_shapes(const CompileArguments& arguments, const CompileRequest& request) {
  if (arguments.batches == Batches::several || request.shapes.size() <= 1) return ok_status();
  return Error{.kind = ErrorKind::usage,
               .where = "--shape",
               .found = fmt::format("{} shapes", request.shapes.size()),
               .expected = "one to run"};
}

// Where no model is compiled here, options that compile would be ignored.
Status check_models(const CompileArguments& arguments, std::span<const std::string> models) {
  if (!std::all_of(models.begin(), models.end(), is_compiled_file)) return ok_status();
  std::vector<std::string> given;
  for (const CLI::Option* option : arguments.decided_in_files) {
    if (option->count() > 0) given.push_back(option->get_name());
  }
  if (given.empty()) return ok_status();
  return Error{.kind = ErrorKind::usage,
               .where = fmt::format("{}", fmt::join(models, ", ")),
               .found = fmt::format("{} beside a compiled model", fmt::join(given, ", ")),
               .expected = "a model file: an .octv has decided this when it was compiled"};
}

}  // namespace

std::string list_of(std::span<const std::string_view> words) {
  std::string list;
  for (std::size_t i = 0; i < words.size(); ++i)
    list += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + std::string(words[i]);
  return list;
}

void choose_precision(PrecisionWord word, CompileRequest& request) {
  request.chooses_precision = word == PrecisionWord::automatic;
  request.options.precision.reset();
  if (word == PrecisionWord::int8) request.options.precision = Precision::int8;
  if (word == PrecisionWord::fp32 || word == PrecisionWord::tf32) request.options.precision = Precision::fp32;
  request.options.allow_tf32 = word == PrecisionWord::tf32;
  request.plan.precision = request.options.precision;
}

void add_preprocess_option(CLI::App& verb, CompileArguments& arguments, PreprocessOf of) {
  const auto read = [&arguments](const std::string& text) { read_preprocess(text, arguments); };
  const CLI::Option* option =
      verb.add_option_function<std::string>("--preprocess", read,
                                            "how images become inputs: torch, tf, tfq, bgr, raw, or fields such as "
                                            "mean=127.5,std=127.5")
          ->type_name("SPEC");
  if (of == PreprocessOf::samples) arguments.decided_in_files.push_back(option);
}

void add_quantize_options(CLI::App& verb, CompileArguments& arguments) {
  CompileRequest& request = arguments.request;
  CompileOptions& options = request.options;
  const auto add = [&](CLI::Option* option) {
    arguments.decided_in_files.push_back(option->group("Quantizing an fp32 file"));
  };
  add(verb.add_option("--calibrate", request.calibrate,
                      "samples: a folder of images or .npy, an .npz, an .npy, or 'random' (speed only)")
          ->type_name("PATH"));
  add(verb.add_option_function<std::string>(
              "--calibration", [&](const std::string& text) { read_calibration(text, options); },
              "how ranges come from samples: auto, average, entropy, minmax, mse, percentile or percentile:99.99")
          ->type_name("METHOD")
          ->default_str("auto"));
  add(verb.add_option_function<std::string>(
              "--corrections", [&](const std::string& text) { read_corrections(text, options); },
              "what is corrected by the samples: bias or fast-bias, equalize, smooth, several with commas, or none")
          ->type_name("WORDS")
          ->default_str("bias,smooth"));
  add(verb.add_option(
              "--output-sqnr", options.output_sqnr,
              "dB that every output keeps on the samples: layers stay in fp32 for it; 0: none (default: 20, but "
              "not for a classifier's scores)")
          ->type_name("DB")
          ->check(CLI::Range(0.0, 100.0)));
  add(add_word_option(verb, "--weights", options.weights, kWeightMethods,
                      "how weights become 8-bit: max, mse or adaround")
          ->type_name("METHOD")
          ->default_str("adaround"));
  add(add_word_option(verb, "--placement", options.placement, kPlacements,
                      "what is rounded between operators: fused (no more than Octavo's kernels need) or per-operator "
                      "(also between a convolution and the addition after it: what ONNX Runtime fuses)")
          ->default_str("fused"));
  add(add_word_option(verb, "--activations", options.activations, kActivations,
                      "per-tensor: one scale for a tensor, from samples; or per-token: one for each row that a product "
                      "reads, found in the run, with samples or without")
          ->default_str("per-tensor"));
  add(verb.add_option("--samples", request.samples, "use at most N calibration samples, spread evenly (default: all)")
          ->type_name("N")
          ->check(positive_number()));
  add(verb.add_option("--skip", options.skip,
                      "keep nodes in fp32: names, globs, type:Conv, position:first, position:last")
          ->delimiter(',')
          ->type_name("NODE,..."));
  add(verb.add_option("--global-scale", options.global_scale,
                      "one symmetric range [-S, S) for all activations, instead of calibration")
          ->type_name("S"));
  add(verb.add_option("--scales", arguments.scales,
                      "scales from a file that --scales-out wrote, instead of calibration")
          ->type_name("F"));
  // Of a compiled model it chooses the size to run at.
  verb.add_option_function<std::vector<std::string>>(
          "--shape",
          [&arguments](const std::vector<std::string>& shapes) {
            for (const std::string& shape : shapes) read_shapes(shape, arguments.shapes);
          },
          "whole shape of an input, overriding the file's, or the size to run an .octv of open sizes at; several with "
          "';' or repeated: a plan each; LOWEST..HIGHEST/STEP stays open")
      ->allow_extra_args(false)
      ->type_name("NAME=1x3xHxW")
      ->group("Quantizing an fp32 file");
}

CLI::Validator positive_number() {
  const auto check = [](const std::string& text) {
    double number = 0.0;
    return CLI::detail::lexical_cast(text, number) && number > 0.0 ? ""
                                                                   : "found '" + text + "', expected a number above 0";
  };
  return CLI::Validator(check, "");
}

CLI::Option* add_bytes_option(CLI::App& verb, const std::string& option, std::uint64_t& bytes,
                              const std::string& help) {
  const auto read = [option, &bytes](const std::string& text) {
    constexpr std::string_view kUnits = "KMG";
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, bytes);
    const std::size_t unit = rest + 1 == end ? kUnits.find(*rest) : std::string_view::npos;
    const std::size_t shift = rest == end ? 0 : 10 * (unit + 1);
    const bool is_number = error == std::errc() && (rest == end || unit != std::string_view::npos);
    if (!is_number || bytes == 0 || bytes > std::numeric_limits<std::uint64_t>::max() >> shift)
      throw CLI::ValidationError(option,
                                 "found '" + text + "', expected bytes above 0, such as 65536, 64K, 512M or 8G");
    bytes <<= shift;
  };
  return verb.add_option_function<std::string>(option, read, help)->type_name("BYTES");
}

void add_integer_only_option(CLI::App& verb, CompileArguments& arguments) {
  arguments.decided_in_files.push_back(
      verb.add_flag("--integer-only", arguments.request.options.integer_only,
                    "everything in integers, 8-bit inputs and outputs for those of an fp32 file; what would stay in "
                    "float is refused by its name")
          ->group("Compiling"));
}

void add_scales_out_option(CLI::App& verb, std::string& path) {
  verb.add_option("--scales-out", path, "write scales and corrections as JSON, for --scales")->type_name("F");
}

void add_compile_options(CLI::App& verb, CompileArguments& arguments, Batches batches) {
  CompileRequest& request = arguments.request;
  CompileOptions& options = request.options;
  arguments.batches = batches;
  const std::string group = "Compiling";
  const auto add = [&](CLI::Option* option) { arguments.decided_in_files.push_back(option->group(group)); };
  // These two choose among the plans of an .octv.
  verb.add_option_function<std::string>(
          "--precision",
          [&](const std::string& text) { choose_precision(value_of("--precision", text, kPrecisionWords), request); },
          "int8, fp32, tf32 (with --target cuda: fp32 by NVIDIA's libraries), or auto: int8 but for layers that are "
          "slower in it; default: int8 where the file is quantized, or --calibrate or --scales is given")
      ->type_name("WORD")
      ->group(group);
  verb.add_option_function<std::vector<std::int64_t>>(
          "--batch",
          [&request, batches](const std::vector<std::int64_t>& sizes) {
            if (batches == Batches::one && sizes.size() > 1)
              throw CLI::ValidationError("--batch", std::to_string(sizes.size()) + " batches, expected one to run");
            request.options.batches = sizes;
            request.plan.batch = sizes.front();
          },
          batches == Batches::one ? "batch to run (default: 1)" : "batch sizes, one plan each (default: 1)")
      ->delimiter(',')
      ->type_name(batches == Batches::one ? "N" : "N[,N...]")
      ->check(positive_number())
      ->group(group);
  add(verb.add_option("--target", options.target,
                      "host, scalar, avx2, avxvnni, avx512vnni, amx, arm64-neon, arm64-dotprod, arm64-i8mm or cuda")
          ->capture_default_str());
  add(add_word_option(verb, "--rounding", options.rounding, kProfiles,
                      "formulas of a quantized TFLite file: tflite-xnnpack (default: what LiteRT computes), "
                      "tflite-double (its reference kernels) or tflite-single")
          ->type_name("PROFILE"));
  if (verb.get_option_no_throw("--seed") == nullptr)
    add(verb.add_option("--seed", options.seed,
                        "of random operators that have none in the file; default: the clock. The compiled model keeps "
                        "their numbers")
            ->type_name("N"));
  add(add_word_option(verb, "--batch-order", options.batch_order, kBatchOrders,
                      "steps: a batch goes through one kernel after the other; images: image by image as far as the "
                      "operators allow; or auto: as predicted")
          ->default_str("auto"));
  add_integer_only_option(verb, arguments);
  add(add_word_option(verb, "--input-type", arguments.takes_pictures, kInputTypes,
                      "u8: the input takes pictures as they are, u8 with channels last; what --preprocess says is "
                      "computed inside")
          ->type_name("u8"));
  add(add_word_option(verb, "--output-type", options.output_type, kOutputTypes,
                      "f32, u8 or s8: outputs in this type instead of the file's, where they are 8-bit values")
          ->type_name("T"));
  add(verb.add_flag("--allow-reference", options.allow_reference,
                    "let slow reference code stand in where there is no kernel"));
  add(verb.add_flag("--allow-host", options.allow_host,
                    "with --target cuda: let the host compute what has no kernel there"));
  add(add_word_option(verb, "--tune", options.tuning_mode, kTuningModes,
                      "what is measured on this machine to choose kernels by: off: nothing; quick: those that are "
                      "predicted to be nearly the fastest (seconds); full: all (minutes)")
          ->default_str("off"));
  add(verb.add_option(
              "--machine", options.machine_file,
              "a machine file of 'inspect --machine --calibrate', or a core such as cortex-a76: what to compile for, "
              "and how fast it is")
          ->type_name("F"));
  add(verb.add_option("--tuning-log", options.tuning_log,
                      "measured times: used where known; what --tune measures is added")
          ->type_name("F"));
  add(verb.add_flag("--foreign-log", options.uses_foreign_log,
                    "trials of another machine will do, where --tuning-log has none of this one"));
  add_quantize_options(verb, arguments);
}

void add_run_options(CLI::App& verb, CompileArguments& arguments, Batches batches, PreprocessOf of) {
  CompileRequest& request = arguments.request;
  request.options.unquantized = v1::Unquantized::fp32;
  verb.add_option("--threads", request.threads, "threads (default: all cores)")->check(positive_number());
  verb.add_option("--max-iterations", request.run.max_iterations, "iterations of all loops of a run, at most")
      ->check(positive_number())
      ->capture_default_str();
  add_bytes_option(verb, "--memory-limit", request.run.context_bytes,
                   "the most memory that a context may take: arena and scratch, of a plan for a CUDA device what it "
                   "takes there; what needs more is not run");
  verb.add_option("--device", request.run.device, "CUDA device that runs what is compiled for one, counted from 0")
      ->capture_default_str();
  add_compile_options(verb, arguments, batches);
  add_preprocess_option(verb, arguments, of);
}

Result<CompileRequest> request_for(const CompileArguments& arguments, std::span<const std::string> models,
                                   SamplesFor samples) {
  if (const Status fit = check_models(arguments, models); !fit) return fit.errors();
  CompileRequest request = arguments.request;
  if (const Status settled = settle_shapes(arguments.shapes, models, request); !settled) return settled.errors();
  if (const Status run = check_shapes(arguments, request); !run) return run.errors();
  if (request.calibrate == "random") leave_out_random_samples(request.options);
  if (const Status read = read_scales(arguments, samples, request); !read) return read.errors();
  if (const Status read = read_pictures(arguments, request); !read) return read.errors();
  return request;
}

void warn_of_random(const CompileRequest& request) {
  if (request.calibrate == "random")
    tell("octavo: warning: calibrated with random numbers: good for measuring speed, its answers are worthless\n");
}

}  // namespace octavo::cli
