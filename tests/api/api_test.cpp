// The public API from a model file to answers, as a user would call it. Tests of api/ and include/octavo/.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "octavo/quantize.h"

namespace octavo::v1 {
namespace {

namespace fs = std::filesystem;

const std::string kDigits = OCTAVO_SOURCE_DIR "/examples/digits/digits.onnx";

// Samples of seeded noise, the same for the same index.
SampleFunction api_noise(std::int64_t count) {
  return {.count = count, .fill = [](std::int64_t index, std::span<const TensorRef> inputs) {
            std::mt19937 random(static_cast<unsigned>(index));
            std::size_t elements = 1;
            for (const std::int64_t dim : inputs[0].shape) elements *= static_cast<std::size_t>(dim);
            for (std::size_t i = 0; i < elements; ++i)
              static_cast<float*>(inputs[0].data)[i] = static_cast<float>(random() % 1000) / 1000.0f;
            return ok_status();
          }};
}

struct Buffer {
  TensorInfo info;
  std::vector<float> values;
  explicit Buffer(TensorInfo tensor) : info(std::move(tensor)), values(info.bytes() / sizeof(float)) {}
  TensorRef ref() { return {info.dtype, info.shape, values.data()}; }
  ConstTensorRef const_ref() const { return {info.dtype, info.shape, values.data()}; }
};

// The answers for `samples` rows of noise, all at once.
std::vector<float> answers(Context& context, std::int64_t samples) {
  Buffer x(context.inputs()[0]), y(context.outputs()[0]);
  const std::size_t row = x.values.size() / static_cast<std::size_t>(samples);
  std::vector<std::int64_t> one = x.info.shape;
  one[0] = 1;
  for (std::int64_t i = 0; i < samples; ++i) {
    const std::vector<TensorRef> refs = {{DType::f32, one, x.values.data() + static_cast<std::size_t>(i) * row}};
    EXPECT_TRUE(api_noise(samples).fill(i, refs));
  }
  const std::vector<ConstTensorRef> in = {x.const_ref()};
  const std::vector<TensorRef> out = {y.ref()};
  const Status status = context.run(in, out);
  EXPECT_TRUE(status) << to_string(status.errors());
  return y.values;
}

Context context_of(const CompiledModel& compiled, std::int64_t batch, int threads = 1) {
  const auto model = Model::load(compiled, {.threads = threads});
  if (!model) throw std::runtime_error(to_string(model.errors()));
  const auto plan = model->find_plan({.batch = batch});
  if (!plan) throw std::runtime_error(to_string(plan.errors()));
  auto context = Context::create(*model, *plan);
  if (!context) throw std::runtime_error(to_string(context.errors()));
  return std::move(*context);
}

CompiledModel compile_or_throw(CompileOptions options) {
  options.allow_reference = true;
  auto compiled = compile(kDigits, options);
  if (!compiled) throw std::runtime_error(to_string(compiled.errors()));
  return std::move(*compiled);
}

TEST(Api, AnFp32FileIsQuantizedSavedOpenedAndRun) {
  const CompiledModel compiled = compile_or_throw({.batches = {1, 5}, .samples = api_noise(8)});
  const ModelInfo info = compiled.info();
  ASSERT_EQ(info.plans.size(), 2u);
  EXPECT_EQ(info.plans[1].batch, 5);
  EXPECT_EQ(info.plans[1].precision, Precision::int8);
  EXPECT_EQ(info.plans[1].inputs[0].shape[0], 5);
  EXPECT_GT(info.plans[0].macs, 0);
  EXPECT_EQ(info.plans[1].macs, 5 * info.plans[0].macs);

  const std::string path =
      (fs::temp_directory_path() / ("octavo_api_test" + std::to_string(std::random_device{}()) + ".octv")).string();
  ASSERT_TRUE(compiled.save(path));
  EXPECT_TRUE(is_compiled(path));
  EXPECT_FALSE(is_compiled(kDigits));
  EXPECT_TRUE(is_compiled(compiled.bytes()));
  EXPECT_FALSE(is_compiled(std::as_bytes(std::span(kDigits))));
  const auto opened = open(path);
  fs::remove(path);
  ASSERT_TRUE(opened) << to_string(opened.errors());
  EXPECT_EQ(opened->info().constant_bytes, info.constant_bytes);
  for (const int threads : {1, 3}) {
    Context before = context_of(compiled, 5, threads), after = context_of(*opened, 5);
    EXPECT_EQ(answers(before, 5), answers(after, 5));
  }
}

// What is copied does not care what becomes of the file; what is mapped does not care what takes its place.
TEST(Api, AFileIsMappedOrCopied) {
  const CompiledModel compiled = compile_or_throw({.samples = api_noise(4)});
  const std::string path =
      (fs::temp_directory_path() / ("octavo_api_copy" + std::to_string(std::random_device{}()) + ".octv")).string();
  ASSERT_TRUE(compiled.save(path));
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const auto mapped = open(path), copied = open(path, {.weights = Weights::copied});
  const auto of_bytes = open(std::as_bytes(std::span(bytes)), "bytes");
  ASSERT_TRUE(mapped && copied && of_bytes);
  EXPECT_FALSE(open(std::as_bytes(std::span(bytes)).first(100), "bytes"));
  ASSERT_TRUE(compile_or_throw({.precision = Precision::fp32}).save(path));  // by renaming
  Context context = context_of(compiled, 1);
  const std::vector<float> expected = answers(context, 1);
  Context old = context_of(*mapped, 1);
  EXPECT_EQ(answers(old, 1), expected);
  fs::resize_file(path, 0);
  Context copy = context_of(*copied, 1), from_bytes = context_of(*of_bytes, 1);
  EXPECT_EQ(answers(copy, 1), expected);
  EXPECT_EQ(answers(from_bytes, 1), expected);
  fs::remove(path);
}

TEST(Api, EachRowOfABatchHasTheBitsOfBatchOne) {
  const CompiledModel compiled = compile_or_throw({.batches = {1, 5}, .samples = api_noise(4)});
  Context one = context_of(compiled, 1), five = context_of(compiled, 5);
  const std::vector<float> rows = answers(five, 5);
  const std::size_t classes = rows.size() / 5;
  Buffer x(one.inputs()[0]), y(one.outputs()[0]);
  for (std::size_t row = 0; row < 5; ++row) {
    const std::vector<TensorRef> fill = {x.ref()};
    ASSERT_TRUE(api_noise(5).fill(static_cast<std::int64_t>(row), fill));
    const std::vector<ConstTensorRef> in = {x.const_ref()};
    const std::vector<TensorRef> out = {y.ref()};
    ASSERT_TRUE(one.run(in, out));
    EXPECT_EQ(std::memcmp(y.values.data(), rows.data() + row * classes, classes * sizeof(float)), 0) << "row " << row;
  }
}

TEST(Api, EveryTargetOfThisMachineGivesTheSameBits) {
  const auto bits_of = [](const std::string& target) {
    Context context = context_of(compile_or_throw({.target = target, .batches = {2}, .samples = api_noise(4)}), 2);
    return answers(context, 2);
  };
  const std::vector<float> expected = bits_of("scalar");
  EXPECT_EQ(bits_of("host"), expected);
  const auto avx2 = compile_or_throw({.target = "avx2", .samples = api_noise(1)});
  if (!Model::load(avx2)) GTEST_SKIP() << "needs avx2";
  EXPECT_EQ(bits_of("avx2"), expected);
}

TEST(Api, Fp32AndInt8AgreeRoughly) {
  Context int8 = context_of(compile_or_throw({.batches = {4}, .samples = api_noise(16)}), 4);
  Context fp32 = context_of(compile_or_throw({.precision = Precision::fp32, .batches = {4}}), 4);
  const std::vector<float> a = answers(int8, 4), b = answers(fp32, 4);
  double signal = 0.0, error = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    signal += static_cast<double>(b[i]) * b[i];
    error += std::pow(static_cast<double>(a[i]) - b[i], 2.0);
  }
  EXPECT_GT(signal, 100.0 * error) << "less than 20 dB";
}

TEST(Api, AHookSeesNamedSteps) {
  Context context = context_of(compile_or_throw({.samples = api_noise(1)}), 1);
  std::size_t steps = 0;
  context.set_step_hook([&](const StepInfo& step) {
    EXPECT_EQ(step.index, steps++);
    EXPECT_FALSE(step.kernel.empty());
    ASSERT_EQ(step.outputs.size(), step.value_names.size());
  });
  answers(context, 1);
  EXPECT_GT(steps, 0u);
}

TEST(Api, ACallersThreadsMayRunIt) {
  const auto model = Model::load(compile_or_throw({.samples = api_noise(1)}), {.threads = 3});
  ASSERT_TRUE(model);
  const ThreadPool pool(3, [](int parts, const std::function<void(int)>& body) {
    for (int part = 0; part < parts; ++part) body(part);
  });
  auto lent = Context::create(*model, 0, &pool);
  auto own = Context::create(*model);
  ASSERT_TRUE(lent && own);
  EXPECT_EQ(answers(*lent, 1), answers(*own, 1));
}

void expect_error(const Result<CompiledModel>& result, ErrorKind kind, const std::string& part) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.errors()[0].kind, kind);
  EXPECT_NE(to_string(result.errors()).find(part), std::string::npos) << to_string(result.errors());
}

