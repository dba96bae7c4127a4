// The C API of the runtime: handles around the classes of octavo/run.h; nothing is thrown through. Part of run/.
#include <algorithm>
#include <cstring>
#include <new>

#include "base/exceptions.h"
#include "octavo/octavo.h"
#include "octavo/run.h"

namespace v1 = octavo::v1;
using octavo::DType;
using octavo::Error;
using octavo::ErrorKind;
using octavo::Precision;
using octavo::Status;

// Texts of open extents, as C takes them: by tensor.
using ExtentTexts = std::vector<std::vector<const char*>>;

struct octavo_model {
  v1::Model model;
  v1::ModelInfo info;
  ExtentTexts input_extents, output_extents;  // of `info`
};

struct octavo_context {
  v1::Context context;
  std::vector<v1::OpenTensorInfo> open_inputs;  // of its model, which may go before
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
  const auto run = [&]() -> octavo_status {
    const Status done = body();
    if (done) return OCTAVO_OK;
    last_error = to_string(done.errors());
    return status_of(done.errors().front().kind);
  };
  const auto lack_memory = []() -> octavo_status {
    last_error = "out of memory";
    return OCTAVO_RESOURCE;
  };
  const auto fail = []() -> octavo_status {
    last_error = "internal error";
    return OCTAVO_INTERNAL;
  };
  return octavo::attempt_all([&] { return octavo::attempt<std::bad_alloc>(run, lack_memory); }, fail);
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

Status check_threads(int32_t threads) {
  if (threads >= 0) return octavo::ok_status();
  return usage("threads", std::to_string(threads), "at least 0");
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
  if (const Status can_be = check_threads(options.threads); !can_be) return can_be.errors();
  return options;
}

ExtentTexts texts_of(const std::vector<v1::OpenTensorInfo>& tensors) {
  ExtentTexts texts;
  for (const v1::OpenTensorInfo& tensor : tensors) {
    std::vector<const char*>& extents = texts.emplace_back();
    for (const std::string& extent : tensor.shape) extents.push_back(extent.c_str());
  }
  return texts;
}

Status load(const octavo::Result<v1::CompiledModel>& compiled, const octavo_open_options& options,
            octavo_model** model) {
  if (!compiled) return compiled.errors();
  v1::LoadOptions loading{.threads = options.threads, .context_bytes = options.context_bytes, .device = options.device};
  if (options.plan_cache_bytes != 0) loading.plan_cache_bytes = options.plan_cache_bytes;
  auto loaded = v1::Model::load(*compiled, loading);
  if (!loaded) return loaded.errors();
  auto made = std::make_unique<octavo_model>(
      octavo_model{.model = std::move(*loaded), .info = compiled->info(), .input_extents = {}, .output_extents = {}});
  made->input_extents = texts_of(made->info.open_inputs);
  made->output_extents = texts_of(made->info.open_outputs);
  *model = made.release();
  return octavo::ok_status();
}

Status tell(const std::vector<v1::TensorInfo>& all, size_t index, octavo_tensor_info& info) {
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
  return copy_known(told, info.struct_size, info, "info");
}

using Tensors = std::vector<v1::TensorInfo> v1::PlanInfo::*;

octavo_status describe(const octavo_model* model, size_t plan, Tensors tensors, size_t index,
                       octavo_tensor_info* info) {
  return guarded([&]() -> Status {
    if (const Status given = check_given({{"model", model}, {"info", info}}); !given) return given;
    if (const Status is = check_index("plan", plan, model->info.plans.size()); !is) return is;
    return tell(model->info.plans[plan].*tensors, index, *info);
  });
}

using ContextTensors = const std::vector<v1::TensorInfo>& (v1::Context::*)() const;

octavo_status describe(const octavo_context* context, ContextTensors tensors, size_t index, octavo_tensor_info* info) {
  return guarded([&]() -> Status {
    if (const Status given = check_given({{"context", context}, {"info", info}}); !given) return given;
    return tell((context->context.*tensors)(), index, *info);
  });
}

octavo_status describe(const octavo_model* model, std::vector<v1::OpenTensorInfo> v1::ModelInfo::*tensors,
                       ExtentTexts octavo_model::*extents, size_t index, octavo_open_tensor_info* info) {
  return guarded([&]() -> Status {
    if (const Status given = check_given({{"model", model}, {"info", info}}); !given) return given;
    const auto& all = model->info.*tensors;
    if (const Status is = check_index("index", index, all.size()); !is) return is;
    const std::vector<const char*>& shape = (model->*extents)[index];
    const octavo_open_tensor_info told{.struct_size = 0,
                                       .name = all[index].name.c_str(),
                                       .shape = shape.data(),
                                       .rank = shape.size(),
                                       .dtype = static_cast<octavo_dtype>(all[index].dtype)};
    return copy_known(told, info->struct_size, *info, "info");
  });
}

using Shapes = std::vector<std::vector<std::int64_t>>;

// Extents of all inputs of a model with open sizes, cut by their ranks.
octavo::Result<Shapes> shapes_of(const std::vector<v1::OpenTensorInfo>& inputs, const int64_t* extents, size_t count) {
  if (const Status given = check_given({{"extents", extents}}); !given) return given.errors();
  size_t needed = 0;
  std::string ranks;
  for (const v1::OpenTensorInfo& input : inputs) {
    needed += input.shape.size();
    ranks += (ranks.empty() ? "" : ", ") + std::to_string(input.shape.size()) + " of '" + input.name + "'";
  }
  if (inputs.empty()) return usage("model", "one of fixed sizes", "one whose sizes are open");
  if (count != needed) return usage("extents", std::to_string(count), std::to_string(needed) + ": " + ranks);
  Shapes shapes;
  for (const v1::OpenTensorInfo& input : inputs) {
    shapes.emplace_back(extents, extents + input.shape.size());
    extents += input.shape.size();
  }
  return shapes;
}

// None stands for the process's threads.
octavo::Result<std::optional<v1::ThreadPool>> pool_of(const v1::Model& model, int32_t threads) {
  if (const Status can_be = check_threads(threads); !can_be) return can_be.errors();
  std::optional<v1::ThreadPool> own;
  if (threads > 0) own.emplace(std::min(threads, model.threads()));
  return own;
}

const v1::ThreadPool* pointer_to(const std::optional<v1::ThreadPool>& pool) { return pool ? &*pool : nullptr; }

// Tensors of the context's shapes, without memory.
void unset_tensors(octavo_context& context) {
  context.inputs.clear();
  context.outputs.clear();
  for (const v1::TensorInfo& info : context.context.inputs()) context.inputs.push_back({info.dtype, info.shape});
  for (const v1::TensorInfo& info : context.context.outputs()) context.outputs.push_back({info.dtype, info.shape});
}

Status hand_over(octavo::Result<v1::Context> created, const v1::ModelInfo& info, octavo_context** context) {
  if (!created) return created.errors();
  auto made = std::make_unique<octavo_context>(
      octavo_context{.context = std::move(*created), .open_inputs = info.open_inputs, .inputs = {}, .outputs = {}});
  unset_tensors(*made);
  *context = made.release();
  return octavo::ok_status();
}

template <class Ref, class Data>
octavo_status set(octavo_context* context, std::vector<Ref> octavo_context::*refs, ContextTensors infos, size_t index,
                  Data* data, size_t bytes) {
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
    return load(v1::open(path, {.weights = weights}), *chosen, model);
  });
}

