// Channels in blocks, as ONNX Runtime's convolutions in f32 have them: a file that it wrote after optimising for its
// machine holds weights in such an order. Part of import/.
#ifndef OCTAVO_IMPORT_ONNX_NCHWC_H_
#define OCTAVO_IMPORT_ONNX_NCHWC_H_

#include "import/onnx/node_reader.h"

namespace onnx {
class GraphProto;
}

namespace octavo::onnx_import {

// Of a graph's convolutions: how many channels are in a block. 8 or 16, by the machine that wrote the file, which does
// not say so; where the numbers of channels hold for both, it is taken to have been one like this, as ONNX Runtime
// itself does when it reads the file. 0: there are none.
struct NchwcBlock {
  std::int64_t channels = 0;
  bool is_known = false;
};
NchwcBlock nchwc_block_of(const onnx::GraphProto& graph);

// Weights [OC, C / groups, kh, kw] in the order that graphs have.
ValueId unblocked_weights(NodeReader& in, ValueId w);
// x [N, C, H, W] with zeros as further channels, until the last block is full.
ValueId filled_blocks(NodeReader& in, ValueId x);

}  // namespace octavo::onnx_import

#endif  // OCTAVO_IMPORT_ONNX_NCHWC_H_
