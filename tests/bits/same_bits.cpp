// Answers of one model on every instruction set, byte by byte. Part of the tests of whole models.
#include "bits/same_bits.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <random>

#include "base/machine.h"

namespace octavo::testing {
namespace {

constexpr std::int64_t kRows = 5;

// Rows of a tensor whose first dimension is the batch.
Tensor rows_of(const Tensor& batch, std::int64_t first, std::int64_t parts) {
  const std::size_t bytes = batch.bytes() / static_cast<std::size_t>(parts);
  std::vector<std::int64_t> dims = batch.shape().to_vector();
  dims[0] /= parts;
  Tensor row(batch.dtype(), Shape(dims));
  std::memcpy(row.data(), batch.data() + static_cast<std::size_t>(first) * bytes, bytes);
  return row;
}

std::vector<Tensor> rows_of(const std::vector<Tensor>& batches, std::int64_t first) {
  std::vector<Tensor> rows;
  for (const Tensor& batch : batches) rows.push_back(rows_of(batch, first, kRows));
  return rows;
}

std::string first_difference(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return "another type or shape";
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const double left = element_as_double(a.view(), i), right = element_as_double(b.view(), i);
    if (left != right)
      return "element " + std::to_string(i) + ": " + std::to_string(left) + " and " + std::to_string(right);
  }
  return "the bits of equal numbers";
}

std::optional<v1::CompiledModel> compile_or_fail(const std::string& path, const v1::CompileOptions& options) {
  auto compiled = v1::compile(path, options);
  if (compiled) return *std::move(compiled);
  ADD_FAILURE() << to_string(compiled.errors());
  return std::nullopt;
}

// Batches 1 and 5; by whole shapes where the file fixes its batch.
std::vector<v1::CompiledModel> compile_batches(const Subject& subject, const std::string& target) {
  v1::CompileOptions options = subject.options;
  options.precision = Precision::int8;
  options.target = target;
  // Which way must not matter, either.
  const bool is_by_steps = target == "avxvnni" || target == "arm64-dotprod";
  options.batch_order = is_by_steps ? BatchOrder::steps : BatchOrder::images;
  options.batches = {1, kRows};
  if (auto both = v1::compile(subject.path, options)) return {*std::move(both)};
  options.batches = {1};
  const auto one = compile_or_fail(subject.path, options);
  if (!one) return {};
  if (!subject.batch_is_free) return {*one};
  const v1::ModelInfo info = one->info();
  for (const v1::TensorInfo& input : info.plans[0].inputs) {
    std::vector<Extent>& shape = options.shapes[input.name];
    shape.assign(input.shape.begin(), input.shape.end());
    shape[0] = input.shape[0] * kRows;
  }
  const auto many = compile_or_fail(subject.path, options);
  if (!many) return {};
  return {*one, *many};
}

// All runs of one subject; the first run of each sample is what the others are compared with.
class Comparison {
 public:
  explicit Comparison(const Subject& subject) : subject_(subject) {}

  void run_target(const std::string& target) {
    for (const v1::CompiledModel& compiled : compile_batches(subject_, target)) {
      for (const int threads : threads_for(target)) {
        SCOPED_TRACE(target + ", " + std::to_string(threads) + " threads");
        auto model = v1::Model::load(compiled, {.threads = threads});
        ASSERT_TRUE(model.ok()) << to_string(model.errors());
        run_plans(*model, is_short(target) ? 1 : kRows);
      }
    }
  }

  // Answers that do not depend on the input would prove nothing.
  void expect_varied_answers() const {
    EXPECT_FALSE(singles_[0] == singles_[1]) << subject_.path << ": two samples have one answer";
  }
  bool has_run_batches() const { return !batch_.empty(); }

 private:
  bool is_short(const std::string& target) const {
    return target == "scalar" && subject_.scalar_runs == ScalarRuns::one_sample;
  }
  std::vector<int> threads_for(const std::string& target) const {
    return is_short(target) ? std::vector{2} : std::vector{1, 2, 4};
  }

  void run_plans(const v1::Model& model, std::int64_t rows) {
    const std::vector<v1::PlanInfo> plans = model.info().plans;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      SCOPED_TRACE("batch " + std::to_string(plans[i].batch));
      if (plans[i].batch == 1) run_single(model, i, rows);
      else if (rows == kRows) run_batch(model, i);
    }
  }

  void run_single(const v1::Model& model, std::size_t plan, std::int64_t rows) {
    const std::vector<v1::TensorInfo> inputs = model.info().plans[plan].inputs;
    for (std::int64_t row = 0; row < rows; ++row) {
      expect(singles_[static_cast<std::size_t>(row)],
             run(model, plan, random_inputs(inputs, static_cast<unsigned>(row))), model, row);
    }
  }

