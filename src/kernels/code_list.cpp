// Joins the codes of the kernel families and of the libraries that this program links. Part of kernels/.
#include <vector>

#include "kernels/kernel.h"

// Of octavo_onednn and octavo_cuda, where they are linked: weak, so that a program without them links too and finds
// null.
extern "C" [[gnu::weak]] const octavo::KernelLibrary* octavo_onednn_library();
extern "C" [[gnu::weak]] const octavo::KernelLibrary* octavo_cuda_library();

namespace octavo {

#define OCTAVO_COMPILED_FOR(folder, sets)

#define OCTAVO_FAMILY(name) std::span<const KernelCode> name##_codes();
#include "kernels/families.inc"
#undef OCTAVO_FAMILY

namespace {

const KernelLibrary* onednn() { return octavo_onednn_library == nullptr ? nullptr : octavo_onednn_library(); }
const KernelLibrary* cuda() { return octavo_cuda_library == nullptr ? nullptr : octavo_cuda_library(); }

std::vector<const KernelCode*> join_families() {
  std::vector<const KernelCode*> codes;
  const auto add = [&](std::span<const KernelCode> family) {
    for (const KernelCode& code : family) codes.push_back(&code);
  };
#define OCTAVO_FAMILY(name) add(name##_codes());
#include "kernels/families.inc"
#undef OCTAVO_FAMILY
  for (const KernelLibrary* library : {onednn(), cuda()}) {
    if (library == nullptr) continue;
    for (const std::span<const KernelCode> family : library->families) add(family);
  }
  return codes;
}

}  // namespace

std::span<const KernelCode* const> all_codes() {
  static const std::vector<const KernelCode*> codes = join_families();
  return codes;
}

std::string_view library_of(std::string_view kernel) {
  if (kernel.ends_with("_onednn")) return "octavo_onednn";
  for (const std::string_view of_device : {"_cuda", "_cudnn", "_cublaslt"}) {
    if (kernel.ends_with(of_device)) return "octavo_cuda";
  }
  return "";
}

void prepare_thread() noexcept {
  if (const KernelLibrary* library = onednn()) library->prepare_thread();
}

}  // namespace octavo
