// What a quantization tells its user: which nodes are in floats and why, and notes. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_TOLD_H_
#define OCTAVO_QUANTIZE_TOLD_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "quantize/quantize.h"

namespace octavo {

struct Placement;

// What is to be said where products read rows of scales of their own: whether there are any, and which have none.
Result<std::vector<std::string>> notes_of_rows(const Graph& graph, const Placement& placement, RowProducts rows);

// "conv1: its weights are not constant". `kept`: those that stay in f32 for the outputs' precision.
std::vector<std::string> reasons_for_float(const Graph& graph, const Placement& placement,
                                           const std::vector<std::string>& kept);

// What became of outputs that lost too much; noise as of output_precision.h.
struct OutputsTold {
  const std::vector<double>& before;
  const std::vector<double>& after;
  double asked = 0.0;     // in dB
  double too_much = 0.0;  // share of the multiply-adds that it would have cost; 0: it was not too much
};
void tell_outputs(const Graph& graph, const OutputsTold& outputs, const Calibrated& calibrated,
                  std::vector<std::string>& notes);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_TOLD_H_
