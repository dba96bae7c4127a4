// Finds oneDNN 2 for the wheel, which does not bring it: where somebody put it for Octavo. One that the system happens
// to have is left alone, as it brings an OpenMP runtime into the process.
#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <string>

namespace {

constexpr const char* kNames[] = {
#include "function_names.inc"
};
constexpr std::size_t kCount = std::size(kNames);

}  // namespace

// What jumps.S jumps through.
extern "C" {
[[gnu::visibility("hidden")]] void* octavo_onednn_functions[kCount];
}

namespace {

// prefix/lib, where this is prefix/lib/python3.x/site-packages/octavo/liboctavo.so: what PyPI's packages of oneDNN
// write to.
std::string beside_python() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&beside_python), &info) == 0) return {};
  const std::string own = info.dli_fname;
  return own.substr(0, own.rfind('/') + 1) + "../../../libdnnl.so.2";
}

void* open_library() {
  if (const char* named = std::getenv("OCTAVO_ONEDNN")) return dlopen(named, RTLD_NOW | RTLD_LOCAL);
  return dlopen(beside_python().c_str(), RTLD_NOW | RTLD_LOCAL);
}

bool load() {
  void* library = open_library();
  if (library == nullptr) return false;
  for (std::size_t i = 0; i < kCount; ++i) {
    octavo_onednn_functions[i] = dlsym(library, kNames[i]);
    if (octavo_onednn_functions[i] == nullptr) return false;
  }
  return true;
}

}  // namespace

extern "C" bool octavo_onednn_is_there() {
  static const bool is_there = load();
  return is_there;
}
