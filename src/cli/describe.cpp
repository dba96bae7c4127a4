// Descriptions of compiled models. Part of cli/.
#include "cli/describe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace octavo::cli {

std::string summary_of(const v1::ModelInfo& info) {
  return fmt::format("{}  {}, {} nodes, for {} ({}), {:.1f} MB of constants", info.source, info.dialect,
                     info.source_nodes, info.machine, info.instructions,
                     static_cast<double>(info.constant_bytes) * 1e-6);
}

std::string ms_text(double ms) {
  const int digits = ms > 0.0 ? std::clamp(2 - static_cast<int>(std::floor(std::log10(ms))), 2, 6) : 2;
  return fmt::format("{:.{}f} ms", ms, digits);
}

std::string describe_tensor(const v1::TensorInfo& tensor) {
  std::string text = fmt::format("{}[{}]", name_of(tensor.dtype), fmt::join(tensor.shape, "x"));
  if (tensor.scale.size() == 1 && tensor.zero_point.size() == 1)
    text += fmt::format(", scale {}, zero point {}", tensor.scale[0], tensor.zero_point[0]);
  return text;
}

std::string describe_sizes(const v1::ModelInfo& info) {
  std::string text;
  for (const v1::SizeInfo& size : info.sizes)
    text += fmt::format("  size    {}  {} to {}{}\n", size.name, size.lowest, size.highest,
                        size.step > 1 ? fmt::format(", a multiple of {}", size.step) : "");
  const auto add = [&](std::string_view what, const std::vector<v1::OpenTensorInfo>& tensors) {
    for (const v1::OpenTensorInfo& tensor : tensors)
      text += fmt::format("  {}  {}  {}[{}]\n", what, tensor.name, name_of(tensor.dtype), fmt::join(tensor.shape, "x"));
  };
  add("input ", info.open_inputs);
  add("output", info.open_outputs);
  if (text.empty() || info.sizes.empty()) return text;
  return "open: runs at any of these sizes\n" + text;
}

std::string describe_parts(const v1::ModelInfo& info) {
  std::string text;
  for (const v1::PartInfo& part : info.parts) {
    text += fmt::format("  {:{}}{:<8} {}", "", 2 * part.depth, part.kind, part.name);
    if (part.network && *part.network < info.networks.size()) {
      const v1::ModelInfo& network = info.networks[*part.network];
      if (network.plans.empty()) text += ": planned when its sizes come";
      else
        text += fmt::format(": {} {} kernels, {:.3f} GMAC", name_of(network.plans[0].precision), network.plans[0].steps,
                            static_cast<double>(network.plans[0].macs) * 1e-9);
    }
    text += "\n";
  }
  return text.empty() ? text : "parts, in the order of a run\n" + text;
}

std::string describe_plan(const v1::PlanInfo& plan) {
  std::string text =
      fmt::format("{} batch {}: {} kernels, {:.3f} GMAC, {:.1f} MB arena\n", name_of(plan.precision), plan.batch,
                  plan.steps, static_cast<double>(plan.macs) * 1e-9, static_cast<double>(plan.arena_bytes) * 1e-6);
  if (plan.steps_by_image > 0)
    text += fmt::format("  by image   the first {} kernels, {:.1f} MB per thread\n", plan.steps_by_image,
                        static_cast<double>(plan.image_bytes) * 1e-6);
  for (const v1::TensorInfo& input : plan.inputs)
    text += fmt::format("  input   {}  {}\n", input.name, describe_tensor(input));
  for (const v1::TensorInfo& output : plan.outputs)
    text += fmt::format("  output  {}  {}\n", output.name, describe_tensor(output));
  for (const std::string& note : plan.notes) text += fmt::format("  note    {}\n", note);
  for (const std::string& island : plan.islands) text += fmt::format("  float   {}\n", island);
  return text;
}

namespace {

nlohmann::json tensors_json(const std::vector<v1::TensorInfo>& tensors) {
  nlohmann::json list = nlohmann::json::array();
  for (const v1::TensorInfo& tensor : tensors) {
    list.push_back({{"name", tensor.name},
                    {"dtype", name_of(tensor.dtype)},
                    {"shape", tensor.shape},
                    {"scale", tensor.scale},
                    {"zero_point", tensor.zero_point}});
  }
  return list;
}

nlohmann::json open_json(const std::vector<v1::OpenTensorInfo>& tensors) {
  nlohmann::json list = nlohmann::json::array();
  for (const v1::OpenTensorInfo& tensor : tensors)
    list.push_back({{"name", tensor.name}, {"dtype", name_of(tensor.dtype)}, {"shape", tensor.shape}});
  return list;
}

}  // namespace

nlohmann::json info_json(const v1::ModelInfo& info) {
  nlohmann::json plans = nlohmann::json::array();
  for (const v1::PlanInfo& plan : info.plans) {
    plans.push_back({{"precision", name_of(plan.precision)},
                     {"batch", plan.batch},
                     {"inputs", tensors_json(plan.inputs)},
                     {"outputs", tensors_json(plan.outputs)},
                     {"steps", plan.steps},
                     {"macs", plan.macs},
                     {"arena_bytes", plan.arena_bytes},
                     {"steps_by_image", plan.steps_by_image},
                     {"image_bytes", plan.image_bytes},
                     {"kernels", plan.kernels},
                     {"islands", plan.islands},
                     {"notes", plan.notes}});
  }
  nlohmann::json sizes = nlohmann::json::array();
  for (const v1::SizeInfo& size : info.sizes)
    sizes.push_back({{"name", size.name}, {"lowest", size.lowest}, {"highest", size.highest}, {"step", size.step}});
  nlohmann::json parts = nlohmann::json::array(), networks = nlohmann::json::array();
  for (const v1::PartInfo& part : info.parts)
    parts.push_back({{"kind", part.kind},
                     {"name", part.name},
                     {"depth", part.depth},
                     {"network", part.network ? nlohmann::json(*part.network) : nlohmann::json()}});
  for (const v1::ModelInfo& network : info.networks) networks.push_back(info_json(network));
  return {{"source", info.source},
          {"dialect", info.dialect},
          {"pictures", info.pictures},
          {"machine", info.machine},
          {"instructions", info.instructions},
          {"source_nodes", info.source_nodes},
          {"constant_bytes", info.constant_bytes},
          {"sizes", sizes},
          {"open_inputs", open_json(info.open_inputs)},
          {"open_outputs", open_json(info.open_outputs)},
          {"parts", parts},
          {"networks", networks},
          {"plans", plans}};
}

}  // namespace octavo::cli
