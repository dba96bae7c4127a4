// Reading profiles as streams: traces in JSON. Part of diagnose/.
#include "diagnose/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "diagnose/profile_read.h"

namespace octavo::diagnose {
namespace {

constexpr std::size_t kMostNodes = 1'000'000, kMostLevels = 64;

// Chrome's trace events, as ONNX Runtime and torch.profiler write them: objects of name, cat, dur, args. As TVM's debug
// executor does: name, ph ("B", "E"), ts. And TVM's reports: {"calls": [{"Name": {"string": ...}, "Duration (us)":
// {"microseconds": ...}}]}, where older ones have the name without an object.
class TraceReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit TraceReader(const FileView& view) {
    for (const ViewNode& node : view.nodes) ++operators_[traced_name(node.op)].nodes;
  }

  ProfileSums sums;
  MeanTime whole;  // of ONNX Runtime
  int threads = 0;
  Engine engine = Engine::ort;
  bool has_events = false;
  std::string problem;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return number(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return number(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
  bool binary(binary_t&) override { return true; }
  bool start_array(std::size_t) override { return push(); }
  bool end_array() override { return levels_.pop_back(), true; }
  bool start_object(std::size_t) override { return push(); }
  bool key(string_t& value) override { return ++levels_.back().keys, levels_.back().key = value, true; }
  bool string(string_t& value) override {
    if (levels_.empty()) return true;
    Level& level = levels_.back();
    if (level.key == "name" || level.key == "Name" || level.key == "string") level.name = value;
    else if (level.key == "cat") level.cat = value;
    else if (level.key == "op_name") level.op = value;
    else if (level.key == "ph") level.phase = value;
    return true;
  }
  bool end_object() override {
    const Level level = std::move(levels_.back());
    levels_.pop_back();
    if (!levels_.empty()) {
      Level& outer = levels_.back();
      // "thread_scheduling_stats" of a node has the threads that helped.
      if (outer.key == "sub_threads") threads = std::max(threads, 1 + level.keys);
      if (outer.key == "args") return outer.op = level.op, true;
      if (outer.key == "Name") return outer.name = level.name, true;
      if (outer.key == "Duration (us)") return outer.ms = level.ms, outer.is_call = true;
    }
    return level.name.empty() || event(level);
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    problem = "JSON that is broken or ends at byte " + std::to_string(position);
    return false;
  }

 private:
  struct Level {
    std::string key, name, cat, op, phase;
    int keys = 0;
    double ms = -1.0, at_ms = -1.0;
    bool is_call = false;  // of TVM's report
  };

  bool event(const Level& level) {
    if (level.is_call) return call(level.name, level.ms);
    if (level.cat.empty() && level.at_ms >= 0.0 && (level.phase == "B" || level.phase == "E")) return edge(level);
    if (level.ms < 0.0) return true;
    has_events = true;
    if (level.cat == "Session" && level.name == "model_run") return whole.add(level.ms), true;
    constexpr std::string_view kKernel = "_kernel_time";
    if (level.cat == "Node" && level.name.ends_with(kKernel))
      return add(level.name.substr(0, level.name.size() - kKernel.size()), level.op, level.ms);
    return level.cat != "cpu_op" || traced(level);
  }
  // PyTorch's operators have no names but what they are; those that run inside of others are in their time.
  bool traced(const Level& level) {
    engine = Engine::torch;
    const auto of_file = operators_.find(level.name);
    if (of_file == operators_.end() || (level.at_ms >= 0.0 && level.at_ms < end_ms_)) return true;
    end_ms_ = level.at_ms + level.ms;
    const int call = of_file->second.calls++ % of_file->second.nodes;
    return sums.add(level.name, level.name, level.ms, call) || (problem = "more nodes than any network has", false);
  }
  // Where a call begins or ends. Nodes of TVM's graphs have names of their own.
  bool edge(const Level& level) {
    has_events = true;
    if (level.phase == "B") {
      begun_[level.name] = level.at_ms;
      return begun_.size() < kMostNodes || (problem = "more nodes than any network has", false);
    }
    const auto begun = begun_.find(level.name);
    if (begun == begun_.end()) return true;
    const double ms = level.at_ms - begun->second;
    begun_.erase(begun);
    engine = Engine::tvm;
    return add(level.name, level.name, ms);
  }
  // A report is of one run, in the order of its calls; a function may be called for several nodes.
  bool call(const std::string& name, double ms) {
    has_events = true;
    engine = Engine::tvm;
    const int number = ++calls_[name];
    return add(number == 1 ? name : name + " #" + std::to_string(number), name, ms);
  }
  bool push() {
    if (levels_.size() >= kMostLevels) return problem = "JSON nested more deeply than profiles are", false;
    levels_.emplace_back();
    return true;
  }
  bool number(double value) {
    if (levels_.empty()) return true;
    Level& level = levels_.back();
    if (level.key == "dur" || level.key == "microseconds") level.ms = value * 1e-3;
    if (level.key == "ts") level.at_ms = value * 1e-3;
    return true;
  }
  bool add(const std::string& name, const std::string& op, double ms) {
    return sums.add(name, op, ms) || (problem = "more nodes than any network has", false);
  }

  struct Operator {
    int nodes = 0, calls = 0;  // in the file, in the trace
  };

  std::vector<Level> levels_;
  std::map<std::string, Operator> operators_;
  double end_ms_ = -1.0;  // of the operator before
  std::map<std::string, double> begun_;
  std::map<std::string, int> calls_;
};

Result<Profile> read_trace(std::istream& file, const std::string& path, const FileView& view) {
  TraceReader reader(view);
  const bool is_whole = nlohmann::json::sax_parse(file, &reader);
  if (!is_whole) return no_profile(path, reader.problem);
  Profile profile{
      .engine = reader.engine, .nodes = reader.sums.nodes(), .whole_ms = reader.whole.ms(), .threads = reader.threads};
  if (profile.nodes.empty())
    return no_profile(path, reader.has_events ? "a trace without times of nodes" : "JSON without trace events");
  return profile;
}

}  // namespace

bool ProfileSums::add(const std::string& name, const std::string& op, double ms, int call) {
  const auto [found, is_new] = places_.emplace(name + '\n' + op + '\n' + std::to_string(call), nodes_.size());
  if (is_new && nodes_.size() >= kMostNodes) return false;
  if (is_new) nodes_.push_back({{.name = name, .op = op, .call = call}, {}});
  nodes_[found->second].time.add(ms);
  return true;
}

std::vector<ProfiledNode> ProfileSums::nodes() const {
  std::vector<ProfiledNode> made;
  for (const Sum& sum : nodes_) {
    made.push_back(sum.node);
    made.back().ms = sum.time.ms();
    made.back().runs = sum.time.runs();
  }
  return made;
}

Error no_profile(const std::string& path, std::string found) {
  return {.kind = ErrorKind::invalid_input,
          .where = path,
          .found = std::move(found),
          .expected =
              "a profile: ONNX Runtime's JSON, a chrome trace of torch.profiler, OpenVINO's detailed counters "
              "(CSV), what LiteRT's benchmark_model prints of operators, or TVM's report or execution trace "
              "(JSON)"};
}

double Profile::nodes_ms() const {
  double ms = 0.0;
  for (const ProfiledNode& node : nodes) ms += node.ms;
  return ms;
}

// Nodes of branches and loops are in the time of the node that has them, too: then they sum up to more than the run.
double Profile::total_ms() const { return std::max(whole_ms, nodes_ms()); }

Result<Profile> without_profiler(Profile profile, double run_ms, const std::string& path) {
  const double total = profile.total_ms();
  const auto count = static_cast<double>(profile.nodes.size());
  if (!(run_ms > 0.0) || run_ms > total || count == 0.0)
    return Error{.kind = ErrorKind::usage,
                 .where = path,
                 .found = fmt::format("runs of {:.3f} ms, and {:.3f} ms without a profiler", total, run_ms),
                 .expected = "a time that is shorter than those of the profile, of the same file, engine and threads"};
  const double between = (total - profile.nodes_ms()) / count;
  const auto shorter = [&](const ProfiledNode& node, double each) {
    return std::max(node.ms - std::max(each - between, 0.0), 0.0);
  };
  // What a run takes falls as `each` grows: halving finds it.
  double low = 0.0, high = total;
  constexpr int kHalvings = 60;
  for (int i = 0; i < kHalvings; ++i) {
    const double each = 0.5 * (low + high);
    double left = count * std::max(between - each, 0.0);
    for (const ProfiledNode& node : profile.nodes) left += shorter(node, each);
    (left > run_ms ? low : high) = each;
  }
  for (ProfiledNode& node : profile.nodes) node.ms = shorter(node, high);
  profile.whole_ms = run_ms;
  profile.profiler_ms = total - run_ms;
  return profile;
}

std::string traced_name(const std::string& op) {
  const std::size_t first = op.find('.'), last = op.rfind('.');
  if (first == std::string::npos) return op;
  return op.substr(0, first) + "::" + op.substr(first + 1, last - first - 1);
}

Result<Profile> read_profile(const std::string& path, const FileView& view) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return Error{
        .kind = ErrorKind::resource, .where = path, .found = "a file that cannot be read", .expected = "a profile"};
  file >> std::ws;
  const int first = file.peek();
  if (first == std::char_traits<char>::eof()) return no_profile(path, "an empty file");
  return first == '[' || first == '{' ? read_trace(file, path, view) : read_tables(file, path);
}

}  // namespace octavo::diagnose
