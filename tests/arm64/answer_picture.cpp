// Runs a compiled model on a picture and writes the bytes of its outputs, one after the other.
//   answer_picture model.octv picture.bmp outputs.bin [RUNS]
// Inputs that have three channels take the picture, by nearest pixels: u8 as it is, s8 less 128, f32 as x / 127.5 - 1.
// Those of s64 are a sentence: tokens, none of them padding. Others take numbers of a generator, the same on every
// machine. RUNS: how often, for whoever counts instructions.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "octavo/run.h"

namespace {

using octavo::DType;
using octavo::v1::TensorInfo;

int fail(const std::string& message, int code = 2) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return code;
}

// 24 bits a pixel, bottom row first.
struct Picture {
  std::vector<std::uint8_t> file;
  std::int32_t width = 0, height = 0;

  static Picture read(const char* path) {
    std::ifstream stream(path, std::ios::binary);
    Picture picture{{std::istreambuf_iterator<char>(stream), {}}};
    if (picture.file.size() < 54 || picture.file[0] != 'B' || picture.file[28] != 24) return {};
    std::memcpy(&picture.width, &picture.file[18], 4);
    std::memcpy(&picture.height, &picture.file[22], 4);
    return picture;
  }
  std::uint8_t at(std::int64_t row, std::int64_t column, std::int64_t channel) const {
    std::uint32_t first = 0;
    std::memcpy(&first, &file[10], 4);
    const std::int64_t row_bytes = (std::int64_t{width} * 3 + 3) / 4 * 4;
    return file[static_cast<std::size_t>(first + (height - 1 - row) * row_bytes + 3 * column + 2 - channel)];
  }
};

void put(std::vector<std::byte>& values, std::size_t at, DType dtype, std::uint8_t value) {
  const float real = static_cast<float>(value) / 127.5f - 1.0f;
  const auto less = static_cast<std::int8_t>(value - 128);
  if (dtype == DType::f32) std::memcpy(&values[at * sizeof real], &real, sizeof real);
  else std::memcpy(&values[at], dtype == DType::s8 ? static_cast<const void*>(&less) : &value, 1);
}

// Numbers of tokens; of a mask ones, of segments zeros.
std::vector<std::byte> sentence_of(const TensorInfo& input) {
  std::vector<std::byte> values(input.bytes());
  for (std::size_t i = 0; i < values.size() / 8; ++i) {
    std::int64_t token = 1000 + static_cast<std::int64_t>(i * 37 % 500);
    if (input.name.find("mask") != std::string::npos) token = 1;
    if (input.name.find("type") != std::string::npos) token = 0;
    std::memcpy(&values[i * 8], &token, sizeof token);
  }
  return values;
}

// Of an input [N, 3, H, W] or [N, H, W, 3]; of others pseudo-random numbers.
std::vector<std::byte> values_of(const TensorInfo& input, const Picture& picture) {
  if (input.dtype == DType::s64) return sentence_of(input);
  std::vector<std::byte> values(input.bytes());
  const auto& shape = input.shape;
  const bool is_first = shape.size() == 4 && shape[1] == 3, is_last = shape.size() == 4 && shape[3] == 3;
  const std::size_t count = values.size() / (input.dtype == DType::f32 ? 4 : 1);
  if (!is_first && !is_last) {
    std::uint32_t state = 1;
    for (std::size_t i = 0; i < count; ++i, state = state * 1664525u + 1013904223u)
      put(values, i, input.dtype, static_cast<std::uint8_t>(state >> 24));
    return values;
  }
  const std::int64_t height = shape[is_first ? 2 : 1], width = shape[is_first ? 3 : 2];
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      for (std::int64_t c = 0; c < 3; ++c) {
        const std::int64_t at = is_first ? (c * height + y) * width + x : (y * width + x) * 3 + c;
        put(values, static_cast<std::size_t>(at), input.dtype,
            picture.at(y * picture.height / height, x * picture.width / width, c));
      }
    }
  }
  return values;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || argc > 5) return fail("usage: answer_picture model.octv picture.bmp outputs.bin [RUNS]");
  const Picture picture = Picture::read(argv[2]);
  if (picture.width <= 0 || picture.height <= 0) return fail(std::string(argv[2]) + ": found no picture of 24 bits");
  const auto compiled = octavo::v1::open(argv[1]);
  if (!compiled) return fail(octavo::to_string(compiled.errors()), octavo::exit_code(compiled.errors()));
  const auto model = octavo::v1::Model::load(*compiled, {.threads = 1});
  if (!model) return fail(octavo::to_string(model.errors()), octavo::exit_code(model.errors()));
  auto context = octavo::v1::Context::create(*model);
  if (!context) return fail(octavo::to_string(context.errors()), octavo::exit_code(context.errors()));
  std::vector<std::vector<std::byte>> values, results;
  std::vector<octavo::v1::ConstTensorRef> inputs;
  std::vector<octavo::v1::TensorRef> outputs;
  for (const TensorInfo& input : context->inputs()) {
    values.push_back(values_of(input, picture));
    inputs.push_back({input.dtype, input.shape, values.back().data()});
  }
  for (const TensorInfo& output : context->outputs()) {
    results.emplace_back(output.bytes());
    outputs.push_back({output.dtype, output.shape, results.back().data()});
  }
  for (int run = 0, runs = argc == 5 ? std::atoi(argv[4]) : 1; run < runs; ++run) {
    if (const auto done = context->run(inputs, outputs); !done)
      return fail(octavo::to_string(done.errors()), octavo::exit_code(done.errors()));
  }
  std::ofstream file(argv[3], std::ios::binary);
  for (const auto& result : results)
    file.write(reinterpret_cast<const char*>(result.data()), static_cast<std::streamsize>(result.size()));
  return file.good() ? 0 : fail(std::string(argv[3]) + ": could not be written", 5);
}
