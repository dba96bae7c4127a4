// TuningLog: measured times of calls, which overrule predictions. Part of select/.
#ifndef OCTAVO_SELECT_TUNING_LOG_H_
#define OCTAVO_SELECT_TUNING_LOG_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "select/select.h"

namespace octavo {

// What two calls have in common that take a kernel equally long: operator, structure of the attributes, types and shapes; '*' marks constants.
// "quantized_conv(u8[1x56x56x64], s8[64x3x3x64]*, ...) -> u8[1x56x56x64] {window=... groups=1}"
std::string describe_call(const OpCall& call);
// The processor, its instruction sets and caches.
std::string describe_machine(const Machine& machine);

// Nanoseconds on one thread, by machine, call and kernel. A kernel that a release renames or changes is measured under its new name.
class TuningLog {
 public:
  // JSON, as to_json writes it: {"format": "octavo tuning log 1", "machines": {machine: {call: {kernel: ns}}}}.
  // Error: invalid_input, naming what is not as expected; the file's name is left to the caller.
  static Result<TuningLog> parse(std::string_view json);
  std::string to_json() const;

  std::optional<double> find(const std::string& machine, const std::string& call, std::string_view kernel) const;
  void add(const std::string& machine, const std::string& call, std::string_view kernel, double ns);

  // Times added since the log was read.
  std::int64_t added() const { return added_; }

 private:
  using Times = std::map<std::string, double, std::less<>>;  // by kernel
  std::map<std::string, std::map<std::string, Times>> machines_;
  std::int64_t added_ = 0;
};

enum class Tuning : std::uint8_t { known, measure };

// The times that `log` knows of this machine; with Tuning::measure, those that it lacks are measured here and added, where this machine
// can run the kernel. The log outlives what is returned.
MeasuredCost measured_cost(TuningLog& log, Tuning tuning);

}  // namespace octavo

#endif  // OCTAVO_SELECT_TUNING_LOG_H_
