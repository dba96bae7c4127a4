// Compiling for all sizes once, and for each size alone. For the tests of api/.
#include "api/open_answers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <random>
#include <thread>

namespace octavo::testing {
namespace {

using v1::CompileOptions;
using v1::Context;
using v1::TensorInfo;

// 0 .. count - 1 twice, in random order.
std::vector<std::size_t> all_twice(std::size_t count, unsigned seed) {
  std::vector<std::size_t> order(2 * count);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i % count;
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  return order;
}

// A context that starts at the first shape of the order and is resized to the others.
void expect_answers(const v1::Model& model, const std::vector<Dims>& shapes,
                    const std::vector<std::vector<std::byte>>& expected, const std::vector<std::size_t>& order) {
  auto context = Context::create(model, {&shapes[order.front()], 1});
  ASSERT_TRUE(context) << to_string(context.errors());
  for (const std::size_t i : order) {
    const Status resized = context->resize({&shapes[i], 1});
    ASSERT_TRUE(resized) << to_string(resized.errors());
    EXPECT_TRUE(answer(*context, static_cast<unsigned>(i)) == expected[i]) << "shape " << i;
  }
}

}  // namespace

std::vector<std::byte> noise(std::size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i + 4 <= bytes; i += 4) {
    const float value = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
    std::memcpy(data.data() + i, &value, 4);
  }
  return data;
}

std::vector<std::byte> fixed_answer(const std::string& path, CompileOptions options, const std::string& input,
                                    const Dims& shape, unsigned seed) {
  options.shapes = {{input, {shape.begin(), shape.end()}}};
  const auto compiled = v1::compile(path, options);
  EXPECT_TRUE(compiled) << to_string(compiled.errors());
  if (!compiled) return {};
  EXPECT_TRUE(compiled->info().sizes.empty());
  const auto model = v1::Model::load(*compiled, {.threads = 1});
  auto context = Context::create(*model);
  return answer(*context, seed);
}

std::string models_folder() {
  const char* folder = std::getenv("OCTAVO_DATA");
  return (folder != nullptr ? std::string(folder) : std::string(OCTAVO_SOURCE_DIR) + "/../shared/data") + "/models/";
}

std::vector<std::byte> answer(Context& context, unsigned seed) {
  std::vector<std::vector<std::byte>> in, out;
  std::vector<v1::ConstTensorRef> inputs;
  std::vector<v1::TensorRef> outputs;
  for (const TensorInfo& info : context.inputs()) in.push_back(noise(info.bytes(), seed));
  for (const TensorInfo& info : context.outputs()) out.emplace_back(info.bytes());
  for (std::size_t i = 0; i < in.size(); ++i)
    inputs.push_back({context.inputs()[i].dtype, context.inputs()[i].shape, in[i].data()});
  for (std::size_t i = 0; i < out.size(); ++i)
    outputs.push_back({context.outputs()[i].dtype, context.outputs()[i].shape, out[i].data()});
  const Status done = context.run(inputs, outputs);
  EXPECT_TRUE(done) << to_string(done.errors());
  std::vector<std::byte> all;
  for (const auto& bytes : out) all.insert(all.end(), bytes.begin(), bytes.end());
  return all;
}

Result<v1::Model> loaded(const Result<v1::CompiledModel>& compiled, const v1::LoadOptions& options) {
  EXPECT_TRUE(compiled) << to_string(compiled.errors());
  if (!compiled) return compiled.errors();
  const auto opened = v1::open(compiled->bytes(), "open");
  EXPECT_TRUE(opened) << to_string(opened.errors());
  return opened ? v1::Model::load(*opened, options) : Result<v1::Model>(opened.errors());
}

void expect_fixed_answers(const std::string& path, CompileOptions options, const std::vector<Extent>& open,
                          const std::vector<Dims>& shapes) {
  SCOPED_TRACE(path);
  if (!open.empty()) {
    const auto usual = v1::compile(path, options);
    ASSERT_TRUE(usual) << to_string(usual.errors());
    const v1::ModelInfo info = usual->info();
    const std::string input = info.sizes.empty() ? info.plans.at(0).inputs.at(0).name : info.open_inputs.at(0).name;
    options.shapes = {{input, open}};
  }
  const auto model = loaded(v1::compile(path, options));
  ASSERT_TRUE(model) << to_string(model.errors());
  const v1::ModelInfo info = model->info();
  ASSERT_FALSE(info.sizes.empty());
  const std::string input = info.open_inputs.at(0).name;
  std::vector<std::vector<std::byte>> expected;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    expected.push_back(fixed_answer(path, options, input, shapes[i], static_cast<unsigned>(i)));
  const auto work = [&](unsigned seed) { expect_answers(*model, shapes, expected, all_twice(shapes.size(), seed)); };
  std::thread other(work, 1u);
  work(2u);
  other.join();
}

}  // namespace octavo::testing
