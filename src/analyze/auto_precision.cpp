// Choosing between int8 and fp32 by time, and remembering the times. Part of analyze/.
#include "analyze/auto_precision.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "analyze/variant_bench.h"
#include "api/inside.h"
#include "base/machine.h"
#include "planner/measurement_log.h"

namespace octavo {
namespace {

Error usage(std::string found, std::string expected) {
  return {.kind = ErrorKind::usage,
          .where = "--precision auto",
          .found = std::move(found),
          .expected = std::move(expected)};
}

Status check(const v1::ModelSource& model, const CompileRequest& request) {
  if (v1::is_compiled(model))
    return usage("the compiled model " + model.name,
                 "a model file: what computes in which precision is decided when it is compiled");
  if (request.options.calibrated) return usage("--scales beside it", "--calibrate: layers in fp32 move the boundaries");
  if (request.options.integer_only) return usage("--integer-only beside it", "--precision int8");
  return ok_status();
}

// Times in the log of kernels' times, beside them: the subject is a network and the variants that took turns. Without a
// path nothing is remembered.
class VariantLog {
 public:
  static Result<VariantLog> open(const std::string& path, const VariantBench& bench) {
    if (path.empty()) return VariantLog({}, "");
    auto network = bench.subject();
    if (!network) return network.errors();
    auto log = MeasurementLog::open(path);
    if (!log) return log.errors();
    return VariantLog(std::move(*log), std::move(*network));
  }

  std::optional<std::vector<VariantTimes>> find(const std::vector<Variant>& variants, std::size_t groups) const {
    std::vector<VariantTimes> times;
    for (const Variant& variant : variants) {
      const auto* values = log_.find(subject(variants), name_of(variant));
      if (values == nullptr || !values->contains("run_ms")) return std::nullopt;
      VariantTimes own{.run_ms = values->at("run_ms")};
      for (std::size_t i = 0; i < groups; ++i) {
        const auto ms = values->find(group_name(i));
        if (ms == values->end()) return std::nullopt;
        own.group_ms.push_back(ms->second);
      }
      times.push_back(std::move(own));
    }
    return times;
  }

  Status add(const std::vector<Variant>& variants, const std::vector<VariantTimes>& times) {
    for (std::size_t i = 0; i < variants.size(); ++i) {
      Measurement measurement{subject(variants), name_of(variants[i]), {{"run_ms", times[i].run_ms}}};
      for (std::size_t k = 0; k < times[i].group_ms.size(); ++k)
        measurement.values[group_name(k)] = times[i].group_ms[k];
      if (Status added = log_.add(std::move(measurement)); !added) return added;
    }
    return ok_status();
  }

 private:
  VariantLog(MeasurementLog log, std::string network) : log_(std::move(log)), network_(std::move(network)) {}

