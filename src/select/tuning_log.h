// TuningLog: measured times of calls, which overrule predictions. Part of select/.
#ifndef OCTAVO_SELECT_TUNING_LOG_H_
#define OCTAVO_SELECT_TUNING_LOG_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "select/select.h"

namespace octavo {

// What two calls have in common that take a kernel equally long: operator, structure of the attributes, types and
// shapes; '*' marks constants. "quantized_conv(u8[1x56x56x64], s8[64x3x3x64]*, ...) -> u8[1x56x56x64] {window=...
// groups=1}"
std::string describe_call(const OpCall& call);
// The processor, its instruction sets and caches.
std::string describe_machine(const Machine& machine);

// Nanoseconds on one thread, by machine, call and kernel. A kernel that a release renames or changes is measured under
// its new name.
class TuningLog {
 public:
  // JSON, as to_json writes it: {"format": "octavo tuning log 1", "machines": {machine: {call: {kernel: ns}}}}, and
  // perhaps "about", a line of text. Error: invalid_input, naming what is not as expected; the file's name is left to
  // the caller.
  static Result<TuningLog> parse(std::string_view json);
  std::string to_json() const;

  // When and how the times were taken; may be empty.
  const std::string& about() const { return about_; }
  std::optional<double> find(const std::string& machine, const std::string& call, std::string_view kernel) const;
  // Whether there is a time of the machine, or of any kernel for a call on it.
  bool knows(const std::string& machine) const { return machines_.contains(machine); }
  bool knows(const std::string& machine, const std::string& call) const;
  // The kernels that calls have times of, each once.
  std::set<std::string> kernels() const;
  void add(const std::string& machine, const std::string& call, std::string_view kernel, double ns);

  // Times added since the log was read.
  std::int64_t added() const { return added_; }

 private:
  using Times = std::map<std::string, double, std::less<>>;  // by kernel
  std::string about_;
  std::map<std::string, std::map<std::string, Times>> machines_;
  std::int64_t added_ = 0;
};

// The times that come with Octavo for this machine (src/select/data, which `make tuning` writes), or an empty log.
const TuningLog& built_in_log(const Machine& machine);

// Kernels in the log that Octavo does not have (any more): their times serve nothing.
std::vector<std::string> unknown_kernels(const TuningLog& log);

enum class Tuning : std::uint8_t { known, measure };

// The calls that a choice had times of, by where these came from.
struct TuningUse {
  std::set<std::string> own, built_in;
};

struct TuningSources {
  TuningLog* log = nullptr;  // by this machine's name
  Tuning tuning =
      Tuning::known;  // measure: what it lacks is measured here and added, where this machine can run the kernel
  const TuningLog* built_in =
      nullptr;               // asked where `log` knows nothing of a call, by the name of `machine`; may be null
  Machine machine;           // compiled for
  TuningUse* use = nullptr;  // filled in where given
};

// All of `sources` outlives what is returned.
MeasuredCost measured_cost(const TuningSources& sources);

}  // namespace octavo

#endif  // OCTAVO_SELECT_TUNING_LOG_H_
