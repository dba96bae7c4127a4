// --precision auto: which groups of layers compute in fp32 because int8 is slower there, conversions included. Part of
// analyze/.
#ifndef OCTAVO_ANALYZE_AUTO_PRECISION_H_
#define OCTAVO_ANALYZE_AUTO_PRECISION_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "analyze/model_file.h"

namespace octavo {

// A network that computes in int8 but for some groups, or as a whole in fp32.
struct NetworkForm {
  bool is_fp32 = false;
  std::vector<std::size_t> in_float;  // groups, ascending
  bool operator==(const NetworkForm&) const = default;
};
inline const NetworkForm kAllInt8{};
inline const NetworkForm kAllFp32{.is_fp32 = true};

struct FormTimes {
  double run_ms = 0.0;
  std::vector<double> group_ms;  // by group: its kernels and the conversions that it causes
};

// Takes the times of these forms in turns, so that all see the same weather.
using MeasureForms = std::function<Result<std::vector<FormTimes>>(const std::vector<NetworkForm>& forms)>;

struct FormChoice {
  NetworkForm form;
  FormTimes int8, fp32, chosen;  // measured together
};

// Groups that are clearly faster in an fp32 model go to float together; those that are not faster any more there, with
// the conversions around them, come back, until none is left that does. Of this mixture, int8 and fp32 the fastest is
// chosen; what is only within the noise stays in int8.
Result<FormChoice> choose_form(const MeasureForms& measure);

// What a request that leaves the precision to time comes to on this machine: int8 or fp32, nodes to skip, and what to
// tell about it. For a target other than the host the times are predicted. Times are kept in options.tuning_log, so
// that the next time gives the same. Errors (usage): no calibration data, a compiled model, or an option that leaves no
// choice.
Result<CompileRequest> settle_precision(const std::string& model, const CompileRequest& request);

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_AUTO_PRECISION_H_
