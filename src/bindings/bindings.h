// What bindings of other languages call besides include/octavo: options in the words of the command line, so that they
// have its names, defaults and messages without a list of their own. Part of bindings/.
#ifndef OCTAVO_BINDINGS_BINDINGS_H_
#define OCTAVO_BINDINGS_BINDINGS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/compile.h"
#include "octavo/progress.h"
#include "octavo/quantize.h"
#include "octavo/run.h"

namespace octavo::v1 {

// A model file: its path or, where there are bytes, these with a name for messages. Bytes last for the call.
struct GivenModel {
  std::string name;
  std::optional<std::span<const std::byte>> bytes;
};

// How a long call is watched.
struct Watch {
  ProgressFunction progress;
  std::stop_token stop;
};

// An input as samples have it.
struct SampleInput {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  bool is_open = false;  // samples may have several shapes, whatever the batch
};

// `words`: options of `octavo compile` that say how, as {"--precision", "int8", "--calibrate", "images"}, none that
// name files to write or a budget; and {"--unquantized", "fp32"}, as CompileOptions has it. Errors: usage (all that the
// command line would refuse), those of compile().
Result<CompiledModel> compile_as_told(const GivenModel& model, const std::vector<std::string>& words,
                                      const Watch& watch);
// Likewise of `octavo quantize`.
Result<QuantizedModel> quantize_as_told(const GivenModel& model, const std::vector<std::string>& words,
                                        const Watch& watch);
// What a sample of these options holds: with batch 1, and what else is open at one size.
Result<std::vector<SampleInput>> sample_inputs(const GivenModel& model, const std::vector<std::string>& words);

// The object of `octavo inspect --json`, of a compiled model and of this machine: without what is measured, and with
// whether oneDNN is there ("has_onednn").
std::string describe_model(const ModelInfo& info);
std::string describe_machine();

// The command line as a whole; for a process that is there for nothing else.
int run_command(int argc, char** argv);

}  // namespace octavo::v1

#endif  // OCTAVO_BINDINGS_BINDINGS_H_
