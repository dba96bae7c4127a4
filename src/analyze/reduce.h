// The smallest part of a model of which something still holds. Part of analyze/.
#ifndef OCTAVO_ANALYZE_REDUCE_H_
#define OCTAVO_ANALYZE_REDUCE_H_

#include <cstdint>
#include <functional>
#include <set>

#include "analyze/onnx_slice.h"
#include "base/result.h"

namespace octavo {

struct ReduceOptions {
  std::int64_t trials = 1000;
  std::function<bool()> goes_on;                                          // where there is one
  std::function<void(std::int64_t trials, std::int64_t nodes)> on_trial;  // so far, and left
};

struct Reduction {
  onnx::ModelProto model;
  std::int64_t trials = 0;
  std::int64_t nodes_before = 0, nodes_after = 0;  // those that only constants are read by left out
  bool is_smallest = false;                        // no node could be left out any more; else trials or time ran out
};

// Whether it still holds of a part.
using Holds = std::function<Result<bool>(const onnx::ModelProto&)>;

// Leaves out runs of nodes, halves first, then shorter ones, in the end single nodes, for as long as `holds` says so.
// Errors: usage (it does not hold of the whole model), those of `holds`.
Result<Reduction> reduce_model(const OnnxSlicer& slicer, const Holds& holds, const ReduceOptions& options);

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_REDUCE_H_
