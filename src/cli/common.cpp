// Options, errors and progress of the command line. Part of cli/.
#include "cli/common.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/process.h"

namespace octavo::cli {
namespace {

Error usage(const std::string& option, const std::string& found, const std::string& expected) {
  return {.kind = ErrorKind::usage, .where = option, .found = "'" + found + "'", .expected = expected};
}

struct CalibrationWord {
  std::string_view word;
  CalibrationMethod method;
};
constexpr CalibrationWord kCalibrationWords[] = {
    {"auto", CalibrationMethod::automatic},  {"average", CalibrationMethod::average},
    {"entropy", CalibrationMethod::entropy}, {"minmax", CalibrationMethod::minmax},
    {"mse", CalibrationMethod::mse},         {"percentile", CalibrationMethod::percentile},
};

// One of the words, or "percentile:99.99".
Status parse_calibration(const std::string& text, v1::CompileOptions& options) {
  const std::size_t colon = text.find(':');
  const auto known =
      std::find_if(std::begin(kCalibrationWords), std::end(kCalibrationWords),
                   [&](const CalibrationWord& word) { return word.word == std::string_view(text).substr(0, colon); });
  const Error refusal =
      usage("--calibration", text, "auto, average, entropy, minmax, mse, percentile or percentile:99.99");
  if (known == std::end(kCalibrationWords)) return refusal;
  options.calibration = known->method;
  if (colon == std::string::npos) return ok_status();
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, options.percentile);
  if (known->method != CalibrationMethod::percentile || error != std::errc{} || rest != end) return refusal;
  return ok_status();
}

// "none", or words with commas. Random samples say nothing that could be corrected.
Status parse_corrections(const CompileArguments& arguments, v1::CompileOptions& options) {
  options.corrects_biases = options.corrects_fast = options.equalizes = false;
  if (arguments.corrections == "none") return ok_status();
  const bool has_samples = arguments.calibrate != "random";
  constexpr const char* kWords = "bias or fast-bias, equalize, two with a comma, or none";
  int bias_words = 0;
  std::string_view rest = arguments.corrections;
  while (true) {
    const std::string_view word = rest.substr(0, rest.find(','));
    const bool is_fast = word == "fast-bias";
    if (word == "equalize") options.equalizes = has_samples;
    else if ((word != "bias" && !is_fast) || ++bias_words > 1)
      return usage("--corrections", arguments.corrections, kWords);
    else options.corrects_biases = has_samples, options.corrects_fast = is_fast;
    if (word.size() == rest.size()) return ok_status();
    rest.remove_prefix(word.size() + 1);
  }
}

Status parse_weights(const CompileArguments& arguments, v1::CompileOptions& options) {
  const std::string& word = arguments.weights;
  if (word == "max") options.weights = WeightMethod::max;
  else if (word == "mse") options.weights = WeightMethod::mse;
  else if (word == "adaround")
    options.weights = arguments.calibrate == "random" ? WeightMethod::mse : WeightMethod::adaround;
  else return usage("--weights", word, "max, mse or adaround");
  return ok_status();
}

Status parse_placement(const CompileArguments& arguments, v1::CompileOptions& options) {
  if (arguments.placement == "fused") options.placement = PairPlacement::fused;
  else if (arguments.placement == "per-operator") options.placement = PairPlacement::per_operator;
  else return usage("--placement", arguments.placement, "fused or per-operator");
  return ok_status();
}

// "input=1x3x224x224".
Status parse_shape(const std::string& text, v1::CompileOptions& options) {
  const Error refusal = usage("--shape", text, "NAME=1x3x224x224");
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) return refusal;
  std::vector<std::int64_t> dims;
  const char* at = text.data() + equals + 1;
  const char* end = text.data() + text.size();
  while (true) {
    std::int64_t dim = 0;
    const auto [rest, error] = std::from_chars(at, end, dim);
    if (error != std::errc{} || dim < 1) return refusal;
    dims.push_back(dim);
    if (rest == end) break;
    if (*rest != 'x') return refusal;
    at = rest + 1;
  }
  options.shapes[text.substr(0, equals)] = std::move(dims);
  return ok_status();
}

// --scales: what the file holds takes the place of samples.
Status read_scales(const CompileArguments& arguments, v1::CompileOptions& options) {
  if (arguments.scales.empty()) return ok_status();
  if ((!arguments.calibrate.empty() && !arguments.judges_samples) || arguments.global_scale) {
    return usage("--scales", arguments.scales, "no --calibrate or --global-scale beside it: the file has the scales");
  }
  const auto bytes = read_file(arguments.scales);
  if (!bytes) return bytes.errors();
  const auto calibrated =
      v1::parse_scales({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, arguments.scales);
  if (!calibrated) return calibrated.errors();
  options.calibrated = *calibrated;
  return ok_status();
}

Status parse_tuning(const std::string& word, v1::CompileOptions& options) {
  if (word == "off") options.tuning_mode = TuningMode::off;
  else if (word == "quick") options.tuning_mode = TuningMode::quick;
  else if (word == "full") options.tuning_mode = TuningMode::full;
  else return usage("--tune", word, "off, quick or full");
  return ok_status();
}

}  // namespace

