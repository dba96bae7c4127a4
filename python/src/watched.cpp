// Long calls of the library: on a thread of their own, while the caller's tells progress and hears Ctrl-C. Part of the
// extension.
#include "watched.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

namespace nb = nanobind;

namespace octavo::python {
namespace {

constexpr std::chrono::milliseconds kLookInterval{50};

struct Progress {
  Phase phase = {};
  std::int64_t done = 0, total = 0;
};

// What both threads see.
class Board {
 public:
  void tell(Progress progress) {
    const std::lock_guard lock(mutex_);
    news_ = progress;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    ended_.notify_one();
  }
  // Whether the work is over, after at most the interval.
  bool wait(std::optional<Progress>& news) {
    std::unique_lock lock(mutex_);
    const bool is_over = ended_.wait_for(lock, kLookInterval, [&] { return is_over_; });
    news.swap(news_);
    news_.reset();
    return is_over;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  std::optional<Progress> news_;
  bool is_over_ = false;
};

// With the GIL. Throws what Python raised.
void look(const nb::object& progress, const std::optional<Progress>& news) {
  if (PyErr_CheckSignals() != 0) nb::raise_python_error();
  if (!news || progress.is_none()) return;
  const std::string phase(name_of(news->phase));
  progress(phase.c_str(), news->done, news->total);
}

}  // namespace

void run_watched(const nb::object& progress, const std::function<void(const v1::Watch& watch)>& work) {
  Board board;
  std::stop_source stop;
  std::exception_ptr failed, interrupted;
  {
    const nb::gil_scoped_release released;
    std::thread worker([&] {
      try {
        const auto tell = [&](Phase phase, std::int64_t done, std::int64_t total) { board.tell({phase, done, total}); };
        work({.progress = tell, .stop = stop.get_token()});
      } catch (...) {
        failed = std::current_exception();
      }
      board.end();
    });
    std::optional<Progress> news;
    while (!board.wait(news)) {
      if (interrupted) continue;
      const nb::gil_scoped_acquire held;
      try {
        look(progress, news);
      } catch (...) {
        interrupted = std::current_exception();
        stop.request_stop();
      }
    }
    worker.join();
  }
  if (interrupted) std::rethrow_exception(interrupted);
  if (failed) std::rethrow_exception(failed);
}

}  // namespace octavo::python
