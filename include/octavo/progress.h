// What a long call says while it works. Part of the public API.
#ifndef OCTAVO_PROGRESS_H_
#define OCTAVO_PROGRESS_H_

#include <cstdint>
#include <functional>
#include <string_view>

namespace octavo {

// What compile() and quantize() are at, and what is counted. A model that is to be quantized goes through the
// phases of that first; then compile() goes from plan to plan.
enum class Phase : std::uint8_t {
  equalizing,   // one step
  calibrating,  // samples
  rounding,     // layers whose weights are rounded by the samples (WeightMethod::adaround)
  correcting,   // layers whose biases are corrected
  weighing,     // groups of layers, by what they add to outputs that would lose too much; there need be none
  planning,     // plans: the batches
  tuning,       // measurements, within a plan; how many there will be is not known: of 0
};
constexpr std::string_view name_of(Phase phase) {
  constexpr std::string_view names[] = {"equalizing",      "calibrating", "rounding weights", "correcting biases",
                                        "weighing layers", "planning",    "measuring"};
  return names[static_cast<int>(phase)];
}

// Told before each unit of a phase: `done` of `total` are behind it. By one thread at a time, not always the
// caller's; should return soon, since the work waits for it.
using ProgressFunction = std::function<void(Phase phase, std::int64_t done, std::int64_t total)>;

}  // namespace octavo

#endif  // OCTAVO_PROGRESS_H_
