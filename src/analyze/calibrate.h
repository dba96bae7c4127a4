// Calibration: what cost models take from this machine, measured, and how far from the truth they are with and without
// it, on reference layers. Part of analyze/.
#ifndef OCTAVO_ANALYZE_CALIBRATE_H_
#define OCTAVO_ANALYZE_CALIBRATE_H_

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/machine.h"
#include "base/result.h"

namespace octavo {

// A kernel on a reference layer, one thread.
struct ReferenceTime {
  std::string layer, kernel;
  double measured_ns = 0.0;
  double default_ns = 0.0, calibrated_ns = 0.0;  // predicted with kReferenceSpeeds, with those measured
};

struct Calibration {
  Machine machine;                   // this one, with its speeds
  std::vector<ReferenceTime> times;  // layer by layer: every kernel that is predicted to be near the fastest
};

// Takes some seconds. `progress`: told the share that is done; may be empty. Errors: resource, where memory or
// executable memory is refused.
Result<Calibration> calibrate(const std::function<void(double)>& progress);

// The speeds beside the usual ones, the error of predictions by kernel, and what choosing by them costs.
std::string calibration_text(const Calibration& calibration);
nlohmann::json calibration_json(const Calibration& calibration);

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_CALIBRATE_H_
