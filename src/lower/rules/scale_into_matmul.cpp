// Per-channel factors after a matrix product. Part of lower/.
#include "lower/rules/scale_into_matmul.h"

#include <algorithm>
#include <optional>

#include "lower/quantized_value.h"
#include "lower/tensor_edit.h"
#include "ops/binary/binary.h"
#include "ops/matmul/matmul.h"
#include "ops/transpose/transpose.h"

namespace octavo {
namespace {

const Node* matmul_scale_binary_of(const Graph& graph, ValueId wire, BinaryKind kind) {
  const Node* node = graph.producer_if(wire, kBinary);
  return node != nullptr && node->attrs.as<BinaryAttrs>().kind == kind ? node : nullptr;
}

// transpose(matmul + bias), each step read by the next one only; transpose and addition may be left out.
struct MatmulScaleChain {
  const Node* transpose = nullptr;
  const Node* add = nullptr;
  ValueId bias;
  const Node* matmul = nullptr;
};
std::optional<MatmulScaleChain> matmul_scale_chain_of(const Graph& graph, ValueId wire) {
  MatmulScaleChain chain;
  if (!graph.has_one_reader(wire)) return std::nullopt;
  chain.transpose = graph.producer_if(wire, kTranspose);
  if (chain.transpose != nullptr) wire = chain.transpose->inputs[0];
  chain.add = matmul_scale_binary_of(graph, wire, BinaryKind::add);
  if (chain.add != nullptr) {
    const std::size_t side = graph.fact(chain.add->inputs[0]).is_constant() ? 0 : 1;
    chain.bias = chain.add->inputs[side];
    if (!graph.has_one_reader(wire) || graph.fact(chain.bias).shape.rank() != 1 ||
        graph.fact(chain.add->inputs[1 - side]).shape != graph.fact(wire).shape)
      return std::nullopt;
    wire = chain.add->inputs[1 - side];
  }
  chain.matmul = graph.producer_if(wire, kMatmul);
  if (chain.matmul == nullptr || !graph.has_one_reader(wire)) return std::nullopt;
  const Fact& w = graph.fact(chain.matmul->inputs[1]);
  const bool is_known = w.is_constant() && w.dtype == DType::f32 && w.shape.rank() == 2;
  const bool is_bias_known = chain.add == nullptr || graph.fact(chain.bias).is_constant();
  return is_known && is_bias_known ? std::optional(chain) : std::nullopt;
}

// The factors that multiply the chain's columns; nothing where they lie along another axis.
std::optional<std::vector<float>> factors(const Graph& graph, const Node& node, const MatmulScaleChain& chain,
                                          std::size_t side) {
  const OpenShape& shape = graph.fact(node.outputs[0]).shape;
  if (shape != graph.fact(node.inputs[side]).shape) return std::nullopt;
  int axis = shape.rank() - 1;
  if (chain.transpose != nullptr) {
    const auto& perm = chain.transpose->attrs.as<TransposeAttrs>().perm;
    axis = static_cast<int>(std::find(perm.begin(), perm.end(), shape.rank() - 1) - perm.begin());
  }
  return per_channel_constant(graph.fact(node.inputs[1 - side]), shape.rank(), axis, shape[axis]);
}

}  // namespace

Match scale_into_matmul(const Graph& graph, const Node& node) {
  if (!is_binary(node.attrs, BinaryKind::mul)) return std::string();
  for (std::size_t side = 0; side < 2; ++side) {
    const auto chain = matmul_scale_chain_of(graph, node.inputs[side]);
    const auto scale = chain ? factors(graph, node, *chain, side) : std::nullopt;
    if (!scale) continue;
    const auto scaled = [&](const Fact& constant) {
      return map_floats(*constant.constant, [&](std::int64_t i, float value) {
        return value * (*scale)[static_cast<std::size_t>(i) % scale->size()];
      });
    };
    const Node& matmul = *chain->matmul;
    Patch patch(graph);
    const ValueId w = patch.constant(graph.value(matmul.inputs[1]).name, scaled(graph.fact(matmul.inputs[1])));
    ValueId result = patch.add(kMatmul, matmul.attrs, {matmul.inputs[0], w}, matmul.name, matmul.origin);
    if (chain->add != nullptr) {
      const ValueId bias = patch.constant(graph.value(chain->bias).name, scaled(graph.fact(chain->bias)));
      result = patch.add(kBinary, chain->add->attrs, {result, bias}, chain->add->name, chain->add->origin);
    }
    if (chain->transpose != nullptr)
      result =
          patch.add(kTranspose, chain->transpose->attrs, {result}, chain->transpose->name, chain->transpose->origin);
    patch.replace(node.outputs[0], result);
    return patch;
  }
  return std::string();
}

}  // namespace octavo