  void run_batch(const v1::Model& model, std::size_t plan) {
    std::vector<v1::TensorInfo> infos = model.info().plans[plan].inputs;
    std::vector<Tensor> inputs;
    for (v1::TensorInfo& info : infos) {
      inputs.emplace_back(info.dtype, Shape(info.shape));
      info.shape[0] /= kRows;
    }
    for (std::int64_t row = 0; row < kRows; ++row) {
      const std::vector<Tensor> single = random_inputs(infos, static_cast<unsigned>(row));
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        std::memcpy(inputs[i].data() + static_cast<std::size_t>(row) * single[i].bytes(), single[i].data(),
                    single[i].bytes());
      }
    }
    const std::vector<Tensor> outputs = run(model, plan, inputs);
    expect(batch_, outputs, model, -1);
    if (!subject_.rows_are_independent) return;
    for (const Tensor& output : outputs)
      ASSERT_EQ(output.shape()[0] % kRows, 0) << "the file fixes the batch of an output";
    for (std::int64_t row = 0; row < kRows; ++row)
      expect(singles_[static_cast<std::size_t>(row)], rows_of(outputs, row), model, row);
  }

  void expect(std::vector<Tensor>& known, const std::vector<Tensor>& found, const v1::Model& model, std::int64_t row) {
    if (known.empty()) known = found;
    const v1::ModelInfo info = model.info();
    ASSERT_EQ(found.size(), known.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::string name = info.source + ": " + info.plans[0].outputs[i].name;
      if (std::count(kExemptOutputs.begin(), kExemptOutputs.end(), name) > 0) continue;
      EXPECT_TRUE(found[i] == known[i]) << name << ", sample " << row << ": " << first_difference(found[i], known[i]);
    }
  }

  const Subject& subject_;
  std::vector<Tensor> singles_[kRows];
  std::vector<Tensor> batch_;
};

}  // namespace

bool host_has(const std::string& target) { return host_machine().isa.contains(machine_for_target(target)->isa); }

void expect_same_bits(const Subject& subject, const std::vector<std::string>& targets) {
  Comparison comparison(subject);
  int compared = 0;
  for (const std::string& target : targets) {
    if (!host_has(target)) continue;
    comparison.run_target(target);
    ++compared;
  }
  comparison.expect_varied_answers();
  EXPECT_EQ(comparison.has_run_batches(), subject.batch_is_free) << subject.path;
  if (compared == 1) GTEST_SKIP() << "needs avx2: nothing to compare with";
}

ModelFile::ModelFile(const std::string& bytes) {
  static int count = 0;
  path_ = (std::filesystem::temp_directory_path() /
           ("octavo_bits_" + std::to_string(::getpid()) + "_" + std::to_string(++count) + ".onnx"))
              .string();
  std::ofstream(path_, std::ios::binary) << bytes;
}

namespace {

void fill(DType dtype, std::byte* data, std::size_t bytes, std::mt19937& random) {
  if (dtype == DType::f32) {
    std::uniform_real_distribution<float> uniform(-2.0f, 2.0f);
    for (std::size_t i = 0; i < bytes / sizeof(float); ++i) reinterpret_cast<float*>(data)[i] = uniform(random);
  } else {
    EXPECT_TRUE(is_8bit(dtype)) << "random values of another type";
    for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(random());
  }
}

}  // namespace

// Every row of a sample is the same, so that a plan of any batch is calibrated with the same values.
v1::SampleFunction random_samples(std::int64_t count) {
  return {.count = count, .fill = [](std::int64_t index, std::span<const v1::TensorRef> inputs) -> Status {
            std::mt19937 random(static_cast<unsigned>(1000 + index));
            for (const v1::TensorRef& input : inputs) {
              const Shape shape(std::vector<std::int64_t>(input.shape.begin(), input.shape.end()));
              const std::size_t row = static_cast<std::size_t>(shape.elements(1, shape.rank())) * size_of(input.dtype);
              auto* const data = static_cast<std::byte*>(input.data);
              fill(input.dtype, data, row, random);
              for (std::int64_t i = 1; i < shape.elements(0, std::min(1, shape.rank())); ++i)
                std::copy_n(data, row, data + static_cast<std::size_t>(i) * row);
            }
            return ok_status();
          }};
}

std::vector<Tensor> random_inputs(const std::vector<v1::TensorInfo>& inputs, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Tensor> tensors;
  for (const v1::TensorInfo& info : inputs) {
    Tensor tensor(info.dtype, Shape(info.shape));
    fill(info.dtype, tensor.data(), tensor.bytes(), random);
    tensors.push_back(tensor);
  }
  return tensors;
}

std::vector<Tensor> run(const v1::Model& model, std::size_t plan, const std::vector<Tensor>& inputs) {
  // A pool of its own: the shared one has no more threads than this process has cores.
  const v1::ThreadPool pool(model.threads());
  auto context = v1::Context::create(model, plan, &pool);
  if (!context) {
    ADD_FAILURE() << to_string(context.errors());
    return {};
  }
  std::vector<Tensor> outputs;
  std::vector<v1::ConstTensorRef> from;
  std::vector<v1::TensorRef> to;
  for (const Tensor& input : inputs) from.push_back({input.dtype(), input.shape().dims(), input.data()});
  for (const v1::TensorInfo& info : context->outputs()) outputs.emplace_back(info.dtype, Shape(info.shape));
  for (Tensor& output : outputs) to.push_back({output.dtype(), output.shape().dims(), output.data()});
  const Status status = context->run(from, to);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : to_string(status.errors()));
  return outputs;
}

}  // namespace octavo::testing