int report(const Errors& errors) {
  for (const Error& error : errors) tell("octavo: {}\n", error.message());
  return exit_code(errors);
}
int report(Error error) { return report(Errors{std::move(error)}); }

void add_preprocess_option(CLI::App& verb, CompileArguments& arguments) {
  verb.add_option("--preprocess", arguments.preprocess,
                  "how images become inputs: torch, tf, tfq, bgr, raw, or fields such as mean=127.5,std=127.5")
      ->type_name("SPEC");
}

void add_quantize_options(CLI::App& verb, CompileArguments& arguments) {
  const std::string group = "Quantizing an fp32 file";
  verb.add_option("--calibrate", arguments.calibrate,
                  "samples: a folder of images or .npy, an .npz, an .npy, or 'random' (speed only)")
      ->type_name("PATH")
      ->group(group);
  verb.add_option("--calibration", arguments.calibration,
                  "how ranges come from samples: auto, average, entropy, minmax, mse, percentile or percentile:99.99")
      ->type_name("METHOD")
      ->capture_default_str()
      ->group(group);
  verb.add_option("--corrections", arguments.corrections,
                  "what is corrected by the samples: bias or fast-bias, equalize, two with a comma, or none")
      ->type_name("WORDS")
      ->group(group);
  verb.add_option("--weights", arguments.weights, "how weights become 8-bit: max, mse or adaround")
      ->type_name("METHOD")
      ->group(group);
  verb.add_option("--placement", arguments.placement,
                  "what is rounded between operators: fused (no more than Octavo's kernels need) or per-operator (also "
                  "between a convolution and the "
                  "addition after it: what ONNX Runtime fuses)")
      ->type_name("WORD")
      ->capture_default_str()
      ->group(group);
  verb.add_option("--samples", arguments.samples, "use at most N calibration samples, spread evenly (default: all)")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->group(group);
  verb.add_option("--skip", arguments.skip,
                  "keep nodes in fp32: names, globs, type:Conv, position:first, position:last")
      ->delimiter(',')
      ->type_name("NODE,...")
      ->group(group);
  verb.add_option("--global-scale", arguments.global_scale,
                  "one symmetric range [-S, S) for all activations, instead of calibration")
      ->type_name("S")
      ->group(group);
  verb.add_option("--scales", arguments.scales, "scales from a file that --scales-out wrote, instead of calibration")
      ->type_name("F")
      ->group(group);
  verb.add_option("--shape", arguments.shapes, "whole shape of an input, overriding the file's; may be repeated")
      ->type_name("NAME=1x3xHxW")
      ->group(group);
}

void add_integer_only_option(CLI::App& verb, CompileArguments& arguments) {
  verb.add_flag("--integer-only", arguments.integer_only,
                "everything in integers, 8-bit inputs and outputs for those of an fp32 file; what would stay in float "
                "is refused by its name")
      ->group("Compiling");
}

void add_scales_out_option(CLI::App& verb, std::string& path) {
  verb.add_option("--scales-out", path, "write scales and corrections as JSON, for --scales")->type_name("F");
}

void add_compile_options(CLI::App& verb, CompileArguments& arguments) {
  const std::string group = "Compiling";
  verb.add_option("--precision", arguments.precision,
                  "int8, fp32, or auto: int8 but for layers that are slower in it; default: int8 where the file is "
                  "quantized, or --calibrate or "
                  "--scales is given")
      ->group(group);
  verb.add_option("--target", arguments.target, "host, scalar, avx2, avxvnni, avx512vnni or amx")
      ->capture_default_str()
      ->group(group);
  verb.add_option("--rounding", arguments.rounding,
                  "formulas of a quantized TFLite file: tflite-xnnpack (default: what LiteRT computes), tflite-double "
                  "(its reference kernels) or "
                  "tflite-single")
      ->type_name("PROFILE")
      ->group(group);
  verb.add_option("--batch", arguments.batches, "batch sizes, one plan each (default: 1)")
      ->delimiter(',')
      ->type_name("N[,N...]")
      ->check(CLI::PositiveNumber)
      ->group(group);
  verb.add_option("--batch-order", arguments.batch_order,
                  "steps: a batch goes through one kernel after the other; images: image by image as far as the "
                  "operators allow; or auto: as predicted")
      ->capture_default_str()
      ->type_name("WORD")
      ->group(group);
  add_integer_only_option(verb, arguments);
  verb.add_flag("--allow-reference", arguments.allow_reference,
                "let slow reference code stand in where there is no kernel")
      ->group(group);
  verb.add_option(
          "--tune", arguments.tune,
          "what is measured on this machine to choose kernels by: off: nothing; quick: those that are predicted "
          "to be nearly the fastest (seconds); full: all (minutes)")
      ->capture_default_str()
      ->type_name("WORD")
      ->group(group);
  verb.add_option("--tuning-log", arguments.tuning_log,
                  "measured times: used where known; what --tune measures is added")
      ->type_name("F")
      ->group(group);
  add_quantize_options(verb, arguments);
}

