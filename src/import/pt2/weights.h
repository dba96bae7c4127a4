// The stored tensors of an exported program: raw entries, or pickles of torch.save. Part of import/.
#ifndef OCTAVO_IMPORT_PT2_WEIGHTS_H_
#define OCTAVO_IMPORT_PT2_WEIGHTS_H_

#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "import/pt2/archive.h"
#include "import/pt2/pickle.h"
#include "import/pt2/strided.h"

namespace octavo::pt2_import {

// A file of torch.save inside the archive: a zip of its own.
struct TorchFile {
  std::string bytes;  // what `archive` reads from
  Archive archive;
  std::map<std::string, PickledTensor> tensors;
};

// Tensors by their names in the program, read when asked for. The archive must outlive it.
class Weights {
 public:
  explicit Weights(const Archive& archive);

  // ---- where they are, in each layout ----
  // "data/weights/model_weights_config.json": a name, the entry in `folder` and the view of each tensor.
  Status add_config(const std::string& entry, const std::string& folder);
  // A state dict of torch.save.
  Status add_torch_file(const std::string& entry);

  bool has(const std::string& name) const { return places_.count(name) != 0; }
  Result<Tensor> read(const std::string& name);
  std::uint64_t total_elements() const { return total_elements_; }

 private:
  struct Place {
    std::string entry;  // of the archive, or of `file`'s
    StridedView view;
    std::shared_ptr<TorchFile> file;  // none: raw data
  };

  Result<std::shared_ptr<TorchFile>> open_torch_file(const std::string& entry);
  Status add_pickled(const std::string& name, const std::string& entry, const std::string& key,
                     const std::shared_ptr<TorchFile>& file);

  const Archive& archive_;
  std::map<std::string, Place> places_;
  ByteBudget budget_;
  std::uint64_t total_elements_ = 0;
};

}  // namespace octavo::pt2_import

#endif  // OCTAVO_IMPORT_PT2_WEIGHTS_H_
