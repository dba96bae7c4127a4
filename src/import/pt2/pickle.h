// Reading a pickle of tensors, as torch.save writes it, without executing anything. Part of import/.
#ifndef OCTAVO_IMPORT_PT2_PICKLE_H_
#define OCTAVO_IMPORT_PT2_PICKLE_H_

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "import/pt2/strided.h"

namespace octavo::pt2_import {

struct PickledTensor {
  StridedView view;
  std::string storage;                // its key: the storage is the entry "data/<key>"
  std::int64_t storage_elements = 0;  // as the pickle says
};

// A dict of strings to tensors; a tensor alone has the name "". Understood are the opcodes and the globals that a state
// dict needs (OrderedDict, torch._utils._rebuild_tensor_v2 and _rebuild_parameter, storages); any other one is an error
// that names it.
Result<std::map<std::string, PickledTensor>> read_pickle(std::string_view bytes, const std::string& where);

}  // namespace octavo::pt2_import

#endif  // OCTAVO_IMPORT_PT2_PICKLE_H_