TEST(Api, WhatCannotBeCompiledIsSaid) {
  expect_error(compile(kDigits), ErrorKind::usage, "neither a precision nor calibration data");
  expect_error(compile(kDigits, {.precision = Precision::int8}), ErrorKind::usage, "no calibration data");
  expect_error(compile(kDigits, {.precision = Precision::fp32, .target = "sse2"}), ErrorKind::usage, "--target");
  expect_error(compile(kDigits, {.precision = Precision::fp32, .batches = {}}), ErrorKind::usage, "no batch");
  expect_error(compile(kDigits, {.precision = Precision::fp32, .batches = {0}}), ErrorKind::usage, "at least 1");
  expect_error(compile(kDigits, {.precision = Precision::fp32, .batches = {2, 2}}), ErrorKind::usage, "more than once");
  expect_error(compile("/no/such/file.onnx"), ErrorKind::resource, "/no/such/file.onnx");
  expect_error(open(kDigits), ErrorKind::invalid_input, ".octv");
}

// Rows of the product behind the convolutions, which have no rows themselves; what the mode has no form for is said.
TEST(Api, PerTokenNeedsNoSamples) {
  const auto compiled = compile(kDigits, {.activations = Activations::per_token});
  ASSERT_TRUE(compiled) << to_string(compiled.errors());
  const PlanInfo plan = compiled->info().plans[0];
  EXPECT_EQ(plan.precision, Precision::int8);
  const auto notes_say = [&](const std::string& part) {
    return std::any_of(plan.notes.begin(), plan.notes.end(),
                       [&](const std::string& note) { return note.find(part) != std::string::npos; });
  };
  EXPECT_TRUE(notes_say("1 products read rows"));
  EXPECT_TRUE(notes_say("what is between products stays in f32"));
  EXPECT_TRUE(notes_say("kept in float: "));
}

