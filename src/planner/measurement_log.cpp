// Reading and appending lines, and times of calls from them. Part of planner/.
#include "planner/measurement_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "planner/measure.h"

namespace octavo {
namespace {

using Json = nlohmann::json;
using Values = std::map<std::string, double>;
constexpr std::string_view kHead = "{\"format\": \"octavo measurements 2\"}\n";

std::string describe(const Fact& fact) {
  return std::string(name_of(fact.dtype)) + "[" + fact.shape.to_string() + "]" + (fact.is_constant() ? "*" : "");
}

bool is_call(const std::string& subject) { return subject.find(") -> ") != std::string::npos; }

// Nothing where the line is none of this log.
std::optional<std::pair<std::string, Measurement>> parse_line(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  for (const char* key : {"machine", "subject", "variant"}) {
    if (!json.contains(key) || !json[key].is_string()) return std::nullopt;
  }
  if (!json.contains("values") || !json["values"].is_object()) return std::nullopt;
  Measurement measurement{.subject = json["subject"].get<std::string>(), .variant = json["variant"].get<std::string>()};
  for (const auto& [name, value] : json["values"].items()) {
    const double number = value.is_number() ? value.get<double>() : -1.0;
    if (!(number >= 0.0) || std::isinf(number)) return std::nullopt;
    measurement.values[name] = number;
  }
  for (const auto& [key, text] : {std::pair("schedule", &measurement.schedule), std::pair("cache", &measurement.cache),
                                  std::pair("failure", &measurement.failure)}) {
    if (json.contains(key) && !json[key].is_string()) return std::nullopt;
    if (json.contains(key)) *text = json[key].get<std::string>();
  }
  if (json.contains("threads") && !json["threads"].is_number_integer()) return std::nullopt;
  measurement.threads = json.value("threads", 1);
  return std::pair(json["machine"].get<std::string>(), std::move(measurement));
}

std::string format_line(const std::string& machine, const Measurement& measurement) {
  Json json{{"machine", machine},
            {"subject", measurement.subject},
            {"variant", measurement.variant},
            {"values", measurement.values}};
  if (!measurement.schedule.empty()) json["schedule"] = measurement.schedule;
  if (measurement.is_trial()) json["threads"] = measurement.threads, json["cache"] = measurement.cache;
  if (!measurement.failure.empty()) json["failure"] = measurement.failure;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string key_of(const std::string& machine, const Measurement& m) {
  constexpr char kBetween = '\n';  // which none of them has
  return machine + kBetween + m.subject + kBetween + m.variant + kBetween + m.schedule + kBetween +
         std::to_string(m.threads) + kBetween + m.cache;
}

// The file, open and locked against other writers; both end with this.
class LockedFile {
 public:
  explicit LockedFile(const std::string& path) : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    while (fd_ >= 0 && ::flock(fd_, LOCK_EX) != 0) {
      if (errno != EINTR) close();
    }
  }
  ~LockedFile() { close(); }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  // Behind the last whole line: what an interrupted writer left behind it is overwritten.
  bool append(std::string_view text) {
    off_t end = fd_ < 0 ? -1 : ::lseek(fd_, 0, SEEK_END);
    for (char last = 0; end > 0 && ::pread(fd_, &last, 1, end - 1) == 1 && last != '\n';) --end;
    if (end < 0 || ::ftruncate(fd_, end) != 0) return false;
    const std::string lines = std::string(end == 0 ? kHead : "") + std::string(text);
    for (std::size_t done = 0; done < lines.size();) {
      const ssize_t written = ::pwrite(fd_, lines.data() + done, lines.size() - done, end + static_cast<off_t>(done));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return false;
      done += static_cast<std::size_t>(written);
    }
    return ::fsync(fd_) == 0;
  }

 private:
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  int fd_;
};

}  // namespace

std::string describe_call(const OpCall& call) {
  std::string text = std::string(call.spec->name) + "(";
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    text += (i == 0 ? "" : ", ") + (call.inputs[i] == nullptr ? std::string("-") : describe(*call.inputs[i]));
  }
  text += ") ->";
  for (const Fact& output : call.outputs) text += " " + describe(output);
  const std::string structure = call.attrs->structure();
  return structure.empty() ? text : text + " {" + structure + "}";
}

