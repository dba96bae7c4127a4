// Short-lived threads that take parts of one piece of work. Part of base/.
#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/exceptions.h"

namespace octavo {

void for_each_part(std::size_t parts, int threads, const std::function<void(std::size_t part)>& body) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr thrown;
  const auto work = [&] {
    attempt_all(
        [&] {
          for (std::size_t part = next++; part < parts; part = next++) body(part);
        },
        [&] {
          const std::lock_guard lock(mutex);
          thrown = std::current_exception();
        });
  };
  std::vector<std::thread> others;
  const std::size_t wanted = std::min(parts, static_cast<std::size_t>(std::max(threads, 1)));
  others.reserve(wanted);
  const auto start = [&] {
    while (others.size() + 1 < wanted) others.emplace_back(work);
  };
  attempt<std::system_error>(start, [] {});  // fewer threads do the same work
  work();
  for (std::thread& other : others) other.join();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace octavo
