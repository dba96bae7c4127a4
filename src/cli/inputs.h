// --input NAME=x.npy: tensors for a run. Part of cli/.
#ifndef OCTAVO_CLI_INPUTS_H_
#define OCTAVO_CLI_INPUTS_H_

#include <map>
#include <string>
#include <vector>

#include "analyze/model_file.h"

namespace octavo::cli {

// By input name; the name "" stands for the only input of a model.
using NamedTensors = std::map<std::string, Tensor>;

// "NAME=x.npy", or "x.npy" for a model with one input. Errors: usage, and those of reading.
Result<NamedTensors> read_inputs(const std::vector<std::string>& arguments);

// Shapes that the given arrays ask of a model that is still to be compiled, unless the user gave one.
void ask_for_shapes(const NamedTensors& tensors, CompileRequest& request);

// The batch that the arrays have, where they agree on the first dimension.
std::optional<std::int64_t> batch_of(const NamedTensors& tensors);

// Copies the arrays into the session's inputs. Error (usage): a missing, unknown or unfitting one.
Status set_inputs(const NamedTensors& tensors, Session& session);

// A file name for a tensor: everything but letters, digits, '.', '-' and '_' becomes '_'.
std::string file_name_of(const std::string& tensor);

}  // namespace octavo::cli

#endif  // OCTAVO_CLI_INPUTS_H_
