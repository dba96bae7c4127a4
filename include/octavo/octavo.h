/* Octavo's runtime for C and every language that can call it: opens what `octavo compile` wrote and runs it.
 *
 *   octavo_model* model;
 *   if (octavo_open("resnet18.octv", NULL, &model) != OCTAVO_OK) return report(octavo_error());
 *   octavo_context* context;
 *   if (octavo_context_create(model, 0, 0, &context) != OCTAVO_OK) return report(octavo_error());
 *   octavo_set_input(context, 0, pixels, sizeof pixels);
 *   octavo_set_output(context, 0, scores, sizeof scores);
 *   if (octavo_run(context) != OCTAVO_OK) return report(octavo_error());
 *   octavo_context_destroy(context);
 *   octavo_model_destroy(model);
 *
 * Ownership: what a ..._create or octavo_open gives is the caller's, who hands it to ..._destroy once; a context keeps
 * what it needs of its model, so that they may go in any order. Memory that a caller passes stays the caller's. Text
 * and arrays that are returned belong to the model or the thread, as told, and are not to be freed. Threads: functions
 * that take a const octavo_model* may be called by any number of threads at the same time; those that take an
 * octavo_context* by one thread at a time for each context. Contexts run at the same time. Errors: a function that can
 * fail returns an octavo_status; then what it should have written is untouched, and octavo_error() has the sentence. A
 * null pointer where one is needed is OCTAVO_USAGE. No function throws, prints, or ends the process. Growth: functions
 * are only added, structs only get members at their end. The caller sets struct_size to the size that it was compiled
 * with; members that a library does not know yet stay as they were.
 */
#ifndef OCTAVO_OCTAVO_H_
#define OCTAVO_OCTAVO_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of this header. A library whose octavo_api_version() is at least that has all that is declared here. */
#define OCTAVO_API_VERSION 1

/* Of the library that is linked. Never fails. */
uint32_t octavo_api_version(void);
/* The library's release, "0.1.0". Never fails; lasts for ever. */
const char* octavo_version(void);

typedef int32_t octavo_status;
enum {
  OCTAVO_OK = 0,
  OCTAVO_USAGE = 1,         /* the caller asked for something contradictory or absent */
  OCTAVO_INVALID_INPUT = 2, /* the file is damaged, or none of Octavo's */
  OCTAVO_UNSUPPORTED = 3,   /* well-formed, but Octavo cannot do it */
  OCTAVO_RESOURCE = 4,      /* memory, disk, permission, missing instructions */
  OCTAVO_CANCELLED = 5,     /* the caller asked a long call to stop; none of these functions does */
  OCTAVO_INTERNAL = 6       /* a mistake of Octavo's */
};

/* What the last function of this thread that failed found and what it expected: a line for each error, without a final
 * newline; empty where none failed yet. Lasts until the next one of this thread fails. */
const char* octavo_error(void);

typedef int32_t octavo_dtype;
enum {
  OCTAVO_BOOL = 0, /* one byte, 0 or 1 */
  OCTAVO_U8 = 1,
  OCTAVO_S8 = 2,
  OCTAVO_U16 = 3,
  OCTAVO_S16 = 4,
  OCTAVO_U32 = 5,
  OCTAVO_S32 = 6,
  OCTAVO_U64 = 7,
  OCTAVO_S64 = 8,
  OCTAVO_F16 = 9,
  OCTAVO_BF16 = 10,
  OCTAVO_F32 = 11,
  OCTAVO_F64 = 12
};

typedef int32_t octavo_precision;
enum { OCTAVO_ANY = -1, OCTAVO_INT8 = 0, OCTAVO_FP32 = 1 };

/* A compiled model, verified and ready to run. Immutable. */
typedef struct octavo_model octavo_model;
/* The memory of one run at a time. */
typedef struct octavo_context octavo_context;

typedef struct octavo_open_options {
  size_t struct_size;        /* sizeof(octavo_open_options) */
  int32_t threads;           /* that a run takes at most, the caller's included; 0: every core this process may use */
  int32_t copies_weights;    /* 0: mapped from the file, which must not be written into while the model lives (it may be
                                replaced by renaming another over it); else: copied */
  uint64_t plan_cache_bytes; /* for plans of sizes that the file has none for; 0: 64 MiB. The newest stays, however
                                large */
  uint64_t context_bytes;    /* the most memory of a context: what needs more is OCTAVO_RESOURCE; 0: 128 GiB, which
                                nothing goes beyond */
  int32_t device;            /* CUDA device that runs plans for one, counted from 0 as the driver counts them */
  int32_t reserved;          /* 0 */
} octavo_open_options;

/* Opens an .octv file and prepares its kernels. `options` may be null: zeros. Errors: OCTAVO_RESOURCE (cannot be read,
 * instructions that this machine lacks, memory), OCTAVO_INVALID_INPUT (not an .octv file, of another version, damaged).
 */
octavo_status octavo_open(const char* path, const octavo_open_options* options, octavo_model** model);

/* The same of a file's bytes, which are copied. */
octavo_status octavo_open_bytes(const void* bytes, size_t size, const octavo_open_options* options,
                                octavo_model** model);

/* Null is fine. */
void octavo_model_destroy(octavo_model* model);

/* A model has a plan for each batch or shape that it was compiled for. 0 of a null pointer. */
size_t octavo_plan_count(const octavo_model* model);

/* The first plan of that precision (OCTAVO_ANY: whichever) and that batch (0: whichever). Error: OCTAVO_USAGE, with a
 * list of what there is. */
octavo_status octavo_find_plan(const octavo_model* model, octavo_precision precision, int64_t batch, size_t* plan);

