// Reading and writing the log of a search. Part of analyze/.
#include "analyze/search_log.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file.h"

namespace octavo {
namespace {

using Json = nlohmann::json;

Error cannot_write(const std::string& path) {
  return {.kind = ErrorKind::resource, .where = path, .found = "cannot be written"};
}

bool has_numbers(const Json& line) {
  for (const char* key : {"ms", "noise"}) {
    if (!line.contains(key) || !line[key].is_number()) return false;
  }
  for (const char* key : {"agreeing", "right"}) {
    if (!line.contains(key) || !line[key].is_number_integer()) return false;
  }
  return line.contains("float") && line["float"].is_array();
}

struct Entry {
  std::vector<std::size_t> in_float;
  MixtureFacts facts;
};

std::optional<Entry> entry_of(const std::string& text) {
  const Json line = Json::parse(text, nullptr, false);
  if (!line.is_object() || !has_numbers(line)) return std::nullopt;
  Entry entry;
  for (const Json& group : line["float"]) {
    if (!group.is_number_unsigned()) return std::nullopt;
    entry.in_float.push_back(group.get<std::size_t>());
  }
  entry.facts = {.ms = line["ms"].get<double>(),
                 .noise = line["noise"].get<double>(),
                 .agreeing = line["agreeing"].get<std::int64_t>(),
                 .right = line["right"].get<std::int64_t>()};
  return entry;
}

}  // namespace

Result<SearchLog> SearchLog::open(const std::string& path, const std::string& key) {
  SearchLog log;
  log.path_ = path;
  if (path.empty()) return log;
  const std::string head =
      Json({{"octavo_search", 1}, {"key", key}}).dump(-1, ' ', false, Json::error_handler_t::replace);
  if (!std::filesystem::exists(path)) {
    if (const Status written = write_text(path, head + "\n"); !written) return written.errors();
    return log;
  }
  const auto bytes = read_file(path);
  if (!bytes) return bytes.errors();
  const std::string text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  std::size_t begin = text.find('\n');
  if (text.substr(0, begin) != head) {
    return Error{.kind = ErrorKind::usage,
                 .where = path,
                 .found = "the log of another search",
                 .expected = "one of this model, these samples and options on this machine, or a new file"};
  }
  std::string whole = head + "\n";  // all lines that are complete
  for (++begin; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    const auto entry = entry_of(line);
    if (!entry) continue;
    log.known_[entry->in_float] = entry->facts;
    whole += line + "\n";
  }
  if (whole == text) return log;
  if (const Status written = write_text(path, whole); !written) return written.errors();
  return log;
}

const MixtureFacts* SearchLog::find(const std::vector<std::size_t>& in_float) const {
  const auto found = known_.find(in_float);
  return found == known_.end() ? nullptr : &found->second;
}

Status SearchLog::add(const std::vector<std::size_t>& in_float, const MixtureFacts& facts) {
  if (path_.empty() || !std::isfinite(facts.noise)) return ok_status();
  known_[in_float] = facts;
  std::ofstream file(path_, std::ios::app | std::ios::binary);
  file << Json({{"float", in_float},
                {"ms", facts.ms},
                {"noise", facts.noise},
                {"agreeing", facts.agreeing},
                {"right", facts.right}})
              .dump()
       << '\n';
  file.flush();
  return file ? ok_status() : Status(cannot_write(path_));
}

}  // namespace octavo
