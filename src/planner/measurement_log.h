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
// The processor or device, its instruction sets and caches.
std::string describe_machine(const Machine& machine);

// Of one subject (a call, a network) in one variant (a kernel, layers in fp32), by this machine's name.
struct Measurement {
  std::string subject, variant;
  std::map<std::string, double> values;  // by name with its unit: finite, at least 0
  // Of a tuner's trials only:
  std::string schedule = {};  // schedule_text
  int threads = 1;
  std::string cache = {};    // name_of(TrialCache)
  std::string failure = {};  // why there are no values: "ran into the limit of 10 s"

  bool is_trial() const { return !cache.empty(); }
};

// What compile does with a log that has trials of other machines alone.
enum class ForeignLog : std::uint8_t { refuse, use };

// A file of lines: {"format": "octavo measurements 2"}, then of each measurement
// {"machine": "...", "subject": "...", "variant": "...", "values": {"ns": 1234.0}}, of trials also "schedule",
// "threads", "cache" and, where it failed, "failure"; a later one replaces an earlier one. Several processes may add to
// one file at the same time; files with the same head may be joined by appending lines of one to the other.
class MeasurementLog {
 public:
  MeasurementLog();  // no file: what is added, of the host, is only remembered
  // Reads what is there; a file that does not exist yet, or an empty path, is empty. A last line that was cut off is
  // left out. `here` is "this machine" from then on. Errors: resource (cannot be read), invalid_input (another file,
  // or a damaged line: its number).
  static Result<MeasurementLog> open(const std::string& path, const Machine& here = host_machine());

  bool empty() const { return known_.empty(); }
  // Of this machine; nullptr where there is none.
  const std::map<std::string, double>* find(const std::string& subject, std::string_view variant) const;
  // Of this machine, the same but for values and failure; nullptr where there is none.
  const Measurement* find(const Measurement& like) const;
  // Trials of this machine, in the order in which they were taken. Valid until something is added.
  std::vector<const Measurement*> trials() const;
  // Has `trials` be those of the one other machine that the log has trials of, where it has none of this one. Errors:
  // invalid_input where there are several, or where foreign ones are refused.
  Status settle_machine(ForeignLog foreign);
  // Appends a line, which is on disk when this returns. Error: resource.
  Status add(Measurement measurement);
  // Of calls on this machine, sorted by their keys.
  std::vector<CallTime> call_times() const;
  // Kernels that calls, on any machine, have times of and that Octavo does not have (any more), sorted.
  std::vector<std::string> unknown_kernels() const;

 private:
  struct Known {
    std::string machine;
    Measurement measurement;
    std::int64_t number = 0;  // in the order of the file
  };
  explicit MeasurementLog(const Machine& machine);
  void keep(std::string machine, Measurement measurement);

  std::string here_;  // describe_machine
  std::string path_;
  std::map<std::string, Known> known_;  // by what tells it from others
  std::string trials_of_;               // a machine; empty: this one
  std::int64_t added_ = 0;
};

// The best history of a tuner for choose(), of calls that it has: of the cache that a call was measured with last; ways
// that were timed again in turns before all others. Refers to nothing.
TunedWays tuned_by(const MeasurementLog& log);
// The value that says in how many rounds a way was timed again.
inline constexpr std::string_view kRounds = "rounds";

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
