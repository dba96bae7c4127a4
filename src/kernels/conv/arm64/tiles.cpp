// Finds the compiled tile of a configuration. Part of kernels/conv/.
#include "kernels/conv/arm64_tiles.h"

namespace octavo {
namespace {

const CompiledTiles* tiles_of(const TileConfig& config) {
  if (config.kind == TileKind::sums) return &kTilesSums;
  if (config.kind == TileKind::products) return &kTilesNeonWords;
  switch (config.target.step) {
    case MacStep::neon_bytes: return &kTilesNeonBytes;
    case MacStep::neon_pairs: return &kTilesNeonPairs;
    case MacStep::neon_dot: return &kTilesDotprod;
    case MacStep::neon_dot_ahead: return &kTilesDotprodAhead;
    case MacStep::neon_mmla: return &kTilesI8mm;
    default: return nullptr;
  }
}

}  // namespace

Result<Tile> tile_of(const TileConfig& config) {
  const CompiledTiles* tiles = tiles_of(config);
  const bool is_there = tiles != nullptr && config.pixels >= 1 && config.pixels <= CompiledTiles::kMostPixels &&
                        config.vectors >= 1 && config.vectors <= CompiledTiles::kMostVectors;
  TileFunction* const function = is_there ? tiles->functions[config.pixels - 1][config.vectors - 1] : nullptr;
  if (function == nullptr)
    return Error{.kind = ErrorKind::internal,
                 .where = "convolution tile",
                 .found = "a tile that was not compiled",
                 .expected = "one of aarch64"};
  auto owned = std::make_shared<TileConfig>(config);
  if (!is_plain(config)) owned->plain = PlainForm::none;
  owned->finish = finish_of(config);
  const TileConfig* const pointer = owned.get();
  return Tile{function, pointer, std::move(owned)};
}

}  // namespace octavo
