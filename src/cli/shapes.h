// --shape: sizes of inputs, for what is compiled here and for what was compiled before. Part of cli/.
#ifndef OCTAVO_CLI_SHAPES_H_
#define OCTAVO_CLI_SHAPES_H_

#include <map>
#include <span>
#include <string>
#include <vector>

#include "analyze/model_file.h"

namespace octavo::cli {

// By input, in the order in which they were given.
using ShapeLists = std::map<std::string, std::vector<std::vector<Extent>>>;

// A model on the command line that is an .octv.
inline bool is_compiled_file(const std::string& path) { return v1::is_compiled(path); }

// Adds "NAME=1x3x32..1024x224" or, several at a time, "NAME=1x3x224x224;1x3x320x320". Throws the option's error.
void read_shapes(const std::string& text, ShapeLists& lists);

// What the lists come to: the k-th of each together, a list of one with all. Nothing where ranges are asked for. Errors
// (usage): lists of different lengths or ranks, ranges in them.
Result<std::vector<v1::InputShapes>> shapes_in(const ShapeLists& lists);

// Puts them into the request for these models. Errors (usage): those above, ranges beside a compiled model, several
// batches beside them.
Status settle_shapes(const ShapeLists& lists, std::span<const std::string> models, CompileRequest& request);

}  // namespace octavo::cli

#endif  // OCTAVO_CLI_SHAPES_H_
