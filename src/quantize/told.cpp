// Notes and reasons. Part of quantize/.
#include "quantize/told.h"

#include <cstdio>
#include <set>

#include "quantize/output_precision.h"
#include "quantize/placement.h"

namespace octavo {
namespace {

std::size_t at(NodeId id) { return static_cast<std::size_t>(id.index); }

std::string in_words(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

}  // namespace

Result<std::vector<std::string>> notes_of_rows(const Graph& graph, const Placement& placement, RowProducts rows) {
  if (rows == RowProducts::behind_gelu) return std::vector<std::string>{};
  std::vector<std::string> others;
  int with_rows = 0;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const bool has_weights = node.spec->weight_axis >= 0 && graph.fact(node.inputs[1]).is_constant();
    if (placement.reads_rows[at(id)]) ++with_rows;
    else if (has_weights && placement.role(id).role == Role::product) others.push_back(node.name);
  }
  if (with_rows == 0) {
    return Error{.kind = ErrorKind::usage,
                 .where = "--activations per-token",
                 .found = "no product of activations with a constant matrix",
                 .expected = "per-tensor, with --calibrate PATH",
                 .hint = "Convolutions over images have no rows that are tokens"};
  }
  std::vector<std::string> notes{std::to_string(with_rows) + " products read rows whose scales are found in the run"};
  if (rows == RowProducts::alone)
    notes.emplace_back("what is between products stays in f32: samples (--calibrate) make integers of it");
  for (const std::string& name : others) notes.push_back(name + ": reads bytes of one scale for the whole tensor");
  return notes;
}

std::vector<std::string> reasons_for_float(const Graph& graph, const Placement& placement,
                                           const std::vector<std::string>& kept) {
  const std::set<std::string> for_outputs(kept.begin(), kept.end());
  std::vector<std::string> reasons;
  for (const NodeId id : graph.order()) {
    const NodeRole& role = placement.role(id);
    const std::string& name = graph.node(id).name;
    if (role.role != Role::floating || role.reason.empty()) continue;
    reasons.push_back(name + ": " + (for_outputs.contains(name) ? "for the precision of outputs" : role.reason));
  }
  return reasons;
}

void tell_outputs(const Graph& graph, const std::vector<double>& before, const std::vector<double>& after,
                  const Calibrated& calibrated, double asked, std::vector<std::string>& notes) {
  for (std::size_t k = 0; k < before.size(); ++k) {
    if (before[k] <= noise_at(asked)) continue;
    const std::string now = after[k] > 0.0 ? in_words(sqnr_of(after[k]), 1) + " dB" : "no error";
    notes.push_back(
        "output '" + graph.output_names()[k] + "': on the samples " + in_words(sqnr_of(before[k]), 1) +
        " dB to fp32 with all layers in integers, " + now + " with those for outputs in fp32" +
        (after[k] > noise_at(asked) ? ": less than the " + in_words(asked, 1) + " dB that were asked for" : ""));
  }
  const auto& kept = calibrated.kept_in_f32;
  if (!kept.empty()) {
    notes.push_back("in fp32 for the precision of outputs: " + std::to_string(kept.size()) + " nodes, " +
                    in_words(100.0 * share_of_macs(graph, kept), 1) +
                    " % of the multiply-adds (--output-sqnr 0: none)");
  }
}

}  // namespace octavo
