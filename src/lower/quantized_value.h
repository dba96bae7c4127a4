// Reading dequantize and quantize nodes: what every rule that makes integer operators asks of the wires around an
// operator. Part of lower/.
#ifndef OCTAVO_LOWER_QUANTIZED_VALUE_H_
#define OCTAVO_LOWER_QUANTIZED_VALUE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "graph/graph.h"
#include "graph/patch.h"
#include "ops/quantize/quantize.h"

namespace octavo {

struct Round;

// Whose integers are asked for: most integer operators compute with bytes alone; residual streams are s16.
enum class Stored { bytes, bytes_or_s16 };

// real = (q - zero_point) * scale, q in [lowest, highest] of its type; one scale for the whole tensor, known at
// compile time.
struct QuantType {
  DType dtype = DType::u8;
  float scale = 1.0f;
  std::int32_t zero_point = 0;

  bool operator==(const QuantType&) const = default;
  QuantParams params() const { return {{scale}, {zero_point}, -1}; }
};

// An f32 wire that is the dequantized form of the wire `q`.
struct Dequantized {
  ValueId q;
  QuantType type;
};

// The f32 wire is dequantize(q) with one constant scale and zero point, q not constant.
std::optional<Dequantized> dequantized(const Graph& graph, ValueId wire, Stored stored = Stored::bytes);
// The same for a node that may be a dequantize.
std::optional<Dequantized> dequantized_by(const Graph& graph, const Node& node, Stored stored = Stored::bytes);

// An f32 wire that shows the values of rows of bytes whose scales are known in the run.
struct RunDequantized {
  ValueId q, scale, zero_point;  // q and zero_point u8; one scale, or one for each row of q [rows, columns]
};
// The f32 wire is dequantize(q), perhaps under another shape, with scales that are not constant.
std::optional<RunDequantized> dequantized_in_run(const Graph& graph, ValueId wire);

// A constant tensor in quantized form: one scale and zero point, or one each per index of `axis`.
struct QuantizedConstant {
  std::shared_ptr<const Tensor> q;
  std::vector<float> scale;
  std::vector<std::int32_t> zero_point;
  int axis = -1;
};

// The f32 wire is dequantize(constant) with constant scales; s8, u8, s16, s32 or s64.
std::optional<QuantizedConstant> quantized_constant(const Graph& graph, ValueId wire);

// A dequantized operand; constants that have one scale are operands like others.
std::optional<Dequantized> quantized_operand(const Graph& graph, ValueId wire, Stored stored = Stored::bytes);

// The wire y that a quantize node makes, with one constant scale and zero point.
struct Quantized {
  ValueId x;
  ValueId y;
  QuantType type;
  std::int32_t lowest = 0;
  std::int32_t highest = 0;
  Profile profile = Profile::onnx;

  // What rounds to its type and bounds, the zero point after it.
  Round rounding() const;
  // The value that the quantize node gives for x.
  std::int32_t apply(float value) const;
};
std::optional<Quantized> quantized_by(const Graph& graph, const Node& node, Stored stored = Stored::bytes);

// What stands between an operator's f32 result and its quantized wire: clamps (relu, clip) folded into [lowest,
// highest], then a quantize. Every wire on the way has one reader; else a reason.
std::variant<Quantized, std::string> follow_to_quantize(const Graph& graph, ValueId result,
                                                        Stored stored = Stored::bytes);

// The bounds of a relu or clip; nothing for other nodes.
struct ClampBounds {
  float lowest = 0.0f;
  float highest = 0.0f;
};
std::optional<ClampBounds> clamp_bounds(const Node& node);

// The value of a wire of one element that is constant or dequantize(constant), as f32.
std::optional<float> scalar_constant(const Graph& graph, ValueId wire);

// A constant f32 operand of a broadcast with a result of `rank` axes as one value per index of `axis`; a scalar counts
// for all of them.
std::optional<std::vector<float>> per_channel_constant(const Fact& constant, int rank, int axis, std::int64_t channels);

// The only node that reads the wire; nullptr where it is a graph output or has several uses.
const Node* only_reader(const Graph& graph, ValueId wire);

}  // namespace octavo

#endif  // OCTAVO_LOWER_QUANTIZED_VALUE_H_
