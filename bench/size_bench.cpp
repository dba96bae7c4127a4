// What a size costs that a model of open sizes has no plan of: planning, its first run, and its later ones.
//   size_bench MODEL SIZES...     MODEL: an .octv, or a model file (fp32 where it is not quantized)
// SIZES: the shape of its one input, or sizes by their names: 1x3x96x112, batch=1,length=7
// They come one after the other to one context of one thread, as in a program that goes from picture to picture.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "octavo/compile.h"

namespace octavo::v1 {
namespace {

using Dims = std::vector<std::int64_t>;
constexpr int kRuns = 15;

// Ends the program where there is none.
template <class T>
T value_or_exit(Result<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "%s\n", to_string(result.errors()).c_str());
  std::exit(exit_code(result.errors()));
}

template <class Body>
double ms_of(const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

Dims shape_of(const std::string& text) {
  Dims dims;
  std::istringstream in(text);
  for (std::string extent; std::getline(in, extent, 'x');) dims.push_back(std::stoll(extent));
  return dims;
}

// Of all inputs, at sizes by their names.
std::vector<Dims> shapes_at(const ModelInfo& info, const std::string& text) {
  std::map<std::string, std::int64_t> sizes;
  std::istringstream in(text);
  for (std::string size; std::getline(in, size, ',');) {
    const std::size_t equals = size.find('=');
    sizes[size.substr(0, equals)] = std::stoll(size.substr(equals + 1));
  }
  std::vector<Dims> shapes;
  for (const OpenTensorInfo& input : info.open_inputs) {
    Dims& dims = shapes.emplace_back();
    for (const std::string& extent : input.shape)
      dims.push_back(sizes.contains(extent) ? sizes.at(extent) : std::stoll(extent));
  }
  return shapes;
}

std::vector<Dims> shapes_of(const Model& model, const std::string& text) {
  if (text.find('=') == std::string::npos) return {shape_of(text)};
  return shapes_at(model.info(), text);
}

struct Tensors {
  std::vector<std::vector<std::byte>> memory;
  std::vector<ConstTensorRef> inputs;
  std::vector<TensorRef> outputs;

  explicit Tensors(const Context& context) {
    for (const TensorInfo& info : context.inputs()) {
      memory.emplace_back(info.bytes());
      inputs.push_back({info.dtype, info.shape, memory.back().data()});
    }
    for (const TensorInfo& info : context.outputs()) {
      memory.emplace_back(info.bytes());
      outputs.push_back({info.dtype, info.shape, memory.back().data()});
    }
  }
};

void measure(const Model& model, std::optional<Context>& context, const std::string& text) {
  const std::vector<Dims> shapes = shapes_of(model, text);
  const double plan_ms = ms_of([&] {
    if (context) value_or_exit(context->resize(shapes));
    else context.emplace(value_or_exit(Context::create(model, shapes)));
  });
  const Tensors tensors(*context);
  const auto run = [&] { value_or_exit(context->run(tensors.inputs, tensors.outputs)); };
  const double first_ms = ms_of(run);
  double best_ms = ms_of(run);
  for (int i = 1; i < kRuns; ++i) best_ms = std::min(best_ms, ms_of(run));
  const double again_ms = ms_of([&] { value_or_exit(context->resize(shapes)); });
  std::printf("%s plan_ms=%.3f first_run_ms=%.3f run_ms=%.3f again_ms=%.3f\n", text.c_str(), plan_ms, first_ms, best_ms,
              again_ms);
}

void measure_all(const std::string& path, const std::vector<std::string>& shapes) {
  const auto compiled =
      value_or_exit(is_compiled(path) ? open(path) : compile(path, {.unquantized = Unquantized::fp32}));
  const Model model = value_or_exit(Model::load(compiled, {.threads = 1}));
  std::optional<Context> context;
  for (const std::string& shape : shapes) measure(model, context, shape);
  const PlanCacheInfo cache = model.plan_cache();
  const auto number = [](std::uint64_t count) { return static_cast<unsigned long long>(count); };
  std::printf("made=%llu followed=%llu lowered=%llu dropped=%llu plans=%llu bytes=%llu packed_bytes=%llu\n",
              number(cache.made), number(cache.followed), number(cache.lowered), number(cache.dropped),
              number(cache.plans), number(cache.bytes), number(cache.packed_bytes));
}

}  // namespace
}  // namespace octavo::v1

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "size_bench MODEL SIZES...\n");
    return 2;
  }
  octavo::v1::measure_all(argv[1], {argv + 2, argv + argc});
}
