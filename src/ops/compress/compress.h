// compress: the slices that a mask chooses. Part of ops/.
#ifndef OCTAVO_OPS_COMPRESS_COMPRESS_H_
#define OCTAVO_OPS_COMPRESS_COMPRESS_H_

#include <cstdint>
#include <tuple>

#include "graph/op.h"

namespace octavo {

struct CompressAttrs {
  std::int64_t axis = -1;  // -1: x is one line

  bool operator==(const CompressAttrs&) const = default;
  static constexpr auto fields() { return std::tuple(Field{"axis", &CompressAttrs::axis}); }
};

// results: the slices of x along the axis whose `condition` (bool, one axis) is true, as many as the shorter of both
// has, of which the first are there, dense, and zeros behind them; and their shape, s64. inputs: x, condition.
extern const OpSpec kCompress;

void compress(const CompressAttrs& attrs, InputViews inputs, OutputViews outputs);

}  // namespace octavo

#endif  // OCTAVO_OPS_COMPRESS_COMPRESS_H_
