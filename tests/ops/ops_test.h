// What the tests of single operators share.
#ifndef OCTAVO_TESTS_OPS_OPS_TEST_H_
#define OCTAVO_TESTS_OPS_OPS_TEST_H_

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "ops/evaluate.h"

namespace octavo::ops_test {

// The one result of an operator that must accept these inputs.
inline Tensor run(const OpSpec& spec, const Attrs& attrs, const std::vector<Tensor>& inputs) {
  std::vector<ConstTensorView> views;
  for (const Tensor& input : inputs) views.push_back(input.view());
  auto outputs = evaluate_op(spec, attrs, views);
  EXPECT_TRUE(outputs.ok()) << (outputs.ok() ? "" : to_string(outputs.errors()));
  return outputs.ok() ? outputs->front() : Tensor();
}

// Whether infer refuses it.
inline bool refuses(const OpSpec& spec, const Attrs& attrs, const std::vector<Fact>& inputs) {
  std::vector<const Fact*> facts;
  for (const Fact& input : inputs) facts.push_back(&input);
  return !infer_checked(spec, attrs, facts).ok();
}

inline Fact fact(DType dtype, Shape shape) { return {.dtype = dtype, .shape = std::move(shape)}; }

// 0, 1, 2, ... of type T.
template <class T>
Tensor iota(Shape shape) {
  Tensor tensor(dtype_of<T>, std::move(shape));
  std::iota(tensor.span<T>().begin(), tensor.span<T>().end(), T{0});
  return tensor;
}

template <class T>
std::vector<T> values(const Tensor& tensor) {
  return {tensor.span<T>().begin(), tensor.span<T>().end()};
}

}  // namespace octavo::ops_test

#endif  // OCTAVO_TESTS_OPS_OPS_TEST_H_
