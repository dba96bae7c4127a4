// The layouts of .pt2 archives, told apart by their entries. Part of import/.
#ifndef OCTAVO_IMPORT_PT2_CONTAINER_H_
#define OCTAVO_IMPORT_PT2_CONTAINER_H_

#include "base/result.h"
#include "import/pt2/archive.h"
#include "import/pt2/program.h"
#include "import/pt2/weights.h"

namespace octavo::pt2_import {

struct Container {
  Program program;
  Weights weights;
};

// The one program of the archive and the places of its weights. The archive must outlive it. Read are archives of
// version 0 (torch.export.save from PyTorch 2.8 on) and those before (entries "serialized_*"), with schema 8.
Result<Container> read_container(const Archive& archive);

}  // namespace octavo::pt2_import

#endif  // OCTAVO_IMPORT_PT2_CONTAINER_H_
