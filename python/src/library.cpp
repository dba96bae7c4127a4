// What the shared library of the wheel has besides Octavo: so that it needs no C++ library newer than GCC 11's.
#include <pthread.h>

#include <condition_variable>
#include <mutex>

// GCC 12 gave this function a new version (GLIBCXX_3.4.30), the only one of them that Octavo refers to.
void std::condition_variable::wait(std::unique_lock<std::mutex>& lock) {
  pthread_cond_wait(native_handle(), lock.mutex()->native_handle());
}
