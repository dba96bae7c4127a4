// Numbers of calls, kernels and schedules. Part of tuner/.
#include "tuner/features.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <set>

#include "kernels/schedule.h"
#include "planner/choice_list.h"

namespace octavo {
namespace {

constexpr std::size_t kMostKnobs = 8;

float logarithm(double number) { return static_cast<float>(std::log2(1.0 + number)); }

// Which of its operator's kernels it is, by name.
std::int64_t number_of(const KernelCode& code) {
  std::int64_t number = 0;
  for (const KernelChoice* other : all_choices())
    number += other->code.op == code.op && other->code.name < code.name ? 1 : 0;
  return number;
}

// Every number in the description of a call.
std::vector<double> numbers_in(std::string_view text) {
  std::vector<double> numbers;
  for (std::size_t i = 0; i < text.size();) {
    double number = 0.0;
    const bool begins = std::isdigit(static_cast<unsigned char>(text[i])) != 0 &&
                        (i == 0 || std::isalnum(static_cast<unsigned char>(text[i - 1])) == 0);
    const auto [end, error] = begins ? std::from_chars(text.data() + i, text.data() + text.size(), number)
                                     : std::from_chars_result{text.data() + i + 1, std::errc()};
    if (begins && error == std::errc()) numbers.push_back(number);
    i = static_cast<std::size_t>(end - text.data());
  }
  return numbers;
}

SearchPoint point_of(const KernelCode& code, std::span<const std::byte> schedule, double predicted_ns, int threads,
                     const std::vector<double>& numbers) {
  std::vector<std::int64_t> knobs = decode_schedule(schedule, code.knobs.size()).value_or(std::vector<std::int64_t>());
  SearchPoint point{.genes = {number_of(code)}, .features = {}, .predicted_ns = predicted_ns};
  point.features = {static_cast<float>(point.genes[0]), logarithm(predicted_ns), static_cast<float>(threads)};
  for (std::size_t i = 0; i < kMostKnobs; ++i) {
    const bool has_knob = i < knobs.size();
    point.genes.push_back(has_knob ? knobs[i] : 0);
    point.features.push_back(has_knob ? logarithm(static_cast<double>(knobs[i])) : -1.0f);
  }
  for (const double number : numbers) point.features.push_back(logarithm(number));
  return point;
}

}  // namespace

std::vector<SearchPoint> search_space(const TuningTask& task) {
  const std::vector<double> numbers = numbers_in(task.subject);
  std::vector<SearchPoint> space;
  for (const Way& way : task.ways)
    space.push_back(point_of(way.kernel->code, way.schedule, way.predicted_ns, task.threads, numbers));
  return space;
}

std::optional<SearchPoint> search_point(const Measurement& trial) {
  const KernelChoice* kernel = find_choice(trial.variant);
  const auto predicted = trial.values.find(std::string(kPredictedNs));
  if (kernel == nullptr || predicted == trial.values.end()) return std::nullopt;
  std::vector<std::byte> schedule;
  if (!trial.schedule.empty()) {
    auto parsed = parse_schedule(kernel->code, trial.schedule);
    if (!parsed) return std::nullopt;
    schedule = std::move(*parsed);
  }
  return point_of(kernel->code, schedule, predicted->second, trial.threads, numbers_in(trial.subject));
}

std::vector<RankedGroup> groups_of(const std::vector<const Measurement*>& trials, std::span<const TuningTask> tasks) {
  constexpr std::size_t kMost = 4000;
  const auto is_of_task = [&](const Measurement& trial) {
    return std::any_of(tasks.begin(), tasks.end(), [&](const TuningTask& task) {
      return task.subject == trial.subject && task.threads == trial.threads;
    });
  };
  std::map<std::pair<std::string, int>, RankedGroup> groups;
  std::size_t count = 0;
  for (auto it = trials.rbegin(); it != trials.rend() && count < kMost; ++it) {
    const Measurement& trial = **it;
    auto point = is_of_task(trial) ? std::nullopt : search_point(trial);
    if (!point) continue;
    RankedGroup& group = groups[{trial.subject, trial.threads}];
    group.features.push_back(std::move(point->features));
    const auto ns = trial.values.find("ns");
    group.ns.push_back(ns == trial.values.end() ? HUGE_VAL : ns->second);
    ++count;
  }
  std::vector<RankedGroup> result;
  for (auto& [call, group] : groups) {
    if (group.ns.size() > 1) result.push_back(std::move(group));
  }
  return result;
}

}  // namespace octavo
