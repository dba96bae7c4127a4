// Fork and join with spinning, then parked, workers. Part of run/.
//
// Each worker has a slot of its own: the caller writes body and part, then an even ticket; whoever makes it odd runs
// the part. Normally that is the worker; where it has not come by the time the caller is done with its own part
// (parked, or the system gave its core away), it is the caller, so that a busy machine costs time but never a wait for
// a thread that has not even started.
#include "run/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <system_error>
#include <thread>

#include "base/exceptions.h"
#include "base/machine.h"
#include "kernels/kernel.h"
#include "run/float_mode.h"
#include "run/spin.h"

namespace octavo {
namespace {

// Longer than the gap between two steps, shorter than anybody notices on an idle machine.
constexpr std::chrono::microseconds kSpinTime{100};
constexpr int kPausesPerLook = 64;

// Counts the forks between the first process and this one: threads do not survive a fork.
std::atomic<std::uint64_t> fork_count{0};

void watch_forks() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { fork_count.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
}

// Numbers processes of one family tree; never 0.
std::uint64_t generation() { return fork_count.load(std::memory_order_relaxed) + 1; }

// Spins until the condition holds or the time is over; gives the core away on each look where there are more threads
// than cores.
enum class Manners { spin, yield };
template <class Condition>
bool spin_until(const Condition& holds, Manners manners) {
  const auto deadline = std::chrono::steady_clock::now() + kSpinTime;
  do {
    for (int i = 0; i < kPausesPerLook; ++i) {
      if (holds()) return true;
      spin_pause();
    }
    if (manners == Manners::yield) sched_yield();
  } while (std::chrono::steady_clock::now() < deadline);
  return holds();
}

// Workers leave signals to the threads of the program, but for those of their own faults: blocked, these would end the
// process without its handlers.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t others;
    sigfillset(&others);
    for (const int fault : {SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP}) sigdelset(&others, fault);
    pthread_sigmask(SIG_SETMASK, &others, &saved_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &saved_, nullptr); }

 private:
  sigset_t saved_;
};

}  // namespace

struct alignas(64) ThreadPool::Worker {
  // Written by the caller before the ticket becomes even, read by whoever makes it odd.
  PartBody body;
  int part = 0;
  Manners manners = Manners::spin;
  std::atomic<std::uint32_t> ticket{1};
  alignas(64) std::atomic<std::uint32_t> done{1};  // the last odd ticket that the worker has finished
  std::atomic<bool> is_parked{false};
  std::atomic<bool> is_last{false};
  std::atomic<bool> is_ready{false};  // it has allocated what it ever will
  std::mutex mutex;
  std::condition_variable wake;
  std::thread thread;

  // ---- the caller's side ----

