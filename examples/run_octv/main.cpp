// Runs a compiled model of one input and one output on one input, and prints the answer with the largest score.
//   run_octv model.octv input.bin     input.bin: the input's values as they lie in memory
#include <octavo/run.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

namespace {

int fail(const octavo::Errors& errors) {
  std::fprintf(stderr, "%s\n", octavo::to_string(errors).c_str());
  return octavo::exit_code(errors);
}

int fail(const char* message) {
  std::fprintf(stderr, "%s\n", message);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return fail("usage: run_octv model.octv input.bin");
  const auto compiled = octavo::v1::open(argv[1]);
  if (!compiled) return fail(compiled.errors());
  const auto model = octavo::v1::Model::load(*compiled);
  if (!model) return fail(model.errors());
  auto context = octavo::v1::Context::create(*model);
  if (!context) return fail(context.errors());
  if (context->inputs().size() != 1 || context->outputs().size() != 1 ||
      context->outputs()[0].dtype != octavo::DType::f32)
    return fail("run_octv: needs a model of one input and one output in f32");
  const octavo::v1::TensorInfo &input = context->inputs()[0], &output = context->outputs()[0];

  std::ifstream file(argv[2], std::ios::binary);
  const std::vector<char> values(std::istreambuf_iterator<char>(file), {});
  if (values.size() != input.bytes()) return fail("run_octv: the input file is not as large as the model's input");
  std::vector<float> scores(output.bytes() / sizeof(float));
  const octavo::v1::ConstTensorRef from{input.dtype, input.shape, values.data()};
  const octavo::v1::TensorRef to{output.dtype, output.shape, scores.data()};
  if (const auto done = context->run({&from, 1}, {&to, 1}); !done) return fail(done.errors());

  const auto best = std::max_element(scores.begin(), scores.end());
  std::printf("%td %.9g\n", best - scores.begin(), *best);
  return 0;
}
