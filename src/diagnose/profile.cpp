// Reading profiles as streams. Part of diagnose/.
#include "diagnose/profile.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>

namespace octavo::diagnose {
namespace {

constexpr std::size_t kMostNodes = 1'000'000, kMostLevels = 64;

// Sums by node: memory does not grow with runs.
class Sums {
 public:
  // False where there are more nodes than any network has.
  bool add(const std::string& name, const std::string& op, double ms) {
    const auto [found, is_new] = places_.emplace(name + '\n' + op, nodes_.size());
    if (is_new && nodes_.size() >= kMostNodes) return false;
    if (is_new) nodes_.push_back({{.name = name, .op = op}, ms, 0.0});
    Sum& sum = nodes_[found->second];
    ++sum.node.runs;
    if (!is_new) sum.later_ms += ms;
    return true;
  }

  // The mean of all but the first run, in which memory is taken.
  std::vector<ProfiledNode> nodes() const {
    std::vector<ProfiledNode> made;
    for (const Sum& sum : nodes_) {
      made.push_back(sum.node);
      made.back().ms = sum.node.runs > 1 ? sum.later_ms / (sum.node.runs - 1) : sum.first_ms;
    }
    return made;
  }

 private:
  struct Sum {
    ProfiledNode node;
    double first_ms = 0.0, later_ms = 0.0;
  };
  std::map<std::string, std::size_t> places_;
  std::vector<Sum> nodes_;
};

// Chrome's trace events, as ONNX Runtime and torch.profiler write them: objects of name, cat, dur, args.
class TraceReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  Sums sums;
  bool is_torch = false, has_events = false;
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
  bool key(string_t& value) override { return levels_.back().key = value, true; }
  bool string(string_t& value) override {
    if (levels_.empty()) return true;
    Level& level = levels_.back();
    if (level.key == "name") level.name = value;
    else if (level.key == "cat") level.cat = value;
    else if (level.key == "op_name") level.op = value;
    return true;
  }
  bool end_object() override {
    const Level level = std::move(levels_.back());
    levels_.pop_back();
    if (!levels_.empty() && levels_.back().key == "args") return levels_.back().op = level.op, true;
    if (level.ms < 0.0 || level.name.empty()) return true;
    has_events = true;
    constexpr std::string_view kKernel = "_kernel_time";
    if (level.cat == "Node" && level.name.ends_with(kKernel))
      return add(level.name.substr(0, level.name.size() - kKernel.size()), level.op, level.ms);
    if (level.cat != "cpu_op") return true;
    is_torch = true;
    return add(level.name, level.name, level.ms);
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    problem = "JSON that is broken or ends at byte " + std::to_string(position);
    return false;
  }

 private:
  struct Level {
    std::string key, name, cat, op;
    double ms = -1.0;
  };
  bool push() {
    if (levels_.size() >= kMostLevels) return problem = "JSON nested more deeply than profiles are", false;
    levels_.emplace_back();
    return true;
  }
  bool number(double value) {
    if (!levels_.empty() && levels_.back().key == "dur") levels_.back().ms = value * 1e-3;  // microseconds
    return true;
  }
  bool add(const std::string& name, const std::string& op, double ms) {
    return sums.add(name, op, ms) || (problem = "more nodes than any network has", false);
  }

  std::vector<Level> levels_;
};

Error no_profile(const std::string& path, std::string found) {
  return {
      .kind = ErrorKind::invalid_input,
      .where = path,
      .found = std::move(found),
      .expected =
          "a profile: ONNX Runtime's JSON, a chrome trace of torch.profiler, or OpenVINO's detailed counters (CSV)"};
}

Result<Profile> read_trace(std::istream& file, const std::string& path) {
  TraceReader reader;
  const bool is_whole = nlohmann::json::sax_parse(file, &reader);
  if (!is_whole) return no_profile(path, reader.problem);
  Profile profile{.engine = reader.is_torch ? Engine::torch : Engine::ort, .nodes = reader.sums.nodes()};
  if (profile.nodes.empty())
    return no_profile(path, reader.has_events ? "a trace without times of nodes" : "JSON without trace events");
  return profile;
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(';', begin), line.size());
    cells.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return cells;
}

// "layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms)", in one block for each request.
Result<Profile> read_counters(std::istream& file, const std::string& path) {
  Sums sums;
  std::map<std::string, std::size_t> columns;
  constexpr std::size_t kLongestLine = 1 << 16;
  for (std::string line; std::getline(file, line);) {
    if (line.size() > kLongestLine) return no_profile(path, "a line of " + std::to_string(line.size()) + " characters");
    if (!line.empty() && line.back() == '\r') line.pop_back();
    const auto cells = cells_of(line);
    if (cells[0] == "layerName") {
      for (std::size_t i = 0; i < cells.size(); ++i) columns[cells[i]] = i;
      continue;
    }
    const auto cell = [&](const char* name) {
      const auto found = columns.find(name);
      return found != columns.end() && found->second < cells.size() ? cells[found->second] : std::string();
    };
    const std::string time = cell("realTime (ms)");
    double ms = 0.0;
    const auto [end, error] = std::from_chars(time.data(), time.data() + time.size(), ms);
    if (time.empty() || error != std::errc() || cells[0] == "Total") continue;
    if (cell("execStatus").find("EXECUTED") == std::string::npos || cell("execStatus").starts_with("NOT")) continue;
    // The kernel's name ends with the type that it computes in: "brgconv_avx512_I8".
    if (!sums.add(cells[0], cell("layerType") + " " + cell("execType"), ms)) return no_profile(path, "too many nodes");
  }
  Profile profile{.engine = Engine::openvino, .nodes = sums.nodes()};
  if (profile.nodes.empty()) return no_profile(path, "a text without counters");
  return profile;
}

}  // namespace

double Profile::total_ms() const {
  double ms = 0.0;
  for (const ProfiledNode& node : nodes) ms += node.ms;
  return ms;
}

Result<Profile> read_profile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return Error{
        .kind = ErrorKind::resource, .where = path, .found = "a file that cannot be read", .expected = "a profile"};
  file >> std::ws;
  const int first = file.peek();
  if (first == std::char_traits<char>::eof()) return no_profile(path, "an empty file");
  return first == '[' || first == '{' ? read_trace(file, path) : read_counters(file, path);
}

}  // namespace octavo::diagnose
