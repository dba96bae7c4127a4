// Threads that take the next index. Part of quantize/.
#include "quantize/parallel.h"

#include <atomic>
#include <future>
#include <mutex>
#include <vector>

namespace octavo {

Status for_each_index(std::int64_t begin, std::int64_t end, int workers,
                      const std::function<Status(int worker, std::int64_t index)>& work) {
  std::atomic<std::int64_t> next{begin};
  std::mutex mutex;
  std::int64_t failed = end;
  Status first_error = ok_status();
  const auto take = [&](int worker) {
    for (std::int64_t index = next++; index < end; index = next++) {
      Status done = work(worker, index);
      if (done) continue;
      next = end;
      const std::lock_guard lock(mutex);
      if (index < failed) failed = index, first_error = std::move(done);
    }
  };
  std::vector<std::future<void>> others;
  for (int worker = 1; worker < workers && begin + worker < end; ++worker)
    others.push_back(std::async(std::launch::async, take, worker));
  take(0);
  for (auto& other : others) other.get();
  return first_error;
}

}  // namespace octavo
