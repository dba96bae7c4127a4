// Placement: which wires of an fp32 graph carry 8-bit values, and which of them share a scale. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_PLACEMENT_H_
#define OCTAVO_QUANTIZE_PLACEMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "quantize/quantize.h"

namespace octavo {

// What the inputs and outputs of the quantized network are.
enum class Ends { floats, integers };
// What pairs may say: `standard` is what other programs understand of a QDQ file, so that attention and normalisations
// stay in float, and there are neither residual streams of s16 nor embeddings by row.
enum class Vocabulary { own, standard };
// What the bytes of such rows are made of: GELU of s16 values, a stream of s16, one times a factor of each channel,
// f32 values.
enum class RowSource : std::uint8_t { none, gelu, stream, scaled_stream, floats };

struct Placement {
  std::vector<NodeRole> roles;  // by NodeId
  std::vector<bool> is_8bit;    // by NodeId: reads quantized values (decided, not only able to)
  std::vector<bool> has_pair;   // by ValueId: quantize and dequantize stand on this wire
  // By ValueId: the pair on this wire is one of s16, a residual stream's; where somebody reads bytes of it, too, a pair
  // of those follows.
  std::vector<bool> is_wide;
  std::vector<bool> has_bytes;   // by ValueId, of wide ones
  std::vector<bool> takes_wide;  // by NodeId: reads s16 where its inputs are wide
  std::vector<RowSource> rows;   // by ValueId: products read bytes with a scale for each row, found in the run
  std::vector<bool> reads_rows;  // by NodeId: these products
  // By NodeId: looks rows up in a large table of f32, an embedding, which becomes one of s8 with a scale for each row.
  std::vector<bool> looks_up_rows;
  std::vector<ValueId> scale_of;  // by ValueId: the wire whose scale this one takes (itself where it has its own)
  std::vector<bool> is_bias;      // by NodeId: an addition of constants that belongs to the product before it

  const NodeRole& role(NodeId id) const { return roles[static_cast<std::size_t>(id.index)]; }
  bool pair(ValueId id) const { return has_pair[static_cast<std::size_t>(id.index)]; }
  bool wide(ValueId id) const { return is_wide[static_cast<std::size_t>(id.index)]; }
  RowSource row_source(ValueId id) const { return rows[static_cast<std::size_t>(id.index)]; }
  bool row_scales(ValueId id) const { return row_source(id) != RowSource::none; }
  bool bytes_follow(ValueId id) const { return has_bytes[static_cast<std::size_t>(id.index)]; }
  // Its scale is that of bytes, from which that of s16 follows.
  bool has_byte_scale(ValueId id) const { return !wide(id) || bytes_follow(id) || row_source(id) == RowSource::stream; }
};

// Pairs stand where they cost nothing needless: none between a convolution and the activation or residual addition that
// follows it, none inside x * f(x), none before a result that only f32 readers want; per operator, the addition and
// both factors of x * f(x) have pairs of their own. What a normalisation reads, and what is added up to that, is a
// residual stream and carries s16: there 8 bits lose most. Readers of ends in 8 bits want 8 bits: then results of the
// network have pairs, and softmax is a kernel. Between
// two products GELU reads s16 and gives bytes that have a scale for each row: its values in a few rows are many times
// as large as in the others. Where all products read rows, these are made of streams of s16, or of f32 values where
// what comes before has no such form. `skip` as in QuantizeOptions.
struct PlacementRules {
  Ends ends = Ends::floats;
  PairPlacement pairs = PairPlacement::fused;
  Vocabulary vocabulary = Vocabulary::own;
  RowProducts rows = RowProducts::behind_gelu;  // the others with Ends::floats and Vocabulary::own only
};
Placement place_pairs(const Graph& graph, const std::vector<std::string>& skip, const PlacementRules& rules = {});

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_PLACEMENT_H_
