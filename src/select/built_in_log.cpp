// The tuning logs of src/select/data, which the build puts into the library. Part of select/.
#include <string_view>
#include <vector>

#include "select/tuning_log.h"

namespace octavo {
namespace {

constexpr std::string_view kLogs[] = {
#include "select/built_in_logs.inc"
};

std::vector<TuningLog> parsed_logs() {
  std::vector<TuningLog> logs;
  for (const std::string_view text : kLogs) {
    if (auto log = TuningLog::parse(text)) logs.push_back(std::move(*log));
  }
  return logs;
}

}  // namespace

const TuningLog& built_in_log(const Machine& machine) {
  static const std::vector<TuningLog> logs = parsed_logs();
  static const TuningLog none;
  const std::string name = describe_machine(machine);
  for (const TuningLog& log : logs) {
    if (log.knows(name)) return log;
  }
  return none;
}

}  // namespace octavo
