// One step on one or several threads. Part of run/.
#include "run/step_call.h"

#include "run/float_mode.h"

namespace octavo {
namespace {

struct Job {
  const StepCall* call = nullptr;
  const Pointers* pointers = nullptr;
  const Scratch* scratch = nullptr;
  std::int64_t round = 0;
};

void run_part(const void* context, int part) {
  const ScopedFloatMode mode;  // the thread may be one of a caller's
  const Job& job = *static_cast<const Job*>(context);
  StepBuffers buffers = job.call->buffers(*job.pointers, job.scratch->of(part));
  buffers.ahead = job.call->ahead_of(part);
  buffers.round = job.round;
  job.call->step->run(buffers, job.call->range_of(part));
}

}  // namespace

void StepCall::run(const Pointers& pointers, const Scratch& scratch, Executor* pool) const {
  if (pool == nullptr || parts == 1) {
    StepBuffers whole = buffers(pointers, scratch.of(0));
    whole.ahead = ahead_of(0);
    return run_alone(whole);
  }
  Job job{this, &pointers, &scratch};
  for (; job.round < rounds; ++job.round) pool->run(parts, {run_part, &job});
}

}  // namespace octavo
