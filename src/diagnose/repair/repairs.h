// Every repair: changes the graph and says in how many places. Part of diagnose/.
#ifndef OCTAVO_DIAGNOSE_REPAIR_REPAIRS_H_
#define OCTAVO_DIAGNOSE_REPAIR_REPAIRS_H_

#include "diagnose/repair/onnx_edit.h"

namespace octavo::repair {

// Activations of s8 become u8 with the zero point moved by 128, wherever all that reads them can be told so.
int make_activations_unsigned(OnnxEdit& edit);
// QLinearConv and the like become the float operator between pairs.
int make_weights_signed(OnnxEdit& edit);
int make_operators_pairs(OnnxEdit& edit);
// A pair right behind an equal one goes.
int drop_double_pairs(OnnxEdit& edit);
// The pair between an operator and the ReLU or Clip that alone reads it goes.
int drop_pairs_before_activations(OnnxEdit& edit);
// What a ReLU gives, in a range whose lower half is never used, gets the range from zero on.
int use_whole_range_behind_relu(OnnxEdit& edit);
// MaxPool, Resize, Reshape and others that only move values give them in the scale in which they take them.
int keep_scales_through_moves(OnnxEdit& edit);
// Batch normalisations behind convolutions go into their weights' scales and biases.
int fold_batch_norms(OnnxEdit& edit);
// What reads a tensor in floats beside its pair reads the pair.
int read_pairs_instead_of_floats(OnnxEdit& edit);
// Float weights of convolutions and products whose activations have pairs get pairs, symmetric, per channel.
int quantize_weights(OnnxEdit& edit);
// Means of height and width become GlobalAveragePool.
int make_means_pools(OnnxEdit& edit);

// Makes every s32 bias that was quantized by the scale of `tensor` (what a DequantizeLinear gives) fit it again, after
// that scale was multiplied by `factor`: engines take a bias as sums of that scale, whatever its own pair says.
void rescale_biases(OnnxEdit& edit, const std::string& tensor, double factor);

}  // namespace octavo::repair

#endif  // OCTAVO_DIAGNOSE_REPAIR_REPAIRS_H_
