// SharedCache: what was made for a key (generated code, transformed weights), shared by all that ask for the same one
// and kept, like what is known of it, only as long as they do. Part of kernels/.
#ifndef OCTAVO_KERNELS_SHARED_CACHE_H_
#define OCTAVO_KERNELS_SHARED_CACHE_H_

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "base/result.h"

namespace octavo {

template <class Key, class Value>
class SharedCache {
 public:
  using Shared = std::shared_ptr<const Value>;

  // `make(key)` gives a Result<Shared> of what is not there. Threads that ask for the same key at the same time may
  // both make it; one of the two is kept.
  template <class Make>
  Result<Shared> find(const Key& key, const Make& make) {
    if (Shared value = known(key)) return value;
    Result<Shared> made = make(key);
    if (!made) return made;
    const std::lock_guard lock(mutex_);
    std::erase_if(values_, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<const Value>& entry = values_[key];
    if (Shared value = entry.lock()) return value;
    entry = *made;
    return made;
  }
  // Keys that it remembers.
  std::size_t size() {
    const std::lock_guard lock(mutex_);
    return values_.size();
  }

 private:
  Shared known(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto it = values_.find(key);
    return it == values_.end() ? nullptr : it->second.lock();
  }

  std::mutex mutex_;
  std::map<Key, std::weak_ptr<const Value>> values_;
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_SHARED_CACHE_H_
