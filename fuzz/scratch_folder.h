// A folder under the system's temporary one, removed with what is in it when the process ends. Part of fuzz/.
#ifndef OCTAVO_FUZZ_SCRATCH_FOLDER_H_
#define OCTAVO_FUZZ_SCRATCH_FOLDER_H_

#include <cstdlib>
#include <filesystem>
#include <string>

namespace octavo::fuzz {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "octavo-fuzz-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  // Empty where none could be made.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace octavo::fuzz

#endif  // OCTAVO_FUZZ_SCRATCH_FOLDER_H_