std::string describe_machine(const Machine& machine) {
  const auto kilobytes = [](std::int64_t bytes) { return std::to_string(bytes / 1024) + " KB"; };
  return machine.name + "; " + machine.isa.to_string() + "; " + kilobytes(machine.l1_bytes) + " L1, " +
         kilobytes(machine.l2_bytes) + " L2, " + kilobytes(machine.l3_bytes) + " L3";
}

MeasurementLog::MeasurementLog() : MeasurementLog(host_machine()) {}
MeasurementLog::MeasurementLog(const Machine& machine) : here_(describe_machine(machine)) {}

Result<MeasurementLog> MeasurementLog::open(const std::string& path, const Machine& here) {
  MeasurementLog log(here);
  log.path_ = path;
  if (std::error_code error; path.empty() || !std::filesystem::exists(path, error)) return log;
  const auto bytes = read_file(path);
  if (!bytes) return bytes.errors();
  std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  if (kHead.starts_with(text)) return log;
  const auto damaged = [&](const std::string& where, std::string expected) {
    return Error{.kind = ErrorKind::invalid_input,
                 .where = path + where,
                 .found = "something else",
                 .expected = std::move(expected)};
  };
  if (!text.starts_with(kHead))
    return damaged("", "a log of measurements: " + std::string(kHead.substr(0, kHead.size() - 1)) + " and lines");
  text.remove_prefix(kHead.size());
  for (int number = 2; text.find('\n') != std::string_view::npos; ++number) {
    auto line = parse_line(text.substr(0, text.find('\n')));
    if (!line)
      return damaged(": line " + std::to_string(number),
                     "an object with machine, subject, variant and values, numbers of at least 0");
    auto& [machine, measurement] = *line;
    log.keep(std::move(machine), std::move(measurement));
    text.remove_prefix(text.find('\n') + 1);
  }
  return log;
}

void MeasurementLog::keep(std::string machine, Measurement measurement) {
  std::string key = key_of(machine, measurement);
  known_[std::move(key)] = {std::move(machine), std::move(measurement), added_++};
}

const Values* MeasurementLog::find(const std::string& subject, std::string_view variant) const {
  const Measurement* found = find({.subject = subject, .variant = std::string(variant), .values = {}});
  return found == nullptr ? nullptr : &found->values;
}

const Measurement* MeasurementLog::find(const Measurement& like) const {
  const auto found = known_.find(key_of(here_, like));
  return found == known_.end() ? nullptr : &found->second.measurement;
}

Status MeasurementLog::add(Measurement measurement) {
  if (!path_.empty() && !LockedFile(path_).append(format_line(here_, measurement))) {
    return Error{.kind = ErrorKind::resource,
                 .where = path_,
                 .found = std::string("cannot be written: ") + std::strerror(errno)};
  }
  keep(here_, std::move(measurement));
  return ok_status();
}

std::vector<CallTime> MeasurementLog::call_times() const {
  std::vector<CallTime> times;
  for (const auto& [id, known] : known_) {
    const Measurement& m = known.measurement;
    const auto ns = m.values.find("ns");
    if (known.machine == here_ && !m.is_trial() && is_call(m.subject) && ns != m.values.end())
      times.push_back({m.subject, m.variant, ns->second});
  }
  return times;
}

std::vector<const Measurement*> MeasurementLog::trials() const {
  const std::string& machine = trials_of_.empty() ? here_ : trials_of_;
  std::vector<const Known*> found;
  for (const auto& [key, known] : known_) {
    if (known.measurement.is_trial() && known.machine == machine) found.push_back(&known);
  }
  std::sort(found.begin(), found.end(), [](const Known* a, const Known* b) { return a->number < b->number; });
  std::vector<const Measurement*> trials;
  for (const Known* known : found) trials.push_back(&known->measurement);
  return trials;
}

