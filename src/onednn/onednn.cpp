// What programs that link octavo_onednn gain by it. Part of onednn/.
#include "onednn/onednn.h"

#include <array>

#include "onednn/engine.h"

// Of a program that finds oneDNN when it runs instead of linking it; weak, so that others need none.
extern "C" [[gnu::weak]] bool octavo_onednn_is_there();

const octavo::KernelLibrary* octavo_onednn_library() {
  using namespace octavo;
  static const std::array families = {onednn_conv_codes(), onednn_dense_codes(), onednn_eltwise_codes(),
                                      onednn_product_codes()};
  static const KernelLibrary library{families, onednn::prepare_thread};
  const bool is_there = octavo_onednn_is_there == nullptr || octavo_onednn_is_there();
  return is_there ? &library : nullptr;
}
