// ConstantStore: the constants of a file, and what plans made since added. Part of run/.
#ifndef OCTAVO_RUN_CONSTANT_STORE_H_
#define OCTAVO_RUN_CONSTANT_STORE_H_

#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "plan/constants.h"
#include "plan/plan.h"

namespace octavo {

// Addresses stay. Any number of threads may use it.
class ConstantStore final : public ConstantSource, public ConstantSink {
 public:
  // Both outlive it. Equal to a constant of the plans is what need not be added.
  ConstantStore(std::span<const std::byte> file, const std::vector<Plan>& plans) : file_(file), plans_(&plans) {}

  const std::byte* find(std::uint64_t offset, std::uint64_t bytes) const override;
  // Of the file's.
  std::optional<std::uint64_t> offset_of(const std::byte* data) const override;
  // Equal tensors are stored once.
  std::uint64_t add(const ConstTensorView& tensor) override;
  // Of memory taken for what was added.
  std::uint64_t added_bytes() const;

 private:
  struct Entry {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
  };
  const std::byte* locate(std::uint64_t offset, std::uint64_t bytes) const;
  void index_file();

  std::span<const std::byte> file_;
  const std::vector<Plan>* plans_;
  mutable std::mutex mutex_;
  bool is_file_indexed_ = false;
  struct Block {
    std::uint64_t offset = 0;
    AlignedBytes bytes;
  };
  std::deque<Block> blocks_;                             // ascending
  std::unordered_multimap<std::uint64_t, Entry> index_;  // by content hash
  std::uint64_t added_bytes_ = 0;
};

}  // namespace octavo

#endif  // OCTAVO_RUN_CONSTANT_STORE_H_
