// Threads that take the next index. Part of quantize/.
#include "quantize/parallel.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/parallel.h"

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
  const auto busy = static_cast<int>(std::min<std::int64_t>(std::max(workers, 1), end - begin));
  for_each_part(static_cast<std::size_t>(std::max(busy, 0)), busy,
                [&](std::size_t worker) { take(static_cast<int>(worker)); });
  return first_error;
}

}  // namespace octavo
