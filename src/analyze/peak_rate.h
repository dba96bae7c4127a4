// The machine's best rate of multiply-accumulates, measured once: what share_of_peak is a share of. Part of analyze/.
#ifndef OCTAVO_ANALYZE_PEAK_RATE_H_
#define OCTAVO_ANALYZE_PEAK_RATE_H_

#include <optional>

#include "octavo/precision.h"

namespace octavo {

// Of one core, in this precision. Nothing where the machine has no instructions that the measurement knows.
std::optional<double> peak_macs_per_second(Precision precision);

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_PEAK_RATE_H_
