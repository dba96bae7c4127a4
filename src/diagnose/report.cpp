// A diagnosis as text and JSON. Part of diagnose/.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>

#include "analyze/table.h"
#include "diagnose/diagnose.h"

namespace octavo::diagnose {
namespace {

constexpr std::size_t kMostFindings = 5;

std::string counted(const std::map<std::string, int>& counts) {
  std::string text;
  for (const auto& [name, count] : counts) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
  return text.empty() ? "none" : text;
}

std::string named(const Sightings& sightings) {
  std::string text = std::to_string(sightings.count);
  for (std::size_t i = 0; i < sightings.names.size(); ++i)
    text += (i == 0 ? " (" : ", ") + short_name(sightings.names[i]);
  if (sightings.names.empty()) return text;
  return text + (sightings.count > static_cast<int>(sightings.names.size()) ? ", ...)" : ")");
}

// Operators whose number quantization changed, the greatest changes first.
std::string changes(const Census& census) {
  std::map<std::string, int> change = census.operators;
  for (const auto& [op, count] : census.operators_before) change[op] -= count;
  std::vector<std::pair<std::string, int>> sorted(change.begin(), change.end());
  std::erase_if(sorted, [](const auto& entry) { return entry.second == 0; });
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.second) > std::abs(b.second); });
  constexpr std::size_t kMostChanges = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(sorted.size(), kMostChanges); ++i)
    text += fmt::format("{}{:+} {}", i == 0 ? "" : ", ", sorted[i].second, sorted[i].first);
  return text;
}

std::string census_text(const Diagnosis& d) {
  const Census& c = d.census;
  std::string text;
  const auto add = [&](const std::string& name, const std::string& value) {
    text += fmt::format("  {:<22}{}\n", name, value);
  };
  if (!c.exporter.empty()) add("exported by", c.exporter);
  if (!c.quantizer.empty()) add("quantized by", c.quantizer);
  add("nodes",
      c.nodes_before > 0 ? fmt::format("{} -> {}: {}", c.nodes_before, c.nodes, changes(c)) : std::to_string(c.nodes));
  if (d.view.dialect == Dialect::fp32) return text;
  add("conversions", fmt::format("{} quantize, {} dequantize, {} of constants; {} boundaries", c.quantize_nodes,
                                 c.dequantize_nodes, c.weight_nodes, c.boundaries));
  add("products", fmt::format("{}, {} of them with integer operands", c.products, c.integer_products));
  add("activations", fmt::format("{}; {} symmetric, {} with a zero point elsewhere", counted(c.activation_types),
                                 c.symmetric_activations, c.asymmetric_activations));
  add("weights", fmt::format("{}; {} per channel, {} per tensor", counted(c.weight_types), c.per_channel_weights,
                             c.per_tensor_weights));
  const std::pair<const char*, const Sightings*> sights[] = {
      {"float islands, nodes", &c.island_nodes},    {"scales of 0", &c.zero_scales},
      {"denormal scales", &c.denormal_scales},      {"masks in ranges", &c.mask_ranges},
      {"never calibrated", &c.uncalibrated},        {"weights, zero points", &c.weight_zero_points},
      {"weights, saturated", &c.saturated_weights}, {"weights, 10^4 apart", &c.wide_weights},
      {"weights in float", &c.float_weights},       {"double pairs", &c.double_pairs},
      {"redundant pairs", &c.redundant_pairs},      {"batch norms", &c.batch_norms},
      {"constants quantized", &c.constants_in_run}};
  for (const auto& [name, sightings] : sights) {
    if (sightings->count > 0) add(name, named(*sightings));
  }
  if (c.mergeable_scales > 0) add("scales to merge", std::to_string(c.mergeable_scales));
  return text;
}

std::string waterfall_text(const Diagnosis& d) {
  Table table({"#ms", "what"});
  for (const WaterfallBar& bar : waterfall_of(d))
    table.add_row({bar.is_total ? fmt::format("{:.3f}", bar.ms) : fmt::format("{:+.3f}", bar.ms),
                   bar.is_total ? "= " + bar.name : bar.name});
  return table.text("  ");
}

// What the engine ran, by its own names of operators.
nlohmann::json report_operators_of(const JoinedProfile& profile) {
  std::map<std::string, std::pair<int, double>> sums;
  for (const JoinedNode& node : profile.nodes) {
    auto& [nodes, ms] = sums[node.profiled.op];
    ++nodes;
    ms += node.profiled.ms;
  }
  nlohmann::json operators = nlohmann::json::object();
  for (const auto& [op, sum] : sums) operators[op] = {{"nodes", sum.first}, {"ms", sum.second}};
  return operators;
}

nlohmann::json json_of(const Sightings& sightings) { return {{"count", sightings.count}, {"first", sightings.names}}; }

