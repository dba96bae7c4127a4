// Weights of a Winograd convolution in the order in which they are transformed. Part of kernels/winograd/.
#include <algorithm>

#include "kernels/conv/conv_step.h"
#include "kernels/winograd/winograd_step.h"
#include "ops/quantized_conv/quantized_conv.h"

namespace octavo {
namespace {

Tensor pack_winograd_weights(const WinogradGeometry& g, const Tensor& w) {
  Tensor packed(DType::s8, Shape{g.weight_bytes()});
  const std::int64_t vector_bytes = std::int64_t{18} * g.lanes;
  for (std::int64_t oc = 0; oc < g.out_channels; ++oc) {
    const std::int64_t vector = oc / g.lanes, block = vector / g.block_vectors;
    const std::int8_t* from = w.as<std::int8_t>() + oc * 9 * g.channels;
    std::int8_t* to =
        packed.as<std::int8_t>() + g.first_weight(block) + vector % g.block_vectors * vector_bytes + oc % g.lanes * 2;
    for (std::int64_t tap = 0; tap < 9; ++tap) {
      for (std::int64_t c = 0; c < g.channels; ++c) {
        to[c / 2 * g.vectors_of(block) * vector_bytes + tap * 2 * g.lanes + c % 2] = from[tap * g.channels + c];
      }
    }
  }
  return packed;
}

template <class T>
Tensor pack_winograd_lanes(const WinogradGeometry& g, const Tensor& values) {
  Tensor packed(dtype_of<T>, Shape{g.vectors * g.lanes});
  std::copy_n(values.as<T>(), g.out_channels, packed.as<T>());
  return packed;
}

}  // namespace

std::vector<Tensor> pack_winograd(const OpCall& call, const WinogradTarget& target) {
  const auto& attrs = call.attrs->as<QuantizedConvAttrs>();
  const auto constant = [&](int input) -> const Tensor& {
    return *call.inputs[static_cast<std::size_t>(input)]->constant;
  };
  const Tensor& w = constant(kConvW);
  const WinogradGeometry g =
      winograd_geometry(attrs, call.inputs[kConvX]->shape, w.shape(), call.outputs[0].shape, target);
  std::vector<Tensor> packed{pack_winograd_weights(g, w), pack_winograd_lanes<std::int32_t>(g, constant(kConvBias))};
  const EpilogueParts epilogue = *EpilogueParts::of(attrs.epilogue, kConvOperands);
  if (epilogue.multiplier >= 0) packed.push_back(pack_winograd_lanes<float>(g, constant(epilogue.multiplier)));
  if (epilogue.table >= 0) packed.push_back(constant(epilogue.table));
  Tensor parts(DType::s32, Shape{g.blocks()});
  for (std::int64_t block = 0; block < g.blocks(); ++block)
    parts.as<std::int32_t>()[block] = static_cast<std::int32_t>(parts_needed(g, w, block));
  packed.push_back(std::move(parts));
  return packed;
}

}  // namespace octavo
