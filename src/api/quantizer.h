// What compile() and quantize() share: a file at a batch, and what samples teach of it. Part of api/.
#ifndef OCTAVO_API_QUANTIZER_H_
#define OCTAVO_API_QUANTIZER_H_

#include <optional>
#include <string>

#include "import/import.h"
#include "octavo/octavo.h"
#include "quantize/quantize.h"

namespace octavo {

// A quantized graph of batch 1, and all that can be told of it. What v1::QuantizedModel holds.
struct QuantizedNetwork {
  std::string source;       // file it comes from
  std::string calibration;  // how its ranges came about, in words
  Graph graph;
  std::optional<Graph> other_batch;  // the same network at batch 2, where the file does not fix its batch
  QuantizeReport report;
};

}  // namespace octavo

namespace octavo::v1 {

// Errors of usage: contradictions that need no file to be seen.
Status check_options(const CompileOptions& options);

// "minmax", "percentile:99.9", "scales of a file", ...
std::string method_text(const CompileOptions& options);

bool has_calibration(const CompileOptions& options);

// Adds an error for each input and output that is in float: what --integer-only refuses.
void refuse_float_ends(const std::string& path, const Graph& graph, Errors& errors);
Error float_refusal(const std::string& path, const std::string& what, std::string found);

// Samples are looked at once, at the first call of quantize(), however many batches there are.
class Quantizer {
 public:
  Quantizer(const std::string& path, const CompileOptions& options) : path_(path), options_(options) {}
  Result<ImportedModel> import_for(std::int64_t batch) const;
  // Puts pairs into an fp32 graph that import_for made.
  Result<QuantizeReport> quantize(Graph& graph);

 private:
  QuantizeOptions quantize_options() const;
  Result<QuantizeReport> learn(Graph& graph);

  const std::string& path_;
  const CompileOptions& options_;
  std::optional<Calibrated> calibrated_;
  std::int64_t samples_ = 0;
};

}  // namespace octavo::v1

#endif  // OCTAVO_API_QUANTIZER_H_
