// ConstantPool: constants of all plans, equal ones once. Part of plan/.
#include "plan/constants.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace octavo {

const std::byte* FileConstants::find(std::uint64_t offset, std::uint64_t bytes) const {
  const bool is_inside = offset % kAlignment == 0 && offset <= file_.size() && bytes <= file_.size() - offset &&
                         kReadSlack <= file_.size() - offset - bytes;
  return is_inside ? file_.data() + offset : nullptr;
}

std::optional<std::vector<PackedTensor>> PackedIndex::find(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = tensors_.find(key);
  return found == tensors_.end() ? std::nullopt : std::optional(found->second);
}

void PackedIndex::set(const std::string& key, std::vector<PackedTensor> tensors) {
  const std::lock_guard lock(mutex_);
  tensors_.insert_or_assign(key, std::move(tensors));
}

std::vector<StoredPacking> PackedIndex::stored() const {
  const std::lock_guard lock(mutex_);
  std::vector<StoredPacking> packings;
  for (const auto& [key, tensors] : tensors_) {
    StoredPacking& packing = packings.emplace_back(StoredPacking{.key = key, .tensors = {}});
    for (const PackedTensor& tensor : tensors)
      packing.tensors.push_back({tensor.dtype, {tensor.shape.begin(), tensor.shape.end()}, tensor.offset});
  }
  std::ranges::sort(packings, {}, &StoredPacking::key);
  return packings;
}

void PackedIndex::restore(const std::vector<StoredPacking>& packings) {
  const std::lock_guard lock(mutex_);
  for (const StoredPacking& packing : packings) {
    std::vector<PackedTensor>& tensors = tensors_[packing.key];
    for (const StoredPacking::Tensor& tensor : packing.tensors)
      tensors.push_back({tensor.dtype, Shape(tensor.shape), tensor.offset});
  }
}

std::uint64_t ConstantPool::add(const ConstTensorView& tensor) {
  const std::uint64_t size = tensor.bytes();
  const std::uint64_t hash = XXH3_64bits(tensor.data, size);
  const auto [first, last] = index_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const Entry& entry = it->second;
    if (entry.size == size && (size == 0 || std::memcmp(bytes_.data() + entry.offset, tensor.data, size) == 0))
      return entry.offset;
  }
  // The pool always ends with kReadSlack zeros: the next constant starts there.
  const std::uint64_t offset = bytes_.empty() ? 0 : bytes_.size() - kReadSlack;
  bytes_.resize(offset + (size + kAlignment - 1) / kAlignment * kAlignment + kReadSlack);
  if (size != 0) std::memcpy(bytes_.data() + offset, tensor.data, size);
  index_.emplace(hash, Entry{offset, size});
  return offset;
}

std::uint64_t ConstantPool::seal() {
  index_.clear();
  return bytes_.empty() ? 0 : bytes_.size() - kReadSlack;
}

AlignedBytes ConstantPool::take() {
  index_.clear();
  return std::exchange(bytes_, {});
}

}  // namespace octavo
