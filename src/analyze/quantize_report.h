// What quantizing did to every tensor: what rounding cost it, and what it costs in the whole network. Part of analyze/.
#ifndef OCTAVO_ANALYZE_QUANTIZE_REPORT_H_
#define OCTAVO_ANALYZE_QUANTIZE_REPORT_H_

#include <array>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "analyze/model_file.h"

namespace octavo {

inline constexpr std::size_t kReportBins = 64;

// Over all samples.
struct TensorReport {
  std::string name;
  TensorScale own;
  TensorRange seen;        // values in fp32
  std::int64_t count = 0;  // of values
  double clipped = 0.0;    // share of the values that its integers cannot hold
  double rounding_db =
      0.0;  // signal to noise of rounding it to its scale, and nothing else; infinite where nothing is lost
  double sqnr_db =
      0.0;  // of the tensor in the quantized network against that in fp32: all that happened before it, too
  std::array<std::int64_t, kReportBins>
      histogram{};   // from the lowest to the highest value of calibration; what lies outside, in the outer bins
  TensorRange bins;  // the limits of the histogram
};

struct QuantizationReport {
  std::string model;
  std::int64_t samples = 0;
  std::vector<TensorReport>
      tensors;             // in the order in which they are computed; those that both networks compute on their own
  double output_db = 0.0;  // signal to noise of all outputs

  std::vector<const TensorReport*> worst_first() const;  // by rounding_db
};

// Runs samples (at most 64, spread evenly) through the fp32 and the quantized network that the request, with its
// samples, makes.
Result<QuantizationReport> report_quantization(const std::string& model, const CompileRequest& request,
                                               const v1::QuantizedModel& quantized,
                                               const std::function<void(double done)>& progress);

nlohmann::json quantization_json(const QuantizationReport& report);
// One self-contained page: signal to noise along the network, then every tensor with its histogram.
std::string quantization_html(const QuantizationReport& report);

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_QUANTIZE_REPORT_H_
