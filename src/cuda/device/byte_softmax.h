// quantized_softmax: a block has a line. Part of cuda/device/.
//
// Shared memory: [kSoftmaxThreads] largest bytes of threads as s32, then the line's exponentials.
#ifndef OCTAVO_CUDA_DEVICE_BYTE_SOFTMAX_H_
#define OCTAVO_CUDA_DEVICE_BYTE_SOFTMAX_H_

#include "cuda/arguments.h"
#include "cuda/device/platform.h"
#include "kernels/lines/byte_softmax.h"

namespace octavo::cuda {

inline constexpr int kSoftmaxThreads = 128;

template <class Block>
OCTAVO_DEVICE void byte_softmax(Block& block, const ByteSoftmaxArgs& p) {
  if (block.x() >= p.lines) return;
  auto* most = reinterpret_cast<std::int32_t*>(block.shared());
  auto* line = reinterpret_cast<float*>(block.shared()) + kSoftmaxThreads;
  const std::uint8_t flip = p.is_signed != 0 ? 0x80 : 0;
  const std::uint8_t* x = p.x + block.x() * p.n;
  block.each([&](int t) {
    std::int32_t own = 0;
    for (std::int64_t i = t; i < p.n; i += kSoftmaxThreads) own = Scalar::max_s32(x[i] ^ flip, own);
    most[t] = own;
  });
  block.sync();
  block.each([&](int t) {
    std::int32_t largest = 0;
    for (int i = 0; i < kSoftmaxThreads; ++i) largest = Scalar::max_s32(most[i], largest);
    for (std::int64_t i = t; i < p.n; i += kSoftmaxThreads) line[i] = p.exponentials[255 - largest + (x[i] ^ flip)];
  });
  block.sync();
  // One after the other, as the formula says.
  auto* total = reinterpret_cast<float*>(most);
  block.each([&](int t) {
    if (t != 0) return;
    float sum = 0.0f;
    for (std::int64_t i = 0; i < p.n; ++i) sum += line[i];
    *total = sum;
  });
  block.sync();
  block.each([&](int t) {
    const float sum = *total;
    for (std::int64_t i = t; i < p.n; i += kSoftmaxThreads) {
      const std::int32_t share = p.is_onnx != 0
                                     ? onnx_share<Scalar>(line[i], p.inverse, sum, p.round)
                                     : tflite_share<Scalar>(line[i], tflite_factor<Scalar>(sum, p.y_scale), p.round);
      p.y[block.x() * p.n + i] = static_cast<std::uint8_t>(share);
    }
  });
}

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_BYTE_SOFTMAX_H_
