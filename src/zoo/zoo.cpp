// Builds an architecture and gives it statistics, so that its answers depend on its input. Part of zoo/.
#include "zoo/zoo.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "import/import.h"
#include "ops/conv/conv.h"
#include "quantize/node_runner.h"
#include "zoo/architectures.h"
#include "zoo/encoders.h"

namespace octavo {
namespace {

constexpr std::int64_t kSide = 224;

// Brings a plane to mean 0 and deviation 1. Images that differ in brightness or contrast alone make untrained networks
// answer alike.
void standardize(std::span<float> plane) {
  double sum = 0.0;
  double squares = 0.0;
  for (float pixel : plane) {
    sum += pixel;
    squares += static_cast<double>(pixel) * pixel;
  }
  const auto count = static_cast<double>(plane.size());
  const double mean = sum / count;
  const double deviation = std::sqrt(std::max(squares / count - mean * mean, 0.0) + 1e-5);
  for (float& pixel : plane) pixel = static_cast<float>((pixel - mean) / deviation);
}

// Images that differ in what they are made of: per plane, noise of 7, 28 and 112 cells a side and a striped pattern of
// random direction and width, each with a random strength.
Tensor synthetic_images(std::int64_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-53 * 2.0 - 1.0); };
  Tensor images(DType::f32, Shape{count, 3, kSide, kSide});
  float* pixels = images.as<float>();
  for (std::int64_t plane = 0; plane < count * 3; ++plane, pixels += kSide * kSide) {
    const float strength = 2.0f * uniform();
    const float cycles_y = 16.0f * uniform();
    const float cycles_x = 16.0f * uniform();
    for (std::int64_t i = 0; i < kSide * kSide; ++i) {
      const float phase = (cycles_y * static_cast<float>(i / kSide) + cycles_x * static_cast<float>(i % kSide)) /
                          static_cast<float>(kSide);
      pixels[i] = strength * (phase - std::floor(phase) < 0.5f ? -1.0f : 1.0f);
    }
    for (std::int64_t cells : {7, 28, 112}) {
      const float amplitude = 1.5f * std::abs(uniform());
      const std::int64_t size = kSide / cells;
      std::vector<float> noise(static_cast<std::size_t>(cells * cells));
      for (float& value : noise) value = amplitude * uniform();
      for (std::int64_t i = 0; i < kSide * kSide; ++i) {
        pixels[i] += noise[static_cast<std::size_t>(i / kSide / size * cells + i % kSide / size)];
      }
    }
    standardize({pixels, static_cast<std::size_t>(kSide * kSide)});
  }
  return images;
}

onnx::TensorProto* find_initializer(onnx::ModelProto& model, const std::string& name) {
  for (onnx::TensorProto& tensor : *model.mutable_graph()->mutable_initializer()) {
    if (tensor.name() == name) return &tensor;
  }
  return nullptr;
}

std::span<float> values_of(onnx::TensorProto& tensor) {
  std::string& raw = *tensor.mutable_raw_data();
  return {reinterpret_cast<float*>(raw.data()), raw.size() / sizeof(float)};
}

// Mean and deviation of a channel of [N,C,H,W] over all but C.
struct Moments {
  double mean = 0.0;
  double deviation = 1.0;
};

Moments moments(const Tensor& x, std::int64_t channel) {
  const std::int64_t pixels = x.shape()[2] * x.shape()[3];
  const std::int64_t images = x.shape()[0];
  double sum = 0.0;
  double squares = 0.0;
  for (std::int64_t n = 0; n < images; ++n) {
    const float* plane = x.as<float>() + (n * x.shape()[1] + channel) * pixels;
    for (std::int64_t i = 0; i < pixels; ++i) {
      sum += plane[i];
      squares += static_cast<double>(plane[i]) * plane[i];
    }
  }
  const auto count = static_cast<double>(images * pixels);
  const double mean = sum / count;
  return {mean, std::sqrt(std::max(squares / count - mean * mean, 0.0) + 1e-5)};
}

// Makes every channel of a convolution's output have mean 0 and deviation 1: in the file, w / deviation and -mean /
// deviation; in `y`, directly. This is a batch norm in training mode, folded.
void normalize(onnx::ModelProto& model, const std::string& conv, Tensor& y) {
  const std::span<float> weights = values_of(*find_initializer(model, conv + ".weight"));
  const std::span<float> bias = values_of(*find_initializer(model, conv + ".bias"));
  const std::int64_t channels = y.shape()[1];
  const std::int64_t pixels = y.shape()[2] * y.shape()[3];
  const std::size_t taps = weights.size() / static_cast<std::size_t>(channels);
  for (std::int64_t c = 0; c < channels; ++c) {
    const Moments found = moments(y, c);
    const auto channel = static_cast<std::size_t>(c);
    for (float& weight : weights.subspan(channel * taps, taps)) weight = static_cast<float>(weight / found.deviation);
    bias[channel] = static_cast<float>(-found.mean / found.deviation);
    for (std::int64_t n = 0; n < y.shape()[0]; ++n) {
      float* plane = y.as<float>() + (n * channels + c) * pixels;
      for (std::int64_t i = 0; i < pixels; ++i)
        plane[i] = static_cast<float>((plane[i] - found.mean) / found.deviation);
    }
  }
}

