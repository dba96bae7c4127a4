// What searches know of a way without measuring it. Part of tuner/.
#ifndef OCTAVO_TUNER_FEATURES_H_
#define OCTAVO_TUNER_FEATURES_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "planner/measurement_log.h"
#include "tuner/search.h"
#include "tuner/task.h"

namespace octavo {

// Of every way of a task.
std::vector<SearchPoint> search_space(const TuningTask& task);

// The same of what a log has of a trial. Features are logarithms of the numbers of its schedule, of what was predicted,
// and of the call's shapes. Nothing where this release has no such kernel or schedule.
std::optional<SearchPoint> search_point(const Measurement& trial);

// Trials of other calls than those of the tasks, a group for each call, the latest ones: at most some thousands in all.
std::vector<RankedGroup> groups_of(const std::vector<const Measurement*>& trials, std::span<const TuningTask> tasks);

// The value of a trial that says what the cost model predicted, in nanoseconds.
inline constexpr std::string_view kPredictedNs = "predicted_ns";

}  // namespace octavo

#endif  // OCTAVO_TUNER_FEATURES_H_
