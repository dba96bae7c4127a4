// What programs that link octavo_onednn gain by it. Part of onednn/.
#include "onednn/onednn.h"

#include <array>

#include "onednn/engine.h"

const octavo::KernelLibrary* octavo_onednn_library() {
  using namespace octavo;
  static const std::array families = {onednn_conv_codes(), onednn_dense_codes(), onednn_eltwise_codes(),
                                      onednn_product_codes()};
  static const KernelLibrary library{families, onednn::prepare_thread};
  return &library;
}
