// What pretended libraries share: objects of the pretended driver, and factors as tf32. Part of the tests of cuda/.
#ifndef OCTAVO_TESTS_CUDA_FAKE_FAKE_LIBRARY_H_
#define OCTAVO_TESTS_CUDA_FAKE_FAKE_LIBRARY_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "cuda/fake/fake_cuda.h"

namespace octavo::testing::fake {

inline constexpr std::size_t kWorkspaceBytes = 1000;

template <class Object>
int make(void** handle) {
  if (const int code = called_with_context()) return code;
  *handle = give(new Object);
  return 0;
}

template <class Object>
int destroy(void* handle) {
  check_context();
  if (take_back(handle)) delete static_cast<Object*>(handle);
  return 0;
}

// The object behind a handle, which has to be there.
template <class Object>
Object of(const void* handle) {
  return is_given(handle) ? *static_cast<const Object*>(handle) : Object{};
}

inline const char* text_of(int code) { return code == kFailed ? "a pretended failure" : "an error"; }

// To the nearest of 11 bits.
inline float tf32(float value) {
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) + 0x1000) & ~0x1fffu);
}

// A library's first call makes what it needs, which no graph can record.
struct Library {
  bool is_warm = false;
};
inline void note_call(void* library) {
  if (!is_given(library)) return;
  auto& own = *static_cast<Library*>(library);
  if (is_recording() && !own.is_warm) ++fake_cuda()->wrong;
  own.is_warm = true;
}

// What it keeps there meanwhile.
inline void use_workspace(void* memory, std::size_t bytes) {
  if (bytes != kWorkspaceBytes) ++fake_cuda()->wrong;
  else std::memset(memory, 0x5a, bytes);
}

}  // namespace octavo::testing::fake

#endif  // OCTAVO_TESTS_CUDA_FAKE_FAKE_LIBRARY_H_
