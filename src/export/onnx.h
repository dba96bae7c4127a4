// export_onnx: a graph as a standard ONNX file. Part of export/.
#ifndef OCTAVO_EXPORT_ONNX_H_
#define OCTAVO_EXPORT_ONNX_H_

#include <string>

#include "base/result.h"
#include "graph/graph.h"

namespace octavo {

// What the files say of themselves.
inline constexpr int kExportOpset = 17;

struct OnnxExportOptions {
  std::string name;  // of the network, for viewers
  const Graph* other_batch =
      nullptr;  // the same network at another batch: dimensions in which the two differ become symbolic
};

// The bytes of the file: opset 17, no operators beyond the standard's, names of nodes and values as in the graph where
// they are unique. `graph` is one that an importer or quantize() made. Where a symbolic batch cannot be told from the
// two graphs, sizes are those of `graph`. Errors (unsupported): every node that has no form in ONNX; a file beyond the
// format's 2 GB.
Result<std::string> export_onnx(const Graph& graph, const OnnxExportOptions& options);

}  // namespace octavo

#endif  // OCTAVO_EXPORT_ONNX_H_
