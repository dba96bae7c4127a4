// A convolution, plain or transposed, before another operator. Part of lower/.
#include "lower/convolution.h"

#include "ops/conv/conv.h"
#include "ops/conv_transpose/conv_transpose.h"

namespace octavo {

Convolution convolution_before(const Graph& graph, ValueId wire) {
  const Node* node = graph.producer(wire);
  if (node == nullptr || (node->spec != &kConv && node->spec != &kConvTranspose)) return {};
  const auto* conv = node->attrs.get_if<ConvAttrs>();
  const Layout layout = conv != nullptr ? conv->layout : node->attrs.as<ConvTransposeAttrs>().layout;
  return {node, layout == Layout::channels_first ? 1 : graph.fact(wire).shape.rank() - 1};
}

}  // namespace octavo
