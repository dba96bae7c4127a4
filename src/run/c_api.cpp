// The C API of the runtime: handles around the classes of octavo/run.h; nothing is thrown through. Part of run/.
#include <algorithm>
#include <cstring>
#include <new>

#include "octavo/octavo.h"
#include "octavo/run.h"

namespace v1 = octavo::v1;
using octavo::DType;
using octavo::Error;
using octavo::ErrorKind;
using octavo::Precision;
using octavo::Status;

struct octavo_model {
  v1::Model model;
  v1::ModelInfo info;
};

struct octavo_context {
  v1::Context context;
  std::vector<v1::ConstTensorRef> inputs;
  std::vector<v1::TensorRef> outputs;
};

namespace {

constexpr octavo_status status_of(ErrorKind kind) { return static_cast<octavo_status>(kind) + 1; }
static_assert(status_of(ErrorKind::usage) == OCTAVO_USAGE && status_of(ErrorKind::internal) == OCTAVO_INTERNAL);
static_assert(static_cast<int>(DType::boolean) == OCTAVO_BOOL && static_cast<int>(DType::f64) == OCTAVO_F64);
static_assert(static_cast<int>(Precision::int8) == OCTAVO_INT8 && static_cast<int>(Precision::fp32) == OCTAVO_FP32);

thread_local std::string last_error;

// What a body says becomes the status. The texts of the last resort fit into a string without memory of its own.
template <class Body>
octavo_status guarded(const Body& body) noexcept {
  try {
    const Status done = body();
    if (done) return OCTAVO_OK;
    last_error = to_string(done.errors());
    return status_of(done.errors().front().kind);
  } catch (const std::bad_alloc&) {
    last_error = "out of memory";
    return OCTAVO_RESOURCE;
  } catch (...) {
    last_error = "internal error";
    return OCTAVO_INTERNAL;
  }
}

Error usage(std::string where, std::string found, std::string expected) {
  return {ErrorKind::usage, std::move(where), std::move(found), std::move(expected), ""};
}

// Each pointer under the name of its parameter.
Status check_given(std::initializer_list<std::pair<const char*, const void*>> pointers) {
  for (const auto& [name, pointer] : pointers) {
    if (pointer == nullptr) return usage(name, "a null pointer", "one that can be used");
  }
  return octavo::ok_status();
}

Status check_index(const char* what, std::size_t index, std::size_t count) {
  if (index < count) return octavo::ok_status();
  return usage(what, std::to_string(index), "an index below " + std::to_string(count));
}

// As much of a struct as both sides know. Of its caller's size, which comes first.
template <class Struct>
Status copy_known(const Struct& from, std::size_t size, Struct& to, const char* where) {
  if (size < sizeof size) return usage(where, "struct_size " + std::to_string(size), "its sizeof");
  std::memcpy(static_cast<void*>(&to), &from, std::min(size, sizeof(Struct)));
  to.struct_size = size;
  return octavo::ok_status();
}

octavo::Result<octavo_open_options> known(const octavo_open_options* given) {
  octavo_open_options options{};
  if (given == nullptr) return options;
  if (const Status copied = copy_known(*given, given->struct_size, options, "options"); !copied) return copied.errors();
  if (options.threads < 0) return usage("threads", std::to_string(options.threads), "at least 0");
  return options;
}

Status load(const octavo::Result<v1::CompiledModel>& compiled, int threads, octavo_model** model) {
  if (!compiled) return compiled.errors();
  auto loaded = v1::Model::load(*compiled, {.threads = threads});
  if (!loaded) return loaded.errors();
  *model = new octavo_model{std::move(*loaded), compiled->info()};
  return octavo::ok_status();
}

using Tensors = std::vector<v1::TensorInfo> v1::PlanInfo::*;

octavo_status describe(const octavo_model* model, size_t plan, Tensors tensors, size_t index,
                       octavo_tensor_info* info) {
  return guarded([&]() -> Status {
    if (const Status given = check_given({{"model", model}, {"info", info}}); !given) return given;
    if (const Status is = check_index("plan", plan, model->info.plans.size()); !is) return is;
    const auto& all = model->info.plans[plan].*tensors;
    if (const Status is = check_index("index", index, all.size()); !is) return is;
    const v1::TensorInfo& own = all[index];
    const octavo_tensor_info told{.struct_size = 0,
                                  .name = own.name.c_str(),
                                  .shape = own.shape.data(),
                                  .rank = own.shape.size(),
                                  .bytes = own.bytes(),
                                  .dtype = static_cast<octavo_dtype>(own.dtype),
                                  .zero_point = own.zero_point.empty() ? 0 : own.zero_point[0],
                                  .scale = own.scale.empty() ? 0.0f : own.scale[0]};
    return copy_known(told, info->struct_size, *info, "info");
  });
}

template <class Ref, class Data>
octavo_status set(octavo_context* context, std::vector<Ref> octavo_context::*refs,
                  const std::vector<v1::TensorInfo>& (v1::Context::*infos)() const, size_t index, Data* data,
                  size_t bytes) {
  return guarded([&]() -> Status {
    if (const Status given = check_given({{"context", context}}); !given) return given;
    const auto& all = (context->context.*infos)();
    if (const Status is = check_index("index", index, all.size()); !is) return is;
    if (bytes != all[index].bytes()) {
      return usage("'" + all[index].name + "'", std::to_string(bytes) + " bytes", std::to_string(all[index].bytes()));
    }
    (context->*refs)[index].data = data;
    return octavo::ok_status();
  });
}

}  // namespace

