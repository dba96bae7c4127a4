// wgmma on devices that have it (sm_90a). Part of cuda/device/.
#ifndef OCTAVO_CUDA_DEVICE_GROUP_MMA_H_
#define OCTAVO_CUDA_DEVICE_GROUP_MMA_H_

#include "cuda/device/mma.h"

namespace octavo::cuda {

// Rows of 64 bytes, eight of them 512 bytes after the last eight, swizzled by 64 bytes: PTX ISA, "matrix descriptor".
__device__ __forceinline__ std::uint64_t descriptor_of(const std::byte* first) {
  constexpr std::uint64_t kEightRows = 512 >> 4, kSwizzle64 = 2;
  const auto address = static_cast<std::uint64_t>(__cvta_generic_to_shared(first));
  return (address & 0x3ffff) >> 4 | std::uint64_t{1} << 16 | kEightRows << 32 | kSwizzle64 << 62;
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
// Both halves of 64 bytes in one statement: what is between two would be in the way of registers that both add to.
inline constexpr std::uint64_t kSecond = kMmaBytes >> 4;

__device__ __forceinline__ void group_mma(std::int32_t (&s)[8][4], std::uint64_t a, std::uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k32.s32.u8.s8 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, 1;\n"
      "wgmma.mma_async.sync.aligned.m64n64k32.s32.u8.s8 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %34, %35, 1;"
      : "+r"(s[0][0]), "+r"(s[0][1]), "+r"(s[0][2]), "+r"(s[0][3]), "+r"(s[1][0]), "+r"(s[1][1]), "+r"(s[1][2]),
        "+r"(s[1][3]), "+r"(s[2][0]), "+r"(s[2][1]), "+r"(s[2][2]), "+r"(s[2][3]), "+r"(s[3][0]), "+r"(s[3][1]),
        "+r"(s[3][2]), "+r"(s[3][3]), "+r"(s[4][0]), "+r"(s[4][1]), "+r"(s[4][2]), "+r"(s[4][3]), "+r"(s[5][0]),
        "+r"(s[5][1]), "+r"(s[5][2]), "+r"(s[5][3]), "+r"(s[6][0]), "+r"(s[6][1]), "+r"(s[6][2]), "+r"(s[6][3]),
        "+r"(s[7][0]), "+r"(s[7][1]), "+r"(s[7][2]), "+r"(s[7][3])
      : "l"(a), "l"(b), "l"(a + kSecond), "l"(b + kSecond));
}
__device__ __forceinline__ void group_mma(std::int32_t (&s)[16][4], std::uint64_t a, std::uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k32.s32.u8.s8 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, 1;\n"
      "wgmma.mma_async.sync.aligned.m64n128k32.s32.u8.s8 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %66, %67, 1;"
      : "+r"(s[0][0]), "+r"(s[0][1]), "+r"(s[0][2]), "+r"(s[0][3]), "+r"(s[1][0]), "+r"(s[1][1]), "+r"(s[1][2]),
        "+r"(s[1][3]), "+r"(s[2][0]), "+r"(s[2][1]), "+r"(s[2][2]), "+r"(s[2][3]), "+r"(s[3][0]), "+r"(s[3][1]),
        "+r"(s[3][2]), "+r"(s[3][3]), "+r"(s[4][0]), "+r"(s[4][1]), "+r"(s[4][2]), "+r"(s[4][3]), "+r"(s[5][0]),
        "+r"(s[5][1]), "+r"(s[5][2]), "+r"(s[5][3]), "+r"(s[6][0]), "+r"(s[6][1]), "+r"(s[6][2]), "+r"(s[6][3]),
        "+r"(s[7][0]), "+r"(s[7][1]), "+r"(s[7][2]), "+r"(s[7][3]), "+r"(s[8][0]), "+r"(s[8][1]), "+r"(s[8][2]),
        "+r"(s[8][3]), "+r"(s[9][0]), "+r"(s[9][1]), "+r"(s[9][2]), "+r"(s[9][3]), "+r"(s[10][0]), "+r"(s[10][1]),
        "+r"(s[10][2]), "+r"(s[10][3]), "+r"(s[11][0]), "+r"(s[11][1]), "+r"(s[11][2]), "+r"(s[11][3]), "+r"(s[12][0]),
        "+r"(s[12][1]), "+r"(s[12][2]), "+r"(s[12][3]), "+r"(s[13][0]), "+r"(s[13][1]), "+r"(s[13][2]), "+r"(s[13][3]),
        "+r"(s[14][0]), "+r"(s[14][1]), "+r"(s[14][2]), "+r"(s[14][3]), "+r"(s[15][0]), "+r"(s[15][1]), "+r"(s[15][2]),
        "+r"(s[15][3])
      : "l"(a), "l"(b), "l"(a + kSecond), "l"(b + kSecond));
}
#endif

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_GROUP_MMA_H_
