// See graph.h. Part of cuda/.
#include "cuda/graph.h"

namespace octavo::cuda {

Result<Owned<StreamHandle>> make_stream(const Device& device) {
  constexpr unsigned kNonBlocking = 1;
  StreamHandle stream = nullptr;
  const int code = device.functions().create_stream(&stream, kNonBlocking);
  if (Status status = device.driver().check(code, "making a stream"); !status) return status.errors();
  return Owned<StreamHandle>(stream, device.functions().destroy_stream);
}

// A capture is ended whatever happened in it.
Result<Owned<GraphRunHandle>> record_graph(const Device& device, StreamHandle stream,
                                           const std::function<Status()>& record) {
  constexpr int kThreadLocal = 1;
  const DriverFunctions& functions = device.functions();
  const Driver& driver = device.driver();
  if (Status status = driver.check(functions.begin_capture(stream, kThreadLocal), "recording a graph"); !status)
    return status.errors();
  const Status recorded = record();
  GraphHandle handle = nullptr;
  const int ended = functions.end_capture(stream, &handle);
  const Owned<GraphHandle> graph(handle, handle == nullptr ? nullptr : functions.destroy_graph);
  if (!recorded) return recorded.errors();
  if (Status status = driver.check(ended, "recording a graph"); !status) return status.errors();
  GraphRunHandle run = nullptr;
  if (Status status = driver.check(functions.make_runnable(&run, graph.get(), 0), "making a graph of it"); !status)
    return status.errors();
  return Owned<GraphRunHandle>(run, functions.destroy_graph_run);
}

}  // namespace octavo::cuda
