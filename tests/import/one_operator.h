// A TFLite model of one operator, and its answers: shared by the tests of what the operators mean. Part of the tests of
// import/.
#ifndef OCTAVO_TESTS_IMPORT_ONE_OPERATOR_H_
#define OCTAVO_TESTS_IMPORT_ONE_OPERATOR_H_

#include <vector>

#include "support/onnx_builder.h"
#include "support/tflite_builder.h"

namespace octavo::testing {

using Values = std::vector<float>;

inline Tensor s32s(Shape shape, const std::vector<std::int32_t>& values) {
  return Tensor::of<std::int32_t>(std::move(shape), values);
}

// Inputs are graph inputs and, where marked, constants; more constants may follow them. The results are of shapes that
// the importer finds by itself.
struct OneOperator {
  int code = 0;
  std::vector<Tensor> inputs;
  std::vector<bool> is_constant;  // by input; those beyond its end are not
  std::vector<Tensor> constants;
  tfl::BuiltinOptions kind = tfl::BuiltinOptions::NONE;
  TfliteOptions options;
  int outputs = 1;
  DType to = DType::f32;
};

inline std::vector<Tensor> answers_of(const OneOperator& given) {
  TfliteBuilder builder;
  std::vector<std::int32_t> inputs, outputs;
  std::vector<Tensor> fed;
  for (std::size_t i = 0; i < given.inputs.size(); ++i) {
    const Tensor& x = given.inputs[i];
    if (i < given.is_constant.size() && given.is_constant[i]) {
      inputs.push_back(builder.constant(x));
      continue;
    }
    TfliteTensor tensor{.name = "x" + std::to_string(i), .dtype = x.dtype()};
    for (const std::int64_t dim : x.shape()) tensor.shape.push_back(static_cast<std::int32_t>(dim));
    inputs.push_back(builder.input(tensor));
    fed.push_back(x);
  }
  for (const Tensor& constant : given.constants) inputs.push_back(builder.constant(constant));
  for (int i = 0; i < given.outputs; ++i)
    outputs.push_back(builder.output({.name = "y" + std::to_string(i), .dtype = given.to}));
  builder.add({.code = given.code, .inputs = inputs, .outputs = outputs, .kind = given.kind, .options = given.options});
  return answers(builder, fed);
}

// Of the first result; empty where there is none.
inline Values answer_of(const OneOperator& given) {
  const auto results = answers_of(given);
  return results.empty() ? Values{} : as_floats(results[0]);
}

}  // namespace octavo::testing

#endif  // OCTAVO_TESTS_IMPORT_ONE_OPERATOR_H_