octavo_status octavo_open_bytes(const void* bytes, size_t size, const octavo_open_options* options,
                                octavo_model** model) {
  return guarded([&]() -> Status {
    if (const Status given = check_given({{"bytes", bytes}, {"model", model}}); !given) return given;
    const auto chosen = known(options);
    if (!chosen) return chosen.errors();
    return load(v1::open({static_cast<const std::byte*>(bytes), size}, "bytes"), *chosen, model);
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

size_t octavo_size_count(const octavo_model* model) { return model == nullptr ? 0 : model->info.sizes.size(); }

size_t octavo_open_input_count(const octavo_model* model) {
  return model == nullptr ? 0 : model->info.open_inputs.size();
}

size_t octavo_open_output_count(const octavo_model* model) {
  return model == nullptr ? 0 : model->info.open_outputs.size();
}

octavo_status octavo_describe_size(const octavo_model* model, size_t index, octavo_size_info* info) {
  return guarded([&]() -> Status {
    if (const Status given = check_given({{"model", model}, {"info", info}}); !given) return given;
    if (const Status is = check_index("index", index, model->info.sizes.size()); !is) return is;
    const v1::SizeInfo& own = model->info.sizes[index];
    const octavo_size_info told{
        .struct_size = 0, .name = own.name.c_str(), .lowest = own.lowest, .highest = own.highest, .step = own.step};
    return copy_known(told, info->struct_size, *info, "info");
  });
}

octavo_status octavo_describe_open_input(const octavo_model* model, size_t index, octavo_open_tensor_info* info) {
  return describe(model, &v1::ModelInfo::open_inputs, &octavo_model::input_extents, index, info);
}

octavo_status octavo_describe_open_output(const octavo_model* model, size_t index, octavo_open_tensor_info* info) {
  return describe(model, &v1::ModelInfo::open_outputs, &octavo_model::output_extents, index, info);
}

octavo_status octavo_context_create(const octavo_model* model, size_t plan, int32_t threads, octavo_context** context) {
  return guarded([&]() -> Status {
    if (const Status given = check_given({{"model", model}, {"context", context}}); !given) return given;
    const auto pool = pool_of(model->model, threads);
    if (!pool) return pool.errors();
    return hand_over(v1::Context::create(model->model, plan, pointer_to(*pool)), model->info, context);
  });
}

octavo_status octavo_context_create_at(const octavo_model* model, const int64_t* extents, size_t count, int32_t threads,
                                       octavo_context** context) {
  return guarded([&]() -> Status {
    if (const Status given = check_given({{"model", model}, {"context", context}}); !given) return given;
    const auto shapes = shapes_of(model->info.open_inputs, extents, count);
    if (!shapes) return shapes.errors();
    const auto pool = pool_of(model->model, threads);
    if (!pool) return pool.errors();
    return hand_over(v1::Context::create(model->model, *shapes, pointer_to(*pool)), model->info, context);
  });
}

octavo_status octavo_context_bytes_at(const octavo_model* model, const int64_t* extents, size_t count, int32_t threads,
                                      uint64_t* bytes) {
  return guarded([&]() -> Status {
    if (const Status given = check_given({{"model", model}, {"bytes", bytes}}); !given) return given;
    const auto shapes = shapes_of(model->info.open_inputs, extents, count);
    if (!shapes) return shapes.errors();
    if (const Status can_be = check_threads(threads); !can_be) return can_be;
    const auto needed = model->model.context_bytes(*shapes, threads);
    if (!needed) return needed.errors();
    *bytes = *needed;
    return octavo::ok_status();
  });
}

octavo_status octavo_context_resize(octavo_context* context, const int64_t* extents, size_t count) {
  return guarded([&]() -> Status {
    if (const Status given = check_given({{"context", context}}); !given) return given;
    const auto shapes = shapes_of(context->open_inputs, extents, count);
    if (!shapes) return shapes.errors();
    if (Status resized = context->context.resize(*shapes); !resized) return resized;
    unset_tensors(*context);
    return octavo::ok_status();
  });
}

octavo_status octavo_context_input(const octavo_context* context, size_t index, octavo_tensor_info* info) {
  return describe(context, &v1::Context::inputs, index, info);
}

octavo_status octavo_context_output(const octavo_context* context, size_t index, octavo_tensor_info* info) {
  return describe(context, &v1::Context::outputs, index, info);
}

uint64_t octavo_context_memory(const octavo_context* context) {
  return context == nullptr ? 0 : context->context.memory_bytes();
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
