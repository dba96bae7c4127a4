// The importer of TFLite: from a verified file to a graph. Part of import/.
#ifndef OCTAVO_IMPORT_TFLITE_IMPORTER_H_
#define OCTAVO_IMPORT_TFLITE_IMPORTER_H_

#include <string>

#include "import/import.h"
#include "import/tflite/model_file.h"

namespace octavo::tflite_import {

// `file` names it in messages.
Result<ImportedModel> import_parsed(const ModelFile& model, const std::string& file, const ImportOptions& options);

}  // namespace octavo::tflite_import

#endif  // OCTAVO_IMPORT_TFLITE_IMPORTER_H_
