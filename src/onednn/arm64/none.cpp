// Programs for aarch64 have no oneDNN. Part of onednn/.
#include "onednn/onednn.h"

namespace octavo {

std::span<const KernelCode> onednn_conv_codes() { return {}; }
std::span<const KernelChoice> onednn_conv_choices() { return {}; }
std::span<const KernelCode> onednn_dense_codes() { return {}; }
std::span<const KernelChoice> onednn_dense_choices() { return {}; }
std::span<const KernelCode> onednn_product_codes() { return {}; }
std::span<const KernelChoice> onednn_product_choices() { return {}; }
std::span<const KernelCode> onednn_eltwise_codes() { return {}; }
std::span<const KernelChoice> onednn_eltwise_choices() { return {}; }

}  // namespace octavo

const octavo::KernelLibrary* octavo_onednn_library() { return nullptr; }
