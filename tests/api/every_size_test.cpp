// Every size of graphs whose files leave sizes open: a run at it gives the bytes of a compilation for it alone. What
// is refused is what ONNX Runtime refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <random>

#include "api/size_graphs.h"
#include "base/sizes.h"

namespace octavo::v1 {
namespace {

using testing::SizeGraph;
using testing::SizeMap;
using Shapes = std::vector<std::vector<std::int64_t>>;

constexpr std::int64_t kMost = 12;  // of a size that a graph says nothing of
constexpr std::size_t kSizes = 40;

std::optional<std::int64_t> number_of(const std::string& extent) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(extent.data(), extent.data() + extent.size(), number);
  if (error != std::errc() || end != extent.data() + extent.size()) return std::nullopt;
  return number;
}

std::string text_of(const SizeMap& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes) text += (text.empty() ? "" : ", ") + name + " = " + std::to_string(size);
  return text;
}

SizeInfo info_of(const ModelInfo& info, const std::string& name) {
  for (const SizeInfo& size : info.sizes) {
    if (size.name == name) return size;
  }
  return {.name = name, .lowest = 0, .highest = kMost};
}

// Each size alone 0 and 1 among usual ones, all of them 0 and 1, then random ones, of which some are 0 and 1.
std::vector<SizeMap> sizes_to_try(const SizeGraph& graph, const ModelInfo& info) {
  std::mt19937 random(7);
  std::map<std::string, SizeInfo> ranges;
  for (const OpenTensorInfo& input : info.open_inputs) {
    for (const std::string& extent : input.shape) {
      if (!number_of(extent)) ranges.emplace(extent, info_of(info, extent));
    }
  }
  const auto within = [&](const SizeInfo& size, std::int64_t number) {
    const auto most = graph.most.find(size.name);
    const std::int64_t highest = std::min(most == graph.most.end() ? kMost : most->second, size.highest);
    return std::clamp(number, size.lowest, std::max(size.lowest, highest)) / size.step * size.step;
  };
  const auto drawn = [&](bool may_be_few) {
    SizeMap sizes;
    for (const auto& [name, size] : ranges) {
      const std::int64_t most = within(size, SizeRange::kUnbounded);
      const auto usual =
          2 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(std::max(most - 1, std::int64_t{1})));
      const auto few = static_cast<std::int64_t>(random() % 2);
      sizes[name] = within(size, may_be_few && random() % 5 == 0 ? few : usual);
    }
    return sizes;
  };
  std::vector<SizeMap> all;
  for (const std::int64_t few : {0, 1}) {
    SizeMap every;
    for (const auto& [name, size] : ranges) {
      SizeMap one = drawn(false);
      one[name] = within(size, few);
      every[name] = within(size, few);
      all.push_back(std::move(one));
    }
    all.push_back(std::move(every));
  }
  while (all.size() < kSizes) all.push_back(drawn(true));
  return all;
}

Shapes shapes_at(const ModelInfo& info, const SizeMap& sizes) {
  Shapes shapes;
  for (const OpenTensorInfo& input : info.open_inputs) {
    shapes.emplace_back();
    for (const std::string& extent : input.shape) {
      const auto number = number_of(extent);
      shapes.back().push_back(number ? *number : sizes.at(extent));
    }
  }
  return shapes;
}

// Floats in [-1, 1], bytes of all values, other integers below `indices`.
std::vector<std::byte> drawn_values(DType dtype, std::int64_t elements, std::int64_t indices, std::mt19937& random) {
  const IntegerRange range = is_8bit(dtype) ? range_of(dtype) : IntegerRange{0, indices - 1};
  Tensor values(dtype, Shape{elements});
  for (std::int64_t i = 0; i < elements; ++i) {
    const auto drawn = static_cast<std::int64_t>(random() % 2001);
    const auto whole = static_cast<double>(range.lowest + drawn % (range.highest - range.lowest + 1));
    store_double(values.view(), i, is_float(dtype) ? static_cast<double>(drawn) / 1000.0 - 1.0 : whole);
  }
  const auto* bytes = static_cast<const std::byte*>(static_cast<const void*>(values.data()));
  return {bytes, bytes + values.bytes()};
}

