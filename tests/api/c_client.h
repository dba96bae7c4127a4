// A program in C that uses the C API. Part of the tests of api/.
#ifndef OCTAVO_TESTS_C_CLIENT_H_
#define OCTAVO_TESTS_C_CLIENT_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opens the file and runs its plan of that batch, which has one f32 input and one f32 output, on so many threads. 0, or
 * the line of the source that failed. */
int c_client_run(const char* path, long batch, int threads, const float* x, size_t x_count, float* y, size_t y_count);

#ifdef __cplusplus
}
#endif

#endif
