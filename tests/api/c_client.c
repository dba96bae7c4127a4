/* The C API as a C program uses it. Part of the tests of api/. */
#include "api/c_client.h"

#include <string.h>

#include "octavo/octavo.h"

static int run_plan(const octavo_model* model, size_t plan, int threads, const float* x, size_t x_count, float* y,
                    size_t y_count) {
  octavo_plan_info info = {.struct_size = sizeof info};
  if (octavo_describe_plan(model, plan, &info) != OCTAVO_OK) return __LINE__;
  if (info.input_count != 1 || info.output_count != 1 || info.precision != OCTAVO_INT8) return __LINE__;

  octavo_tensor_info input = {.struct_size = sizeof input}, output = {.struct_size = sizeof output};
  if (octavo_describe_input(model, plan, 0, &input) != OCTAVO_OK) return __LINE__;
  if (octavo_describe_output(model, plan, 0, &output) != OCTAVO_OK) return __LINE__;
  if (input.dtype != OCTAVO_F32 || input.bytes != x_count * sizeof(float)) return __LINE__;
  if (input.rank < 1 || input.shape[0] != info.batch || strlen(input.name) == 0) return __LINE__;
  if (output.dtype != OCTAVO_F32 || output.bytes != y_count * sizeof(float)) return __LINE__;

  octavo_context* context = NULL;
  if (octavo_context_create(model, plan, threads, &context) != OCTAVO_OK) return __LINE__;
  int failed = 0;
  if (octavo_set_input(context, 0, x, input.bytes) != OCTAVO_OK) failed = __LINE__;
  if (octavo_set_output(context, 0, y, output.bytes) != OCTAVO_OK) failed = __LINE__;
  if (failed == 0 && octavo_run(context) != OCTAVO_OK) failed = __LINE__;
  octavo_context_destroy(context);
  return failed;
}

int c_client_run(const char* path, long batch, int threads, const float* x, size_t x_count, float* y, size_t y_count) {
  if (octavo_api_version() < OCTAVO_API_VERSION) return __LINE__;
  const octavo_open_options options = {.struct_size = sizeof options, .threads = 2};
  octavo_model* model = NULL;
  if (octavo_open(path, &options, &model) != OCTAVO_OK) return __LINE__;
  size_t plan = 0;
  int failed = octavo_find_plan(model, OCTAVO_ANY, batch, &plan) == OCTAVO_OK ? 0 : __LINE__;
  if (failed == 0) failed = run_plan(model, plan, threads, x, x_count, y, y_count);
  octavo_model_destroy(model);
  return failed;
}

/* What a caller finds out before there is a context. */
static int ask(const octavo_model* model, size_t rank) {
  if (octavo_open_input_count(model) != 1 || octavo_open_output_count(model) < 1) return __LINE__;
  octavo_open_tensor_info input = {.struct_size = sizeof input};
  if (octavo_describe_open_input(model, 0, &input) != OCTAVO_OK) return __LINE__;
  if (input.rank != rank || input.dtype != OCTAVO_F32 || strlen(input.name) == 0) return __LINE__;
  for (size_t i = 0; i < octavo_size_count(model); ++i) {
    octavo_size_info size = {.struct_size = sizeof size};
    if (octavo_describe_size(model, i, &size) != OCTAVO_OK) return __LINE__;
    if (size.lowest > size.highest || size.step < 1 || strlen(size.name) == 0) return __LINE__;
  }
  return 0;
}

static int run_at(octavo_context* context, const float* x, float* y) {
  octavo_tensor_info input = {.struct_size = sizeof input}, output = {.struct_size = sizeof output};
  if (octavo_context_input(context, 0, &input) != OCTAVO_OK) return __LINE__;
  if (octavo_context_output(context, 0, &output) != OCTAVO_OK) return __LINE__;
  if (octavo_set_input(context, 0, x, input.bytes) != OCTAVO_OK) return __LINE__;
  if (octavo_set_output(context, 0, y, output.bytes) != OCTAVO_OK) return __LINE__;
  return octavo_run(context) == OCTAVO_OK ? 0 : __LINE__;
}

int c_client_resize(const char* path, const int64_t* shapes, size_t count, size_t rank, const float* x, float* y) {
  const octavo_open_options options = {
      .struct_size = sizeof options, .threads = 1, .plan_cache_bytes = 1 << 20, .context_bytes = 64 << 20};
  octavo_model* model = NULL;
  if (octavo_open(path, &options, &model) != OCTAVO_OK) return __LINE__;
  int failed = ask(model, rank);
  uint64_t bytes = 0;
  if (failed == 0 && octavo_context_bytes_at(model, shapes, rank, 0, &bytes) != OCTAVO_OK) failed = __LINE__;
  octavo_context* context = NULL;
  if (failed == 0 && octavo_context_create_at(model, shapes, rank, 0, &context) != OCTAVO_OK) failed = __LINE__;
  octavo_model_destroy(model);
  if (failed == 0 && octavo_context_memory(context) != bytes) failed = __LINE__;
  for (size_t i = 0; failed == 0 && i < count; ++i) {
    if (octavo_context_resize(context, shapes + i * rank, rank) != OCTAVO_OK) failed = __LINE__;
    if (failed == 0) failed = run_at(context, x, y);
  }
  octavo_context_destroy(context);
  return failed;
}
