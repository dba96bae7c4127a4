// SourceNetwork: the fp32 graph that is quantized; its weights need not be in memory while samples run through a
// compiled copy. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_SOURCE_NETWORK_H_
#define OCTAVO_QUANTIZE_SOURCE_NETWORK_H_

#include <functional>

#include "base/result.h"
#include "graph/graph.h"

namespace octavo {

class SourceNetwork {
 public:
  using Make = std::function<Result<Graph>()>;

  // `make` gives the same graph again, each time; without it the weights stay.
  SourceNetwork(const Graph& graph, Make make);
  // Everything; between lend() and recall() large constants have a type and a shape, but no data. Ids are its own.
  const Graph& graph() const { return graph_; }
  // The whole graph for somebody who uses it up.
  Graph lend();
  // Brings the data back. Errors: those of `make`; invalid_input where it gives another graph now.
  Status recall();
  // The whole graph, for good.
  Result<Graph> take();

 private:
  Graph graph_;
  Make make_;
  bool is_lent_ = false;
};

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_SOURCE_NETWORK_H_
