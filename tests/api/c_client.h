// A program in C that uses the C API. Part of the tests of api/.
#ifndef OCTAVO_TESTS_C_CLIENT_H_
#define OCTAVO_TESTS_C_CLIENT_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opens the file and runs its plan of that batch, which has one f32 input and one f32 output, on so many threads. 0, or
 * the line of the source that failed. */
int c_client_run(const char* path, long batch, int threads, const float* x, size_t x_count, float* y, size_t y_count);

/* Opens the file, whose sizes are open, asks for them, and runs a context at each of `count` shapes of its one input,
 * rank extents each, from `x` to `y`, which are large enough for all. After a run of all shapes, `y` holds the last
 * one's answer. 0, or the line of the source that failed. */
int c_client_resize(const char* path, const int64_t* shapes, size_t count, size_t rank, const float* x, float* y);

#ifdef __cplusplus
}
#endif

#endif
