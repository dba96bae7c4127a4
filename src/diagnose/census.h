// Census: what a quantized file is made of, and what in it looks broken whatever engine runs it. Part of diagnose/.
#ifndef OCTAVO_DIAGNOSE_CENSUS_H_
#define OCTAVO_DIAGNOSE_CENSUS_H_

#include <map>
#include <string>
#include <vector>

#include "diagnose/file_view.h"

namespace octavo::diagnose {

// Things of one kind and where the first of them is; the rest are counted.
struct Sightings {
  int count = 0;
  std::vector<std::string> names;  // at most kMostNames
  static constexpr std::size_t kMostNames = 5;

  void add(const std::string& name);
};

struct Census {
  std::string exporter, quantizer;  // guessed from marks; empty where there are none
  std::map<std::string, int> operators, operators_before;
  int nodes = 0, nodes_before = 0;  // before: of the fp32 file, 0 without one

  int quantize_nodes = 0, dequantize_nodes = 0;  // of activations
  int weight_nodes = 0;                          // that dequantize or quantize constants
  int boundaries = 0;  // where float meets integers: a pair around an operator of integers is none

  Sightings island_nodes;                  // float operators that no pair touches
  int products = 0, integer_products = 0;  // with integer operands

  std::map<std::string, int> activation_types;  // "s8", by tensors
  std::map<std::string, int> weight_types;      // the same of products' weights
  int per_tensor_weights = 0, per_channel_weights = 0;
  int symmetric_activations = 0, asymmetric_activations = 0;  // a zero point in the middle of the type, or elsewhere

  // ---- scales and ranges; by tensors ----
  Sightings zero_scales, denormal_scales, mask_ranges, uncalibrated, weight_zero_points;
  Sightings saturated_weights, wide_weights;
  int mergeable_scales =
      0;  // pairs of different scales less than 0.1 % apart on the two sides of a node that moves bytes

  // ---- what is left to do; by nodes ----
  Sightings float_weights, double_pairs, redundant_pairs, batch_norms, constants_in_run;
};

Census census_of(const FileView& view, const FileView* before = nullptr);

// What both census and rules ask.
namespace sight {

// The quantize and dequantize nodes after each other; -1s where the tensor is not made by such a pair.
struct Pair {
  int quantize = -1, dequantize = -1;
};
Pair pair_making(const FileView& view, int tensor);
// Dequantized by a node, whether what that reads is a constant or a wire.
bool is_dequantized(const FileView& view, int tensor);
// The tensor before a pair, or the tensor itself.
int before_pair(const FileView& view, int tensor);
// The integer tensor that a product's weights are stored in, or the float constant; -1 where computed.
int stored_weights(const FileView& view, const ViewNode& node);
// Elements of all of them, for every product that reads them.
std::int64_t all_weights(const FileView& view);
bool is_float_constant(const FileView& view, int tensor);
bool is_integer_8(const ViewTensor& tensor);
// A product computes in integers if the engine takes the file's hints: by its operands.
bool has_quantized_operands(const FileView& view, const ViewNode& node);
// The q nodes that read the tensor.
std::vector<int> quantizers_of(const FileView& view, int tensor);

std::vector<int> double_pairs(const FileView& view);      // second quantize nodes
std::vector<int> redundant_pairs(const FileView& view);   // quantize nodes that no product needs
std::vector<int> unfolded_norms(const FileView& view);    // batch norms after a convolution
std::vector<int> constants_in_run(const FileView& view);  // quantize nodes
std::vector<int> float_products(const FileView& view);    // with float constants for weights
std::vector<int> island_nodes(const FileView& view);

enum class ScaleFault : std::uint8_t { none, zero, denormal, mask, uncalibrated };
ScaleFault fault_of(const FileView& view, const ViewTensor& tensor);
// The quantize nodes of activations (TFLite: what makes them) where nearly all of them have one range; else none.
std::vector<int> nodes_of_one_range(const FileView& view);
// Multiply-accumulates of a product; 0 where shapes are unknown.
std::int64_t macs_of(const FileView& view, const ViewNode& node);
// Of one result.
std::int64_t depth_of(const FileView& view, const ViewNode& node);
// The share of elements at the ends of the type beyond those that scales put there, of a constant with so many scales.
double saturated_share(const Tensor& values, std::int64_t channels);
// The greatest of channels' greatest magnitudes over the least that is not 0, of weights with one scale.
double channel_spread(const Tensor& values, int axis);

}  // namespace sight

}  // namespace octavo::diagnose

#endif  // OCTAVO_DIAGNOSE_CENSUS_H_
