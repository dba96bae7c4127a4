// See encoders.h. Part of zoo/.
#include "zoo/encoders.h"

#include <cmath>

#include "zoo/builder.h"

namespace octavo::zoo {
namespace {

constexpr EncoderSizes kEncoders[] = {
    {.name = "bert_base", .layers = 12, .width = 768, .heads = 12},
    {.name = "minilm_l6", .layers = 6, .width = 384, .heads = 12},
};

class Encoder : public OnnxBuilder {
 public:
  Encoder(const EncoderSizes& sizes, std::uint64_t seed, std::int64_t tokens)
      : OnnxBuilder(std::string(sizes.name), seed, Weights::seeded, {tokens, sizes.width}),
        sizes_(sizes),
        tokens_(tokens) {}

  onnx::ModelProto build() {
    Wire x{"input", sizes_.width};
    for (std::int64_t i = 0; i < sizes_.layers; ++i) {
      x = norm(add(attention(x), x));
      x = norm(add(dense(gelu(dense(x, 4 * sizes_.width)), sizes_.width), x));
    }
    return finish(x, {tokens_, sizes_.width});
  }

 private:
  Wire dense(const Wire& x, std::int64_t out) {
    const std::string name = "Dense_" + std::to_string(count_++);
    const std::string w = tensor(name + ".weight", {x.channels, out}, std::sqrt(1.0 / static_cast<double>(x.channels)));
    const std::string b = tensor(name + ".bias", {out}, 0.1);
    const Wire product = output_of(node("MatMul", {x.name, w}), out);
    return output_of(node("Add", {product.name, b}), out);
  }

  Wire norm(const Wire& x) {
    const std::string name = "Norm_" + std::to_string(count_++);
    const std::string scale = tensor(name + ".weight", {x.channels}, 0.5),
                      bias = tensor(name + ".bias", {x.channels}, 0.1);
    onnx::NodeProto& made = node("LayerNormalization", {x.name, scale, bias});
    set_float(made, "epsilon", 1e-12f);
    set_int(made, "axis", -1);
    return output_of(made, x.channels);
  }

  Wire gelu(const Wire& x) {
    const Wire scaled = output_of(node("Div", {x.name, scalar_node(std::sqrt(2.0f))}), x.channels);
    const Wire erf = output_of(node("Erf", {scaled.name}), x.channels);
    const Wire raised = output_of(node("Add", {erf.name, scalar_node(1.0f)}), x.channels);
    const Wire product = mul(x, raised);
    return output_of(node("Mul", {product.name, scalar_node(0.5f)}), x.channels);
  }

  Wire reshaped(const Wire& x, const std::vector<std::int64_t>& shape) {
    return output_of(node("Reshape", {x.name, integers(shape)}), x.channels);
  }
  Wire transposed(const Wire& x, const std::vector<std::int64_t>& order) {
    onnx::NodeProto& made = node("Transpose", {x.name});
    set_ints(made, "perm", order);
    return output_of(made, x.channels);
  }
  Wire heads_of(const Wire& x, const std::vector<std::int64_t>& order) {
    return transposed(reshaped(dense(x, sizes_.width), {0, 0, sizes_.heads, sizes_.width / sizes_.heads}), order);
  }

  Wire attention(const Wire& x) {
    const Wire q = heads_of(x, {0, 2, 1, 3}), k = heads_of(x, {0, 2, 3, 1}), v = heads_of(x, {0, 2, 1, 3});
    const Wire scores = output_of(node("MatMul", {q.name, k.name}), x.channels);
    const float size = std::sqrt(static_cast<float>(sizes_.width / sizes_.heads));
    const Wire scaled = output_of(node("Div", {scores.name, scalar_node(size)}), x.channels);
    onnx::NodeProto& softmax = node("Softmax", {scaled.name});
    set_int(softmax, "axis", -1);
    const Wire joined = output_of(node("MatMul", {softmax.output(0), v.name}), x.channels);
    return dense(reshaped(transposed(joined, {0, 2, 1, 3}), {0, 0, sizes_.width}), sizes_.width);
  }

  EncoderSizes sizes_;
  std::int64_t tokens_;
};

}  // namespace

std::span<const EncoderSizes> encoders() { return kEncoders; }

onnx::ModelProto make_encoder(const EncoderSizes& sizes, std::uint64_t seed, std::int64_t tokens) {
  return Encoder(sizes, seed, tokens).build();
}

}  // namespace octavo::zoo
