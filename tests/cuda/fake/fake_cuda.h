// A CUDA driver that needs no device: memory is the host's, kernels run by tests/support/cuda_emulator. It counts calls
// and what it has given out, and can fail at any call. Built as libcuda.so.1; pretended libraries lie beside it, whose
// calls count among its own.
#ifndef OCTAVO_TESTS_CUDA_FAKE_FAKE_CUDA_H_
#define OCTAVO_TESTS_CUDA_FAKE_FAKE_CUDA_H_

#include <cstddef>
#include <functional>

extern "C" {
struct FakeCuda {
  int version = 13000;
  int devices = 1;
  int major = 9;
  bool has_kernels = true;  // the image holds kernels for it
  bool is_lost = false;     // a kernel was stopped: all that is asked of the device fails
  int opened = -1;          // the device that was opened last
  int memory_of = 0;        // the device that it says memory to be of
  std::size_t free_bytes = std::size_t{1} << 32;
  void (*default_stream)() = nullptr;  // work that its default stream has, done when that is waited for
  int fail_at = -1;                    // the number of the call that fails, from 0 on
  int calls = 0;                       // that could have failed
  int live = 0;                        // what was given out and not taken back
  int current = 0;                     // contexts pushed and not popped
  int wrong = 0;                       // calls without a current context, of released handles, or of unknown kernels
  bool has_algorithms = true;          // that libraries propose
};
FakeCuda* fake_cuda();
}

namespace octavo::testing::fake {

inline constexpr int kInvalid = 1, kFailed = 719;

// 0, or kFailed where it is this call that fails.
int called_with_context();
// Of what gives something back, which cannot fail.
void check_context();
void count_given(const void* object);
// Of what was given and not taken back.
bool take_back(const void* object);
bool is_given(const void* object);
bool is_recording();
// Now, or whenever the graph is run.
int enqueue(std::function<void()> work);

template <class T>
T* give(T* object) {
  count_given(object);
  return object;
}

}  // namespace octavo::testing::fake

#endif  // OCTAVO_TESTS_CUDA_FAKE_FAKE_CUDA_H_
