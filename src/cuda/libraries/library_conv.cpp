// fused_conv in f32 by NVIDIA's libraries: windows by cuDNN, products by cuBLASLt. Part of cuda/.
#include <algorithm>
#include <limits>

#include "cuda/cost.h"
#include "cuda/cuda.h"
#include "cuda/float_conv_call.h"
#include "cuda/libraries/library_step.h"
#include "cuda/unary_launch.h"
#include "cuda/window.h"
#include "ops/fused_conv/fused_conv.h"

namespace octavo::cuda {
namespace {

bool is_product(const WindowArgs& w) {
  return w.kernel_h == 1 && w.kernel_w == 1 && w.stride_h == 1 && w.stride_w == 1 && w.out_height == w.height &&
         w.out_width == w.width;
}

// Where padding behind the image is as wide as before it, or no tap comes to where it differs.
bool is_padded_alike(std::int32_t size, std::int32_t out, std::int32_t pad, std::int32_t stride, std::int64_t extent) {
  return (size + 2 * std::int64_t{pad} - extent) / stride + 1 == out;
}

LibraryConv conv_of(const CallView& call) {
  const auto& attrs = call.attrs->as<FusedConvAttrs>();
  return {.window = window_args(attrs.window, *call.input(kX).shape, *call.output().shape),
          .images = static_cast<std::int32_t>((*call.input(kX).shape)[0]),
          .has_residual = attrs.residual != ResidualPlace::none,
          .has_relu = attrs.activation.kind == UnaryKind::relu};
}

template <Library library>
std::string refuse_library_conv(const CallView& call) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const auto& attrs = call.attrs->as<FusedConvAttrs>();
  if (call.input(kX).dtype != DType::f32 || call.input(kX).shape->rank() != 4) return "needs images of f32";
  if (is_angular(attrs.activation.kind)) return "computes no angles";
  if (attrs.groups != 1) return "needs one group";
  if (attrs.residual == ResidualPlace::after_activation) return "needs an addition before the activation";
  if (std::string reason = window_refusal(attrs.window, *call.input(kX).shape, *call.output().shape); !reason.empty())
    return reason;
  if (call.input(kX).elements() > kMost || call.output().elements() > kMost || call.input(kW).elements() > kMost)
    return "needs tensors of at most 2^31 - 1 elements";
  const WindowArgs w = conv_of(call).window;
  if (is_product(w) != (library == Library::cublaslt))
    return library == Library::cudnn ? "cuBLASLt computes products" : "needs a product, without a window";
  const bool is_even = is_padded_alike(w.height, w.out_height, w.pad_top, w.stride_h, attrs.window.extent(0).fixed()) &&
                       is_padded_alike(w.width, w.out_width, w.pad_left, w.stride_w, attrs.window.extent(1).fixed());
  return is_even ? "" : "needs the same padding on both sides";
}

template <Library library>
std::string library_conv_refusal(const OpCall& call) {
  if (std::string reason = refuse_float_variables(call); !reason.empty()) return reason;
  return refuse_library_conv<library>(view_of(call));
}

// Weights as they are, and a bias.
std::vector<Tensor> pack_library_conv(const OpCall& call) {
  std::vector<Tensor> packed{constant_or_empty(call, kW), constant_or_empty(call, kBias)};
  if (packed[kBiases].elements() > 0) return packed;
  packed[kBiases] = Tensor(DType::f32, Shape{call.inputs[kW]->shape[0].fixed()});
  std::ranges::fill(packed[kBiases].span<float>(), 0.0f);
  return packed;
}

template <Library library>
Result<std::unique_ptr<Step>> make_library_conv(const CallView& call, const StepSpec& spec) {
  const LibraryConv conv = conv_of(call);
  const WindowArgs& w = conv.window;
  const std::int64_t weights = std::int64_t{1} * w.out_channels * w.kernel_h * w.kernel_w * w.channels;
  if (!is_packed_as(spec, kWeights, DType::f32, weights) || !is_packed_as(spec, kBiases, DType::f32, w.out_channels) ||
      !is_read_in_run(spec, kX) || (conv.has_residual && !is_read_in_run(spec, kResidual)))
    return not_as_packed(spec);
  const UnaryAttrs& activation = call.attrs->as<FusedConvAttrs>().activation;
  std::optional<Launch> after;
  if (!conv.has_relu && activation.kind != UnaryKind::identity)
    after = unary_launch(activation, call.output().elements(), Operand::output);
  return std::unique_ptr<Step>(std::make_unique<LibraryStep>(library, conv, std::move(after)));
}

// At a share of what tensor cores do of tf32, a quarter of their rate of bytes: which tiles, and whether K is split, is
// the library's affair. Then what goes on with y reads and writes it once more.
double library_conv_cost(const OpCall& call, const Machine& machine) {
  constexpr double kShare = 0.25 * 0.6;
  const CallView view = view_of(call);
  const WindowArgs w = conv_of(view).window;
  const double k = static_cast<double>(std::int64_t{1} * w.kernel_h * w.kernel_w * w.channels);
  const double sums_ns =
      static_cast<double>(view.output().elements()) * k / (machine.cores * machine.speeds.tile_gmacs * kShare);
  const UnaryKind activation = call.attrs->as<FusedConvAttrs>().activation.kind;
  const bool goes_on = activation != UnaryKind::identity && activation != UnaryKind::relu;
  const double bytes = 2.0 * static_cast<double>(view.output().bytes());
  const double after_ns = goes_on ? machine.speeds.barrier_ns + bytes / machine.speeds.memory_gbytes : 0.0;
  return memory_ns(view, machine) + sums_ns + after_ns;
}

template <Library library>
constexpr KernelChoice library_conv_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "fused_conv",
                   .needs = Isa::tf32,
                   .packs = true,
                   .prepare = prepare_by<refuse_library_conv<library>, make_library_conv<library>>},
          .is_exact = false,
          .refusal = library_conv_refusal<library>,
          .cost = library_conv_cost,
          .knows_speeds = true,
          .pack = pack_library_conv,
          .packed_layout = same_layout};
}

constexpr KernelChoice kLibraryConvChoices[] = {
    library_conv_kernel<Library::cudnn>("conv_tf32_cudnn"),
    library_conv_kernel<Library::cublaslt>("product_tf32_cublaslt"),
};
constexpr auto kLibraryConvCodes = codes_of(kLibraryConvChoices);

}  // namespace
}  // namespace octavo::cuda

std::span<const octavo::KernelCode> octavo::cuda_library_conv_codes() { return cuda::kLibraryConvCodes; }
std::span<const octavo::KernelChoice> octavo::cuda_library_conv_choices() { return cuda::kLibraryConvChoices; }
