// What every call of oneDNN needs: the engine, one OpenMP thread, memory objects, and its errors as ours. Part of
// onednn/.
#ifndef OCTAVO_ONEDNN_ENGINE_H_
#define OCTAVO_ONEDNN_ENGINE_H_

#include <atomic>
#include <cstddef>
#include <new>
#include <oneapi/dnnl/dnnl.hpp>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/tensor.h"
#include "kernels/kernel.h"

namespace octavo::onednn {

// One for the process; it holds no state that a call changes. May throw dnnl::error.
const dnnl::engine& engine();
const dnnl::stream& stream();

// OpenMP gives a thread settings of its own when it first sets one: this is that.
void prepare_thread() noexcept;

// While it lives, OpenMP regions of this thread have one thread; the caller's setting comes back afterwards.
class OneOpenMpThread {
 public:
  OneOpenMpThread();
  ~OneOpenMpThread();
  OneOpenMpThread(const OneOpenMpThread&) = delete;
  OneOpenMpThread& operator=(const OneOpenMpThread&) = delete;

 private:
  int before_;
};

// Runs f(), which may throw what oneDNN and the allocator throw.
template <class Function>
auto guarded(const std::string& where, Function f) -> decltype(f()) {
  try {
    return f();
  } catch (const dnnl::error& error) {
    const bool is_memory = error.status == dnnl_out_of_memory;
    return Error{.kind = is_memory ? ErrorKind::resource : ErrorKind::unsupported,
                 .where = where,
                 .found = std::string("oneDNN: ") + error.what(),
                 .expected = is_memory ? "enough memory" : "a primitive"};
  } catch (const std::bad_alloc&) {
    return Error{.kind = ErrorKind::resource,
                 .where = where,
                 .found = "not enough memory",
                 .expected = "room for its primitives"};
  }
}

// A memory object without data yet.
dnnl::memory empty_memory(const dnnl::memory::desc& desc);
void set_data(const dnnl::memory& memory, const void* data);

// Runs a primitive of a step. Where it cannot, for want of memory, it tells `failure`.
void execute(const dnnl::primitive& primitive, std::span<const dnnl_exec_arg_t> arguments,
             StepFailure& failure) noexcept;

// Memory objects hold pointers, so two threads must not use the same ones: as many sets as threads may run a step at
// once, taken by whoever is first. More threads than sets wait for one to come free.
template <class Set>
class SlotPool {
 public:
  explicit SlotPool(std::vector<Set> sets) : sets_(std::move(sets)), is_taken_(sets_.size()) {}

  class Lease {
   public:
    Lease(Set& set, std::atomic<bool>& is_taken) : set_(set), is_taken_(is_taken) {}
    ~Lease() { is_taken_.store(false, std::memory_order_release); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Set& operator*() const { return set_; }
    Set* operator->() const { return &set_; }

   private:
    Set& set_;
    std::atomic<bool>& is_taken_;
  };

  Lease take() {
    while (true) {
      for (std::size_t i = 0; i < sets_.size(); ++i) {
        if (!is_taken_[i].exchange(true, std::memory_order_acquire)) return Lease(sets_[i], is_taken_[i]);
      }
      std::this_thread::yield();
    }
  }

 private:
  std::vector<Set> sets_;
  std::vector<std::atomic<bool>> is_taken_;
};

}  // namespace octavo::onednn

#endif  // OCTAVO_ONEDNN_ENGINE_H_
