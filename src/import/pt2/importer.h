// An exported PyTorch program becomes a graph. Part of import/.
#ifndef OCTAVO_IMPORT_PT2_IMPORTER_H_
#define OCTAVO_IMPORT_PT2_IMPORTER_H_

#include "import/import.h"
#include "import/pt2/archive.h"

namespace octavo::pt2_import {

Result<ImportedModel> import_archive(const Archive& archive, const ImportOptions& options);

}  // namespace octavo::pt2_import

#endif  // OCTAVO_IMPORT_PT2_IMPORTER_H_
