// Memory of tensors between the parts of a program: bounded, and used again. Part of run/.
#ifndef OCTAVO_RUN_PROGRAM_MEMORY_H_
#define OCTAVO_RUN_PROGRAM_MEMORY_H_

#include <cstdint>
#include <map>
#include <memory>

#include "base/result.h"
#include "base/tensor.h"

namespace octavo {

// A tensor that keeps its memory; without an owner it is somebody else's, who keeps it for the run.
struct ProgramTensor {
  ConstTensorView view;
  std::shared_ptr<const std::byte> owner;
};

// For one thread at a time. What it gave lasts as long as its owner, itself included.
class ProgramMemory : public std::enable_shared_from_this<ProgramMemory> {
 public:
  // `most` bytes, besides `others`, which somebody else counts.
  explicit ProgramMemory(std::uint64_t most) : most_(most) {}
  ~ProgramMemory();

  // Aligned to kAlignment. Error (resource): more than is allowed, or than there is.
  Result<std::shared_ptr<std::byte>> take(std::uint64_t bytes);
  // Error (resource): more than is allowed, with what was taken.
  Status set_others(std::uint64_t others);
  std::uint64_t bytes() const { return bytes_ + others_; }

 private:
  Error too_much(std::uint64_t bytes) const;
  void give_back(std::byte* memory, std::uint64_t bytes) noexcept;
  void free_unused();

  std::uint64_t most_;
  std::uint64_t bytes_ = 0, others_ = 0;
  std::multimap<std::uint64_t, std::byte*> unused_;  // by size
};

}  // namespace octavo

#endif  // OCTAVO_RUN_PROGRAM_MEMORY_H_
