// --input NAME=x.npy or NAME=photo.jpg: what a run takes. Part of cli/.
#ifndef OCTAVO_CLI_INPUTS_H_
#define OCTAVO_CLI_INPUTS_H_

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "analyze/model_file.h"

namespace octavo::cli {

// An array is an input itself, a picture becomes one.
using GivenInput = std::variant<Tensor, Image>;
// By input name; the name "" stands for the only input of a model.
using GivenInputs = std::map<std::string, GivenInput>;

// "NAME=FILE", or "FILE" for a model with one input: an .npy, or an image by its name. Errors: usage, and those of
// reading.
Result<GivenInputs> read_inputs(const std::vector<std::string>& arguments);

// Shapes that the given arrays ask of a model that is still to be compiled, unless the user gave one.
void ask_for_shapes(const GivenInputs& given, CompileRequest& request);

// The batch that they have, where they agree on the first dimension; that of a picture is 1.
std::optional<std::int64_t> batch_of(const GivenInputs& given);
// Of a model with open sizes: the shapes of its inputs, in their order. Nothing for others, and where not all inputs
// are given as arrays.
std::optional<std::vector<std::vector<std::int64_t>>> shapes_of(const GivenInputs& given, const v1::ModelInfo& info);

// Copies arrays into the session's inputs, and what preprocess_for makes of pictures. Error (usage): a missing, unknown
// or unfitting one.
Status set_inputs(const GivenInputs& given, const CompileRequest& request, Session& session);

// A file name for a tensor: everything but letters, digits, '.', '-' and '_' becomes '_'.
std::string file_name_of(const std::string& tensor);

}  // namespace octavo::cli

#endif  // OCTAVO_CLI_INPUTS_H_
