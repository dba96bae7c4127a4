// What operators cost in an engine, by rates that were measured once. Part of diagnose/.
#ifndef OCTAVO_DIAGNOSE_ENGINE_COST_H_
#define OCTAVO_DIAGNOSE_ENGINE_COST_H_

#include "diagnose/file_view.h"
#include "diagnose/finding.h"

namespace octavo::diagnose {

// How an engine computes a product.
enum class Form : std::uint8_t {
  packed_float,   // weights packed when the file is loaded
  loose_float,    // weights that a node dequantizes in every run
  integer,        // u8 or s8 activations, s8 weights: the fast kernels
  signed_slow,    // s8 activations in kernels without vector instructions
  unsigned_slow,  // u8 weights
  dynamic,        // activations quantized in the run
};

// Of one thread: 10^9 multiply-accumulates per second, nanoseconds per element, microseconds per node.
struct EngineRates {
  struct Products {
    double conv, depthwise, matmul;
  };
  Products packed_float, loose_float, integer, signed_slow, unsigned_slow, dynamic;
  // s8 by those kernels falls with the depth of the sum: at depths of 128 and 1152, of convolutions.
  double signed_shallow = 0.0, signed_deep = 0.0;
  double quantize_ns, dequantize_ns, weight_ns, pass_ns, float_pass_ns, mean_ns, node_us;
  std::string_view source;
};

const EngineRates& rates_of(Engine engine);

// Milliseconds of one thread; 0 where the file does not say how large the node is.
double product_ms(const FileView& view, const ViewNode& node, const EngineRates& rates, Form form);
double pass_ms(std::int64_t elements, double ns_per_element, const EngineRates& rates);

}  // namespace octavo::diagnose

#endif  // OCTAVO_DIAGNOSE_ENGINE_COST_H_
