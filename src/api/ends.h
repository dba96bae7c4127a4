// Inputs and outputs of other types than the file's: what CompileOptions::pictures and ::output_type ask for. Part of
// api/.
#ifndef OCTAVO_API_ENDS_H_
#define OCTAVO_API_ENDS_H_

#include <string>
#include <vector>

#include "graph/graph.h"
#include "pictures/preprocess.h"

namespace octavo::v1 {

// The only input, an f32, u8 or s8 image, becomes u8 [N, H, W, C] pictures, C 1 for grey ones, else 3 (RGB); a
// channel_table gives what `preprocess` would give for them outside. Gives the names of the nodes between them and what
// was the input. `path` stands in messages. Errors: usage, naming the input that cannot be one of pictures.
Result<std::vector<std::string>> take_pictures(Graph& graph, const Preprocess& preprocess, const std::string& path);

// Every output becomes f32, u8 or s8, with the values that it stands for. Errors: usage, naming each output that cannot
// be delivered so.
Status deliver_as(DType type, Graph& graph, const std::string& path);

}  // namespace octavo::v1

#endif  // OCTAVO_API_ENDS_H_
