// The way past the public API for Octavo's own program, analyze/ and cli/: what they pass to compile() and quantize()
// besides the public options, and what the public classes hold (with run/access.h). Part of api/.
#ifndef OCTAVO_API_INSIDE_H_
#define OCTAVO_API_INSIDE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "import/import.h"
#include "octavo/quantize.h"
#include "planner/planner.h"
#include "quantize/quantize.h"
#include "run/access.h"

namespace octavo {

// A quantized graph of batch 1, and all that can be told of it.
struct QuantizedNetwork {
  std::string source;       // file it comes from
  std::string calibration;  // how its ranges came about, in words
  Graph graph;
  std::optional<Graph> other_batch;  // the same network at batch 2, where the file does not fix its batch
  QuantizeReport report;
};

}  // namespace octavo

namespace octavo::v1 {

struct Calibration::Impl : octavo::Calibrated {};
struct QuantizedModel::Impl : octavo::QuantizedNetwork {};

// A model file on disk or, where there are bytes, in memory, with a name for messages.
struct ModelSource {
  ModelSource(std::string path, std::optional<std::span<const std::byte>> content = {})
      : name(std::move(path)), bytes(content) {}
  std::string name;
  std::optional<std::span<const std::byte>> bytes;
};
// Whether it is an .octv; false where it cannot be read.
bool is_compiled(const ModelSource& source);

struct OwnOptions {
  std::shared_ptr<const SampleSource> samples;  // instead of CompileOptions::samples: folders of images, .npz, ...
  bool expects_samples = false;                 // they are opened once the inputs are known
  // What open sizes are taken to be where a question is answered for them and no shapes are planned, where the file has
  // a meaning at that: the shapes that most samples have. Of a first dimension: as CompileOptions::planned_shapes says.
  InputShapes examples = {};
  std::vector<std::string> notes;  // for every plan
  bool is_for_others = false;      // quantize(): only what QDQ files say, QuantizeOptions::is_standard
  // compile(): CompileOptions::batches are what the inputs at hand seem to be, which a program takes as they come.
  bool guesses_batch = false;
  // compile(): where sizes stay open and nothing asks for plans, there is one of examples, of which a note tells.
  bool plans_examples = false;
  // compile(): PlanOptions::on_step, for every plan.
  StepObserver on_step = {};
};

Result<CompiledModel> compile(const ModelSource& source, const CompileOptions& options, const OwnOptions& own);
Result<QuantizedModel> quantize(const ModelSource& source, const CompileOptions& options, const OwnOptions& own);

// "x=1x3x224x224, y=1x8"
std::string text_of(const InputShapes& shapes);

// Of the inputs of a graph that import_for_samples made: with batch 1, and what else is open at its example.
InputShapes example_shapes(const Graph& graph);

// The file as compile() reads it: sizes that it leaves open stay so.
Result<ImportedModel> import_open(const ModelSource& source, const CompileOptions& options, const OwnOptions& own = {});
// The network whose inputs take samples, with open sizes; of a model of several parts, and of a file that has no
// meaning at any example of its sizes (it may at those of samples), a graph of its inputs alone.
Result<ImportedModel> import_for_samples(const ModelSource& source, const CompileOptions& options,
                                         const OwnOptions& own = {});

}  // namespace octavo::v1

#endif  // OCTAVO_API_INSIDE_H_
