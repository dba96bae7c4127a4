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
