// Nodes of a profile, found again in the file: names that an engine changed are resolved. Part of diagnose/.
#include <fmt/format.h>

#include <algorithm>

#include "diagnose/profile.h"

namespace octavo::diagnose {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// What TVM's functions and XNNPACK's operators are called that multiply: "fused_nn_conv2d_add", "Convolution (NHWC,
// F32)".
bool is_product_call(std::string_view op) {
  constexpr std::string_view kWords[] = {"conv1d",
                                         "conv2d",
                                         "conv3d",
                                         "dense",
                                         "matmul",
                                         "CONV_",
                                         "Convolution",
                                         "Deconvolution",
                                         "Fully Connected",
                                         "FULLY_CONNECTED",
                                         "Batch Matrix Multiply"};
  return std::ranges::any_of(kWords, [&](std::string_view word) { return has(op, word); });
}

enum class Share : std::uint8_t { integer, float_product, conversion, other };

Share share_of(const ProfiledNode& node, Engine engine) {
  const std::string_view op = node.op;
  if (engine == Engine::openvino) {
    if (has(op, "Reorder") || has(op, "FakeQuantize") || has(op, "Convert")) return Share::conversion;
    if (has(op, "_I8") || has(op, "_U8")) return Share::integer;
    return has(op, "Convolution") || has(op, "FullyConnected") || has(op, "MatMul") ? Share::float_product
                                                                                    : Share::other;
  }
  if (engine == Engine::tvm || engine == Engine::litert) {
    if (has(op, "quantize") || has(op, "QUANTIZE") || has(op, "Convert")) return Share::conversion;
    if (has(op, "int8") || has(op, "QS8") || has(op, "QC8") || has(op, "QU8")) return Share::integer;
    return is_product_call(op) ? Share::float_product : Share::other;
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
  constexpr std::string_view kEndings[] = {"_nchwc", "/WithoutBiases",    "_bias_dq",        "_quant",
                                           "_fused", "_DequantizeLinear", "_QuantizeLinear", "/duplicated"};
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
      if (view.format == FileFormat::zip) by_op_[traced_name(view.nodes[i].op)].push_back(static_cast<int>(i));
    }
  }

  int find(const ProfiledNode& node, Engine engine) const {
    if (engine == Engine::litert) return of_tflite(node);
    if (engine == Engine::torch) {
      const auto found = by_op_.find(node.op);
      const auto call = static_cast<std::size_t>(node.call);
      return found == by_op_.end() || call >= found->second.size() ? -1 : found->second[call];
    }
    for (std::string name = node.name; !name.empty(); name = shortened(name)) {
      if (const auto found = by_name_.find(name); found != by_name_.end()) return found->second;
      const int tensor = view_.find_tensor(name);  // fused nodes are named after results
      if (tensor >= 0 && view_.tensor(tensor).producer >= 0) return view_.tensor(tensor).producer;
    }
    return -1;
  }

 private:
  // "[results]:12": the place in the graph, which older versions leave out, behind the names of results.
  int of_tflite(const ProfiledNode& node) const {
    const std::string& name = node.name;
    const std::size_t end = name.rfind(']');
    if (!name.starts_with('[') || end == std::string::npos) return -1;
    if (name.size() > end + 2 && name[end + 1] == ':' && is_digits(std::string_view(name).substr(end + 2))) {
      const auto place = static_cast<std::size_t>(std::strtoull(name.c_str() + end + 2, nullptr, 10));
      if (place < view_.nodes.size() && view_.nodes[place].op == node.op) return static_cast<int>(place);
    }
    const auto found = by_name_.find(name.substr(1, std::min(name.find_first_of(",;\t]"), end) - 1));
    return found == by_name_.end() ? -1 : found->second;
  }

  const FileView& view_;
  std::map<std::string, int> by_name_;
  std::map<std::string, std::vector<int>> by_op_;
};

