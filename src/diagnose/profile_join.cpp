// Nodes of a profile, found again in the file: names that an engine changed are resolved. Part of diagnose/.
#include <fmt/format.h>

#include <algorithm>

#include "diagnose/profile.h"

namespace octavo::diagnose {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

enum class Share : std::uint8_t { integer, float_product, conversion, other };

Share share_of(const ProfiledNode& node, Engine engine) {
  const std::string_view op = node.op;
  if (engine == Engine::openvino) {
    if (has(op, "Reorder") || has(op, "FakeQuantize") || has(op, "Convert")) return Share::conversion;
    if (has(op, "_I8") || has(op, "_U8")) return Share::integer;
    return has(op, "Convolution") || has(op, "FullyConnected") || has(op, "MatMul") ? Share::float_product
                                                                                    : Share::other;
  }
  if (engine == Engine::torch) {
    if (has(op, "quantize")) return Share::conversion;
    return has(op, "conv") || has(op, "linear") || has(op, "mm") ? Share::float_product : Share::other;
  }
  constexpr std::string_view kConversions[] = {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear",
                                               "ReorderInput",   "ReorderOutput",    "Cast"};
  constexpr std::string_view kProducts[] = {"Conv",        "FusedConv", "ConvTranspose", "MatMul",
                                            "FusedMatMul", "Gemm",      "FusedGemm"};
  if (std::ranges::find(kConversions, op) != std::end(kConversions)) return Share::conversion;
  if (op == "Transpose" && !has(node.name, "ranspose_") && node.name != "Transpose") return Share::other;
  if (op == "Transpose") return Share::conversion;  // put in to change layouts
  if (std::ranges::find(kProducts, op) != std::end(kProducts)) return Share::float_product;
  const bool is_integer = op.starts_with("QLinear") || op == "QGemm" || has(op, "Integer") ||
                          has(op, "DynamicQuantize") || op.starts_with("Nhwc");
  return is_integer ? Share::integer : Share::other;
}

bool is_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Without what an engine puts behind a name: "_nchwc", "_token_12", "_bias_dq". Empty where there is nothing of that.
std::string shortened(const std::string& name) {
  constexpr std::string_view kEndings[] = {"_nchwc", "/WithoutBiases",    "_bias_dq",       "_quant",
                                           "_fused", "_DequantizeLinear", "_QuantizeLinear"};
  for (const std::string_view ending : kEndings) {
    if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  }
  constexpr std::string_view kToken = "_token_";
  const std::size_t token = name.rfind(kToken);
  if (token != std::string::npos && is_digits(std::string_view(name).substr(token + kToken.size())))
    return name.substr(0, token);
  const std::size_t line = name.rfind('_');
  return line != std::string::npos && is_digits(std::string_view(name).substr(line + 1)) ? name.substr(0, line) : "";
}

class Names {
 public:
  explicit Names(const FileView& view) : view_(view) {
    for (std::size_t i = 0; i < view.nodes.size(); ++i) {
      by_name_.emplace(view.nodes[i].name, static_cast<int>(i));
      // "aten::conv2d" of "aten.conv2d.default"
      const std::string& op = view.nodes[i].op;
      const std::size_t dot = op.find('.');
      if (view.format == FileFormat::zip && dot != std::string::npos)
        by_op_.emplace(op.substr(0, dot) + "::" + op.substr(dot + 1, op.rfind('.') - dot - 1), static_cast<int>(i));
    }
  }

  int find(const ProfiledNode& node, Engine engine) const {
    if (engine == Engine::torch) {
      const auto found = by_op_.find(node.op);
      return found == by_op_.end() ? -1 : found->second;
    }
    for (std::string name = node.name; !name.empty(); name = shortened(name)) {
      if (const auto found = by_name_.find(name); found != by_name_.end()) return found->second;
      const int tensor = view_.find_tensor(name);  // fused nodes are named after results
      if (tensor >= 0 && view_.tensor(tensor).producer >= 0) return view_.tensor(tensor).producer;
    }
    return -1;
  }

 private:
  const FileView& view_;
  std::map<std::string, int> by_name_, by_op_;
};

}  // namespace

Result<JoinedProfile> join(const Profile& profile, const FileView& view, const std::string& path) {
  const Names names(view);
  JoinedProfile joined{.engine = profile.engine};
  double foreign_ms = 0.0;  // of what is no conversion that the engine put in
  for (const ProfiledNode& node : profile.nodes) {
    const int found = names.find(node, profile.engine);
    // Operators inside of others are in their time already.
    if (profile.engine == Engine::torch && found < 0) continue;
    const Share share = share_of(node, profile.engine);
    joined.nodes.push_back({node, found});
    joined.total_ms += node.ms;
    double& sum = share == Share::integer         ? joined.integer_ms
                  : share == Share::float_product ? joined.float_products_ms
                  : share == Share::conversion    ? joined.conversions_ms
                                                  : joined.others_ms;
    sum += node.ms;
    if (found >= 0) joined.ms_of_node[found] += node.ms;
    else joined.unmatched_ms += node.ms;
    if (found < 0 && share != Share::conversion) foreign_ms += node.ms;
  }
  if (joined.nodes.empty() || foreign_ms > 0.5 * joined.total_ms)
    return Error{.kind = ErrorKind::usage,
                 .where = path,
                 .found = joined.nodes.empty()
                              ? "no operator that the file has"
                              : fmt::format("nodes that the file does not have, for {:.0f} % of the time (first '{}')",
                                            100.0 * foreign_ms / joined.total_ms, profile.nodes[0].name),
                 .expected = "a profile of " + view.path};
  return joined;
}

}  // namespace octavo::diagnose
