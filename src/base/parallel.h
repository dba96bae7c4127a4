// for_each_part: threads for work that is done once, as when a model is loaded; runs have a pool of their own. Part of
// base/.
#ifndef OCTAVO_BASE_PARALLEL_H_
#define OCTAVO_BASE_PARALLEL_H_

#include <cstddef>
#include <functional>

namespace octavo {

// body(0) .. body(parts - 1), each once, on up to `threads` threads, the calling one included; returns when all are
// done. Parts are taken in order by whoever is free. What a part throws (memory that cannot be had) is thrown here at
// the end. Threads that the system refuses are done without.
void for_each_part(std::size_t parts, int threads, const std::function<void(std::size_t part)>& body);

}  // namespace octavo

#endif  // OCTAVO_BASE_PARALLEL_H_
