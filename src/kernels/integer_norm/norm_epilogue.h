// What follows the normalised values of quantized_layer_norm in its kernels, on processors and devices. Part of
// kernels/.
#ifndef OCTAVO_KERNELS_INTEGER_NORM_NORM_EPILOGUE_H_
#define OCTAVO_KERNELS_INTEGER_NORM_NORM_EPILOGUE_H_

#include <cstddef>
#include <optional>

#include "kernels/epilogue/stage_reader.h"
#include "ops/quantized_layer_norm/quantized_layer_norm.h"

namespace octavo {

// Scale and shift, then nothing (f32), or round and perhaps a lookup. Inputs of the operator, -1 where there is none.
struct NormEpilogue {
  const Round* round = nullptr;
  int factor = -1, table = -1;

  static std::optional<NormEpilogue> of(const Epilogue& epilogue) {
    NormEpilogue found;
    StageReader in(epilogue, kLayerNormOperands);
    if (in.take<ScaleAndShift>(found.factor) == nullptr) return std::nullopt;
    found.round = in.take<Round>();
    in.take<Lookup>(found.table);
    if (found.round != nullptr ? found.round->before != 0 : epilogue.to != DType::f32) return std::nullopt;
    return in.is_done() ? std::optional(found) : std::nullopt;
  }
  std::size_t factor_input() const { return static_cast<std::size_t>(factor); }
  std::size_t shift_input() const { return factor_input() + 1; }
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_INTEGER_NORM_NORM_EPILOGUE_H_
