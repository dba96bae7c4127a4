// Joins the kernel families of all libraries as the planner sees them. Part of planner/.
#include "planner/choice_list.h"

#include <algorithm>

#include "cuda/cuda.h"
#include "onednn/onednn.h"

namespace octavo {

#define OCTAVO_COMPILED_FOR(folder, sets)

#define OCTAVO_FAMILY(name) std::span<const KernelChoice> name##_choices();
#include "kernels/families.inc"
#undef OCTAVO_FAMILY

namespace {

std::vector<const KernelChoice*> join_families() {
  std::vector<const KernelChoice*> choices;
  const auto add = [&](std::span<const KernelChoice> family) {
    for (const KernelChoice& choice : family) choices.push_back(&choice);
  };
#define OCTAVO_FAMILY(name) add(name##_choices());
#include "kernels/families.inc"
#undef OCTAVO_FAMILY
  add(cuda_attention_choices());
  add(cuda_conv_choices());
  add(cuda_depthwise_choices());
  add(cuda_element_choices());
  add(cuda_float_choices());
  add(cuda_float_conv_choices());
  add(cuda_float_depthwise_choices());
  add(cuda_hybrid_conv_choices());
  add(cuda_library_conv_choices());
  add(cuda_line_choices());
  add(cuda_move_choices());
  add(cuda_pool_choices());
  add(cuda_product_choices());
  add(cuda_resize_choices());
  add(cuda_row_scale_choices());
  if (octavo_onednn_library() != nullptr) {
    add(onednn_conv_choices());
    add(onednn_dense_choices());
    add(onednn_eltwise_choices());
    add(onednn_product_choices());
  }
  return choices;
}

}  // namespace

std::span<const KernelChoice* const> all_choices() {
  static const std::vector<const KernelChoice*> choices = join_families();
  return choices;
}

const KernelChoice* find_choice(std::string_view name) {
  const auto choices = all_choices();
  const auto it = std::find_if(choices.begin(), choices.end(),
                               [&](const KernelChoice* choice) { return choice->code.name == name; });
  return it == choices.end() ? nullptr : *it;
}

}  // namespace octavo
