// Functions of a library that was opened by name. Part of cuda/.
#ifndef OCTAVO_CUDA_FINDER_H_
#define OCTAVO_CUDA_FINDER_H_

#include <dlfcn.h>

#include <string>

namespace octavo::cuda {

// Finds them one by one, and remembers the first that is not there.
class Finder {
 public:
  explicit Finder(void* library) : library_(library) {}
  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    if (function == nullptr && missing_.empty()) missing_ = name;
  }
  const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_FINDER_H_