// Whether a repair is for it (repair/list.cpp). Of LiteRT convolutions in dynamic range are none's, but for depthwise
// ones.
bool is_repaired(const Diagnosis& d, const Finding& finding) {
  constexpr Cause kOfOrt[] = {Cause::signed_activations,  Cause::range_behind_relu,  Cause::missing_output_pair,
                              Cause::batch_norm_unfolded, Cause::unfused_activation, Cause::qdq_around_mean,
                              Cause::double_pairs,        Cause::moved_scales,       Cause::float_weights,
                              Cause::unsigned_weights};
  constexpr Cause kOfLitert[] = {Cause::sixteen_bit_activations,
                                 Cause::unsigned_weights,
                                 Cause::slow_bytes,
                                 Cause::double_pairs,
                                 Cause::float_island,
                                 Cause::float_weights};
  const auto is_one_of = [&](std::span<const Cause> causes) {
    return std::ranges::find(causes, finding.cause) != causes.end();
  };
  // A batch norm is folded into the product before it, where there is one.
  const auto is_foldable = [&](int index) {
    const ViewNode& node = d.view.node(index);
    const int before = node.kind == Kind::batch_norm ? sight::before_pair(d.view, d.view.input(node, 0)) : -1;
    const int maker = before < 0 ? -1 : d.view.tensor(before).producer;
    return node.kind != Kind::batch_norm || (maker >= 0 && is_product(d.view.node(maker).kind));
  };
  if (finding.cause == Cause::batch_norm_unfolded && std::ranges::none_of(finding.nodes, is_foldable)) return false;
  if (d.view.format == FileFormat::onnx) return d.engine == Engine::ort && is_one_of(kOfOrt);
  if (d.engine != Engine::litert) return false;
  if (finding.cause != Cause::dynamic_range) return is_one_of(kOfLitert);
  return std::ranges::any_of(finding.nodes, [&](int node) { return d.view.node(node).kind == Kind::depthwise_conv; });
}

