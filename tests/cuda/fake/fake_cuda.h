// A CUDA driver that needs no device: memory is the host's, kernels run by tests/support/cuda_emulator. It counts calls
// and what it has given out, and can fail at any call. Built as libcuda.so.1.
#ifndef OCTAVO_TESTS_CUDA_FAKE_FAKE_CUDA_H_
#define OCTAVO_TESTS_CUDA_FAKE_FAKE_CUDA_H_

#include <cstddef>

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
};
FakeCuda* fake_cuda();
}

#endif  // OCTAVO_TESTS_CUDA_FAKE_FAKE_CUDA_H_
