// What programs that link octavo_cuda gain by it. Part of cuda/.
#include "cuda/cuda.h"

#include <array>

const octavo::KernelLibrary* octavo_cuda_library() {
  using namespace octavo;
  static const std::array families = {cuda_attention_codes(),
                                      cuda_conv_codes(),
                                      cuda_depthwise_codes(),
                                      cuda_element_codes(),
                                      cuda_float_codes(),
                                      cuda_float_conv_codes(),
                                      cuda_float_depthwise_codes(),
                                      cuda_hybrid_conv_codes(),
                                      cuda_library_conv_codes(),
                                      cuda_line_codes(),
                                      cuda_move_codes(),
                                      cuda_pool_codes(),
                                      cuda_product_codes(),
                                      cuda_resize_codes(),
                                      cuda_row_scale_codes()};
  static const KernelLibrary library{families};
  return &library;
}
