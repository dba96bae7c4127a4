// Threads that share the work of one step. Part of run/.
#ifndef OCTAVO_RUN_THREAD_POOL_H_
#define OCTAVO_RUN_THREAD_POOL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

namespace octavo {

// body(part) for one part of a step's work. Never throws, never allocates.
struct PartBody {
  void (*call)(const void* context, int part) = nullptr;
  const void* context = nullptr;
  void operator()(int part) const { call(context, part); }
};

// Who runs the parts: a ThreadPool, or a caller's own parallel_for.
class Executor {
 public:
  virtual ~Executor() = default;
  // Parts that can run at the same time, the calling thread's included; at least 1.
  virtual int threads() const = 0;
  // Reserves the executor for one caller, or says that it is busy. release() once after each success.
  virtual bool try_acquire() = 0;
  virtual void release() = 0;
  // Runs body(0) .. body(parts - 1), parts <= threads(), and returns when all are done. Only while acquired. What a
  // caller's own parallel_for throws comes out here.
  virtual void run(int parts, PartBody body) = 0;
};

// Holds an executor while it lives, if it could be had.
class AcquiredExecutor {
 public:
  // `executor` may be null.
  explicit AcquiredExecutor(Executor* executor)
      : executor_(executor != nullptr && executor->try_acquire() ? executor : nullptr) {}
  ~AcquiredExecutor() {
    if (executor_ != nullptr) executor_->release();
  }
  AcquiredExecutor(const AcquiredExecutor&) = delete;
  AcquiredExecutor& operator=(const AcquiredExecutor&) = delete;
  // Null where it is busy or there is none.
  Executor* get() const { return executor_; }

 private:
  Executor* executor_;
};

// Threads that wait for work: spinning a bounded time, then parked, so that an idle pool costs nothing.
// Owned by the caller, or shared (shared_thread_pool). Work after a fork() in the child starts new threads.
class ThreadPool final : public Executor {
 public:
  // `threads` counts the caller's own: threads - 1 are started. At least 1.
  explicit ThreadPool(int threads);
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const override { return threads_; }
  bool try_acquire() override;
  void release() override;
  void run(int parts, PartBody body) override;

 private:
  struct Worker;
  void start_workers();

  const int threads_;
  int started_ = 0;  // workers that the system granted
  std::unique_ptr<Worker[]> workers_;
  std::uint64_t workers_generation_ = 0;  // the process, counted by forks, whose threads the workers are
  std::atomic<std::uint64_t> holder_{0};  // the process whose thread has acquired the pool, or 0
};

// The process-wide pool, with at least that many threads (never fewer than the usable cores): made on first use.
std::shared_ptr<Executor> shared_thread_pool(int threads);

// A caller's own threads. parallel_for(parts, body) must run body(0) .. body(parts - 1), concurrently or not, and
// return when all are done; it must allow calls from several threads at once, since contexts run concurrently. If it
// throws, no body may be running any more.
using ParallelFor = std::function<void(int parts, const PartBody& body)>;
std::shared_ptr<Executor> executor_from(ParallelFor parallel_for, int threads);

}  // namespace octavo

#endif  // OCTAVO_RUN_THREAD_POOL_H_
