// Choosing between int8 and fp32 by time, and remembering the times. Part of analyze/.
#include "analyze/auto_precision.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <optional>
#include <utility>

#include "analyze/form_lab.h"
#include "base/machine.h"
#include "select/measurement_log.h"

namespace octavo {
namespace {

using Groups = std::vector<std::size_t>;

// What is not faster by this much may be the clock's doing.
constexpr double kClearly = 0.95;      // of a group's time
constexpr double kFaster = 0.99;       // of a run's
constexpr double kNegligible = 0.001;  // of a run: a group that saves less is not worth a boundary

// Those of the groups that are clearly faster than in int8.
Groups faster_groups(const Groups& groups, const FormTimes& times, const FormTimes& int8) {
  Groups faster;
  std::copy_if(groups.begin(), groups.end(), std::back_inserter(faster), [&](std::size_t group) {
    const double own = times.group_ms[group], other = int8.group_ms[group];
    return own < kClearly * other && other - own > kNegligible * int8.run_ms;
  });
  return faster;
}

FormChoice fastest(const std::vector<NetworkForm>& forms, const std::vector<FormTimes>& times) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < forms.size(); ++i) {
    if (times[i].run_ms < kFaster * times[best].run_ms) best = i;
  }
  return {.form = forms[best], .int8 = times.front(), .fp32 = times.back(), .chosen = times[best]};
}

Error usage(std::string found, std::string expected) {
  return {.kind = ErrorKind::usage,
          .where = "--precision auto",
          .found = std::move(found),
          .expected = std::move(expected)};
}

Status check(const std::string& model, const CompileRequest& request) {
  if (v1::is_compiled(model))
    return usage("the compiled model " + model,
                 "a model file: what computes in which precision is decided when it is compiled");
  if (request.options.calibrated != nullptr)
    return usage("--scales beside it", "--calibrate: layers in fp32 move the boundaries");
  if (request.options.integer_only) return usage("--integer-only beside it", "--precision int8");
  return ok_status();
}

// "int8", "fp32", "float 3 4": a name in the log.
std::string name_of(const NetworkForm& form) {
  if (form.is_fp32) return "fp32";
  if (form.in_float.empty()) return "int8";
  std::string name = "float";
  for (const std::size_t group : form.in_float) name += " " + std::to_string(group);
  return name;
}

// Times in the log of kernels' times, beside them: the subject is a network and the forms that took turns. Without a
// path they are only remembered.
class FormLog {
 public:
  FormLog(MeasurementLog log, std::string network) : log_(std::move(log)), network_(std::move(network)) {}

  std::optional<std::vector<FormTimes>> find(const std::vector<NetworkForm>& forms, std::size_t groups) const {
    std::vector<FormTimes> times;
    for (const NetworkForm& form : forms) {
      const auto* values = log_.find(subject(forms), name_of(form));
      if (values == nullptr || !values->contains("run_ms")) return std::nullopt;
      FormTimes own{.run_ms = values->at("run_ms")};
      for (std::size_t i = 0; i < groups; ++i) {
        const auto ms = values->find(group_name(i));
        if (ms == values->end()) return std::nullopt;
        own.group_ms.push_back(ms->second);
      }
      times.push_back(std::move(own));
    }
    return times;
  }

  Status add(const std::vector<NetworkForm>& forms, const std::vector<FormTimes>& times) {
    for (std::size_t i = 0; i < forms.size(); ++i) {
      Measurement measurement{subject(forms), name_of(forms[i]), {{"run_ms", times[i].run_ms}}};
      for (std::size_t k = 0; k < times[i].group_ms.size(); ++k)
        measurement.values[group_name(k)] = times[i].group_ms[k];
      if (Status added = log_.add(std::move(measurement)); !added) return added;
    }
    return ok_status();
  }

 private:
  std::string subject(const std::vector<NetworkForm>& forms) const {
    std::string text = network_ + ":";
    for (const NetworkForm& form : forms) text += " " + name_of(form) + ";";
    return text;
  }
  static std::string group_name(std::size_t group) { return "group_" + std::to_string(group) + "_ms"; }

  MeasurementLog log_;
  std::string network_;
};