struct Run {
  const Tensor& images;
  const ZooOptions& options;
  std::int64_t done = 0;
};

Result<Tensor> run_network(onnx::ModelProto& model, Run& run,
                           const std::function<void(const Node&, std::vector<Tensor>&)>& change) {
  const std::string bytes = model.SerializeAsString();
  auto imported =
      import_onnx(std::as_bytes(std::span(bytes)), "", model.graph().name(), {.batch = run.images.shape()[0]});
  if (!imported) return std::move(imported).errors();
  const Graph& graph = imported->graph;
  const std::int64_t total = 2 * graph.node_count();  // two passes
  auto outputs = run_nodes(graph, {{run.images}}, [&](const Node& node, std::vector<SampleTensors>& made) {
    change(node, made[0]);
    if (run.options.progress) run.options.progress(std::min(++run.done, total), total);
    return ok_status();
  });
  if (!outputs) return std::move(outputs).errors();
  return std::move(outputs->front().front());
}

void center_classifier(onnx::ModelProto& model, const std::string& name, const Tensor& logits) {
  const std::span<float> bias = values_of(*find_initializer(model, name));
  const std::int64_t images = logits.shape()[0];
  const std::int64_t classes = logits.shape()[1];
  for (std::int64_t c = 0; c < classes; ++c) {
    double sum = 0.0;
    for (std::int64_t n = 0; n < images; ++n) sum += logits.as<float>()[n * classes + c];
    bias[static_cast<std::size_t>(c)] -= static_cast<float>(sum / static_cast<double>(images));
  }
}

std::size_t different_answers(const Tensor& logits) {
  std::set<std::ptrdiff_t> answers;
  const std::int64_t classes = logits.shape()[1];
  for (std::int64_t n = 0; n < logits.shape()[0]; ++n) {
    const float* row = logits.as<float>() + n * classes;
    answers.insert(std::max_element(row, row + classes) - row);
  }
  return answers.size();
}

}  // namespace

std::vector<std::string> zoo_names() {
  std::vector<std::string> names;
  for (const zoo::Architecture& architecture : zoo::architectures()) names.emplace_back(architecture.name);
  for (const zoo::EncoderSizes& encoder : zoo::encoders()) names.emplace_back(encoder.name);
  std::ranges::sort(names);
  return names;
}

Result<std::string> make_zoo_model(std::string_view name, const ZooOptions& options) {
  for (const zoo::EncoderSizes& encoder : zoo::encoders()) {
    if (encoder.name == name) return zoo::make_encoder(encoder, options.seed).SerializeAsString();
  }
  const auto all = zoo::architectures();
  const auto found = std::find_if(all.begin(), all.end(), [&](const zoo::Architecture& a) { return a.name == name; });
  if (found == all.end()) {
    std::string list;
    for (const std::string& known : zoo_names()) list += (list.empty() ? "" : ", ") + known;
    return Error{
        .kind = ErrorKind::usage, .where = "zoo", .found = "'" + std::string(name) + "'", .expected = "one of " + list};
  }
  zoo::OnnxBuilder builder(std::string(name), options.seed);
  onnx::ModelProto model = builder.finish(found->build(builder));

  const Tensor images = synthetic_images(options.images, options.seed);
  Run run{images, options};
  const std::set<std::string> normalized(builder.normalized().begin(), builder.normalized().end());
  auto logits = run_network(model, run, [&](const Node& node, std::vector<Tensor>& made) {
    if (node.attrs.is<ConvAttrs>() && normalized.contains(node.name)) normalize(model, node.name, made.front());
  });
  if (!logits) return std::move(logits).errors();
  if (!builder.classifier_bias().empty()) center_classifier(model, builder.classifier_bias(), *logits);
  logits = run_network(model, run, [](const Node&, std::vector<Tensor>&) {});
  if (!logits) return std::move(logits).errors();
  const std::size_t answers = different_answers(*logits);
  if (answers < static_cast<std::size_t>(options.images) / 2) {
    return Error{
        .kind = ErrorKind::internal,
        .where = "zoo network '" + std::string(name) + "'",
        .found = std::to_string(answers) + " different answers on " + std::to_string(options.images) + " images",
        .expected = "at least half as many as images"};
  }
  return model.SerializeAsString();
}

}  // namespace octavo
