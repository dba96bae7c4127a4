// Encoders of text behind their embeddings. Part of zoo/.
#ifndef OCTAVO_ZOO_ENCODERS_H_
#define OCTAVO_ZOO_ENCODERS_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace octavo::zoo {

struct EncoderSizes {
  std::string_view name;
  std::int64_t layers = 1, width = 1, heads = 1;
};

// Sorted by name.
std::span<const EncoderSizes> encoders();

// As torch.onnx.export writes the layers of a BERT: norms behind additions, GELU by Erf, input "input" f32 [batch,
// tokens, width], output "output" of the same shape. Weights are random.
onnx::ModelProto make_encoder(const EncoderSizes& sizes, std::uint64_t seed, std::int64_t tokens = 128);

}  // namespace octavo::zoo

#endif  // OCTAVO_ZOO_ENCODERS_H_