// As one word of a shell's.
std::string in_shell(const std::string& word) {
  const bool is_plain = std::ranges::all_of(word, [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("/._-+=,:@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (is_plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// The name of a file to write, in the folder where one works.
std::string beside(const Diagnosis& d, std::string_view ending) {
  return in_shell(std::filesystem::path(d.model).stem().string() + std::string(ending));
}

}  // namespace

NextStep next_step(const Diagnosis& d) {
  const std::string model = in_shell(d.model);
  if (d.view.dialect == Dialect::fp32)
    return {fmt::format("octavo quantize {} --calibrate PATH -o {}", model, beside(d, ".int8.onnx")),
            "Quantizes the network by the samples of PATH."};
  if (std::ranges::any_of(d.findings, [](const Finding& f) { return f.cause == Cause::zero_scale; }))
    return {fmt::format("octavo quantize FP32 --calibrate PATH -o {}", beside(d, ".again.onnx")),
            "Quantizes the network in fp32 anew, by the samples of PATH: of this file a scale is lost."};
  if (std::ranges::any_of(d.findings, [&](const Finding& f) { return is_repaired(d, f); })) {
    const bool is_onnx = d.view.format == FileFormat::onnx;
    return {
        fmt::format("octavo diagnose {} --write-fixed {}", model, beside(d, is_onnx ? ".fixed.onnx" : ".fixed.tflite")),
        fmt::format("Writes the same network as a file that {} is fast for, and checks that it answers alike.",
                    title_of(d.engine))};
  }
  return {"octavo bench " + model, "Times the file in Octavo."};
}

std::string diagnosis_text(const Diagnosis& d) {
  std::string text = fmt::format("{}  {} {}, for {}\n{}\n\n{}", d.model, d.view.format_name(), name_of(d.view.dialect),
                                 title_of(d.engine), d.verdict(), census_text(d));
  for (const std::string& unknown : d.view.unresolved) text += "  not known: " + unknown + "\n";
  if (d.view.dialect == Dialect::fp32) return text + "\nnext: " + next_step(d).command + "\n";
  text += fmt::format("\ntime of a run{}\n{}",
                      d.profile ? ", by the profile" : ", predicted for one thread (" + d.rates.source + ")",
                      waterfall_text(d));
  if (d.profile)
    text += fmt::format("  of {:.3f} ms {:.3f} ms ({:.1f} %) is of nodes that the file does not name\n",
                        d.profile->total_ms, d.profile->unmatched_ms,
                        d.profile->total_ms > 0.0 ? 100.0 * d.profile->unmatched_ms / d.profile->total_ms : 0.0);
  if (d.profile && d.profile->profiler_ms > 0.0)
    text += fmt::format("  {:.3f} ms of the profile's {:.3f} are the profiler's own, {:.1f} us a node\n",
                        d.profile->profiler_ms, d.profile->profiler_ms + d.profile->total_ms,
                        1e3 * d.profile->profiler_ms / static_cast<double>(d.profile->nodes.size()));
  if (d.profile && d.profile->threads > 1)
    text += fmt::format(
        "  the profile is of {} threads: losses are what a node takes less what it would at best on one, so they are "
        "told too small\n",
        d.profile->threads);
  if (d.findings.empty()) text += "\nnothing found\n";
  if (d.left_out > 0)
    text += fmt::format("left out: {} finding{} of {:.3f} ms, less than 2 % of a run\n", d.left_out,
                        d.left_out == 1 ? "" : "s", d.left_out_ms);
  for (std::size_t i = 0; i < d.findings.size(); ++i) {
    const Finding& f = d.findings[i];
    if (i >= kMostFindings) {
      text += fmt::format("\n{} more findings (--json)\n", d.findings.size() - kMostFindings);
      break;
    }
    const std::string cost = f.is_about_answers()
                                 ? "answers"
                                 : fmt::format("{:.3f} ms {}", f.ms(), f.measured_ms ? "measured" : "predicted");
    text +=
        fmt::format("\n{}. {}  {}, {}\n   {}\n   where: {}\n   do:    {}\n   here:  Octavo {}\n   from:  {}\n", i + 1,
                    name_of(f.cause), cost, name_of(f.sureness), f.what, f.where, f.advice, f.octavo, f.source);
  }
  return text + "\nnext: " + next_step(d).command + "\n";
}

nlohmann::json diagnosis_json(const Diagnosis& d) {
  const Census& c = d.census;
  nlohmann::json findings = nlohmann::json::array(), waterfall = nlohmann::json::array();
  for (const Finding& f : d.findings) {
    nlohmann::json nodes = nlohmann::json::array();
    for (const int node : f.nodes) nodes.push_back(d.view.node(node).name);
    findings.push_back({{"cause", name_of(f.cause)},
                        {"about", f.is_about_answers() ? "answers" : "time"},
                        {"nodes", nodes},
                        {"predicted_ms", f.predicted_ms},
                        {"measured_ms", f.measured_ms ? nlohmann::json(*f.measured_ms) : nlohmann::json()},
                        {"sure", name_of(f.sureness)},
                        {"what", f.what},
                        {"advice", f.advice},
                        {"octavo", f.octavo},
                        {"source", f.source}});
  }
  for (const WaterfallBar& bar : waterfall_of(d))
    waterfall.push_back({{"name", bar.name}, {"ms", bar.ms}, {"total", bar.is_total}});
  nlohmann::json object = {{"model", d.model},
                           {"format", d.view.format_name()},
                           {"dialect", name_of(d.view.dialect)},
                           {"engine", name_of(d.engine)},
                           {"verdict", d.verdict()},
                           {"predicted_ms", d.predicted.total()},
                           {"lost_ms", d.lost_ms()},
                           {"findings", findings},
                           {"left_out", {{"findings", d.left_out}, {"ms", d.left_out_ms}}},
                           {"waterfall", waterfall},
                           {"unknown", d.view.unresolved},
                           {"next", next_step(d).command},
                           {"census",
                            {{"exporter", c.exporter},
                             {"quantizer", c.quantizer},
                             {"nodes", c.nodes},
                             {"nodes_before", c.nodes_before},
                             {"operators", c.operators},
                             {"operators_before", c.operators_before},
                             {"quantize_nodes", c.quantize_nodes},
                             {"dequantize_nodes", c.dequantize_nodes},
                             {"weight_nodes", c.weight_nodes},
                             {"boundaries", c.boundaries},
                             {"products", c.products},
                             {"integer_products", c.integer_products},
                             {"activation_types", c.activation_types},
                             {"weight_types", c.weight_types},
                             {"per_channel_weights", c.per_channel_weights},
                             {"per_tensor_weights", c.per_tensor_weights},
                             {"symmetric_activations", c.symmetric_activations},
                             {"asymmetric_activations", c.asymmetric_activations},
                             {"island_nodes", json_of(c.island_nodes)},
                             {"zero_scales", json_of(c.zero_scales)},
                             {"denormal_scales", json_of(c.denormal_scales)},
                             {"mask_ranges", json_of(c.mask_ranges)},
                             {"uncalibrated", json_of(c.uncalibrated)},
                             {"weight_zero_points", json_of(c.weight_zero_points)},
                             {"saturated_weights", json_of(c.saturated_weights)},
                             {"wide_weights", json_of(c.wide_weights)},
                             {"float_weights", json_of(c.float_weights)},
                             {"double_pairs", json_of(c.double_pairs)},
                             {"redundant_pairs", json_of(c.redundant_pairs)},
                             {"batch_norms", json_of(c.batch_norms)},
                             {"constants_in_run", json_of(c.constants_in_run)},
                             {"mergeable_scales", c.mergeable_scales}}}};
  if (d.predicted_before) object["predicted_fp32_ms"] = d.predicted_before->total();
  if (d.profile)
    object["profile"] = {{"total_ms", d.profile->total_ms},
                         {"unmatched_ms", d.profile->unmatched_ms},
                         {"integer_ms", d.profile->integer_ms},
                         {"float_products_ms", d.profile->float_products_ms},
                         {"conversions_ms", d.profile->conversions_ms},
                         {"others_ms", d.profile->others_ms},
                         {"between_ms", d.profile->between_ms},
                         {"profiler_ms", d.profile->profiler_ms},
                         {"operators", report_operators_of(*d.profile)}};
  return object;
}

}  // namespace octavo::diagnose
