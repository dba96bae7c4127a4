// Net: small ONNX networks with random weights, written one line per operator. Part of the tests of whole models.
#ifndef OCTAVO_TESTS_BITS_NET_H_
#define OCTAVO_TESTS_BITS_NET_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "support/onnx_builder.h"

namespace octavo::testing {

// Square kernels, padded so that stride 1 keeps the size.
struct ConvShape {
  std::int64_t in = 1;
  std::int64_t out = 1;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t groups = 1;
  std::int64_t dilation = 1;

  Shape weights() const { return Shape{out, in / groups, kernel, kernel}; }
  std::vector<NamedAttribute> attributes() const;
};

// Values are known by their names, as in the file. The same seed gives the same bytes.
class Net {
 public:
  explicit Net(unsigned seed);

  // The batch is symbolic; `dims` are the others.
  std::string input(const std::string& name, DType dtype, const std::vector<std::int64_t>& dims);
  std::string constant(const Tensor& tensor);
  // f32, uniform in [-magnitude, magnitude].
  std::string random(const Shape& shape, float magnitude);
  Tensor random_s8(const Shape& shape);
  std::string op(const std::string& op, const std::vector<std::string>& inputs,
                 const std::vector<NamedAttribute>& attributes = {}, const std::string& domain = "");
  // Several results.
  std::vector<std::string> ops(const std::string& op, const std::vector<std::string>& inputs, int outputs,
                               const std::vector<NamedAttribute>& attributes = {});
  std::string conv(const std::string& x, const ConvShape& shape);
  std::string reshape(const std::string& x, const std::vector<std::int64_t>& dims);
  void output(const std::string& value) { builder_.output(value); }

  const ModelBuilder& builder() const { return builder_; }

 private:
  std::string next_name(const std::string& stem) { return stem + std::to_string(++names_); }

  ModelBuilder builder_;
  std::mt19937 engine_;
  int names_ = 0;
};

}  // namespace octavo::testing

#endif  // OCTAVO_TESTS_BITS_NET_H_
