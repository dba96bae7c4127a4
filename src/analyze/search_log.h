// The log of a search: what was measured, one line each, so that an interrupted search goes on where it was. Part of
// analyze/.
#ifndef OCTAVO_ANALYZE_SEARCH_LOG_H_
#define OCTAVO_ANALYZE_SEARCH_LOG_H_

#include <map>
#include <string>
#include <vector>

#include "analyze/mixture.h"

namespace octavo {

class SearchLog {
 public:
  // Reads what is there. `key` tells the search: model, scales, data, machine. Errors: usage (the log of another
  // search), resource (no such folder). A line cut off by an interruption is dropped. An empty path: no file, nothing
  // remembered.
  static Result<SearchLog> open(const std::string& path, const std::string& key);
  const MixtureFacts* find(const std::vector<std::size_t>& in_float) const;
  // Appends a line; it is on disk when this returns.
  Status add(const std::vector<std::size_t>& in_float, const MixtureFacts& facts);

 private:
  std::string path_;
  std::map<std::vector<std::size_t>, MixtureFacts> known_;
};

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_SEARCH_LOG_H_
