// DialectNet: one quantized network, written in any of the four dialects of ONNX. Part of the tests of whole models.
#ifndef OCTAVO_TESTS_BITS_DIALECT_NET_H_
#define OCTAVO_TESTS_BITS_DIALECT_NET_H_

#include <string>
#include <vector>

#include "bits/net.h"

namespace octavo::testing {

enum class Form { qdq, qoperator };

struct Dialect {
  Form form = Form::qdq;
  DType activations = DType::u8;
};
inline constexpr Dialect kDialects[] = {
    {Form::qdq, DType::s8}, {Form::qdq, DType::u8}, {Form::qoperator, DType::s8}, {Form::qoperator, DType::u8}};
std::string name_of(const Dialect& dialect);

// Zero points are those of u8; s8 has them lower by 128.
struct Scale {
  float scale = 1.0f;
  int zero_point = 128;
};

struct Quantized {
  std::string name;
  Scale scale;
};

// Each operator reads and writes quantized values: dequantize -> operator -> quantize, or the quantized operator, as
// the dialect has it.
class DialectNet {
 public:
  DialectNet(Dialect dialect, unsigned seed) : dialect_(dialect), net_(seed) {}

  Quantized input(const std::string& name, const std::vector<std::int64_t>& dims, Scale scale);
  Quantized quantize(const std::string& x, Scale scale);
  std::string dequantize(const Quantized& x);
  // Weights s8 per channel, bias s32.
  Quantized conv(const Quantized& x, const ConvShape& shape, Scale scale);
  // Per tensor, [in, out].
  Quantized product(const Quantized& x, std::int64_t in, std::int64_t out, Scale scale);
  // "Add" or "Mul".
  Quantized binary(const std::string& op, const Quantized& a, const Quantized& b, Scale scale);
  // "Sigmoid", "LeakyRelu", "GlobalAveragePool", "AveragePool", "Softmax".
  Quantized unary(const std::string& op, const Quantized& x, Scale scale,
                  const std::vector<NamedAttribute>& attributes = {});
  Quantized concat(const std::vector<Quantized>& parts, Scale scale);
  // Operators that keep values as they are: "MaxPool", "Flatten".
  Quantized keep(const std::string& op, const Quantized& x, const std::vector<NamedAttribute>& attributes = {});

  Net& net() { return net_; }

 private:
  std::vector<std::string> parameters(Scale scale);  // names of scale and zero point
  std::vector<std::string> with_parameters(const Quantized& x);
  std::string dequantized_constant(const std::string& values, const std::string& scales, DType dtype,
                                   std::int64_t channels);
  bool is_qdq() const { return dialect_.form == Form::qdq; }

  Dialect dialect_;
  Net net_;
};

enum class Ends { floats, integers };

// Convolutions (padded, strided, depthwise), residual, gate, pools, concatenation, classifier. Its input and output are
// f32 or of the dialect's type.
ModelBuilder dialect_network(const Dialect& dialect, Ends ends);

}  // namespace octavo::testing

#endif  // OCTAVO_TESTS_BITS_DIALECT_NET_H_