TEST(Api, PerTokenIsRefusedWhereItHasNoForm) {
  constexpr Activations kRows = Activations::per_token;
  expect_error(compile(kDigits, {.precision = Precision::fp32, .activations = kRows}), ErrorKind::usage, "fp32");
  expect_error(compile(kDigits, {.activations = kRows, .integer_only = true}), ErrorKind::usage, "--integer-only");
  expect_error(compile(kDigits, {.global_scale = 4.0f, .activations = kRows}), ErrorKind::usage, "--global-scale");
  expect_error(compile(kDigits, {.placement = PairPlacement::per_operator, .activations = kRows}), ErrorKind::usage,
               "per-operator");
  const auto written = quantize(kDigits, {.samples = api_noise(2), .activations = kRows});
  ASSERT_FALSE(written);
  EXPECT_NE(to_string(written.errors()).find("compile takes per-token"), std::string::npos);
  const auto file = quantize(kDigits, {.samples = api_noise(2)});
  ASSERT_TRUE(file);
  const auto onnx = file->onnx();
  ASSERT_TRUE(onnx);
  expect_error(compile(std::as_bytes(std::span(*onnx)), "q.onnx", {.activations = kRows}), ErrorKind::usage,
               "a quantized model");
}

TEST(Api, ATensorOfTheWrongShapeIsNamed) {
  Context context = context_of(compile_or_throw({.precision = Precision::fp32}), 1);
  Buffer x(context.inputs()[0]), y(context.outputs()[0]);
  const std::vector<std::int64_t> wrong = {1, 2, 3};
  const std::vector<ConstTensorRef> in = {{DType::f32, wrong, x.values.data()}};
  const std::vector<TensorRef> out = {y.ref()};
  const Status status = context.run(in, out);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.errors()[0].kind, ErrorKind::usage);
  EXPECT_NE(status.errors()[0].message().find("'" + context.inputs()[0].name + "'"), std::string::npos);
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Api, AFileAndItsBytesAreTheSameModel) {
  const std::string file = bytes_of(kDigits);
  const CompileOptions options{.samples = api_noise(4), .allow_reference = true};
  const auto of_file = compile(kDigits, options),
             of_bytes = compile(std::as_bytes(std::span(file)), "digits.onnx", options);
  ASSERT_TRUE(of_file && of_bytes);
  EXPECT_EQ(of_file->bytes(), of_bytes->bytes());
  const auto quantized = quantize(kDigits, options),
             quantized_bytes = quantize(std::as_bytes(std::span(file)), "digits.onnx", options);
  ASSERT_TRUE(quantized && quantized_bytes);
  EXPECT_EQ(*quantized->onnx(), *quantized_bytes->onnx());
  expect_error(compile(std::as_bytes(std::span(file)).first(0), "none"), ErrorKind::invalid_input, "none: found");
  expect_error(compile(of_file->bytes(), "again"), ErrorKind::usage, "again: found a model that Octavo has compiled");
}

