// Model and Context: a compiled model ready to run, and one caller's memory to run it in. Part of run/.
#ifndef OCTAVO_RUN_MODEL_H_
#define OCTAVO_RUN_MODEL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/machine.h"
#include "base/result.h"
#include "plan/plan.h"
#include "run/thread_pool.h"

namespace octavo {

// What an .octv holds: see artifact/artifact.h.
struct CompiledModel {
  std::string source;    // file name, for reports
  std::string dialect;
  Machine machine;       // what it was compiled for
  IsaSet needs;          // instruction sets of the kernels in it
  int source_nodes = 0;
  std::vector<Plan> plans;
  std::vector<std::byte> owned_constants;        // when made in this process
  std::span<const std::byte> constants;          // owned_constants, or a mapped file kept alive by `mapping`
  std::shared_ptr<const void> mapping;
};

// Immutable; shared by any number of contexts.
class Model;
struct LoadOptions {
  int threads = 0;  // 0: all usable cores
};
// Verifies everything against hostile files, then prepares every step of every plan (JIT code is emitted here).
// Errors: resource (missing instructions; executable memory refused), invalid_input (damaged).
Result<std::shared_ptr<const Model>> load_model(CompiledModel compiled, const LoadOptions& options);

class Context;

}  // namespace octavo

#endif  // OCTAVO_RUN_MODEL_H_
