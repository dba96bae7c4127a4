// What a device is told once and runs often. Part of cuda/.
#ifndef OCTAVO_CUDA_GRAPH_H_
#define OCTAVO_CUDA_GRAPH_H_

#include <functional>

#include "cuda/device.h"

namespace octavo::cuda {

// A queue of work that waits for no other one. Asked while the device is current, as all here. Error: resource.
Result<Owned<StreamHandle>> make_stream(const Device& device);

// What `record` puts into the stream, which is not run now. Errors: those of record; resource.
Result<Owned<GraphRunHandle>> record_graph(const Device& device, StreamHandle stream,
                                           const std::function<Status()>& record);

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_GRAPH_H_
