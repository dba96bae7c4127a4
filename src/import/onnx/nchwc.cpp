// Channels in blocks. Part of import/.
#include "import/onnx/nchwc.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "base/host.h"
#include "base/machine.h"
#include "import/onnx/proto.h"

namespace octavo::onnx_import {
namespace {

constexpr std::int64_t kSmall = 8, kLarge = 16;

// What one convolution says: its weights' channels, and whether x has its channels in blocks.
struct BlockedConv {
  std::int64_t outputs = 0, inputs = 0;  // those of a group
  bool reads_blocks = false;
};

std::vector<BlockedConv> blocked_convs(const onnx::GraphProto& graph) {
  std::map<std::string, const onnx::TensorProto*> weights;
  for (const auto& tensor : graph.initializer()) weights.emplace(tensor.name(), &tensor);
  std::set<std::string> in_blocks;
  std::vector<BlockedConv> found;
  for (const auto& node : graph.node()) {
    bool reads_blocks = false;
    for (const std::string& input : node.input()) reads_blocks = reads_blocks || in_blocks.contains(input);
    const bool is_own = node.domain() == "com.microsoft.nchwc";
    // What lies between two of its operators keeps the order.
    if (is_own ? node.op_type() != "ReorderOutput" : reads_blocks)
      in_blocks.insert(node.output().begin(), node.output().end());
    if (!is_own || node.op_type() != "Conv" || node.input_size() < 2) continue;
    const auto w = weights.find(node.input(1));
    if (w == weights.end() || w->second->dims_size() != 4) continue;
    found.push_back({w->second->dims(0), w->second->dims(1), in_blocks.contains(node.input(0))});
  }
  return found;
}

// An image of few channels is read as it is, depthwise weights have one.
bool holds_for(std::int64_t block, const BlockedConv& conv) {
  if (conv.outputs % block != 0) return false;
  if (conv.reads_blocks) return conv.inputs == 1 || conv.inputs % block == 0;
  return conv.inputs < block;
}

std::int64_t block_of_host() {
  const IsaSet isa = host_machine().isa;
  return isa.has(Isa::avx512) || isa.has(Isa::neon) ? kLarge : kSmall;
}

// Without convolutions nothing tells, and nothing depends on it.
std::int64_t block_of(const NodeReader& in) { return std::max<std::int64_t>(in.nchwc_block(), 1); }

}  // namespace

NchwcBlock nchwc_block_of(const onnx::GraphProto& graph) {
  const std::vector<BlockedConv> convs = blocked_convs(graph);
  if (convs.empty()) return {};
  const auto holds = [&](std::int64_t block) {
    return std::all_of(convs.begin(), convs.end(), [&](const BlockedConv& conv) { return holds_for(block, conv); });
  };
  const bool small = holds(kSmall), large = holds(kLarge);
  if (small == large) return {block_of_host(), false};
  return {small ? kSmall : kLarge, true};
}

ValueId unblocked_weights(NodeReader& in, ValueId w) {
  in.require_rank(w, 4, 4);
  if (in.failed()) return {};
  if (in.nchwc_block() == 0 || !in.is_constant(w))
    return in.unsupported("input 'W'", "weights in blocks that are no initializer", "an initializer of rank 4");
  const Integers shape = fixed(in.shape(w).to_vector());
  const std::int64_t block = block_of(in), outputs = shape[0], inputs = shape[1], h = shape[2], v = shape[3];
  if (outputs % block != 0)
    return in.fail("input 'W'", std::to_string(outputs) + " channels", "blocks of " + std::to_string(block));
  if (inputs % block != 0) {
    const ValueId blocks = in.reshape(w, {outputs / block, inputs, h, v, block}, "w.blocks");
    return in.reshape(transpose(in, blocks, Integers{0, 4, 1, 2, 3}, "w.in_order"), {outputs, inputs, h, v}, "w");
  }
  const ValueId blocks = in.reshape(w, {outputs / block, inputs / block, h, v, block, block}, "w.blocks");
  return in.reshape(transpose(in, blocks, Integers{0, 5, 1, 4, 2, 3}, "w.in_order"), {outputs, inputs, h, v}, "w");
}

ValueId filled_blocks(NodeReader& in, ValueId x) {
  const Dim channels = in.shape(x)[1];
  if (!channels.is_number()) return in.unsupported("input 'X'", "an open number of channels", "a number");
  const std::int64_t block = block_of(in), rest = channels.fixed() % block;
  if (rest == 0) return x;
  return pad(in, {.x = x, .begin = Integers{0}, .end = Integers{block - rest}, .axes = {1}});
}

}  // namespace octavo::onnx_import
