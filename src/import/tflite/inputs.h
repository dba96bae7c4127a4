// The inputs of a TFLite graph, and names that are told apart. Part of import/.
#ifndef OCTAVO_IMPORT_TFLITE_INPUTS_H_
#define OCTAVO_IMPORT_TFLITE_INPUTS_H_

#include <map>
#include <string>

#include "import/import.h"
#include "import/tflite/operator_reader.h"

namespace octavo::tflite_import {

// Adds the graph's inputs, or constants for bound ones; problems go to the
// Building.
void read_inputs(const file::SubGraph& subgraph, const std::string& file, const ImportOptions& options,
                 Building& building);

// The name, with a number behind it where it is taken. Files may use one name
// twice; a graph may not.
std::string unique_name(const std::string& name, std::map<std::string, int>& uses);

}  // namespace octavo::tflite_import

#endif  // OCTAVO_IMPORT_TFLITE_INPUTS_H_