  void post(PartBody new_body, int new_part) {
    body = new_body;
    part = new_part;
    ticket.store(ticket.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
    wake_if_parked();
  }

  // Either this sees is_parked, or the worker sees the new ticket before it sleeps: all four accesses are sequentially
  // consistent.
  void wake_if_parked() {
    if (!is_parked.load(std::memory_order_seq_cst)) return;
    const std::lock_guard lock(mutex);
    is_parked.store(false, std::memory_order_relaxed);
    wake.notify_one();
  }

  // Runs the part where the worker has not begun it, else waits for it.
  void finish() {
    std::uint32_t posted = ticket.load(std::memory_order_relaxed) & ~1u;
    const std::uint32_t taken = posted + 1;
    if (ticket.compare_exchange_strong(posted, taken, std::memory_order_acq_rel)) return body(part);
    const auto is_done = [&] { return done.load(std::memory_order_acquire) == taken; };
    if (spin_until(is_done, manners)) return;
    while (!spin_until(is_done, Manners::yield)) continue;
  }

  void stop() {
    is_last.store(true, std::memory_order_seq_cst);
    wake_if_parked();
    thread.join();
  }

  // ---- the worker's side ----

  bool has_news() const {
    return ticket.load(std::memory_order_seq_cst) % 2 == 0 || is_last.load(std::memory_order_seq_cst);
  }

  void wait_for_news() {
    while (!spin_until([&] { return has_news(); }, manners)) {
      std::unique_lock lock(mutex);
      is_parked.store(true, std::memory_order_seq_cst);
      while (!has_news() && is_parked.load(std::memory_order_relaxed)) wake.wait(lock);
      is_parked.store(false, std::memory_order_relaxed);
    }
  }

  void work() {
    const ScopedFloatMode mode;
    prepare_thread();
    is_ready.store(true, std::memory_order_release);
    is_ready.notify_one();
    for (;;) {
      wait_for_news();
      if (is_last.load(std::memory_order_relaxed)) return;
      std::uint32_t posted = ticket.load(std::memory_order_relaxed);
      if (posted % 2 != 0 || !ticket.compare_exchange_strong(posted, posted + 1, std::memory_order_acq_rel)) continue;
      body(part);
      done.store(posted + 1, std::memory_order_release);
    }
  }
};

ThreadPool::ThreadPool(int threads) : threads_(std::max(threads, 1)) {
  watch_forks();
  start_workers();
  for (int i = 0; i < started_; ++i)
    workers_[static_cast<std::size_t>(i)].is_ready.wait(false, std::memory_order_acquire);
}

// A thread that the system refuses is done without: its part runs on the caller's.
void ThreadPool::start_workers() {
  workers_ = std::make_unique<Worker[]>(static_cast<std::size_t>(threads_ - 1));
  workers_generation_ = generation();
  started_ = 0;
  const BlockedSignals blocked;
  const auto start_all = [&] {
    for (int i = 0; i < threads_ - 1; ++i) {
      Worker& worker = workers_[static_cast<std::size_t>(i)];
      worker.manners = threads_ > host_machine().cores ? Manners::yield : Manners::spin;
      worker.thread = std::thread([&worker] { worker.work(); });
      ++started_;
    }
  };
  attempt<std::system_error>(start_all, [] {});  // those that were started do all
}

ThreadPool::~ThreadPool() {
  if (workers_generation_ != generation()) {
    static_cast<void>(workers_.release());  // the threads stayed in the parent process
    return;
  }
  for (int i = 0; i < started_; ++i) workers_[static_cast<std::size_t>(i)].stop();
}

bool ThreadPool::try_acquire() {
  const std::uint64_t mine = generation();
  std::uint64_t holder = holder_.load(std::memory_order_relaxed);
  // A holder of another generation is a thread that did not survive the fork.
  if (holder == mine || !holder_.compare_exchange_strong(holder, mine, std::memory_order_acquire)) return false;
  if (workers_generation_ != mine) {
    static_cast<void>(workers_.release());
    start_workers();
  }
  return true;
}

void ThreadPool::release() { holder_.store(0, std::memory_order_release); }

void ThreadPool::run(int parts, PartBody body) {
  const int helped = workers_generation_ == generation() ? std::min(parts - 1, started_) : 0;
  for (int i = 0; i < helped; ++i) workers_[static_cast<std::size_t>(i)].post(body, i + 1);
  body(0);
  for (int part = helped + 1; part < parts; ++part) body(part);
  for (int i = 0; i < helped; ++i) workers_[static_cast<std::size_t>(i)].finish();
}

std::shared_ptr<Executor> shared_thread_pool(int threads) {
  static std::mutex mutex;
  static std::shared_ptr<ThreadPool> pool;
  const std::lock_guard lock(mutex);
  if (!pool || pool->threads() < threads) pool = std::make_shared<ThreadPool>(std::max(threads, host_machine().cores));
  return pool;
}

namespace {

class FunctionExecutor final : public Executor {
 public:
  FunctionExecutor(ParallelFor parallel_for, int threads)
      : parallel_for_(std::move(parallel_for)), threads_(std::max(threads, 1)) {}
  int threads() const override { return threads_; }
  bool try_acquire() override { return true; }
  void release() override {}
  void run(int parts, PartBody body) override { parallel_for_(parts, body); }

 private:
  ParallelFor parallel_for_;
  int threads_;
};

}  // namespace

std::shared_ptr<Executor> executor_from(ParallelFor parallel_for, int threads) {
  return std::make_shared<FunctionExecutor>(std::move(parallel_for), threads);
}

}  // namespace octavo
