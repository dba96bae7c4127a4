// Code: machine code made at load time, written first and then made executable, never both. Part of kernels/.
#ifndef OCTAVO_KERNELS_JIT_CODE_H_
#define OCTAVO_KERNELS_JIT_CODE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"

namespace octavo {

// Whether this machine has 256-bit vpdpbusd in the VEX encoding; else it has only AVX-512's.
bool has_vex_vnni();

// Owns pages that hold position-independent code. Immutable; shared by all steps that use the same configuration.
class Code {
 public:
  // Error: resource, where the system refuses the pages or refuses to make them executable.
  static Result<std::shared_ptr<const Code>> create(std::span<const std::uint8_t> instructions);
  ~Code();
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  template <class Function>
  Function* entry() const {
    return reinterpret_cast<Function*>(pages_);
  }

 private:
  Code(void* pages, std::size_t bytes) : pages_(pages), bytes_(bytes) {}
  void* pages_;
  std::size_t bytes_;
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_JIT_CODE_H_
