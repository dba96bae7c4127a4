// See libraries.h. Part of cuda/.
#include "cuda/libraries/libraries.h"

#include <dlfcn.h>

#include "cuda/libraries/session.h"

namespace octavo::cuda {
namespace {

constexpr const char* kWithout = "Plans need none without --precision tf32";

}  // namespace

Result<void*> load_library(const LibraryName& name) {
  void* library = dlopen(name.file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  return Error{.kind = ErrorKind::resource,
               .where = "CUDA",
               .found = "no " + name.what + ": " + std::string(dlerror()),
               .expected = "NVIDIA's " + name.what + " where the system or LD_LIBRARY_PATH has libraries",
               .hint = kWithout};
}

Error library_lacks(const LibraryName& name, const std::string& function) {
  return {.kind = ErrorKind::resource,
          .where = "CUDA",
          .found = name.file + " without " + function,
          .expected = "a release of " + name.what + " that has it",
          .hint = kWithout};
}

Error library_failed(const std::string& doing, const char* text, int code) {
  return {.kind = ErrorKind::resource,
          .where = "CUDA, " + doing,
          .found = std::string(text) + " (" + std::to_string(code) + ")",
          .expected = "success"};
}

Result<std::unique_ptr<LibraryCall>> Libraries::prepare(Library library, const LibraryConv& conv,
                                                        const std::string& name) {
  std::unique_ptr<OpenLibrary>& open = open_[static_cast<std::size_t>(library)];
  if (open == nullptr) {
    auto opened = library == Library::cudnn ? open_cudnn() : open_cublaslt();
    if (!opened) return opened.errors();
    open = std::move(*opened);
  }
  auto call = open->prepare(conv);
  if (call) return call;
  Errors errors = call.errors();
  for (Error& error : errors) error.where += " for " + name;
  return errors;
}

Status Libraries::enqueue(const LibraryCall& call, const LibraryAddresses& operands, StreamHandle stream) {
  const std::lock_guard lock(mutex_);
  return call.enqueue(operands, stream);
}

}  // namespace octavo::cuda