std::string threads_text(const CompileRequest& request) {
  if (request.threads == 0) return "all threads";
  return fmt::format("{} thread{}", request.threads, request.threads == 1 ? "" : "s");
}

Result<FormLog> open_log(const std::string& model, const CompileRequest& request, const FormLab& lab) {
  if (request.options.tuning_log.empty()) return FormLog({}, "");
  const auto checksum = lab.checksum();
  if (!checksum) return checksum.errors();
  auto log = MeasurementLog::open(request.options.tuning_log);
  if (!log) return log.errors();
  return FormLog(
      std::move(*log),
      fmt::format("network {} {:016x}, batch {}, {}, for {}", std::filesystem::path(model).filename().string(),
                  *checksum, request.options.batches[0], threads_text(request), request.options.target));
}

std::string summary_of(const FormChoice& choice, const FormLab& lab, const CompileRequest& request) {
  const std::size_t groups = lab.groups().size(), in_float = choice.form.in_float.size();
  const std::string what = choice.form.is_fp32 ? "all in fp32"
                           : in_float == 0     ? "all in int8"
                                               : fmt::format("{} of {} groups in fp32", in_float, groups);
  const std::string how = lab.predicts() ? "predicted on 1 thread" : "measured on " + threads_text(request);
  return fmt::format("auto: {}, {:.4f} ms; all in int8 {:.4f} ms, all in fp32 {:.4f} ms; {}, batch {}", what,
                     choice.chosen.run_ms, choice.int8.run_ms, choice.fp32.run_ms, how, request.options.batches[0]);
}

// The summary, then each group that is not in int8 with both times.
std::vector<std::string> notes_of(const FormChoice& choice, const FormLab& lab, const CompileRequest& request) {
  std::vector<std::string> notes = {summary_of(choice, lab, request)};
  Groups listed = choice.form.in_float;
  if (choice.form.is_fp32) {
    listed.resize(lab.groups().size());
    std::iota(listed.begin(), listed.end(), std::size_t{0});
  }
  for (const std::size_t group : listed) {
    notes.push_back(fmt::format("auto: '{}' in fp32, {:.4f} ms; in int8 {:.4f} ms, conversions included",
                                fmt::join(lab.groups()[group], "', '"), choice.chosen.group_ms[group],
                                choice.int8.group_ms[group]));
  }
  return notes;
}

}  // namespace

Result<FormChoice> choose_form(const MeasureForms& measure) {
  std::vector<NetworkForm> forms = {kAllInt8, kAllFp32};
  auto times = measure(forms);
  if (!times) return times.errors();
  Groups candidates(times->front().group_ms.size());
  std::iota(candidates.begin(), candidates.end(), std::size_t{0});
  for (Groups wanted = faster_groups(candidates, times->back(), times->front()); !wanted.empty();) {
    forms = {kAllInt8, {.in_float = wanted}, kAllFp32};
    times = measure(forms);
    if (!times) return times.errors();
    candidates = std::exchange(wanted, faster_groups(wanted, (*times)[1], times->front()));
    if (wanted == candidates) return fastest(forms, *times);
  }
  return fastest({kAllInt8, kAllFp32}, {times->front(), times->back()});
}

Result<CompileRequest> settle_precision(const std::string& model, const CompileRequest& request) {
  if (const Status sound = check(model, request); !sound) return sound.errors();
  const auto lab = FormLab::create(model, request);
  if (!lab) return lab.errors();
  auto log = open_log(model, request, *lab);
  if (!log) return log.errors();
  const auto choice = choose_form([&](const std::vector<NetworkForm>& forms) -> Result<std::vector<FormTimes>> {
    if (auto known = log->find(forms, lab->groups().size())) return std::move(*known);
    const auto times = lab->measure(forms);
    if (!times) return times;
    if (const Status added = log->add(forms, *times); !added) return added.errors();
    return times;
  });
  if (!choice) return choice.errors();
  CompileRequest settled = lab->request_for(choice->form);
  settled.options.batches = request.options.batches;
  settled.notes = notes_of(*choice, *lab, request);
  return settled;
}

}  // namespace octavo
