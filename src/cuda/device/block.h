// Block: the threads of a block as kernels see them, on a device. tests/support/cuda_block.h has the same for hosts,
// where all threads go through a phase one after the other. Part of cuda/device/.
//
// A kernel is a function of its block and its arguments, written as phases: `each` runs one for every thread, what a
// thread keeps from phase to phase is in an Each, and what a warp does as one (mma, ldmatrix) is a phase of its own.
// Only `sync` orders what threads do in shared memory.
#ifndef OCTAVO_CUDA_DEVICE_BLOCK_H_
#define OCTAVO_CUDA_DEVICE_BLOCK_H_

#include <type_traits>

#include "cuda/device/group_mma.h"
#include "cuda/device/mma.h"

namespace octavo::cuda {

extern __shared__ __align__(1024) std::byte dynamic_shared[];

struct Block {
  // Of every thread its own.
  template <class T>
  struct Each {
    T value;
    __device__ __forceinline__ T& operator[](int) { return value; }
  };

  __device__ __forceinline__ static std::int64_t x() { return blockIdx.x; }
  __device__ __forceinline__ static std::int64_t y() { return blockIdx.y; }
  __device__ __forceinline__ static std::int64_t z() { return blockIdx.z; }
  __device__ __forceinline__ static std::byte* shared() { return dynamic_shared; }

  template <class F>
  __device__ __forceinline__ static void each(const F& f) {
    f(static_cast<int>(threadIdx.x));
  }
  __device__ __forceinline__ static void sync() { __syncthreads(); }

  // Neighbouring bytes at once, both aligned to as many.
  template <std::size_t bytes>
  __device__ __forceinline__ static void copy(std::byte* to, const std::byte* from) {
    struct alignas(bytes) Unit {
      std::uint32_t words[bytes / 4];
    };
    *reinterpret_cast<Unit*>(to) = *reinterpret_cast<const Unit*>(from);
  }

  // Bytes from global to shared memory (4 or 16, aligned to as many), there once they have been waited for; kStays:
  // others will ask for them soon, so that they are worth a place in the multiprocessor's cache.
  template <int bytes, bool kStays = false>
  __device__ __forceinline__ static void copy_async(std::byte* to, const std::byte* from) {
    const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
    if constexpr (bytes == 16 && !kStays)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
    else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(address), "l"(from), "n"(bytes) : "memory");
  }
  // Ends a group of copies.
  __device__ __forceinline__ static void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
  // Until all but the last `pending` groups of a thread are there.
  template <int pending>
  __device__ __forceinline__ static void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
  }

  // ldmatrix.x4: address_of(thread) is a row of 16 bytes in shared memory; to(thread) the four words that become its
  // own. kTurned: of matrices of two-byte units, each of which is turned (mma.h).
  template <bool kTurned = false, class AddressOf, class To>
  __device__ __forceinline__ static void load_matrices(const AddressOf& address_of, const To& to) {
    const int thread = static_cast<int>(threadIdx.x);
    const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(address_of(thread)));
    const Words& words = to(thread);
    if constexpr (kTurned)
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(words.a), "=r"(words.b), "=r"(words.c), "=r"(words.d)
                   : "r"(address)
                   : "memory");
    else
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(words.a), "=r"(words.b), "=r"(words.c), "=r"(words.d)
                   : "r"(address)
                   : "memory");
  }

  // mma.m16n8k32 of u8 by B, which is s8 or u8, added to exact sums of 32 bits; operands_of(thread) are a thread's own.
  template <class B = std::int8_t, class OperandsOf>
  __device__ __forceinline__ static void multiply(const OperandsOf& operands_of) {
    const MmaOperands own = operands_of(static_cast<int>(threadIdx.x));
    if constexpr (std::is_signed_v<B>)
      asm volatile(
          "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
          "%3};"
          : "+r"(own.sums[0]), "+r"(own.sums[1]), "+r"(own.sums[2]), "+r"(own.sums[3])
          : "r"(own.a[0]), "r"(own.a[1]), "r"(own.a[2]), "r"(own.a[3]), "r"(own.b[0]), "r"(own.b[1]));
    else
      asm volatile(
          "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
          "%3};"
          : "+r"(own.sums[0]), "+r"(own.sums[1]), "+r"(own.sums[2]), "+r"(own.sums[3])
          : "r"(own.a[0]), "r"(own.a[1]), "r"(own.a[2]), "r"(own.a[3]), "r"(own.b[0]), "r"(own.b[1]));
  }

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  // What has been copied to shared memory, or written there, may be read by multiply_group after the next sync.
  __device__ __forceinline__ static void publish_copies() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  // wgmma of u8 by s8, 64 bytes of K: operands_of(thread) has the sums of a thread, and the operands of its four warps.
  // Between begin and commit; sums are there once they have been waited for.
  __device__ __forceinline__ static void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
  template <int columns, class OperandsOf>
  __device__ __forceinline__ static void multiply_group(const OperandsOf& operands_of) {
    const GroupOperands<columns> own = operands_of(static_cast<int>(threadIdx.x));
    group_mma(own.sums, descriptor_of(own.a), descriptor_of(own.b));
  }
  __device__ __forceinline__ static void commit_products() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  }
  template <int pending>
  __device__ __forceinline__ static void wait_for_products() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
  }
#endif
};

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_BLOCK_H_