  std::string subject(const std::vector<Variant>& variants) const {
    std::string text = network_ + ":";
    for (const Variant& variant : variants) text += " " + name_of(variant) + ";";
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

std::string summary_of(const FastestVariant& choice, const VariantBench& bench, const CompileRequest& request) {
  const std::size_t groups = bench.groups().size(), in_fp32 = choice.variant.in_fp32.size();
  const std::string what = choice.variant.is_fp32 ? "all in fp32"
                           : in_fp32 == 0         ? "all in int8"
                                                  : fmt::format("{} of {} groups in fp32", in_fp32, groups);
  const std::string how = bench.predicts() ? "predicted on 1 thread" : "measured on " + threads_text(request);
  const auto& shapes = request.options.planned_shapes;
  const std::string where =
      shapes.empty() ? fmt::format("batch {}", request.options.batches[0]) : "at " + v1::text_of(shapes.front());
  return fmt::format("auto: {}, {:.4f} ms; all in int8 {:.4f} ms, all in fp32 {:.4f} ms; {}, {}", what,
                     choice.chosen.run_ms, choice.int8.run_ms, choice.fp32.run_ms, how, where);
}

// The summary, then each group that is not in int8 with both times.
std::vector<std::string> notes_of(const FastestVariant& choice, const VariantBench& bench,
                                  const CompileRequest& request) {
  std::vector<std::string> notes = {summary_of(choice, bench, request)};
  Groups listed = choice.variant.in_fp32;
  if (choice.variant.is_fp32) {
    listed.resize(bench.groups().size());
    std::iota(listed.begin(), listed.end(), std::size_t{0});
  }
  for (const std::size_t group : listed) {
    notes.push_back(fmt::format("auto: '{}' in fp32, {:.4f} ms; in int8 {:.4f} ms, conversions included",
                                fmt::join(bench.groups()[group], "', '"), choice.chosen.group_ms[group],
                                choice.int8.group_ms[group]));
  }
  return notes;
}

// The fastest of some runs, in ms; the first one, which may plan, is not counted.
Result<double> time_turn(Session& session, double seconds) {
  using Clock = std::chrono::steady_clock;
  if (const Status done = session.run(); !done) return done.errors();
  constexpr int kLeastRuns = 3;
  double fastest = std::numeric_limits<double>::max();
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (int i = 0; i < kLeastRuns || Clock::now() < end; ++i) {
    const auto start = Clock::now();
    if (const Status done = session.run(); !done) return done.errors();
    fastest = std::min(fastest, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  return fastest;
}

// A model of several parts, once in each precision.
Result<std::vector<Session>> program_sessions(const v1::ModelSource& model, CompileRequest request,
                                              std::span<const Precision> precisions, const v1::InputShapes& shapes) {
  request.chooses_precision = false;
  std::vector<Session> sessions;
  for (const Precision precision : precisions) {
    request.options.precision = precision;
    const auto compiled = open_or_compile(model, request);
    if (!compiled) return compiled.errors();
    auto session = Session::of_program(*compiled, {.shapes = shapes, .settings = request.run}, request.threads);
    if (!session) return session.errors();
    sessions.push_back(std::move(*session));
  }
  return sessions;
}

// Of a model of several parts one precision is chosen for all of them: what is between them is not known by groups.
// What it reads decides which parts run, so each turn has another of the samples.
Result<CompileRequest> settle_program(const v1::ModelSource& model, const CompileRequest& request) {
  if (request.options.target != "host")
    return usage("a model of several parts for the target " + request.options.target,
                 "the host, where its parts can be timed");
  CompileRequest drawn = request;
  if (drawn.calibrate.empty()) drawn.calibrate = "random";
  const auto opened = calibration_samples(model, drawn);
  if (!opened) return opened.errors();
  const SampleSource& samples = *opened->samples;
  constexpr std::array kPrecisions = {Precision::int8, Precision::fp32};
  auto sessions = program_sessions(model, request, kPrecisions, shapes_of(opened->inputs));
  if (!sessions) return sessions.errors();
  std::array<double, kPrecisions.size()> ms = {};
  constexpr int kTurns = 4;
  for (int turn = 0; turn < kTurns; ++turn) {
    const auto sample = samples.sample(turn * samples.size() / kTurns);
    if (!sample) return sample.errors();
    for (std::size_t i = 0; i < kPrecisions.size(); ++i) {
      if (const Status taken = (*sessions)[i].take(*sample); !taken) return taken.errors();
      const auto fastest = time_turn((*sessions)[i], request.seconds / kTurns);
      if (!fastest) return fastest.errors();
      ms[i] += *fastest / kTurns;
    }
  }
  CompileRequest settled = request;
  settled.chooses_precision = false;
  const bool is_fp32 = ms[1] < ms[0];
  settled.options.precision = kPrecisions[is_fp32 ? 1 : 0];
  settled.notes = {fmt::format("auto: all parts in {}; in int8 {:.4f} ms, in fp32 {:.4f} ms; measured on {}",
                               name_of(*settled.options.precision), ms[0], ms[1], threads_text(request))};
  return settled;
}

}  // namespace

Result<CompileRequest> settle_precision(const v1::ModelSource& model, const CompileRequest& request) {
  if (const Status sound = check(model, request); !sound) return sound.errors();
  auto arriving = arriving_model(model, request);
  if (!arriving) return arriving.errors();
  if (arriving->is_program) return settle_program(model, request);
  const auto bench = VariantBench::create(model, request, std::move(*arriving));
  if (!bench) return bench.errors();
  auto log = VariantLog::open(request.options.tuning_log, *bench);
  if (!log) return log.errors();
  const auto choice = choose_fastest([&](const std::vector<Variant>& variants) -> Result<std::vector<VariantTimes>> {
    if (auto known = log->find(variants, bench->groups().size())) return std::move(*known);
    auto times = bench->times(variants);
    if (!times) return times;
    if (const Status added = log->add(variants, *times); !added) return added.errors();
    return times;
  });
  if (!choice) return choice.errors();
  CompileRequest settled = bench->request_for(choice->variant);
  settled.options.batches = request.options.batches;
  settled.options.planned_shapes = request.options.planned_shapes;
  settled.options.pictures = request.options.pictures;
  settled.options.output_type = request.options.output_type;
  settled.notes = notes_of(*choice, *bench, request);
  return settled;
}

}  // namespace octavo
