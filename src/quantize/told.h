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

// Adds what each output that lost too much has now; noise as of output_precision.h, `asked` in dB.
void tell_outputs(const Graph& graph, const std::vector<double>& before, const std::vector<double>& after,
                  const Calibrated& calibrated, double asked, std::vector<std::string>& notes);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_TOLD_H_
