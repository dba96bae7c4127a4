// How the kernels in strips cut channels into blocks, and how they pack the weights of each. Part of kernels/.
#ifndef OCTAVO_KERNELS_DEPTHWISE_BLOCKS_H_
#define OCTAVO_KERNELS_DEPTHWISE_BLOCKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/choice.h"
#include "kernels/depthwise/rows.h"
#include "kernels/depthwise/shape.h"

namespace octavo::strips {

// Channels [first, first + kVnniBlocks[kind]).
struct Block {
  std::int64_t first = 0;
  int kind = 0;

  std::int64_t size() const { return kVnniBlocks[kind]; }
};

// How rows are grouped: a strip of 4 * groups input rows serves `rows` output rows. Weights with offsets have 9 bits:
// they are sums of two bytes, `parts`, which stand side by side as two columns of the window.
struct Grouping {
  std::int64_t groups = 1, rows = 1, parts = 1;

  static Grouping of(const CallView& call);
};

struct PlacedBlock {
  Block block;
  std::int64_t weights = 0;   // offset into the packed weights
  std::int64_t channels = 0;  // offset into packed bias and multipliers
};

// Where the blocks' constants lie, in order of the units that threads share. Blocks of a unit may overlap: no two
// threads write the same bytes.
struct Placement {
  std::vector<std::vector<PlacedBlock>> units;
  std::int64_t weight_bytes = 0;
  std::int64_t channels = 0;
};
Placement place(const DepthwiseShape& shape, const Grouping& grouping, const VnniSet& set);
std::int64_t row_weight_bytes(const DepthwiseShape& shape, const Grouping& grouping, const Block& block);

// A call's weights with their offsets; `call` has constant ones.
class Weights {
 public:
  explicit Weights(const OpCall& call);

  std::int32_t at(std::int64_t channel, std::int64_t tap) const {
    return values_[channel * taps_ + tap] + (offsets_ == nullptr ? 0 : offsets_[channel]);
  }
  // Why they are no sums of two bytes; empty where they are.
  std::string refusal() const;
  // The weights of output row r of a strip.
  void pack_row(const DepthwiseShape& shape, const Grouping& grouping, const Block& block, std::int64_t r,
                std::int8_t* to) const;
  // x is read with its top bit flipped where it is not of the type that is multiplied, which adds 128 to s8, or -128 to
  // u8: taken back here.
  std::int32_t corrected_bias(std::int64_t channel, std::int32_t bias, bool x_is_signed, const VnniSet& set) const;

 private:
  const std::int8_t* values_;
  const std::int32_t* offsets_;   // null: none
  std::int64_t channels_, taps_;  // taps of a channel
};

}  // namespace octavo::strips

#endif  // OCTAVO_KERNELS_DEPTHWISE_BLOCKS_H_
