// What follows the sums of quantized_attention in its kernels, on processors and devices. Part of kernels/.
#ifndef OCTAVO_KERNELS_INTEGER_ATTENTION_HEAD_EPILOGUE_H_
#define OCTAVO_KERNELS_INTEGER_ATTENTION_HEAD_EPILOGUE_H_

#include <optional>

#include "kernels/epilogue/stage_reader.h"
#include "ops/quantized_attention/quantized_attention.h"

namespace octavo {

// A scale and shift, then nothing (f32), or a rounding to bytes.
struct HeadEpilogue {
  const Affine* affine = nullptr;
  const Round* round = nullptr;  // of bytes

  static std::optional<HeadEpilogue> of(const Epilogue& epilogue) {
    HeadEpilogue found;
    StageReader in(epilogue, kAttentionOperands);
    found.affine = in.take<Affine>();
    found.round = in.take<Round>();
    const bool is_rounded = found.round != nullptr && found.round->before == 0 && is_8bit(epilogue.to);
    const bool is_real = found.round == nullptr && epilogue.to == DType::f32;
    return found.affine != nullptr && (is_rounded || is_real) && in.is_done() ? std::optional(found) : std::nullopt;
  }
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_INTEGER_ATTENTION_HEAD_EPILOGUE_H_
