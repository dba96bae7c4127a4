// Notes and reasons. Part of quantize/.
#include "quantize/told.h"

#include <cstdio>
#include <set>

#include "quantize/output_precision.h"
#include "quantize/placement.h"

namespace octavo {
namespace {

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

void tell_outputs(const Graph& graph, const OutputsTold& outputs, const Calibrated& calibrated,
                  std::vector<std::string>& notes) {
  const double least = noise_at(outputs.asked);
  const std::string asked = in_words(outputs.asked, 1) + " dB";
  const auto& kept = calibrated.kept_in_f32;
  for (std::size_t k = 0; k < outputs.before.size(); ++k) {
    if (outputs.before[k] <= least) continue;
    const double now = outputs.after[k];
    std::string note = "output '" + graph.output_names()[k] + "': on the samples " +
                       in_words(sqnr_of(outputs.before[k]), 1) + " dB to fp32 with all layers in integers";
    if (!kept.empty())
      note += ", " + (now > 0.0 ? in_words(sqnr_of(now), 1) + " dB" : "no error") + " with those for outputs in fp32";
    if (now > least) note += ": less than " + asked;
    notes.push_back(std::move(note));
  }
  const auto percent = [](double share) { return in_words(100.0 * share, 1) + " % of the multiply-adds"; };
  if (outputs.too_much > 0.0) {
    notes.push_back("for " + asked + " of every output " + percent(outputs.too_much) +
                    " would have to stay in fp32, which is too much to be done unasked (--output-sqnr " +
                    in_words(outputs.asked, 0) + " asks for it)");
  }
  if (!kept.empty()) {
    notes.push_back("in fp32 for the precision of outputs: " + std::to_string(kept.size()) + " nodes, " +
                    percent(share_of_macs(graph, kept)) + " (--output-sqnr 0: none)");
  }
}

}  // namespace octavo
