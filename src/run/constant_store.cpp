// Constants that grow in number. Part of run/.
#include "run/constant_store.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

namespace octavo {

const std::byte* ConstantStore::find(std::uint64_t offset, std::uint64_t bytes) const {
  if (offset % kAlignment != 0) return nullptr;
  const std::lock_guard lock(mutex_);
  return locate(offset, bytes);
}

const std::byte* ConstantStore::locate(std::uint64_t offset, std::uint64_t bytes) const {
  const auto within = [&](std::uint64_t first, std::span<const std::byte> memory) {
    const std::uint64_t at = offset - first;
    return at <= memory.size() && memory.size() - at >= bytes + kReadSlack ? memory.data() + at : nullptr;
  };
  if (offset < file_.size() || blocks_.empty()) return within(0, file_);
  const auto after = std::upper_bound(blocks_.begin(), blocks_.end(), offset,
                                      [](std::uint64_t at, const Block& block) { return at < block.offset; });
  if (after == blocks_.begin()) return nullptr;
  return within(std::prev(after)->offset, std::prev(after)->bytes);
}

// Not before somebody adds: a program that runs the sizes of its file never reads all of it.
void ConstantStore::index_file() {
  if (is_file_indexed_) return;
  is_file_indexed_ = true;
  for (const Plan& plan : *plans_) {
    for (const PlanStep& step : plan.steps) {
      for (const ValueIndex packed : step.packed) {
        const PlanValue& value = plan.value(packed);
        const std::byte* data = locate(value.offset, value.bytes());
        if (data != nullptr) index_.emplace(XXH3_64bits(data, value.bytes()), Entry{value.offset, value.bytes()});
      }
    }
  }
}

std::optional<std::uint64_t> ConstantStore::offset_of(const std::byte* data) const {
  const std::less<const std::byte*> before;
  const bool is_of_file = !file_.empty() && !before(data, file_.data()) && before(data, file_.data() + file_.size());
  return is_of_file ? std::optional(static_cast<std::uint64_t>(data - file_.data())) : std::nullopt;
}

std::uint64_t ConstantStore::add(const ConstTensorView& tensor) {
  const std::uint64_t size = tensor.bytes();
  if (const auto offset = offset_of(tensor.data)) return *offset;
  const std::uint64_t hash = XXH3_64bits(tensor.data, size);
  const std::lock_guard lock(mutex_);
  index_file();
  const auto [first, last] = index_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const Entry& entry = it->second;
    if (entry.size == size && (size == 0 || std::memcmp(locate(entry.offset, size), tensor.data, size) == 0))
      return entry.offset;
  }
  const std::uint64_t end = blocks_.empty() ? file_.size() : blocks_.back().offset + blocks_.back().bytes.size();
  const std::uint64_t offset = (end + kAlignment - 1) / kAlignment * kAlignment;
  Block block{offset, AlignedBytes(size + kReadSlack)};
  if (size != 0) std::memcpy(block.bytes.data(), tensor.data, size);
  blocks_.push_back(std::move(block));
  added_bytes_ += size + kReadSlack;
  index_.emplace(hash, Entry{offset, size});
  return offset;
}

std::uint64_t ConstantStore::added_bytes() const {
  const std::lock_guard lock(mutex_);
  return added_bytes_;
}

}  // namespace octavo
