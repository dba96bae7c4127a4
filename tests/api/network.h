// Networks as ONNX files, node by node. For the tests of api/.
#ifndef OCTAVO_TESTS_API_NETWORK_H_
#define OCTAVO_TESTS_API_NETWORK_H_

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/onnx_builder.h"

namespace octavo::testing {

using Ints = std::vector<std::int64_t>;

// Nodes by what they compute; each has one output, which the call names and gives back.
class Network {
 public:
  explicit Network(std::int64_t opset = 17) : builder(opset) {}

  ModelBuilder builder;

  std::string weights(const std::string& name, const Shape& shape, float scale) {
    Tensor tensor(DType::f32, shape);
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
      tensor.as<float>()[i] = scale * (static_cast<float>(random_() % 2001) / 1000.0f - 1.0f);
    builder.initializer(name, tensor);
    return name;
  }
  std::string ints(const std::string& name, const Ints& values) {
    builder.initializer(name, integers({static_cast<std::int64_t>(values.size())}, values));
    return name;
  }
  std::string number(const std::string& name, float value) {
    builder.initializer(name, floats(Shape{}, {value}));
    return name;
  }
  std::string node(const std::string& op, std::vector<std::string> inputs, const std::string& output,
                   std::vector<NamedAttribute> attributes = {}) {
    builder.node({.op = op,
                  .inputs = std::move(inputs),
                  .outputs = {output},
                  .attributes = std::move(attributes),
                  .name = output});
    return output;
  }

  std::string whole(const std::string& name, std::int64_t value) {
    builder.initializer(name, integers(Shape{}, {value}));
    return name;
  }
  std::vector<std::string> nodes(const std::string& op, std::vector<std::string> inputs,
                                 std::vector<std::string> outputs, std::vector<NamedAttribute> attributes = {}) {
    builder.node({.op = op,
                  .inputs = std::move(inputs),
                  .outputs = outputs,
                  .attributes = std::move(attributes),
                  .name = outputs.front()});
    return outputs;
  }

  // ---- images ----

  std::string conv(const std::string& x, int in, int out, int kernel, int stride, const std::string& output) {
    const std::int64_t pad = kernel / 2;
    weights(output + "_w", Shape{out, in, kernel, kernel}, 1.5f / std::sqrt(static_cast<float>(in * kernel * kernel)));
    weights(output + "_b", Shape{out}, 0.1f);
    return node("Conv", {x, output + "_w", output + "_b"}, output,
                {{"strides", Ints{stride, stride}}, {"pads", Ints{pad, pad, pad, pad}}});
  }
  // The first or last two extents of a tensor.
  std::string extents(const std::string& x, std::int64_t first, const std::string& output) {
    node("Shape", {x}, output + "_shape");
    ints(output + "_first", {first});
    ints(output + "_last", {first + 2});
    ints(output + "_axis", {0});
    return node("Slice", {output + "_shape", output + "_first", output + "_last", output + "_axis"}, output);
  }
  // Bilinear, to height and width of another.
  std::string resized(const std::string& x, const std::string& like, const std::string& output) {
    extents(x, 0, output + "_nc");
    extents(like, 2, output + "_hw");
    node("Concat", {output + "_nc", output + "_hw"}, output + "_to", {{"axis", std::int64_t{0}}});
    return node("Resize", {x, "", "", output + "_to"}, output, {{"mode", std::string("linear")}});
  }

  // ---- rows ----

  std::string linear(const std::string& x, int in, int out, const std::string& output) {
    weights(output + "_w", Shape{in, out}, 1.5f / std::sqrt(static_cast<float>(in)));
    weights(output + "_b", Shape{out}, 0.1f);
    node("MatMul", {x, output + "_w"}, output + "_product");
    return node("Add", {output + "_product", output + "_b"}, output);
  }
  std::string layer_norm(const std::string& x, int width, const std::string& output) {
    const std::vector<NamedAttribute> last = {{"axes", Ints{-1}}, {"keepdims", std::int64_t{1}}};
    weights(output + "_w", Shape{width}, 1.0f);
    weights(output + "_b", Shape{width}, 0.1f);
    number(output + "_two", 2.0f);
    number(output + "_little", 1e-5f);
    node("ReduceMean", {x}, output + "_mean", last);
    node("Sub", {x, output + "_mean"}, output + "_rest");
    node("Pow", {output + "_rest", output + "_two"}, output + "_square");
    node("ReduceMean", {output + "_square"}, output + "_variance", last);
    node("Add", {output + "_variance", output + "_little"}, output + "_more");
    node("Sqrt", {output + "_more"}, output + "_deviation");
    node("Div", {output + "_rest", output + "_deviation"}, output + "_normal");
    node("Mul", {output + "_normal", output + "_w"}, output + "_scaled");
    return node("Add", {output + "_scaled", output + "_b"}, output);
  }
  std::string gelu(const std::string& x, const std::string& output) {
    number(output + "_root", std::sqrt(2.0f));
    number(output + "_one", 1.0f);
    number(output + "_half", 0.5f);
    node("Div", {x, output + "_root"}, output + "_z");
    node("Erf", {output + "_z"}, output + "_erf");
    node("Add", {output + "_erf", output + "_one"}, output + "_share");
    node("Mul", {x, output + "_share"}, output + "_double");
    return node("Mul", {output + "_double", output + "_half"}, output);
  }
  // One extent of a tensor, as a list of one.
  std::string extent(const std::string& x, std::int64_t axis, const std::string& output) {
    node("Shape", {x}, output + "_shape");
    builder.initializer(output + "_axis", integers(Shape{}, {axis}));
    ints(output + "_front", {0});
    node("Gather", {output + "_shape", output + "_axis"}, output + "_number", {{"axis", std::int64_t{0}}});
    return node("Unsqueeze", {output + "_number", output + "_front"}, output);
  }
  // [N, L, heads * width] -> the axes of [N, L, heads, width] in another order.
  std::string heads(const std::string& x, const std::string& shape, const Ints& order, const std::string& output) {
    node("Reshape", {x, shape}, output + "_split");
    return node("Transpose", {output + "_split"}, output, {{"perm", order}});
  }

 private:
  std::mt19937 random_{5};
};

}  // namespace octavo::testing

#endif  // OCTAVO_TESTS_API_NETWORK_H_
