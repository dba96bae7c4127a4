// The transformed weights of a convolution and where each part of a block lies in them. Part of kernels/winograd/.
#ifndef OCTAVO_KERNELS_WINOGRAD_WEIGHTS_H_
#define OCTAVO_KERNELS_WINOGRAD_WEIGHTS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/memory.h"
#include "kernels/winograd/geometry.h"

namespace octavo {

// Of a block's input channels.
struct WinogradPart {
  std::int64_t first_pair = 0, pairs = 0;
  const std::byte* u = nullptr;      // s16 [position][pair][vector][lane][2]
  std::int64_t position_bytes = 0;   // of u
  std::int64_t position_stride = 0;  // bytes
};

struct TransformedWeights {
  MappedMemory memory;
  std::vector<std::vector<WinogradPart>> blocks;
};

// packed, parts: as pack_winograd leaves them, constants that last as long as what is made of them. Eight times their
// bytes: made when a model is loaded, not stored, and once for all steps of the same weights. Error: resource.
Result<std::shared_ptr<const TransformedWeights>> transformed_weights(const WinogradGeometry& geometry,
                                                                      const WinogradFunctions& functions,
                                                                      const std::byte* packed,
                                                                      std::span<const std::int32_t> parts);

}  // namespace octavo

#endif  // OCTAVO_KERNELS_WINOGRAD_WEIGHTS_H_
