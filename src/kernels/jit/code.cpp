// Pages for machine code: mapped writable, filled, then made executable and read-only. Part of kernels/.
#include "kernels/jit/code.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

namespace octavo {

namespace {

Error refused(const char* what) {
  return {.kind = ErrorKind::resource,
          .where = "memory for generated code",
          .found = std::string(what) + ": " + std::strerror(errno),
          .expected = "pages that may be made executable",
          .hint = "Choose a target whose kernels are compiled, or allow executable memory"};
}

}  // namespace

Result<std::shared_ptr<const Code>> Code::create(std::span<const std::uint8_t> instructions) {
  void* pages = mmap(nullptr, instructions.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return refused("mmap");
  std::shared_ptr<const Code> code(new Code(pages, instructions.size()));
  std::memcpy(pages, instructions.data(), instructions.size());
  auto* const begin = static_cast<char*>(pages);
  __builtin___clear_cache(begin, begin + instructions.size());
  if (mprotect(pages, instructions.size(), PROT_READ | PROT_EXEC) != 0) return refused("mprotect");
  return code;
}

Code::~Code() { munmap(pages_, bytes_); }

}  // namespace octavo
