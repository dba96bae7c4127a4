// What operators cost in an engine, by rates that were measured once of operators alone. Part of diagnose/.
#ifndef OCTAVO_DIAGNOSE_ENGINE_COST_H_
#define OCTAVO_DIAGNOSE_ENGINE_COST_H_

#include <array>
#include <optional>
#include <string>
#include <string_view>

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
  wide,           // s16 activations
  count,
};

// What is no product, by what it does to an element: on bytes, on floats ("float_..."), on s16 ("wide_...").
enum class Pass : std::uint8_t {
  none,  // costs nothing: it is part of another node
  quantize,
  dequantize,
  quantize16,
  dequantize16,
  requantize,
  add,
  mul,
  sigmoid,  // any function by a table
  max_pool,
  transpose,
  average,  // by elements of its input
  float_add,
  float_mul,
  float_sigmoid,
  float_function,
  float_relu,
  float_max_pool,
  float_softmax,
  float_transpose,
  float_average,
  float_window,  // an average of some pixels, by results
  wide_add,
  wide_mul,
  slow_max_pool,  // ONNX Runtime's on bytes, where channels are not last
  slow_average,   // ONNX Runtime's of floats, where channels are last; by elements of its input
  slow_relu,      // LiteRT's own kernels for bytes, where its delegate has none
  slow_function,
  slow_softmax,
  slow_window,
  count,
};

enum class ProductKind : std::uint8_t { conv, grouped, pointwise, depthwise, matmul, count };

// Of one thread.
struct ProductCost {
  double call_us = 0.0;      // of each group
  double mac_ns = 0.0;       // of a multiply-accumulate
  double gathered_ns = 0.0;  // of an element brought to a window of more than one pixel; depthwise: of an input
  double copy_ns = 0.0;      // of a run of such elements that lie together: a pixel's channels, or a row of a channel
  double result_ns = 0.0;
  double weight_ns = 0.0;
  double far_weight_ns = 0.0;  // more, of each weight in a file whose weights are more than caches hold
};

struct EngineRates {
  // A form that the engine does not have costs what packed_float does.
  std::array<std::array<std::optional<ProductCost>, static_cast<std::size_t>(ProductKind::count)>,
             static_cast<std::size_t>(Form::count)>
      products;
  std::array<double, static_cast<std::size_t>(Pass::count)> passes_ns{};  // of an element
  double node_us = 0.0;
  std::string source;  // engine, machine, day
};

// Those of the machine that they were measured on last. Engines that were not measured have those of ONNX Runtime, and
// their source says so.
const EngineRates& rates_of(Engine engine);
// What scripts/stories/rates.py wrote. Errors: resource; invalid_input (no such JSON); usage (of another engine).
Result<EngineRates> read_rates(const std::string& path, Engine engine);

// Milliseconds of one thread; 0 where the file does not say how large the node is.
double product_ms(const FileView& view, const ViewNode& node, const EngineRates& rates, Form form);
double pass_ms(std::int64_t elements, Pass pass, const EngineRates& rates);

// The JSON of rates, as measured (measured_rates.cpp).
std::string_view measured_rates(Engine engine);

}  // namespace octavo::diagnose

#endif  // OCTAVO_DIAGNOSE_ENGINE_COST_H_