Status MeasurementLog::settle_machine(ForeignLog foreign) {
  std::set<std::string> machines;
  for (const auto& [key, known] : known_) {
    if (known.measurement.is_trial()) machines.insert(known.machine);
  }
  if (machines.empty() || machines.contains(here_)) return ok_status();
  std::string list;
  for (const std::string& machine : machines) list += (list.empty() ? "'" : ", '") + machine + "'";
  if (foreign == ForeignLog::use && machines.size() == 1) {
    trials_of_ = *machines.begin();
    return ok_status();
  }
  return Error{
      .kind = ErrorKind::invalid_input,
      .where = path_,
      .found = "trials of " + list,
      .expected = foreign == ForeignLog::use ? "those of one machine" : "trials of this machine, '" + here_ + "'",
      .hint = foreign == ForeignLog::use ? "Take the lines of one of them" : "--foreign-log uses them all the same"};
}

std::vector<std::string> MeasurementLog::unknown_kernels() const {
  std::set<std::string> unknown;
  for (const auto& [key, known] : known_) {
    const Measurement& m = known.measurement;
    if (is_call(m.subject) && find_choice(m.variant) == nullptr) unknown.insert(m.variant);
  }
  return {unknown.begin(), unknown.end()};
}

TunedWays tuned_by(const MeasurementLog& log) {
  struct Trials {
    std::string cache;
    std::vector<std::pair<bool, TunedWay>> ways;  // whether it was timed in one go only
  };
  std::map<std::pair<std::string, int>, Trials> by_call;
  for (const Measurement* trial : log.trials()) {
    Trials& of_call = by_call[{trial->subject, trial->threads}];
    if (of_call.cache != trial->cache) of_call = {.cache = trial->cache, .ways = {}};
    const auto ns = trial->values.find("ns");
    if (ns == trial->values.end()) continue;
    const bool is_once = !trial->values.contains(std::string(kRounds));
    of_call.ways.push_back({is_once, {trial->variant, trial->schedule, ns->second}});
  }
  if (by_call.empty()) return {};
  for (auto& [call, trials] : by_call) {
    std::stable_sort(trials.ways.begin(), trials.ways.end(), [](const auto& a, const auto& b) {
      return std::pair(a.first, a.second.ns) < std::pair(b.first, b.second.ns);
    });
  }
  return [by_call = std::move(by_call)](const OpCall& call, int threads) {
    std::vector<TunedWay> ways;
    const auto found = by_call.find({describe_call(call), threads});
    if (found == by_call.end()) return ways;
    for (const auto& [is_once, way] : found->second.ways) ways.push_back(way);
    return ways;
  };
}

MeasuredCost cost_by(const std::vector<CallTime>& times) {
  if (times.empty()) return {};
  return [&times](const KernelChoice& kernel, const OpCall& call, Prospect) -> std::optional<double> {
    const CallTime wanted{describe_call(call), std::string(kernel.code.name)};
    const auto found = std::lower_bound(times.begin(), times.end(), wanted,
                                        [](const CallTime& a, const CallTime& b) { return a.key() < b.key(); });
    const bool is_known = found != times.end() && found->key() == wanted.key();
    // A file may say anything.
    return is_known && std::isfinite(found->ns) && found->ns >= 0.0 ? std::optional(found->ns) : std::nullopt;
  };
}

MeasuredCost CallTimes::cost() {
  if (tuning_ == TuningMode::off && log_.empty()) return {};
  return
      [this](const KernelChoice& kernel, const OpCall& call, Prospect prospect) { return ns(kernel, call, prospect); };
}

std::optional<double> CallTimes::ns(const KernelChoice& kernel, const OpCall& call, Prospect prospect) {
  const std::string subject = describe_call(call);
  if (const Values* known = log_.find(subject, kernel.code.name); known != nullptr && known->contains("ns")) {
    calls_.insert(subject);
    return known->at("ns");
  }
  if (tuning_ == TuningMode::off || (tuning_ == TuningMode::quick && prospect == Prospect::far)) return std::nullopt;
  if (status_) status_ = monitor_.at(Phase::tuning, measured_, 0);
  if (!status_) return std::nullopt;
  const auto measured = measure_ns(kernel, call);
  if (!measured) return std::nullopt;
  ++measured_;
  calls_.insert(subject);
  status_ = log_.add({subject, std::string(kernel.code.name), {{"ns", *measured}}});
  return measured;
}

}  // namespace octavo
