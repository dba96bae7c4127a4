// dynamic_slice: a part of a tensor whose ends are data. Part of ops/.
#ifndef OCTAVO_OPS_DYNAMIC_SLICE_DYNAMIC_SLICE_H_
#define OCTAVO_OPS_DYNAMIC_SLICE_DYNAMIC_SLICE_H_

#include <cstdint>
#include <tuple>
#include <vector>

#include "graph/op.h"

namespace octavo {

struct DynamicSliceAttrs {
  std::vector<std::int64_t> axes;   // different ones, not negative
  std::vector<std::int64_t> steps;  // of each, not 0

  bool operator==(const DynamicSliceAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"axes", &DynamicSliceAttrs::axes}, Field{"steps", &DynamicSliceAttrs::steps});
  }
};

// results: along each of the axes the elements start, start + step, ... before end (after it where the step is
// negative) of x, dense, at the beginning of a tensor of the shape of x, and zeros behind them; and their shape, s64.
// Negative starts and ends count from the end of the axis; both are moved into it. inputs: x; starts and ends, s64, one
// for each of the axes.
extern const OpSpec kDynamicSlice;

void slice_dynamically(const DynamicSliceAttrs& attrs, InputViews inputs, OutputViews outputs);

}  // namespace octavo

#endif  // OCTAVO_OPS_DYNAMIC_SLICE_DYNAMIC_SLICE_H_
