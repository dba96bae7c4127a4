// --precision auto: which groups of layers compute in fp32 because int8 is slower there, conversions included. Part of
// analyze/.
#ifndef OCTAVO_ANALYZE_AUTO_PRECISION_H_
#define OCTAVO_ANALYZE_AUTO_PRECISION_H_

#include "analyze/model_file.h"

namespace octavo {

// What a request that leaves the precision to time comes to on this machine: int8 or fp32, nodes to skip, and what to
// tell about it. For a target other than the host the times are predicted. Times are kept in options.tuning_log, so
// that the next time gives the same. Errors (usage): no calibration data, a compiled model, or an option that leaves no
// choice.
Result<CompileRequest> settle_precision(const v1::ModelSource& model, const CompileRequest& request);

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_AUTO_PRECISION_H_