// What a run came to: tensors with their shapes, or an error.
struct Outcome {
  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<std::vector<std::byte>> tensors;
  Errors errors;
  bool operator==(const Outcome& other) const { return shapes == other.shapes && tensors == other.tensors; }
};

class Feeds {
 public:
  Feeds(const SizeGraph& graph, const ModelInfo& info, const Shapes& shapes) {
    std::mt19937 random(3);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      std::int64_t elements = 1;
      for (const std::int64_t extent : shapes[i]) elements *= extent;
      const DType dtype = info.open_inputs[i].dtype;
      bytes_.push_back(drawn_values(dtype, elements, graph.indices, random));
      refs_.push_back({dtype, shapes[i], bytes_.back().data()});
    }
  }
  std::span<const ConstTensorRef> refs() const { return refs_; }

 private:
  std::vector<std::vector<std::byte>> bytes_;
  std::vector<ConstTensorRef> refs_;
};

Outcome outcome_of(Program& program, const Feeds& feeds) {
  Outcome outcome;
  if (const Status done = program.run(feeds.refs()); !done) return {.errors = done.errors()};
  for (const ProgramOutput& output : program.outputs()) {
    const TensorInfo info{.name = output.name, .dtype = output.dtype, .shape = output.shape};
    const auto* data = static_cast<const std::byte*>(output.data);
    outcome.shapes.push_back(output.shape);
    outcome.tensors.emplace_back(data, data + (data == nullptr ? 0 : info.bytes()));
  }
  return outcome;
}

// Of a file compiled for these shapes alone.
Outcome fixed_outcome(const SizeGraph& graph, std::string_view file, const ModelInfo& open, const Shapes& shapes,
                      const Feeds& feeds) {
  CompileOptions options = graph.options;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    options.shapes[open.open_inputs[i].name] = {shapes[i].begin(), shapes[i].end()};
  const auto compiled = compile(std::as_bytes(std::span(file)), graph.name, options);
  if (!compiled) return {.errors = compiled.errors()};
  auto program = Program::load(*compiled, {.threads = 1});
  return program ? outcome_of(*program, feeds) : Outcome{.errors = program.errors()};
}

// A shape that a file has no meaning for makes the file bad where it is compiled for that shape alone, and the shape
// where a run brings it.
ErrorKind kind_in_run(ErrorKind kind) { return kind == ErrorKind::invalid_input ? ErrorKind::usage : kind; }

void expect_every_size(const SizeGraph& graph) {
  const std::string file = graph.bytes();
  const auto compiled = compile(std::as_bytes(std::span(file)), graph.name, graph.options);
  ASSERT_TRUE(compiled) << to_string(compiled.errors());
  const auto opened = open(compiled->bytes(), graph.name);
  ASSERT_TRUE(opened) << to_string(opened.errors());
  auto program = Program::load(*opened, {.threads = 1});
  ASSERT_TRUE(program) << to_string(program.errors());
  const ModelInfo info = program->info();
  ASSERT_FALSE(info.open_inputs.empty());
  for (const SizeMap& sizes : sizes_to_try(graph, info)) {
    SCOPED_TRACE(text_of(sizes));
    const Shapes shapes = shapes_at(info, sizes);
    const Feeds feeds(graph, info, shapes);
    const Outcome found = outcome_of(*program, feeds), wanted = fixed_outcome(graph, file, info, shapes, feeds);
    const bool is_refused = graph.is_refused && graph.is_refused(sizes);
    EXPECT_EQ(wanted.errors.empty(), !is_refused) << "compiled for it alone: " << to_string(wanted.errors);
    EXPECT_EQ(found.errors.empty(), !is_refused) << "in a run: " << to_string(found.errors);
    if (found.errors.empty() && wanted.errors.empty()) {
      EXPECT_TRUE(found == wanted) << "other bytes or shapes";
    } else if (!found.errors.empty() && !wanted.errors.empty()) {
      EXPECT_EQ(found.errors[0].kind, kind_in_run(wanted.errors[0].kind)) << to_string(found.errors);
    }
  }
}

class EverySize : public ::testing::TestWithParam<SizeGraph> {};

TEST_P(EverySize, IsACompilationForIt) { expect_every_size(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Graphs, EverySize, ::testing::ValuesIn(testing::all_size_graphs()),
                         [](const auto& graph) { return graph.param.name; });

}  // namespace
}  // namespace octavo::v1
