// Small networks whose files leave sizes open, with what exporters write for these. For the tests of api/.
#ifndef OCTAVO_TESTS_API_OPEN_NETWORKS_H_
#define OCTAVO_TESTS_API_OPEN_NETWORKS_H_

#include <string>

namespace octavo::testing {

// Each writes an ONNX file of that name to the temporary folder, and gives its path.

// x [N, 3, H, W] -> convolutions, pools, a resize and a mean.
std::string write_pyramid(const std::string& name);

// x [N, 3, 5, 4] -> [N, 6]: a convolution, flattened, and a product with all of it.
std::string write_flattened(const std::string& name);

// x [N, 3, H, W] -> scores [N, 5, H, W]: strided convolutions, a head that is gated by its mean, both resized to the
// size of another tensor, as LR-ASPP segments.
std::string write_segmenter(const std::string& name);

// x [N, L, 32] -> [N, L, 32]: an encoder block of four heads, its shapes computed from x's, layer norms and GELU in
// single operators.
std::string write_encoder(const std::string& name);

// mask [N, L], x [N, L, 32] -> y [N, L, 32], mean [N, 32]: the same block with keys that the mask hides, and the mean
// of what it shows.
std::string write_masked_encoder(const std::string& name);

// x [N, L, 8] -> [N, L, 8]: rows picked by indices that ranges of N and L make, rows of a table up to L, a mask from
// positions.
std::string write_positions(const std::string& name);

// x [N, L, 32] -> [N, L, 32]: products with what they are made of added to them, as blocks of transformers end.
std::string write_rows_with_additions(const std::string& name);

// x [N, L, 16] -> [N, L, 16]: sums with what has an axis of 1 in some sizes, rows up to a fixed place, a product.
std::string write_size_decisions(const std::string& name);

// past [N, P, 16] -> y [N, 1, 16], present [N, P + 1, 16]: a step of a decoder, for a token and the sum of its past.
std::string write_decoder_step(const std::string& name);

// x [N, C, H, W] -> rows [N, patches, 8]: patches of 8x8 pixels of `channels`, to which a table of so many positions is
// added (0: none). No name says what a dimension is.
std::string write_patches(const std::string& name, int channels, int positions);

}  // namespace octavo::testing

#endif  // OCTAVO_TESTS_API_OPEN_NETWORKS_H_
