// Weights transformed once, block by block. Part of kernels/winograd/.
#include "kernels/winograd/weights.h"

#include <compare>

#include "kernels/shared_cache.h"

namespace octavo {
namespace {

// Where the weights are, and all of a geometry that says how they lie.
struct WeightsKey {
  const WinogradFunctions* functions;
  const std::byte* packed;
  const std::int32_t* parts;
  std::int64_t pairs, vectors;
  int lanes, block_vectors;
  auto operator<=>(const WeightsKey&) const = default;
};

Result<std::shared_ptr<const TransformedWeights>> transform(const WinogradGeometry& g,
                                                            const WinogradFunctions& functions, const std::byte* packed,
                                                            std::span<const std::int32_t> parts) {
  const auto result = std::make_shared<TransformedWeights>();
  TransformedWeights& made = *result;
  std::int64_t bytes = 0;
  for (std::int64_t block = 0; block < g.blocks(); ++block) {
    const std::int64_t count = parts[static_cast<std::size_t>(block)];
    auto& of_block = made.blocks.emplace_back();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t first = g.pairs * i / count, pairs = g.pairs * (i + 1) / count - first;
      const std::int64_t position_bytes = pairs * g.vectors_of(block) * g.lanes * 4, stride = odd_lines(position_bytes);
      of_block.push_back({first, pairs, nullptr, position_bytes, stride});
      bytes += kWinogradPositions * stride;
    }
  }
  auto memory = map_zeros(static_cast<std::uint64_t>(bytes));
  if (!memory) return memory.errors();
  made.memory = std::move(*memory);
  std::byte* u = made.memory.get();
  const auto* w = reinterpret_cast<const std::int8_t*>(packed);
  for (auto& of_block : made.blocks) {
    for (WinogradPart& part : of_block) {
      const std::int64_t vectors = part.position_bytes / (g.lanes * 4);
      functions.weights({.w = w,
                         .vectors = vectors,
                         .u = reinterpret_cast<std::int16_t*>(u),
                         .position_stride = part.position_stride / 2});
      part.u = u;
      u += kWinogradPositions * part.position_stride;
      w += vectors * 18 * g.lanes;
    }
  }
  return std::shared_ptr<const TransformedWeights>(result);
}

}  // namespace

Result<std::shared_ptr<const TransformedWeights>> transformed_weights(const WinogradGeometry& g,
                                                                      const WinogradFunctions& functions,
                                                                      const std::byte* packed,
                                                                      std::span<const std::int32_t> parts) {
  static SharedCache<WeightsKey, TransformedWeights> cache;
  return cache.find({&functions, packed, parts.data(), g.pairs, g.vectors, g.lanes, g.block_vectors},
                    [&](const WeightsKey&) { return transform(g, functions, packed, parts); });
}

}  // namespace octavo