// TVM's functions and what XNNPACK computes have no names of the file's.
bool is_unnamed(const ProfiledNode& node, Engine engine) {
  return engine == Engine::tvm || (engine == Engine::litert && node.op.starts_with("Delegate/"));
}

// Those: the products of a run in its order are those of the file, where there are as many; so are conversions.
std::map<std::string, int> in_order(const Profile& profile, const FileView& view) {
  const auto kind_of_call = [&](const ProfiledNode& node) {
    if (!is_unnamed(node, profile.engine)) return Kind::other;
    if (is_product_call(node.op)) return Kind::matmul;
    if (has(node.op, "dequantize")) return Kind::dequantize;
    return has(node.op, "quantize") ? Kind::quantize : Kind::other;
  };
  std::map<std::string, int> places;
  for (const Kind kind : {Kind::matmul, Kind::quantize, Kind::dequantize}) {
    std::vector<std::string> calls;
    std::vector<int> nodes;
    for (const ProfiledNode& node : profile.nodes) {
      if (kind_of_call(node) == kind) calls.push_back(node.name + '\n' + node.op);
    }
    for (std::size_t i = 0; i < view.nodes.size(); ++i) {
      if (is_product(view.nodes[i].kind) ? kind == Kind::matmul : view.nodes[i].kind == kind)
        nodes.push_back(static_cast<int>(i));
    }
    for (std::size_t i = 0; calls.size() == nodes.size() && i < calls.size(); ++i) places[calls[i]] = nodes[i];
  }
  return places;
}

// What an operator counts as: by the engine's words for it, and where these say nothing by the file's node.
Share share_in(const ProfiledNode& node, Engine engine, const FileView& view, int found) {
  if (engine == Engine::litert && found >= 0 && view.node(found).is_integer) return Share::integer;
  const Share share = share_of(node, engine);
  const Kind kind = found < 0 ? Kind::other : view.node(found).kind;
  return share == Share::other && (kind == Kind::quantize || kind == Kind::dequantize) ? Share::conversion : share;
}

}  // namespace

Result<JoinedProfile> join(const Profile& profile, const FileView& view, const std::string& path) {
  const Names names(view);
  const std::map<std::string, int> places = in_order(profile, view);
  JoinedProfile joined{.engine = profile.engine,
                       .threads = profile.threads,
                       .total_ms = profile.total_ms(),
                       .profiler_ms = profile.profiler_ms};
  joined.between_ms = std::max(joined.total_ms - profile.nodes_ms(), 0.0);
  const double between = joined.between_ms / static_cast<double>(std::max<std::size_t>(profile.nodes.size(), 1));
  double foreign_ms = 0.0;  // of what is no conversion that the engine put in
  for (const ProfiledNode& node : profile.nodes) {
    const bool has_name = !is_unnamed(node, profile.engine);
    const auto place = places.find(node.name + '\n' + node.op);
    const int found = has_name ? names.find(node, profile.engine) : place == places.end() ? -1 : place->second;
    const Share share = share_in(node, profile.engine, view, found);
    joined.nodes.push_back({node, found});
    double& sum = share == Share::integer         ? joined.integer_ms
                  : share == Share::float_product ? joined.float_products_ms
                  : share == Share::conversion    ? joined.conversions_ms
                                                  : joined.others_ms;
    sum += node.ms;
    if (found >= 0) joined.ms_of_node[found] += node.ms + between;
    else joined.unmatched_ms += node.ms;
    if (found < 0 && share != Share::conversion && (has_name || share != Share::other)) foreign_ms += node.ms;
  }
  if (joined.nodes.empty() || foreign_ms > 0.5 * profile.nodes_ms())
    return Error{.kind = ErrorKind::usage,
                 .where = path,
                 .found = joined.nodes.empty()
                              ? "no operator that the file has"
                              : fmt::format("nodes that the file does not have, for {:.0f} % of the time (first '{}')",
                                            100.0 * foreign_ms / profile.nodes_ms(), profile.nodes[0].name),
                 .expected = "a profile of " + view.path};
  return joined;
}

}  // namespace octavo::diagnose
