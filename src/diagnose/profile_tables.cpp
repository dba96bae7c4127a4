// Reading profiles as streams: texts of lines, OpenVINO's counters and what LiteRT's benchmark_model prints. Part of
// diagnose/.
#include <algorithm>
#include <charconv>
#include <optional>

#include "diagnose/profile_read.h"

namespace octavo::diagnose {
namespace {

constexpr std::size_t kLongestLine = 1 << 16;

// The next line without its end; nothing at the end of the file, or where a line is longer than any of a profile.
std::optional<std::string> next_line(std::istream& file) {
  std::string line;
  for (int c = file.get(); c != std::char_traits<char>::eof(); c = file.get()) {
    if (c == '\n') break;
    line.push_back(static_cast<char>(c));
    if (line.size() > kLongestLine) return {};
  }
  if (line.empty() && !file) return {};
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return line;
}

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
  return begin == std::string_view::npos ? "" : std::string(text.substr(begin, end - begin + 1));
}

std::vector<std::string> cells_of(const std::string& line, char separator) {
  std::vector<std::string> cells;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(separator, begin), line.size());
    cells.push_back(trimmed(std::string_view(line).substr(begin, end - begin)));
    begin = end + 1;
  }
  return cells;
}

std::optional<double> number_in(const std::string& text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return text.empty() || error != std::errc() ? std::nullopt : std::optional(value);
}

// Names of columns, and a row's cells by them.
class Table {
 public:
  void take_heads(const std::vector<std::string>& cells) {
    columns_.clear();
    for (std::size_t i = 0; i < cells.size(); ++i) columns_.emplace(cells[i], i);
  }
  std::size_t heads() const { return columns_.size(); }
  void clear() { columns_.clear(); }
  std::string cell(const std::vector<std::string>& row, const char* name) const {
    const auto found = columns_.find(name);
    return found != columns_.end() && found->second < row.size() ? row[found->second] : std::string();
  }

 private:
  std::map<std::string, std::size_t> columns_;
};

// "layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms)", in one block for each request.
class Counters {
 public:
  bool take(const std::string& line, ProfileSums& sums) {
    const auto cells = cells_of(line, ';');
    if (cells[0] == "layerName") return table_.take_heads(cells), is_open_ = true;
    if (cells[0] == "Total") is_open_ = false;
    const auto ms = number_in(table_.cell(cells, "realTime (ms)"));
    const std::string status = table_.cell(cells, "execStatus");
    if (!ms || cells[0] == "Total" || status.find("EXECUTED") == std::string::npos || status.starts_with("NOT"))
      return true;
    // The kernel's name ends with the type that it computes in: "brgconv_avx512_I8".
    return sums.add(cells[0], table_.cell(cells, "layerType") + " " + table_.cell(cells, "execType"), *ms);
  }
  // Whether a block has begun whose total, its last line, has not come.
  bool is_open() const { return is_open_; }

 private:
  Table table_;
  bool is_open_ = false;
};

// benchmark_model --enable_op_profiling=true: "node type, first, avg_ms, %, cdf%, mem KB, times called, name", in text
// with tabs and "[node type]", older ones with "start". Tables of initialization and summaries by kind are left out.
class Operators {
 public:
  double whole_ms = 0.0;  // "Inference timings in us: Init: 61, First inference: 5419, ..., Inference (avg): 5000"

  bool take(const std::string& line, ProfileSums& sums) {
    is_row_cut_ = false;
    if (line.find("Initialization") != std::string::npos) is_run_ = false;
    if (line.find("Operator-wise Profiling Info for Regular") != std::string::npos) is_run_ = true;
    if (line.find("====") != std::string::npos) {
      is_order_ = line.find("Run Order") != std::string::npos;
      table_.clear();
      return true;
    }
    constexpr std::string_view kWhole = "Inference (avg): ";
    if (const std::size_t at = line.find(kWhole); at != std::string::npos)
      whole_ms = number_in(line.substr(at + kWhole.size())).value_or(0.0) * 1e-3;
    if (line.find("node type") != std::string::npos) return take_heads(line), true;
    if (!is_run_ || !is_order_ || table_.heads() == 0) return true;
    auto cells = cells_of(line, separator_);
    // Kinds of a delegate have commas, "Convolution (NHWC, QC8) IGEMM"; names do not.
    while (separator_ == ',' && cells.size() > table_.heads()) {
      cells[0] += ", " + cells[1];
      cells.erase(cells.begin() + 1);
    }
    is_row_cut_ = cells.size() > 1 && cells.size() < table_.heads();
    const auto ms = number_in(table_.cell(cells, "avg ms"));
    if (!ms) return table_.clear(), true;  // what follows is no table
    const double calls = number_in(table_.cell(cells, "times called")).value_or(1.0);
    return sums.add(table_.cell(cells, "name"), table_.cell(cells, "node type"), *ms * std::max(calls, 1.0));
  }

  // Whether the last line is a row that lacks cells.
  bool ends_in_row() const { return is_row_cut_; }

 private:
  void take_heads(const std::string& line) {
    separator_ = line.find('\t') != std::string::npos ? '\t' : ',';
    auto cells = cells_of(line, separator_);
    for (std::string& cell : cells) {
      if (cell.starts_with('[') && cell.ends_with(']')) cell = cell.substr(1, cell.size() - 2);
      if (cell == "avg_ms") cell = "avg ms";
      if (cell == "Name") cell = "name";
    }
    table_.take_heads(cells);
  }

  Table table_;
  char separator_ = '\t';
  bool is_run_ = true, is_order_ = false, is_row_cut_ = false;
};

// A delegate's operators stand below the node that it is, and their times in that of the node.
std::vector<ProfiledNode> without_delegates(std::vector<ProfiledNode> nodes) {
  const auto is_inside = [](const ProfiledNode& node) { return node.op.starts_with("Delegate/"); };
  if (!std::ranges::any_of(nodes, is_inside)) return nodes;
  std::erase_if(nodes, [&](const ProfiledNode& node) {
    return !is_inside(node) && node.op.find("Delegate") != std::string::npos;
  });
  return nodes;
}

Profile litert_profile(const ProfileSums& sums, double whole_ms) {
  return {.engine = Engine::litert, .nodes = without_delegates(sums.nodes()), .whole_ms = whole_ms};
}

}  // namespace

Result<Profile> read_tables(std::istream& file, const std::string& path) {
  ProfileSums counted, listed;
  Counters counters;
  Operators operators;
  while (const auto line = next_line(file)) {
    const bool is_taken = counters.take(*line, counted) && operators.take(*line, listed);
    if (!is_taken) return no_profile(path, "more nodes than any network has");
  }
  if (!file.eof()) return no_profile(path, "a line of more than " + std::to_string(kLongestLine) + " characters");
  if (counters.is_open()) return no_profile(path, "counters that end before their total");
  if (operators.ends_in_row()) return no_profile(path, "a table that ends in the middle of a row");
  Profile profile{.engine = Engine::openvino, .nodes = counted.nodes()};
  if (profile.nodes.empty()) profile = litert_profile(listed, operators.whole_ms);
  if (profile.nodes.empty()) return no_profile(path, "a text without times of nodes");
  return profile;
}

}  // namespace octavo::diagnose
