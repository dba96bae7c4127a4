// The inputs of an exported program: their types and shapes, symbols bound to numbers. Part of import/.
#ifndef OCTAVO_IMPORT_PT2_INPUTS_H_
#define OCTAVO_IMPORT_PT2_INPUTS_H_

#include <string>

#include "import/import.h"
#include "import/pt2/node_reader.h"
#include "import/pt2/program.h"

namespace octavo::pt2_import {

// Adds the user's inputs to `building`.
void read_inputs(const Program& program, const std::string& file, const ImportOptions& options, Building& building);

}  // namespace octavo::pt2_import

#endif  // OCTAVO_IMPORT_PT2_INPUTS_H_
