// Residual additions behind the reshape that a product brought. Part of lower/.
#include "lower/rules/addition_before_reshape.h"

#include "lower/quantized_value.h"
#include "ops/binary/binary.h"
#include "ops/conv/conv.h"
#include "ops/hybrid_conv/hybrid_conv.h"
#include "ops/reshape/reshape.h"

namespace octavo {

Match addition_before_reshape(const Graph& graph, const Node& node) {
  if (!is_binary(node.attrs, BinaryKind::add)) return std::string();
  for (const std::size_t side : {0u, 1u}) {
    const ValueId sum = node.inputs[side], other = node.inputs[1 - side];
    const Node* reshape = graph.producer_if(sum, kReshape);
    if (reshape == nullptr || !graph.has_one_reader(sum) || !graph.has_one_reader(reshape->inputs[0])) continue;
    const Node* product = graph.producer(reshape->inputs[0]);
    if (product == nullptr || (product->spec != &kConv && product->spec != &kHybridConv)) continue;
    const bool is_dequantized = dequantized(graph, other, Stored::bytes_or_s16).has_value();
    if (!is_dequantized || !is_same(graph.fact(other).shape, graph.fact(sum).shape)) continue;
    Patch patch(graph);
    const ReshapeAttrs inner{graph.fact(reshape->inputs[0]).shape.to_vector()};
    const ValueId moved = patch.add(kReshape, inner, {other}, node.name + "/rows", node.origin);
    const ValueId added =
        patch.add(*node.spec, node.attrs,
                  side == 0 ? std::vector{reshape->inputs[0], moved} : std::vector{moved, reshape->inputs[0]},
                  node.name, node.origin);
    patch.replace(node.outputs[0], patch.add(kReshape, reshape->attrs, {added}, reshape->name, reshape->origin));
    return patch;
  }
  return std::string();
}

}  // namespace octavo