uint32_t octavo_api_version(void) { return OCTAVO_API_VERSION; }

const char* octavo_version(void) { return v1::version().data(); }  // of a literal

const char* octavo_error(void) { return last_error.c_str(); }

octavo_status octavo_open(const char* path, const octavo_open_options* options, octavo_model** model) {
  return guarded([&]() -> Status {
    if (const Status given = check_given({{"path", path}, {"model", model}}); !given) return given;
    const auto chosen = known(options);
    if (!chosen) return chosen.errors();
    const auto weights = chosen->copies_weights != 0 ? v1::Weights::copied : v1::Weights::mapped;
    return load(v1::open(path, {.weights = weights}), chosen->threads, model);
  });
}

octavo_status octavo_open_bytes(const void* bytes, size_t size, const octavo_open_options* options,
                                octavo_model** model) {
  return guarded([&]() -> Status {
    if (const Status given = check_given({{"bytes", bytes}, {"model", model}}); !given) return given;
    const auto chosen = known(options);
    if (!chosen) return chosen.errors();
    return load(v1::open({static_cast<const std::byte*>(bytes), size}, "bytes"), chosen->threads, model);
  });
}

void octavo_model_destroy(octavo_model* model) { delete model; }

size_t octavo_plan_count(const octavo_model* model) { return model == nullptr ? 0 : model->info.plans.size(); }

octavo_status octavo_find_plan(const octavo_model* model, octavo_precision precision, int64_t batch, size_t* plan) {
  return guarded([&]() -> Status {
    if (const Status given = check_given({{"model", model}, {"plan", plan}}); !given) return given;
    if (precision < OCTAVO_ANY || precision > OCTAVO_FP32)
      return usage("precision", std::to_string(precision), "OCTAVO_ANY, OCTAVO_INT8 or OCTAVO_FP32");
    v1::PlanChoice choice;
    if (precision != OCTAVO_ANY) choice.precision = static_cast<Precision>(precision);
    if (batch != 0) choice.batch = batch;
    const auto found = model->model.find_plan(choice);
    if (!found) return found.errors();
    *plan = *found;
    return octavo::ok_status();
  });
}

octavo_status octavo_describe_plan(const octavo_model* model, size_t plan, octavo_plan_info* info) {
  return guarded([&]() -> Status {
    if (const Status given = check_given({{"model", model}, {"info", info}}); !given) return given;
    if (const Status is = check_index("plan", plan, model->info.plans.size()); !is) return is;
    const v1::PlanInfo& own = model->info.plans[plan];
    const octavo_plan_info told{.struct_size = 0,
                                .batch = own.batch,
                                .input_count = own.inputs.size(),
                                .output_count = own.outputs.size(),
                                .arena_bytes = own.arena_bytes,
                                .precision = static_cast<octavo_precision>(own.precision)};
    return copy_known(told, info->struct_size, *info, "info");
  });
}

octavo_status octavo_describe_input(const octavo_model* model, size_t plan, size_t index, octavo_tensor_info* info) {
  return describe(model, plan, &v1::PlanInfo::inputs, index, info);
}

octavo_status octavo_describe_output(const octavo_model* model, size_t plan, size_t index, octavo_tensor_info* info) {
  return describe(model, plan, &v1::PlanInfo::outputs, index, info);
}

octavo_status octavo_context_create(const octavo_model* model, size_t plan, int32_t threads, octavo_context** context) {
  return guarded([&]() -> Status {
    if (const Status given = check_given({{"model", model}, {"context", context}}); !given) return given;
    if (threads < 0) return usage("threads", std::to_string(threads), "at least 0");
    std::optional<v1::ThreadPool> own;
    if (threads > 0) own.emplace(std::min(threads, model->model.threads()));
    auto created = v1::Context::create(model->model, plan, own ? &*own : nullptr);
    if (!created) return created.errors();
    auto made =
        std::make_unique<octavo_context>(octavo_context{.context = std::move(*created), .inputs = {}, .outputs = {}});
    for (const v1::TensorInfo& info : made->context.inputs()) made->inputs.push_back({info.dtype, info.shape});
    for (const v1::TensorInfo& info : made->context.outputs()) made->outputs.push_back({info.dtype, info.shape});
    *context = made.release();
    return octavo::ok_status();
  });
}

void octavo_context_destroy(octavo_context* context) { delete context; }

octavo_status octavo_set_input(octavo_context* context, size_t index, const void* data, size_t bytes) {
  return set(context, &octavo_context::inputs, &v1::Context::inputs, index, data, bytes);
}

octavo_status octavo_set_output(octavo_context* context, size_t index, void* data, size_t bytes) {
  return set(context, &octavo_context::outputs, &v1::Context::outputs, index, data, bytes);
}

octavo_status octavo_run(octavo_context* context) {
  return guarded([&]() -> Status {
    if (const Status given = check_given({{"context", context}}); !given) return given;
    return context->context.run(context->inputs, context->outputs);
  });
}
