// Options, errors and progress of the command line. Part of cli/.
#include "cli/common.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "analyze/file.h"

namespace octavo::cli {
namespace {

Error usage(const std::string& option, const std::string& found, const std::string& expected) {
  return {.kind = ErrorKind::usage, .where = option, .found = "'" + found + "'", .expected = expected};
}

// "minmax", "mse", "percentile" or "percentile:99.99".
Status parse_calibration(const std::string& word, v1::CompileOptions& options) {
  if (word == "minmax") return ok_status();
  constexpr std::string_view kPercentile = "percentile";
  if (word == "mse") {
    options.calibration = v1::CalibrationMethod::mse;
    return ok_status();
  }
  const std::string expected = "minmax, mse, percentile or percentile:99.99";
  if (!word.starts_with(kPercentile)) return usage("--calibration", word, expected);
  options.calibration = v1::CalibrationMethod::percentile;
  if (word.size() == kPercentile.size()) return ok_status();
  const char* end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data() + kPercentile.size() + 1, end, options.percentile);
  if (word[kPercentile.size()] != ':' || error != std::errc{} || rest != end) return usage("--calibration", word, expected);
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
  if (!arguments.calibrate.empty() || arguments.global_scale) {
    return usage("--scales", arguments.scales, "no --calibrate or --global-scale beside it: the file has the scales");
  }
  const auto bytes = read_file(arguments.scales);
  if (!bytes) return bytes.errors();
  const auto calibrated = v1::parse_scales({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, arguments.scales);
  if (!calibrated) return calibrated.errors();
  options.calibrated = *calibrated;
  return ok_status();
}

}  // namespace

int report(const Errors& errors) {
  for (const Error& error : errors) fmt::print(stderr, "octavo: {}\n", error.message());
  return exit_code(errors);
}
int report(Error error) { return report(Errors{std::move(error)}); }

void add_preprocess_option(CLI::App& verb, CompileArguments& arguments) {
  verb.add_option("--preprocess", arguments.preprocess, "how images become inputs: torch, tf, tfq, bgr, raw, or fields such as mean=127.5,std=127.5")
      ->type_name("SPEC");
}

void add_quantize_options(CLI::App& verb, CompileArguments& arguments) {
  const std::string group = "Quantizing an fp32 file";
  verb.add_option("--calibrate", arguments.calibrate, "samples: a folder of images or .npy, an .npz, an .npy, or 'random' (speed only)")
      ->type_name("PATH")
      ->group(group);
  verb.add_option("--calibration", arguments.calibration, "how ranges come from samples: minmax, mse, percentile or percentile:99.99")
      ->type_name("METHOD")
      ->capture_default_str()
      ->group(group);
  verb.add_option("--corrections", arguments.corrections, "bias: shifts of means by rounding are taken back, except with 'random'; or none")
      ->type_name("WORD")
      ->capture_default_str()
      ->group(group);
  verb.add_option("--samples", arguments.samples, "use at most N calibration samples, spread evenly (default: all)")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->group(group);
  verb.add_option("--skip", arguments.skip, "keep nodes in fp32: names, globs, type:Conv")->delimiter(',')->type_name("NODE,...")->group(group);
  verb.add_option("--global-scale", arguments.global_scale, "one symmetric range [-S, S) for all activations, instead of calibration")
      ->type_name("S")
      ->group(group);
  verb.add_option("--scales", arguments.scales, "scales from a file that --scales-out wrote, instead of calibration")->type_name("F")->group(group);
  verb.add_option("--shape", arguments.shapes, "whole shape of an input, overriding the file's; may be repeated")
      ->type_name("NAME=1x3xHxW")
      ->group(group);
}

void add_scales_out_option(CLI::App& verb, std::string& path) {
  verb.add_option("--scales-out", path, "write scales and corrections as JSON, for --scales")->type_name("F");
}

void add_compile_options(CLI::App& verb, CompileArguments& arguments) {
  const std::string group = "Compiling";
  verb.add_option("--precision", arguments.precision, "int8 or fp32; default: int8 where the file is quantized, or --calibrate or --scales is given")
      ->group(group);
  verb.add_option("--target", arguments.target, "host, scalar, avx2, avxvnni, avx512vnni or amx")->capture_default_str()->group(group);
  verb.add_option("--rounding", arguments.rounding,
                  "formulas of a quantized TFLite file: tflite-xnnpack (default: what LiteRT computes), tflite-double (its reference kernels) or "
                  "tflite-single")
      ->type_name("PROFILE")
      ->group(group);
  verb.add_option("--batch", arguments.batches, "batch sizes, one plan each (default: 1)")
      ->delimiter(',')
      ->type_name("N[,N...]")
      ->check(CLI::PositiveNumber)
      ->group(group);
  verb.add_flag("--integer-only", arguments.integer_only, "refuse float operators, inputs and outputs, each by its name")->group(group);
  verb.add_flag("--allow-reference", arguments.allow_reference, "let slow reference code stand in where there is no kernel")->group(group);
  verb.add_option("--tune", arguments.tune, "quick: where several kernels may be fastest, measure them on this machine (seconds); or off")
      ->capture_default_str()
      ->type_name("WORD")
      ->group(group);
  verb.add_option("--tuning-log", arguments.tuning_log, "measured times: used where known, and kept by --tune quick")->type_name("F")->group(group);
  add_quantize_options(verb, arguments);
}

Result<std::optional<Precision>> parse_precision(const std::string& word) {
  if (word.empty()) return std::optional<Precision>();
  if (word == "int8") return std::optional(Precision::int8);
  if (word == "fp32") return std::optional(Precision::fp32);
  return usage("--precision", word, "int8 or fp32");
}

Result<CompileRequest> parse_compile_arguments(const CompileArguments& arguments) {
  CompileRequest request;
  const auto precision = parse_precision(arguments.precision);
  if (!precision) return precision.errors();
  request.options.precision = *precision;
  request.options.target = arguments.target;
  request.options.rounding = arguments.rounding;
  if (!arguments.batches.empty()) request.options.batches = arguments.batches;
  request.options.skip = arguments.skip;
  request.options.global_scale = arguments.global_scale;
  request.options.integer_only = arguments.integer_only;
  request.options.allow_reference = arguments.allow_reference;
  if (const Status done = parse_calibration(arguments.calibration, request.options); !done) return done.errors();
  if (arguments.corrections != "bias" && arguments.corrections != "none") return usage("--corrections", arguments.corrections, "bias or none");
  request.options.corrects_biases = arguments.corrections == "bias" && arguments.calibrate != "random";
  if (const Status done = read_scales(arguments, request.options); !done) return done.errors();
  for (const std::string& shape : arguments.shapes) {
    if (const Status done = parse_shape(shape, request.options); !done) return done.errors();
  }
  if (!arguments.preprocess.empty()) {
    const auto preprocess = parse_preprocess(arguments.preprocess);
    if (!preprocess) return preprocess.errors();
    request.preprocess = *preprocess;
  }
  if (arguments.tune != "off" && arguments.tune != "quick") return usage("--tune", arguments.tune, "off or quick");
  request.options.measures = arguments.tune == "quick";
  request.tuning_log = arguments.tuning_log;
  request.calibrate = arguments.calibrate;
  request.samples = arguments.samples;
  return request;
}

void warn_of_random(const CompileArguments& arguments) {
  if (arguments.calibrate == "random")
    fmt::print(stderr, "octavo: warning: calibrated with random numbers: good for measuring speed, its answers are worthless\n");
}

Progress::Progress(std::string what) : what_(std::move(what)), is_terminal_(::isatty(STDERR_FILENO) != 0), last_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (is_shown_ && is_terminal_) fmt::print(stderr, "\r\x1b[K");
}

void Progress::show(double done) {
  const auto now = std::chrono::steady_clock::now();
  const auto interval = is_terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(5000);
  if (now - last_ < interval) return;
  last_ = now;
  is_shown_ = true;
  if (!is_terminal_) {
    fmt::print(stderr, "{}: {:.0f} %\n", what_, done * 100.0);
    return;
  }
  constexpr int kWidth = 30;
  const int filled = static_cast<int>(done * kWidth);
  fmt::print(stderr, "\r{} [{}{}] {:3.0f} %", what_, std::string(static_cast<std::size_t>(filled), '#'),
             std::string(static_cast<std::size_t>(kWidth - filled), ' '), done * 100.0);
}

int write_json(const std::string& path, const nlohmann::json& object) {
  const Status written = write_text(path, object.dump(2) + "\n");
  return written ? 0 : report(written.errors());
}

}  // namespace octavo::cli
