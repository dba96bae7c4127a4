// The process's oneDNN engine and the OpenMP thread count around its calls. Part of onednn/.
#include "onednn/engine.h"

#include <oneapi/dnnl/dnnl_debug.h>

// GCC's runtime, which oneDNN calls, by hand: other compilers cannot read its omp.h.
extern "C" int omp_get_max_threads() noexcept;
extern "C" void omp_set_num_threads(int threads) noexcept;

namespace octavo::onednn {

const dnnl::engine& engine() {
  static const dnnl::engine shared(dnnl::engine::kind::cpu, 0);
  return shared;
}

const dnnl::stream& stream() {
  static const dnnl::stream shared(engine());
  return shared;
}

OneOpenMpThread::OneOpenMpThread() : before_(omp_get_max_threads()) {
  if (before_ != 1) omp_set_num_threads(1);
}
OneOpenMpThread::~OneOpenMpThread() {
  if (before_ != 1) omp_set_num_threads(before_);
}

void prepare_thread() noexcept { omp_set_num_threads(omp_get_max_threads()); }

dnnl::memory empty_memory(const dnnl::memory::desc& desc) { return dnnl::memory(desc, engine(), DNNL_MEMORY_NONE); }

void set_data(const dnnl::memory& memory, const void* data) {
  // oneDNN has one type for what it reads and what it writes. Cannot fail for a memory object of the host.
  dnnl_memory_set_data_handle(memory.get(), const_cast<void*>(data));
}

void execute(const dnnl::primitive& primitive, std::span<const dnnl_exec_arg_t> arguments,
             StepFailure& failure) noexcept {
  try {
    const dnnl_status_t status =
        dnnl_primitive_execute(primitive.get(), stream().get(), static_cast<int>(arguments.size()), arguments.data());
    if (status != dnnl_success) failure.set(dnnl_status2str(status));
  } catch (const std::bad_alloc&) {  // its tables of arguments
    failure.set("not enough memory");
  }
}

}  // namespace octavo::onednn
