// The log as JSON, its keys, and where its times come from. Part of select/.
#include "select/tuning_log.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "select/measure.h"

namespace octavo {
namespace {

using Json = nlohmann::json;
constexpr char kFormat[] = "octavo tuning log 1";
constexpr double kLongestNs = 1e12;

Error damaged(std::string where, std::string found, std::string expected) {
  return {.kind = ErrorKind::invalid_input,
          .where = std::move(where),
          .found = std::move(found),
          .expected = std::move(expected)};
}

std::string describe(const Fact& fact) {
  return std::string(name_of(fact.dtype)) + "[" + fact.shape.to_string() + "]" + (fact.is_constant() ? "*" : "");
}

// A log may also hold times of whole networks (analyze/auto_precision).
bool is_call(const std::string& key) { return key.find(") -> ") != std::string::npos; }

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

Result<TuningLog> TuningLog::parse(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("format", Json()) != kFormat) {
    return damaged("", "something else", "a JSON object whose format is '" + std::string(kFormat) + "'");
  }
  const auto machines = json.find("machines");
  if (machines == json.end() || !machines->is_object()) return damaged("machines", "none", "an object");
  const Json about = json.value("about", Json(""));
  if (!about.is_string()) return damaged("about", about.type_name(), "a text");
  TuningLog log;
  log.about_ = about.get<std::string>();
  for (const auto& [machine, calls] : machines->items()) {
    if (!calls.is_object()) return damaged("machine '" + machine + "'", calls.type_name(), "an object of calls");
    for (const auto& [call, kernels] : calls.items()) {
      if (!kernels.is_object()) return damaged("call '" + call + "'", kernels.type_name(), "an object of kernels");
      for (const auto& [kernel, ns] : kernels.items()) {
        const double value = ns.is_number() ? ns.get<double>() : -1.0;
        if (!(value > 0.0 && value <= kLongestNs)) {
          return damaged("call '" + call + "', kernel '" + kernel + "'", ns.dump(), "nanoseconds above 0");
        }
        log.machines_[machine][call][kernel] = value;
      }
    }
  }
  return log;
}

std::string TuningLog::to_json() const {
  Json machines = Json::object();
  for (const auto& [machine, calls] : machines_) {
    for (const auto& [call, kernels] : calls) {
      for (const auto& [kernel, ns] : kernels) machines[machine][call][kernel] = std::llround(ns);
    }
  }
  Json json{{"format", kFormat}, {"machines", machines}};
  if (!about_.empty()) json["about"] = about_;
  return json.dump(1) + "\n";
}

std::optional<double> TuningLog::find(const std::string& machine, const std::string& call,
                                      std::string_view kernel) const {
  const auto calls = machines_.find(machine);
  if (calls == machines_.end()) return std::nullopt;
  const auto kernels = calls->second.find(call);
  if (kernels == calls->second.end()) return std::nullopt;
  const auto ns = kernels->second.find(kernel);
  if (ns == kernels->second.end()) return std::nullopt;
  return ns->second;
}

bool TuningLog::knows(const std::string& machine, const std::string& call) const {
  const auto calls = machines_.find(machine);
  return calls != machines_.end() && calls->second.contains(call);
}

std::set<std::string> TuningLog::kernels() const {
  std::set<std::string> names;
  for (const auto& [machine, calls] : machines_) {
    for (const auto& [call, kernels] : calls) {
      if (!is_call(call)) continue;
      for (const auto& [kernel, ns] : kernels) names.insert(kernel);
    }
  }
  return names;
}

void TuningLog::add(const std::string& machine, const std::string& call, std::string_view kernel, double ns) {
  machines_[machine][call][std::string(kernel)] = ns;
  ++added_;
}

std::vector<std::string> unknown_kernels(const TuningLog& log) {
  std::vector<std::string> unknown;
  for (const std::string& kernel : log.kernels()) {
    if (find_kernel(kernel) == nullptr) unknown.push_back(kernel);
  }
  return unknown;
}

namespace {

// A time of the log, or one measured now.
std::optional<double> own_ns(const TuningSources& sources, const std::string& machine, const std::string& key,
                             const Kernel& kernel, const OpCall& call) {
  if (const auto known = sources.log->find(machine, key, kernel.name); known || sources.tuning == Tuning::known)
    return known;
  const auto measured = measure_ns(kernel, call);
  if (!measured) return std::nullopt;
  // Whole nanoseconds, as the log keeps them: a later compilation must choose the same.
  const double ns = std::max(1.0, std::round(*measured));
  sources.log->add(machine, key, kernel.name, ns);
  return ns;
}

}  // namespace

MeasuredCost measured_cost(const TuningSources& sources) {
  return [sources, host = describe_machine(host_machine()), target = describe_machine(sources.machine)](
             const Kernel& kernel, const OpCall& call) -> std::optional<double> {
    const std::string key = describe_call(call);
    // Times of two logs were not taken together: those of one call come from one of them.
    const bool is_own = sources.built_in == nullptr || sources.log->knows(host, key);
    const auto ns =
        is_own ? own_ns(sources, host, key, kernel, call) : sources.built_in->find(target, key, kernel.name);
    if (ns && sources.use != nullptr) (is_own ? sources.use->own : sources.use->built_in).insert(key);
    return ns;
  };
}

}  // namespace octavo
