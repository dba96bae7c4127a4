// CodeCache: generated code by its configuration, shared by all that ask for the same one and kept, like what is known
// of it, only as long as they do. Part of kernels/.
#ifndef OCTAVO_KERNELS_JIT_CODE_CACHE_H_
#define OCTAVO_KERNELS_JIT_CODE_CACHE_H_

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "base/result.h"
#include "kernels/jit/code.h"

namespace octavo {

template <class Config>
class CodeCache {
 public:
  // `emit` makes what is not there. Threads that ask for the same code at the same time may both make it; one of the
  // two is kept.
  Result<std::shared_ptr<const Code>> find(const Config& config,
                                           Result<std::shared_ptr<const Code>> (*emit)(const Config&)) {
    if (auto code = known(config)) return code;
    auto made = emit(config);
    if (!made) return made;
    const std::lock_guard lock(mutex_);
    std::erase_if(codes_, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<const Code>& entry = codes_[config];
    if (auto code = entry.lock()) return code;
    entry = *made;
    return made;
  }
  // Configurations that it remembers.
  std::size_t size() {
    const std::lock_guard lock(mutex_);
    return codes_.size();
  }

 private:
  std::shared_ptr<const Code> known(const Config& config) {
    const std::lock_guard lock(mutex_);
    const auto it = codes_.find(config);
    return it == codes_.end() ? nullptr : it->second.lock();
  }

  std::mutex mutex_;
  std::map<Config, std::weak_ptr<const Code>> codes_;
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_JIT_CODE_CACHE_H_
