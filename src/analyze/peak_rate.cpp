// The peak of a precision, from the kernels' own measurement. Part of analyze/.
#include "analyze/peak_rate.h"

#include "kernels/jit/peak.h"

namespace octavo {

std::optional<double> peak_macs_per_second(Precision precision) {
  static const Result<Peaks> peaks = measure_peaks(1);
  if (!peaks) return std::nullopt;
  const double gmacs = precision == Precision::fp32 ? peaks->fma_gmacs : peaks->int8_gmacs();
  return gmacs > 0.0 ? std::optional(gmacs * 1e9) : std::nullopt;
}

}  // namespace octavo
