// lower: from the graph of a file (dequantize -> operator -> quantize) to the fused graph that kernels compute. Part of
// lower/.
#ifndef OCTAVO_LOWER_LOWER_H_
#define OCTAVO_LOWER_LOWER_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "graph/patch.h"
#include "octavo/precision.h"

namespace octavo {

struct LowerOptions {
  Precision precision = Precision::int8;
  // Nodes that somebody chose to keep in f32 in an int8 model. Of a graph that came quantized their weights become f32,
  // and pairs between them clamps.
  std::set<std::string> kept_in_f32;
  // What a program of torch.export has in floats between its pairs is computed in bytes where there is such an operator
  // (attention). Else floats stay floats.
  bool floats_of_file_in_bytes = false;
  int patch_limit = -1;  // stop after this many patches; -1: none. For bisecting a wrong rewrite
  bool print = false;    // keep the graph's text after every pass in the report
};

// A node of the fused graph that computes in floating point inside an int8 model, and why.
struct Island {
  std::string node;
  std::string op;
  std::string reason;
};

struct LowerReport {
  std::vector<PassReport> passes;
  std::vector<std::string> prints;  // one per pass, where asked for
  std::vector<Island> islands;
  std::vector<std::string> notes;  // "weights dequantized, 53 activation q/dq pairs replaced by clamps", ...
  // Open sizes decide how a mean or a resize is computed in integers: the graph still needs lower_closed. Never in
  // fp32.
  bool waits_for_sizes = false;
  int nodes_before = 0;
  int nodes_after = 0;
};

// Gives 8-bit inputs of a file that says what they stand for only by what reads them their scale and zero point;
// lower() begins with it.
void record_input_scales(Graph& graph);

// Rewrites the graph in place; inputs and outputs keep their names, types and shapes.
// Entry: any verified graph. Exit: every node is one that a kernel may exist for (no dequantize -> operator -> quantize
// left to fuse), image operators are channels_last. Same graph in, same graph and report out.
Result<LowerReport> lower(Graph& graph, const LowerOptions& options);

// The rest of lowering a graph of which lower() said that it waits, once Graph::close closed it.
Result<LowerReport> lower_closed(Graph& graph, const LowerOptions& options);

// Only what calibration needs before scales are chosen: batch norms folded, constants folded, identities dropped. Keeps
// layouts.
Result<LowerReport> simplify(Graph& graph);

}  // namespace octavo

#endif  // OCTAVO_LOWER_LOWER_H_