TEST(Api, BytesAreWhatIsSaved) {
  const CompiledModel compiled = compile_or_throw({.samples = api_noise(4)});
  const std::vector<std::byte> bytes = compiled.bytes();
  const std::string path =
      (fs::temp_directory_path() / ("octavo_api_bytes" + std::to_string(std::random_device{}()) + ".octv")).string();
  ASSERT_TRUE(compiled.save(path));
  const std::string saved = bytes_of(path);
  EXPECT_TRUE(std::ranges::equal(bytes, std::as_bytes(std::span(saved))));
  fs::remove(path);
  const auto opened = open(bytes, "bytes");
  ASSERT_TRUE(opened);
  Context before = context_of(compiled, 1), after = context_of(*opened, 1);
  EXPECT_EQ(answers(before, 1), answers(after, 1));
}

CompileOptions in_all_phases() {
  return {.samples = api_noise(4), .equalizes = true, .allow_reference = true, .tuning_mode = TuningMode::quick};
}

TEST(Api, ProgressGoesThroughThePhasesInOrder) {
  std::vector<Phase> phases;
  CompileOptions options = in_all_phases();
  options.progress = [&](Phase phase, std::int64_t done, std::int64_t total) {
    EXPECT_TRUE(done < total || (phase == Phase::tuning && total == 0)) << name_of(phase) << ' ' << done;
    if (phases.empty() || phases.back() != phase) phases.push_back(phase);
  };
  ASSERT_TRUE(compile(kDigits, options));
  EXPECT_EQ(phases, (std::vector{Phase::equalizing, Phase::calibrating, Phase::rounding, Phase::correcting,
                                 Phase::planning, Phase::tuning}));
}

// The kind of the error where the call is stopped when it tells of `last`.
template <class Call>
ErrorKind kind_when_stopped(Phase last, const Call& call) {
  std::stop_source source;
  CompileOptions options = in_all_phases();
  options.stop = source.get_token();
  options.progress = [&](Phase phase, std::int64_t, std::int64_t) {
    EXPECT_FALSE(source.stop_requested()) << "told of " << name_of(phase) << " after " << name_of(last);
    if (phase == last) source.request_stop();
  };
  const auto result = call(kDigits, options);
  return result ? ErrorKind::internal : result.errors()[0].kind;
}

TEST(Api, ALongCallStopsInEveryPhase) {
  const auto compiling = [](const auto&... given) { return compile(given...); };
  const auto quantizing = [](const auto&... given) { return quantize(given...); };
  for (const Phase last : {Phase::equalizing, Phase::calibrating, Phase::rounding, Phase::correcting}) {
    EXPECT_EQ(kind_when_stopped(last, compiling), ErrorKind::cancelled) << name_of(last);
    EXPECT_EQ(kind_when_stopped(last, quantizing), ErrorKind::cancelled) << name_of(last);
  }
  for (const Phase last : {Phase::planning, Phase::tuning})
    EXPECT_EQ(kind_when_stopped(last, compiling), ErrorKind::cancelled) << name_of(last);
}

TEST(Api, HasAVersion) { EXPECT_FALSE(version().empty()); }

}  // namespace
}  // namespace octavo::v1