typedef struct octavo_plan_info {
  size_t struct_size; /* sizeof(octavo_plan_info), set by the caller */
  int64_t batch;
  size_t input_count;
  size_t output_count;
  uint64_t arena_bytes; /* memory of each context */
  octavo_precision precision;
} octavo_plan_info;

/* Error: OCTAVO_USAGE (no such plan). */
octavo_status octavo_describe_plan(const octavo_model* model, size_t plan, octavo_plan_info* info);

typedef struct octavo_tensor_info {
  size_t struct_size;   /* sizeof(octavo_tensor_info), set by the caller */
  const char* name;     /* the model's */
  const int64_t* shape; /* `rank` extents, outermost first; the model's. Elements lie dense in memory */
  size_t rank;
  size_t bytes; /* of the whole tensor */
  octavo_dtype dtype;
  int32_t zero_point;
  float scale; /* real value = (stored - zero_point) * scale; 0 where the tensor is not quantized */
} octavo_tensor_info;

/* An input or output of a plan. Error: OCTAVO_USAGE (no such plan or tensor). */
octavo_status octavo_describe_input(const octavo_model* model, size_t plan, size_t index, octavo_tensor_info* info);
octavo_status octavo_describe_output(const octavo_model* model, size_t plan, size_t index, octavo_tensor_info* info);

/* `threads`: 0: the process's threads, which contexts share (one that finds them busy runs on its caller's alone);
 * else: so many of its own, the caller's included, never more than the model was opened with. The answers do not depend
 * on it. Errors: OCTAVO_USAGE (no such plan), OCTAVO_RESOURCE (memory). */
octavo_status octavo_context_create(const octavo_model* model, size_t plan, int32_t threads, octavo_context** context);

/* A model whose sizes are open runs at any of them: octavo_size_count() is not 0, and it may have no plans. The counts
 * are 0 of a null pointer. */
size_t octavo_size_count(const octavo_model* model);
size_t octavo_open_input_count(const octavo_model* model);
size_t octavo_open_output_count(const octavo_model* model);

typedef struct octavo_size_info {
  size_t struct_size; /* sizeof(octavo_size_info), set by the caller */
  const char* name;   /* the model file's name for it, or "INPUT.AXIS"; the model's */
  int64_t lowest;
  int64_t highest;
  int64_t step; /* a number from lowest to highest that is a multiple of this */
} octavo_size_info;

/* Error: OCTAVO_USAGE (no such size). */
octavo_status octavo_describe_size(const octavo_model* model, size_t index, octavo_size_info* info);

typedef struct octavo_open_tensor_info {
  size_t struct_size;       /* sizeof(octavo_open_tensor_info), set by the caller */
  const char* name;         /* the model's */
  const char* const* shape; /* `rank` extents, outermost first: numbers, names of sizes, or what is computed of these:
                               "1", "N", "floor((height + 1) / 2)"; the model's */
  size_t rank;
  octavo_dtype dtype;
} octavo_open_tensor_info;

/* An input or output of a model whose sizes are open. Error: OCTAVO_USAGE (no such tensor). */
octavo_status octavo_describe_open_input(const octavo_model* model, size_t index, octavo_open_tensor_info* info);
octavo_status octavo_describe_open_output(const octavo_model* model, size_t index, octavo_open_tensor_info* info);

/* A context of a model whose sizes are open, for inputs of these shapes: `extents` are those of all inputs, one after
 * the other, `count` in all. `threads` as above. A size that neither the file has a plan of nor anybody asked for
 * lately is planned for: milliseconds, in Octavo's planner, which the program links. Errors: OCTAVO_USAGE, naming
 * input, dimension and both values; OCTAVO_UNSUPPORTED (no planner); OCTAVO_RESOURCE (memory), naming sizes, the bytes
 * needed and those allowed. */
octavo_status octavo_context_create_at(const octavo_model* model, const int64_t* extents, size_t count, int32_t threads,
                                       octavo_context** context);

/* What octavo_context_memory() of such a context will be; takes none of it. Errors: the same. */
octavo_status octavo_context_bytes_at(const octavo_model* model, const int64_t* extents, size_t count, int32_t threads,
                                      uint64_t* bytes);

/* The same context at other shapes from its next run on. Its inputs and outputs are to be set again. Memory grows where
 * it has to and is kept. After an error it goes on as it was. Errors: those of octavo_context_create_at. */
octavo_status octavo_context_resize(octavo_context* context, const int64_t* extents, size_t count);

/* An input or output as the context has it; name and shape are the context's, until it is resized. Error: OCTAVO_USAGE
 * (no such tensor). */
octavo_status octavo_context_input(const octavo_context* context, size_t index, octavo_tensor_info* info);
octavo_status octavo_context_output(const octavo_context* context, size_t index, octavo_tensor_info* info);

/* Bytes of memory that are this context's alone, taken from the machine page by page as runs touch them. 0 of a null
 * pointer. */
uint64_t octavo_context_memory(const octavo_context* context);

/* Null is fine. */
void octavo_context_destroy(octavo_context* context);

/* Where runs from now on read an input and write an output: memory of the caller, of the tensor's size, aligned to its
 * elements, no output overlapping another tensor. It has to last while runs use it. Error: OCTAVO_USAGE (no such
 * tensor, another size). */
octavo_status octavo_set_input(octavo_context* context, size_t index, const void* data, size_t bytes);
octavo_status octavo_set_output(octavo_context* context, size_t index, void* data, size_t bytes);

/* Computes the outputs from the inputs. Allocates nothing where the plan is in integers. Errors: OCTAVO_USAGE (a tensor
 * that was not set, or overlaps), OCTAVO_RESOURCE (memory): then the outputs are undefined, and the next run is as good
 * as any. */
octavo_status octavo_run(octavo_context* context);

#ifdef __cplusplus
}
#endif

#endif /* OCTAVO_OCTAVO_H_ */
