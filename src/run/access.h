// What the classes of octavo/run.h hold, for Octavo's own folders and tests. Part of run/.
#ifndef OCTAVO_RUN_ACCESS_H_
#define OCTAVO_RUN_ACCESS_H_

#include <memory>
#include <utility>
#include <vector>

#include "artifact/artifact.h"
#include "octavo/run.h"
#include "run/model.h"
#include "run/program.h"
#include "run/thread_pool.h"

namespace octavo::v1 {

// The one friend of the public classes.
struct Access {
  // What an object holds.
  template <class Public>
  static auto& of(Public& object) {
    return *object.impl_;
  }
  // An object that holds `inside`.
  template <class Public, class Inside>
  static Public make(Inside inside) {
    return Public(std::make_shared<const typename Public::Impl>(typename Public::Impl{std::move(inside)}));
  }
  static Result<Context> make_context(Result<octavo::Context> inside);
  // Of a compiled model.
  static ModelInfo info_of(const octavo::CompiledModel& model);
  static PlanCacheInfo plan_cache_of(const octavo::Model& model);
};

struct CompiledModel::Impl : octavo::CompiledModel {};

struct Model::Impl {
  std::shared_ptr<const octavo::Model> model;
};

struct ThreadPool::Impl {
  std::shared_ptr<octavo::Executor> executor;
};

struct PlanTensors {
  std::vector<TensorInfo> inputs, outputs;
};

struct Context::Impl {
  octavo::Context context;
  PlanTensors infos;
  // Filled in anew by each run; their memory is here already.
  std::vector<ConstTensorView> inputs;
  std::vector<TensorView> outputs;
};

struct Program::Impl {
  std::shared_ptr<const ProgramModel> model;
  ProgramContext context;
  ModelInfo info;
  std::vector<ProgramOutput> outputs;
};

}  // namespace octavo::v1

#endif  // OCTAVO_RUN_ACCESS_H_
