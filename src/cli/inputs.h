// --input NAME=x.npy or NAME=photo.jpg: what a run takes. Part of cli/.
#ifndef OCTAVO_CLI_INPUTS_H_
#define OCTAVO_CLI_INPUTS_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "analyze/session.h"

namespace octavo::cli {

// An array is an input itself, a picture becomes one.
using GivenInput = std::variant<Tensor, Picture>;
// By input name; the name "" stands for the only input of a model.
using GivenInputs = std::map<std::string, GivenInput>;

// "NAME=FILE", or "FILE" for a model with one input: an .npy, or an image by its name. Errors: usage, and those of
// reading.
Result<GivenInputs> read_inputs(const std::vector<std::string>& arguments);

// Shapes at which to run a model that leaves sizes open and has no plan; none: nobody knows.
using FindShapes = std::function<Result<v1::InputShapes>(const v1::ModelInfo& info)>;

// The model at `path`, opened or compiled, for these inputs. Of open sizes those that --shape says, else those of the
// arrays, else those that SPEC crops pictures to, else those of the file's first plan, else what `find_shapes` says.
Result<Session> open_session(const std::string& path, CompileRequest request, const GivenInputs& given,
                             const FindShapes& find_shapes = {});

// Copies arrays into the session's inputs, and what preprocess_for makes of pictures. Error (usage): a missing, unknown
// or unfitting one.
Status set_inputs(const GivenInputs& given, const CompileRequest& request, Session& session);

// Fills inputs for a run whose answers do not matter: arrays as above, others with random numbers. Error (usage): an
// unknown or unfitting one, or a picture for a model that needs to be told what becomes of it.
FillInputs filled_with(GivenInputs given);
// --input of verbs that measure.
void add_timed_inputs(CLI::App& verb, std::vector<std::string>& inputs);

// A file name for a tensor: everything but letters, digits, '.', '-' and '_' becomes '_'.
std::string file_name_of(const std::string& tensor);

}  // namespace octavo::cli

#endif  // OCTAVO_CLI_INPUTS_H_
