// What compile() and quantize() share: a file at a batch, and what samples teach of it. Part of api/.
#ifndef OCTAVO_API_QUANTIZER_H_
#define OCTAVO_API_QUANTIZER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/inside.h"
#include "api/program_samples.h"
#include "base/monitor.h"

namespace octavo::v1 {

Error usage(std::string where, std::string found, std::string expected, std::string hint = {});

// That a model of several parts cannot be what `what` asks for.
Error refuse_program(const std::string& path, std::string what);

// Errors of usage: contradictions that need no file to be seen.
Status check_options(const CompileOptions& options);

// "minmax", "percentile:99.9", "scales of a file", ...
std::string method_text(const CompileOptions& options);

bool has_calibration(const CompileOptions& options, const OwnOptions& own);

// Adds an error for each input and output that is in float: what --integer-only refuses.
void refuse_float_ends(const std::string& path, const Graph& graph, Errors& errors);
// The same for each node with a float result: no conversion is left, nor what moves floats between two of them.
void refuse_float_wires(const std::string& path, const Graph& graph, Errors& errors);
Error float_refusal(const std::string& path, const std::string& what, std::string found);

// Samples are looked at once, at the first call of quantize(), however many batches there are.
class Quantizer {
 public:
  Quantizer(const ModelSource& source, const CompileOptions& options, const OwnOptions& own)
      : source_(source), options_(options), own_(own), monitor_{options.stop, options.progress} {}
  Result<ImportedModel> import_for(std::int64_t batch) const;
  // With all sizes that the file and the options leave open.
  Result<ImportedModel> import_open() const;
  // What the file means at sizes at which what import_open gave does not hold.
  std::vector<Graph> import_others(const Graph& first) const;
  // The same of a program whose inputs have sizes of 1, for each of its networks; nothing where another program comes
  // of it, or networks of other sizes.
  std::vector<std::vector<Graph>> import_others(const ImportedProgram& first) const;
  // As import_open at the sizes that samples have; of a model of several parts, and of a file that has no meaning at
  // any example of its sizes, a graph of its inputs alone.
  Result<ImportedModel> import_for_samples() const;
  // Puts pairs into an fp32 graph that import_for or import_open made.
  Result<QuantizeReport> quantize(Graph& graph);
  // The same for a network of a program that import_open made.
  Result<QuantizeReport> quantize_part(Graph& graph, const SampleSource& samples) const;
  // Samples of a program's inputs. Error (usage): there are none, only what was learned of others.
  Result<std::shared_ptr<const SampleSource>> samples_of_program() const;

 private:
  Result<ImportedModel> import_open(ImportOptions import) const;
  QuantizeOptions quantize_options() const;
  QuantizeOptions given_options() const;
  // At example_sizes: those of samples that say no shapes.
  Status close_for_samples(Graph& graph) const;

  const ModelSource& source_;
  const CompileOptions& options_;
  const OwnOptions& own_;
  const Monitor monitor_;
  std::optional<Calibrated> calibrated_;
  std::shared_ptr<const SampleSource> drawn_;  // for --activations per-token without samples
  std::int64_t samples_ = 0;
};

}  // namespace octavo::v1

#endif  // OCTAVO_API_QUANTIZER_H_
