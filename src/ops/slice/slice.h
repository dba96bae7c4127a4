// slice: a strided box of a tensor; any type. Part of ops/.
#ifndef OCTAVO_OPS_SLICE_SLICE_H_
#define OCTAVO_OPS_SLICE_SLICE_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"

namespace octavo {

struct SliceAttrs {
  std::vector<Dim> starts;          // one per axis, inside the axis
  std::vector<std::int64_t> steps;  // one per axis, not 0
  std::vector<Dim> sizes;           // one per axis, of the result

  bool operator==(const SliceAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"starts", &SliceAttrs::starts}, Field{"steps", &SliceAttrs::steps},
                      Field{"sizes", &SliceAttrs::sizes});
  }
};

// y[i] = x[starts + i * steps]. inputs: x.
extern const OpSpec kSlice;

}  // namespace octavo

#endif  // OCTAVO_OPS_SLICE_SLICE_H_
