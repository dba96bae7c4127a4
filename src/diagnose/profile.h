// Profiles: what engines wrote of a run, read as a stream and joined with the nodes of the file. Part of diagnose/.
#ifndef OCTAVO_DIAGNOSE_PROFILE_H_
#define OCTAVO_DIAGNOSE_PROFILE_H_

#include <map>
#include <string>
#include <vector>

#include "diagnose/file_view.h"
#include "diagnose/finding.h"

namespace octavo::diagnose {

// A node of the engine's own graph.
struct ProfiledNode {
  std::string name, op;
  double ms = 0.0;  // of one run: the mean of all, the first one left out where there are others
  int runs = 0;
  int call = 0;  // PyTorch: which one of the calls of that operator in a run
};

struct Profile {
  Engine engine = Engine::ort;
  std::vector<ProfiledNode> nodes;  // in the order of their first run
  double whole_ms = 0.0;            // of a run from its begin to its end; 0 where the engine does not say it
  double profiler_ms = 0.0;         // what without_profiler took off
  int threads = 0;                  // ONNX Runtime: that were seen at work; 0 where that is not told
  double nodes_ms() const;
  double total_ms() const;  // of a run: what is between nodes included, where it is known
};

// ONNX Runtime's JSON (enable_profiling), chrome traces of torch.profiler, OpenVINO's detailed counters (CSV of
// benchmark_app), LiteRT's tables (benchmark_model --enable_op_profiling=true, text or CSV), TVM's reports
// (Report.json()) and traces (debug executor). Memory grows with nodes, not with runs. Errors: resource; invalid_input
// (truncated, no profile of a known kind, no nodes).
// PyTorch's traces have operators without names: they are those of the file, in its order, run after run.
Result<Profile> read_profile(const std::string& path, const FileView& view);
// The same run without what the profiler itself took, by how long a run takes without it. The profiler writes something
// for every node: all of them become shorter by the same time, which is first that between two of them, then theirs.
// Errors: usage (a run that takes longer without a profiler).
Result<Profile> without_profiler(Profile profile, double run_ms, const std::string& path);
// "aten::conv2d" of "aten.conv2d.default", as PyTorch's traces have it.
std::string traced_name(const std::string& op);

// A node of the profile, and the node of the file that it does the work of; -1 where nothing matches.
struct JoinedNode {
  ProfiledNode profiled;
  int node = -1;
};
struct JoinedProfile {
  Engine engine = Engine::ort;
  std::vector<JoinedNode> nodes;
  int threads = 0;
  double total_ms = 0.0, unmatched_ms = 0.0, profiler_ms = 0.0;
  double integer_ms = 0.0, float_products_ms = 0.0, conversions_ms = 0.0, others_ms = 0.0, between_ms = 0.0;  // add up
  std::map<int, double> ms_of_node;  // by the file's nodes, what is between nodes shared out to all alike
};
// Errors: usage (a profile of another model: of what takes time, less than half is in the file).
Result<JoinedProfile> join(const Profile& profile, const FileView& view, const std::string& path);

}  // namespace octavo::diagnose

#endif  // OCTAVO_DIAGNOSE_PROFILE_H_
