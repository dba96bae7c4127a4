// MeasurementLog: what was measured on which machine, kept in a file that only grows; and the times of calls in it,
// which overrule predictions. Part of planner/.
#ifndef OCTAVO_PLANNER_MEASUREMENT_LOG_H_
#define OCTAVO_PLANNER_MEASUREMENT_LOG_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/monitor.h"
#include "octavo/choices.h"
#include "plan/open_network.h"
#include "planner/select.h"

namespace octavo {

// What two calls have in common that take a kernel equally long: operator, structure of the attributes, types and
// shapes; '*' marks constants. "quantized_conv(u8[1x56x56x64], s8[64x3x3x64]*, ...) -> u8[1x56x56x64] {window=...
// groups=1}"
std::string describe_call(const OpCall& call);
// The processor, its instruction sets and caches.
std::string describe_machine(const Machine& machine);

// Of one subject (a call, a network) in one variant (a kernel, layers in fp32), by this machine's name.
struct Measurement {
  std::string subject, variant;
  std::map<std::string, double> values;  // by name with its unit: finite, at least 0
};

// A file of lines: {"format": "octavo measurements 1"}, then of each measurement
// {"machine": "...", "subject": "...", "variant": "...", "values": {"ns": 1234.0}}; a later one replaces an earlier
// one. Several processes may add to one file at the same time.
class MeasurementLog {
 public:
  MeasurementLog() = default;  // no file: what is added is only remembered
  // Reads what is there; a file that does not exist yet, or an empty path, is empty. A last line that was cut off is
  // left out. Errors: resource (cannot be read), invalid_input (another file, or a damaged line: its number).
  static Result<MeasurementLog> open(const std::string& path);

  bool empty() const { return known_.empty(); }
  // Of this machine; nullptr where there is none.
  const std::map<std::string, double>* find(const std::string& subject, std::string_view variant) const;
  // Appends a line, which is on disk when this returns. Error: resource.
  Status add(Measurement measurement);
  // Of calls on this machine, sorted by their keys.
  std::vector<CallTime> call_times() const;
  // Kernels that calls, on any machine, have times of and that Octavo does not have (any more), sorted.
  std::vector<std::string> unknown_kernels() const;

 private:
  std::string path_;
  std::map<std::tuple<std::string, std::string, std::string>, std::map<std::string, double>>
      known_;  // by machine,
               // subject, variant
};

// For choose(), of times sorted by their keys; refers to them. Empty where there are none.
MeasuredCost cost_by(const std::vector<CallTime>& times);

// Nanoseconds on one thread, of the log or, where this machine can run the kernel, measured now and added to it.
class CallTimes {
 public:
  CallTimes(MeasurementLog& log, TuningMode tuning, Monitor monitor = {})
      : log_(log), tuning_(tuning), monitor_(std::move(monitor)) {}
  // For choose(); refers to this.
  MeasuredCost cost();
  // How many calls had a time.
  std::size_t calls() const { return calls_.size(); }
  // The first error of writing the log, or that the monitor asked for the end: nothing more is measured then.
  const Status& status() const { return status_; }

 private:
  std::optional<double> ns(const KernelChoice& kernel, const OpCall& call, Prospect prospect);
  MeasurementLog& log_;
  TuningMode tuning_;
  std::set<std::string> calls_;
  Monitor monitor_;
  std::int64_t measured_ = 0;
  Status status_ = ok_status();
};

}  // namespace octavo

#endif  // OCTAVO_PLANNER_MEASUREMENT_LOG_H_
