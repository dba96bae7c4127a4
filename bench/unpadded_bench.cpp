// A batch of sequences of different lengths, padded to the longest and in groups of similar length.
//   unpadded_bench MODEL.octv MASK THREADS LENGTH...
// ms, minimum and median of interleaved runs, warm. Inputs but the mask are seeded numbers; ids are from 1000 to 29999.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>

#include "octavo/unpadded.h"

namespace {

using namespace octavo::v1;

template <class T>
T checked(octavo::Result<T> result) {
  if (!result) throw std::runtime_error(octavo::to_string(result.errors()));
  return std::move(*result);
}

struct Tensors {
  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<std::vector<std::byte>> bytes;

  explicit Tensors(const std::vector<TensorInfo>& infos) {
    for (const TensorInfo& info : infos) shapes.push_back(info.shape), bytes.emplace_back(info.bytes());
  }
};

void fill_mask(std::vector<std::byte>& bytes, std::size_t element, std::int64_t padded,
               const std::vector<int>& lengths) {
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    for (int k = 0; k < lengths[i]; ++k) bytes[(i * std::size_t(padded) + std::size_t(k)) * element] = std::byte{1};
  }
}

void fill_drawn(std::vector<std::byte>& bytes, octavo::DType dtype) {
  std::mt19937 random(1);
  for (std::size_t at = 0; at < bytes.size(); at += size_of(dtype)) {
    const std::int64_t id = 1000 + random() % 29000;
    const float value = float(id) * 1e-4f - 1.0f;
    std::memcpy(&bytes[at], dtype == octavo::DType::f32 ? static_cast<const void*>(&value) : &id, size_of(dtype));
  }
}

double milliseconds(const auto& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void print(const char* name, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  std::printf("%s min_ms=%.3f median_ms=%.3f\n", name, times.front(), times[times.size() / 2]);
}

void run(int count, char** words) {
  if (count < 5) throw std::runtime_error("usage: unpadded_bench MODEL.octv MASK THREADS LENGTH...");
  std::vector<int> lengths;
  for (int i = 4; i < count; ++i) lengths.push_back(std::max(1, std::atoi(words[i])));
  const std::int64_t padded = *std::max_element(lengths.begin(), lengths.end());
  const Model model = checked(Model::load(checked(open(words[1])), {.threads = std::atoi(words[3])}));
  Unpadded unpadded = checked(Unpadded::create(model, words[2]));
  std::vector<std::vector<std::int64_t>> shapes;
  for (const OpenTensorInfo& input : model.info().open_inputs) {
    shapes.push_back({std::ssize(lengths), padded});
    for (std::size_t k = 2; k < input.shape.size(); ++k) shapes.back().push_back(std::atoi(input.shape[k].c_str()));
  }
  Context context = checked(Context::create(model, shapes));
  Tensors in(context.inputs()), out(context.outputs());
  std::vector<ConstTensorRef> inputs;
  std::vector<TensorRef> outputs;
  for (std::size_t i = 0; i < in.bytes.size(); ++i) {
    const TensorInfo& info = context.inputs()[i];
    if (info.name == words[2]) fill_mask(in.bytes[i], size_of(info.dtype), padded, lengths);
    else fill_drawn(in.bytes[i], info.dtype);
    inputs.push_back({info.dtype, in.shapes[i], in.bytes[i].data()});
  }
  for (std::size_t i = 0; i < out.bytes.size(); ++i)
    outputs.push_back({context.outputs()[i].dtype, out.shapes[i], out.bytes[i].data()});

  std::vector<double> of_batch, of_groups;
  double total = 0.0;
  for (int i = 0; i < 3 || total < 3000.0; ++i) {
    const double batch = milliseconds([&] { checked(context.run(inputs, outputs)); });
    const double groups = milliseconds([&] { checked(unpadded.run(inputs, outputs)); });
    total += batch + groups;
    if (i > 0) of_batch.push_back(batch), of_groups.push_back(groups);
  }
  print("padded", of_batch);
  print("unpadded", of_groups);
  std::printf(
      "tokens=%d padded_tokens=%lld computed_tokens=%lld\n",
      [&] {
        int sum = 0;
        for (const int length : lengths) sum += length;
        return sum;
      }(),
      static_cast<long long>(padded * std::ssize(lengths)), static_cast<long long>(unpadded.tokens()));
}

}  // namespace

int main(int count, char** words) try {
  run(count, words);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
