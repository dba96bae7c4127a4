// Taking and giving back. Part of run/.
#include "run/program_memory.h"

#include <new>

#include "base/exceptions.h"

namespace octavo {
namespace {

constexpr std::align_val_t kAligned{kAlignment};

}  // namespace

ProgramMemory::~ProgramMemory() { free_unused(); }

void ProgramMemory::free_unused() {
  for (const auto& [bytes, memory] : unused_) {
    ::operator delete(memory, kAligned);
    bytes_ -= bytes;
  }
  unused_.clear();
}

Error ProgramMemory::too_much(std::uint64_t bytes) const {
  return {.kind = ErrorKind::resource,
          .found = std::to_string(bytes) + " bytes of memory for tensors and arenas",
          .expected = "at most " + std::to_string(most_)};
}

Status ProgramMemory::set_others(std::uint64_t others) {
  others_ = others;
  if (bytes() > most_) free_unused();
  if (bytes() > most_) return too_much(bytes());
  return ok_status();
}

// Called where nothing may be thrown.
void ProgramMemory::give_back(std::byte* memory, std::uint64_t bytes) noexcept {
  const auto keep = [&] { unused_.emplace(bytes, memory); };
  attempt<std::bad_alloc>(keep, [&] {
    ::operator delete(memory, kAligned);
    bytes_ -= bytes;
  });
}

Result<std::shared_ptr<std::byte>> ProgramMemory::take(std::uint64_t bytes) {
  const std::uint64_t rounded = (bytes / kAlignment + 1) * kAlignment;
  std::byte* memory = nullptr;
  std::uint64_t size = rounded;
  // Not one that is far too large: a small tensor may last.
  const auto found = unused_.lower_bound(rounded);
  if (found != unused_.end() && found->first / 2 <= rounded) {
    size = found->first;
    memory = found->second;
    unused_.erase(found);
  } else {
    if (rounded > most_ || bytes_ + others_ > most_ - rounded) free_unused();
    if (rounded > most_ || bytes_ + others_ > most_ - rounded) return too_much(this->bytes() + rounded);
    memory = static_cast<std::byte*>(::operator new(rounded, kAligned, std::nothrow));
    if (memory == nullptr) return too_much(this->bytes() + rounded);
    bytes_ += rounded;
  }
  const auto give = [self = shared_from_this(), size](std::byte* given) { self->give_back(given, size); };
  return std::shared_ptr<std::byte>(memory, give);
}

}  // namespace octavo
