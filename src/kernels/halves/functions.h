// The contract of halves/, between files that are compiled for one instruction set. Part of kernels/.
#ifndef OCTAVO_KERNELS_HALVES_FUNCTIONS_H_
#define OCTAVO_KERNELS_HALVES_FUNCTIONS_H_

#include <cstddef>
#include <cstdint>

namespace octavo {

// n elements, as the reference of cast converts them.
struct HalfFunctions {
  using Convert = void (*)(const std::byte* x, std::byte* y, std::int64_t n);
  Convert f16_to_f32 = nullptr, f32_to_f16 = nullptr, bf16_to_f32 = nullptr, f32_to_bf16 = nullptr;
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_HALVES_FUNCTIONS_H_
