// for_each_index: independent work by several threads. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_PARALLEL_H_
#define OCTAVO_QUANTIZE_PARALLEL_H_

#include <cstdint>
#include <functional>

#include "base/result.h"

namespace octavo {

// Calls work(worker, index) once for each index of [begin, end), by workers 0 .. workers - 1 at the same time. After an
// error no new index is begun; the error of the lowest index is returned, whatever the number of workers. Fewer threads
// where the system refuses some.
Status for_each_index(std::int64_t begin, std::int64_t end, int workers,
                      const std::function<Status(int worker, std::int64_t index)>& work);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_PARALLEL_H_