Status parse_precision(const std::string& word, CompileRequest& request) {
  request.options.precision.reset();
  request.chooses_precision = word == "auto";
  if (word == "int8") request.options.precision = Precision::int8;
  else if (word == "fp32") request.options.precision = Precision::fp32;
  else if (!word.empty() && word != "auto") return usage("--precision", word, "int8, fp32 or auto");
  return ok_status();
}

Status parse_batch_order(const std::string& word, v1::CompileOptions& options) {
  if (word == "auto") options.batch_order = BatchOrder::automatic;
  else if (word == "steps") options.batch_order = BatchOrder::steps;
  else if (word == "images") options.batch_order = BatchOrder::images;
  else return usage("--batch-order", word, "auto, steps or images");
  return ok_status();
}

Result<CompileRequest> parse_compile_arguments(const CompileArguments& arguments, int threads) {
  CompileRequest request{.threads = threads};
  if (const Status done = parse_precision(arguments.precision, request); !done) return done.errors();
  if (const Status done = parse_batch_order(arguments.batch_order, request.options); !done) return done.errors();
  request.options.target = arguments.target;
  request.options.rounding = arguments.rounding;
  if (!arguments.batches.empty()) request.options.batches = arguments.batches;
  request.options.skip = arguments.skip;
  request.options.global_scale = arguments.global_scale;
  request.options.integer_only = arguments.integer_only;
  request.options.allow_reference = arguments.allow_reference;
  if (const Status done = parse_calibration(arguments.calibration, request.options); !done) return done.errors();
  if (const Status done = parse_corrections(arguments, request.options); !done) return done.errors();
  if (const Status done = parse_weights(arguments, request.options); !done) return done.errors();
  if (const Status done = parse_placement(arguments, request.options); !done) return done.errors();
  if (const Status done = read_scales(arguments, request.options); !done) return done.errors();
  for (const std::string& shape : arguments.shapes) {
    if (const Status done = parse_shape(shape, request.options); !done) return done.errors();
  }
  if (!arguments.preprocess.empty()) {
    const auto preprocess = parse_preprocess(arguments.preprocess);
    if (!preprocess) return preprocess.errors();
    request.preprocess = *preprocess;
  }
  if (const Status done = parse_tuning(arguments.tune, request.options); !done) return done.errors();
  request.options.tuning_log = arguments.tuning_log;
  request.calibrate = arguments.calibrate;
  request.samples = arguments.samples;
  return request;
}

void warn_of_random(const CompileArguments& arguments) {
  if (arguments.calibrate == "random")
    tell("octavo: warning: calibrated with random numbers: good for measuring speed, its answers are worthless\n");
}

Progress::Progress(std::string what)
    : what_(std::move(what)),
      is_terminal_(::isatty(STDERR_FILENO) != 0),
      start_(std::chrono::steady_clock::now()),
      last_(start_) {}

Progress::~Progress() {
  if (is_shown_ && is_terminal_) tell("\r\x1b[K");
}

void Progress::show(double done) { show(done, {}); }

void Progress::count(std::int64_t done, std::int64_t total) {
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  std::string note = fmt::format(" {} of {}", done, total);
  if (done > 0 && seconds > 0.0) {
    const double rate = static_cast<double>(done) / seconds;
    note += fmt::format(", {:.1f}/s, {:.0f} s left", rate, static_cast<double>(total - done) / rate);
  }
  show(static_cast<double>(done) / static_cast<double>(std::max<std::int64_t>(total, 1)), note);
}

void Progress::show(double done, const std::string& note) {
  const auto now = std::chrono::steady_clock::now();
  const auto interval = is_terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(5000);
  if (now - last_ < interval) return;
  last_ = now;
  is_shown_ = true;
  if (!is_terminal_) {
    tell("{}: {:.0f} %{}\n", what_, done * 100.0, note);
    return;
  }
  constexpr int kWidth = 30;
  const int filled = static_cast<int>(done * kWidth);
  tell("\r{} [{}{}] {:3.0f} %{}\x1b[K", what_, std::string(static_cast<std::size_t>(filled), '#'),
             std::string(static_cast<std::size_t>(kWidth - filled), ' '), done * 100.0, note);
}

int write_json(const std::string& path, const nlohmann::json& object) {
  const Status written = write_text(path, object.dump(2) + "\n");
  return written ? 0 : report(written.errors());
}

}  // namespace octavo::cli
