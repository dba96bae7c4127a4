// Rules: what an engine makes of patterns of a file, as records with their source. Part of diagnose/.
#ifndef OCTAVO_DIAGNOSE_RULES_H_
#define OCTAVO_DIAGNOSE_RULES_H_

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/machine.h"
#include "diagnose/engine_cost.h"
#include "diagnose/file_view.h"
#include "diagnose/finding.h"
#include "diagnose/profile.h"

namespace octavo::diagnose {

// What a node costs on one thread, predicted. `ms` of all nodes add up to the run.
struct NodeCost {
  double ms = 0.0;  // as the file stands
  // Of nodes that stay because of it, each told to one node: quantize and dequantize nodes; behind a product that is
  // quantized in the run its bias and its activation.
  double conversions_ms = 0.0;
  double best_ms = 0.0;  // in the form that the engine is fast in, with nothing converted
  Form form = Form::packed_float;
  bool is_integer = false;     // the engine computes it on bytes
  std::optional<Cause> cause;  // why it does not cost what is best
  double lost_ms() const { return std::max(ms + conversions_ms - best_ms, 0.0); }
};
// By the file's nodes. ONNX Runtime's (ort_costs.cpp): which nodes it fuses with the pairs around them. Others'
// (other_costs.cpp): every node as the file has it.
std::vector<NodeCost> costs_in(const FileView& view, Engine engine, const EngineRates& rates);

// What rules ask.
struct Inspected {
  const FileView& view;
  const EngineRates& rates;
  std::span<const NodeCost> costs;
  IsaSet isa;                              // of the machine that is asked about
  const JoinedProfile* profile = nullptr;  // where there is one
};

// One node that costs more than it would in the form that the engine is fast in.
struct Loss {
  int node = -1;
  double ms = 0.0;
};

struct Rule {
  Cause cause{};
  std::vector<Loss> (*find)(const Inspected& inspected) = nullptr;
  Sureness sureness = Sureness::known;
  std::string_view source;  // engine and version, and how it is known
  std::string_view advice;  // in the engine
  std::string_view octavo;  // what Octavo does with the file as it is
};

// In no order that matters: findings are sorted.
std::span<const Rule> rules_of(Engine engine);
// Those about answers, which hold whatever runs the file.
std::span<const Rule> answer_rules();

// What every engine's rules share: the nodes that a test of node and cost picks, and those whose cost has that cause.
template <class Test>
std::vector<Loss> losses_where(const Inspected& in, Test test) {
  std::vector<Loss> losses;
  for (std::size_t i = 0; i < in.view.nodes.size(); ++i) {
    if (test(in.view.nodes[i], in.costs[i])) losses.push_back({static_cast<int>(i), in.costs[i].lost_ms()});
  }
  return losses;
}
template <Cause cause>
std::vector<Loss> lost(const Inspected& in) {
  return losses_where(in, [](const ViewNode&, const NodeCost& cost) { return cost.cause == cause; });
}
std::int64_t result_elements(const FileView& view, const ViewNode& node);  // of the first result; 0 where unknown
std::int64_t input_elements(const FileView& view, const ViewNode& node);

// What the whole file takes: products, conversions and all else.
struct PredictedTime {
  double products_ms = 0.0, conversions_ms = 0.0, others_ms = 0.0;
  double total() const { return products_ms + conversions_ms + others_ms; }
};
PredictedTime predicted_time(const FileView& view, std::span<const NodeCost> costs);

}  // namespace octavo::diagnose

#endif  // OCTAVO_DIAGNOSE_RULES_H_
