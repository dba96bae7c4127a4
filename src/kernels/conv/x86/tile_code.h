// The generated code of a register tile. Part of kernels/conv/.
#ifndef OCTAVO_KERNELS_CONV_X86_TILE_CODE_H_
#define OCTAVO_KERNELS_CONV_X86_TILE_CODE_H_

#include <memory>

#include "kernels/conv/tile.h"
#include "kernels/jit/code.h"

namespace octavo {

// A TileFunction for a configuration, emitted on first use in the process.
Result<std::shared_ptr<const Code>> tile_code(const TileConfig& config);

}  // namespace octavo

#endif  // OCTAVO_KERNELS_CONV_X86_TILE_CODE_H_
