// fused_conv through oneDNN: one primitive per form of row slice, weights in the layout it asks for. Part of
// onednn/.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "kernels/call.h"
#include "onednn/dense.h"
#include "onednn/engine.h"
#include "onednn/layout.h"
#include "onednn/onednn.h"
#include "onednn/post_ops.h"
#include "onednn/slices.h"

namespace octavo {
namespace {

using onednn::ConvSize;
using onednn::Desc;
using onednn::Dims;
using onednn::RowSlice;

constexpr std::size_t kImageInput = 0;
constexpr std::size_t kOnednnConvBiasInput = 2;
constexpr std::size_t kResidualInput = 3;

// What `pack` hands over: weights and their layout, then the bias where there is one.
constexpr std::size_t kOnednnConvPackedWeights = 0;
constexpr std::size_t kOnednnConvPackedLayout = 1;
constexpr std::size_t kOnednnConvPackedBias = 2;

std::string refuse_conv(const CallView& call) {
  const auto& attrs = call.attrs->as<FusedConvAttrs>();
  for (const auto* operands : {&call.inputs, &call.outputs}) {
    for (const OperandType& operand : *operands) {
      if (operand.exists() && (operand.elements() < 1 || operand.elements() > std::numeric_limits<std::int32_t>::max()))
        return "needs tensors of 1 to 2^31 - 1 elements";
    }
  }
  for (int axis = 0; axis < attrs.window.rank(); ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    const std::int64_t extent = attrs.window.extent(axis);
    if (attrs.window.pad_begin[a] >= extent || attrs.window.pad_end[a] >= extent)
      return "needs padding narrower than the kernel";
  }
  if (is_dense_conv(call)) return "dense_f32_onednn computes products of so few pixels";
  dnnl::post_ops post_ops;
  if (!onednn::append_activation(post_ops, attrs.activation))
    return "oneDNN has no " + std::string(name_of(attrs.activation.kind));
  return "";
}

std::string conv_refusal(const OpCall& call) {
  if (!call.inputs[1]->is_constant()) return "needs constant weights";
  const bool has_bias = call.inputs.size() > kOnednnConvBiasInput && call.inputs[kOnednnConvBiasInput] != nullptr;
  if (has_bias && !call.inputs[kOnednnConvBiasInput]->is_constant()) return "needs a constant bias";
  for (std::size_t i : {kImageInput, kResidualInput}) {
    if (i < call.inputs.size() && call.inputs[i] != nullptr && call.inputs[i]->is_constant())
      return "needs a variable x and residual";
  }
  return refuse_conv(view_of(call));
}

// Measured between 100 and 155 GFLOP/s on one AVX-512 core at 2.5 GHz; depthwise is bound by its loads.
double conv_cost(const OpCall& call, const Machine& machine) {
  const auto size = ConvSize::of(call.attrs->as<FusedConvAttrs>(), call.inputs[0]->shape, call.outputs[0].shape);
  const double gflops = (machine.isa.has(Isa::avx512) ? 120.0 : 50.0) / (size.ic / size.groups == 1 ? 4.0 : 1.0);
  // Weights beyond 16 MB are read from memory for every few rows: 142 to 190 instead of 265 GMAC/s on two cores of a
  // Zen 5 (1x1 on 196 and 257 pixels, 2026-11).
  constexpr std::int64_t kLarge = std::int64_t{4} << 20;
  const double reading = call.inputs[1]->shape.elements() > kLarge ? 1.4 : 1.0;
  return 2000.0 + 2.0 * reading * size.macs() / gflops;
}

int conv_in_place_input(const OpCall& call) {
  const bool has_residual = call.attrs->as<FusedConvAttrs>().residual != ResidualPlace::none;
  return has_residual ? static_cast<int>(kResidualInput) : -1;
}

// Height and width as oneDNN is told them.
Dims as_told(const ConvSize& size, std::int64_t along_slices, std::int64_t across) {
  return size.is_line ? Dims{across, along_slices} : Dims{along_slices, across};
}
Dims as_told(const ConvSize& size, const std::array<std::int64_t, 2>& pair) { return as_told(size, pair[0], pair[1]); }

Dims weight_dims(const ConvSize& size) {
  const Dims kernel = as_told(size, size.kernel);
  if (size.groups == 1) return {size.oc, size.ic, kernel[0], kernel[1]};
  return {size.groups, size.oc / size.groups, size.ic / size.groups, kernel[0], kernel[1]};
}

// The graph's weights: [OC, KH, KW, C / groups].
Desc graph_weights(const ConvSize& size) {
  const Dims dims = weight_dims(size);
  return size.groups == 1 ? onednn::plain_desc(dims, {0, 2, 3, 1}) : onednn::plain_desc(dims, {0, 1, 3, 4, 2});
}

Desc image_desc(std::int64_t channels, const Dims& extents) {
  return onednn::plain_desc({1, channels, extents[0], extents[1]}, {0, 2, 3, 1});
}

struct ConvForm {
  const ConvSize& size;
  const FusedConvAttrs& attrs;
  bool has_bias = false;
};

dnnl::convolution_forward::primitive_desc onednn_conv_describe(const ConvForm& form, const RowSlice& slice) {
  const ConvSize& size = form.size;
  const Desc src = image_desc(size.ic, as_told(size, slice.in_rows, size.in[1]));
  const Desc dst = image_desc(size.oc, as_told(size, slice.out_rows, size.out[1]));
  const Desc weights = onednn::any_desc(weight_dims(size));
  const Desc bias = form.has_bias ? onednn::plain_desc({size.oc}, {0}) : Desc();
  const dnnl::convolution_forward::desc description(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, src, weights, bias, dst,
      as_told(size, size.strides), as_told(size, size.dilations[0] - 1, size.dilations[1] - 1),
      as_told(size, slice.pad_begin, size.pad_begin[1]), as_told(size, slice.pad_end, size.pad_end[1]));
  dnnl::post_ops post_ops;
  if (form.attrs.residual == ResidualPlace::before_activation) post_ops.append_sum(1.0f);
  onednn::append_activation(post_ops, form.attrs.activation);
  if (form.attrs.residual == ResidualPlace::after_activation) post_ops.append_sum(1.0f);
  dnnl::primitive_attr attr;
  attr.set_post_ops(post_ops);
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return {description, attr, onednn::engine()};
}

std::vector<Tensor> pack_conv(const OpCall& call) {
  const auto& attrs = call.attrs->as<FusedConvAttrs>();
  const ConvSize size = ConvSize::of(attrs, call.inputs[0]->shape, call.outputs[0].shape);
  const bool has_bias = call.inputs.size() > kOnednnConvBiasInput && call.inputs[kOnednnConvBiasInput] != nullptr;
  const onednn::Weights graph{graph_weights(size), call.inputs[1]->constant->data()};
  // The layout that this host would choose on two threads; another host or number of threads that wants another one
  // reorders at load.
  constexpr int kThreads = 2;
  Desc wanted = graph.desc;
  const auto asked = onednn::guarded("fused_conv", [&]() -> Result<Desc> {
    const onednn::OneOpenMpThread one_thread;
    const std::int64_t slices = onednn::slices_per_image(size, kThreads, host_machine().l2_bytes);
    return Desc(
        onednn_conv_describe({size, attrs, has_bias}, onednn::slice_of(size, slices, slices / 2)).weights_desc());
  });
  if (asked && onednn::encode_layout(*asked)) wanted = *asked;
  std::vector<Tensor> packed;
  packed.push_back(onednn::reorder(graph, wanted));
  const std::vector<std::int32_t> layout = *onednn::encode_layout(wanted);
  packed.push_back(Tensor::of<std::int32_t>({static_cast<std::int64_t>(layout.size())}, layout));
  if (has_bias) packed.push_back(*call.inputs[kOnednnConvBiasInput]->constant);
  return packed;
}

// One primitive and what it reads that never changes.
struct OnednnConvPrimitive {
  RowSlice slice;
  dnnl::convolution_forward compute;
  Desc src, dst, scratch;
  dnnl::memory weights, bias;  // bias is empty where there is none
};

// The memory objects of one primitive for one thread.
struct OnednnConvArguments {
  dnnl::memory src, dst, scratch;
  std::array<dnnl_exec_arg_t, 5> list{};
  int count = 0;

  explicit OnednnConvArguments(const OnednnConvPrimitive& primitive)
      : src(onednn::empty_memory(primitive.src)),
        dst(onednn::empty_memory(primitive.dst)),
        scratch(onednn::empty_memory(primitive.scratch)) {
    const auto add = [&](int argument, const dnnl::memory& memory) {
      list[static_cast<std::size_t>(count++)] = {argument, memory.get()};
    };
    add(DNNL_ARG_SRC, src);
    add(DNNL_ARG_WEIGHTS, primitive.weights);
    add(DNNL_ARG_DST, dst);
    add(DNNL_ARG_SCRATCHPAD, scratch);
    if (primitive.bias) add(DNNL_ARG_BIAS, primitive.bias);
  }
  std::span<const dnnl_exec_arg_t> given() const { return {list.data(), static_cast<std::size_t>(count)}; }
};

struct ConvPlan {
  ConvSize size;
  std::int64_t slices = 1;
  bool has_residual = false;
  onednn::WeightLayouts weights;
  std::vector<OnednnConvPrimitive> primitives;
  std::vector<std::size_t> primitive_of;  // by slice of an image
  std::size_t scratch_bytes = 0;
};

class ConvStep final : public Step {
 public:
  ConvStep(ConvPlan plan, int threads) : plan_(std::move(plan)), slots_(make_slots(plan_, threads)) {}

  std::int64_t items() const override { return plan_.size.n * plan_.slices; }
  std::size_t scratch_bytes() const override { return plan_.scratch_bytes; }

  void run(const StepBuffers& buffers, ItemRange range) const noexcept override {
    if (range.begin >= range.end) return;
    const onednn::OneOpenMpThread one_thread;
    const auto slot = slots_.take();
    for (std::int64_t item = range.begin; item < range.end; ++item)
      run_slice(buffers, *slot, item / plan_.slices, item % plan_.slices);
  }

 private:
  using Slot = std::vector<OnednnConvArguments>;

  static std::vector<Slot> make_slots(const ConvPlan& plan, int threads) {
    std::vector<Slot> slots(static_cast<std::size_t>(std::max(threads, 1)) + 1);
    for (Slot& slot : slots) {
      for (const OnednnConvPrimitive& primitive : plan.primitives) slot.emplace_back(primitive);
    }
    return slots;
  }

  void run_slice(const StepBuffers& buffers, Slot& slot, std::int64_t image, std::int64_t index) const {
    const ConvSize& size = plan_.size;
    const RowSlice slice = onednn::slice_of(size, plan_.slices, index);
    const std::size_t which = plan_.primitive_of[static_cast<std::size_t>(index)];
    const auto bytes_before = [](std::int64_t rows, std::int64_t width, std::int64_t channels) {
      return static_cast<std::size_t>(rows * width * channels) * sizeof(float);
    };
    const std::byte* src = buffers.inputs[0] + bytes_before(image * size.in[0] + slice.in_begin, size.in[1], size.ic);
    const std::size_t offset = bytes_before(image * size.out[0] + slice.out_begin, size.out[1], size.oc);
    const std::size_t bytes = bytes_before(slice.out_rows, size.out[1], size.oc);
    std::byte* dst = buffers.outputs[0] + offset;
    // oneDNN adds to what lies in the output.
    if (plan_.has_residual && buffers.inputs[kResidualInput] != buffers.outputs[0])
      std::memcpy(dst, buffers.inputs[kResidualInput] + offset, bytes);
    OnednnConvArguments& arguments = slot[which];
    onednn::set_data(arguments.src, src);
    onednn::set_data(arguments.dst, dst);
    onednn::set_data(arguments.scratch, buffers.scratch);
    onednn::execute(plan_.primitives[which].compute, arguments.given(), *buffers.failure);
  }

  ConvPlan plan_;
  mutable onednn::SlotPool<Slot> slots_;
};

Error onednn_conv_damaged(std::string found, std::string expected) {
  return {.kind = ErrorKind::invalid_input,
          .where = "fused_conv, packed weights",
          .found = std::move(found),
          .expected = std::move(expected)};
}

// The packed weights where they are what `pack` makes for this size.
Result<onednn::Weights> stored_weights(const StepSpec& spec, const ConvSize& size, bool has_bias) {
  if (!is_read_in_run(spec, kImageInput) || !is_read_in_run(spec, kResidualInput))
    return onednn_conv_damaged("a packed image", "one that a run passes");
  const std::size_t count = has_bias ? 3 : 2;
  if (spec.packed.size() != count)
    return onednn_conv_damaged(std::to_string(spec.packed.size()) + " tensors", std::to_string(count));
  const ConstTensorView& weights = spec.packed[kOnednnConvPackedWeights];
  const ConstTensorView& layout = spec.packed[kOnednnConvPackedLayout];
  if (weights.dtype != DType::f32 || layout.dtype != DType::s32)
    return onednn_conv_damaged("other element types", "f32 and s32");
  const auto desc = onednn::decode_layout(weight_dims(size), layout.span<std::int32_t>());
  if (!desc) return onednn_conv_damaged("numbers that are no layout", "a permutation and blocks");
  if (desc->get_size() != weights.bytes())
    return onednn_conv_damaged(std::to_string(weights.bytes()) + " bytes", std::to_string(desc->get_size()));
  const bool is_bias_right = !has_bias || (spec.packed[kOnednnConvPackedBias].dtype == DType::f32 &&
                                           spec.packed[kOnednnConvPackedBias].shape == Shape{size.oc});
  if (!is_bias_right) return onednn_conv_damaged("another bias", std::to_string(size.oc) + " of f32");
  return onednn::Weights{*desc, weights.data};
}

void add_primitive(ConvPlan& plan, const ConvForm& form, const RowSlice& slice, const std::byte* bias) {
  const auto described = onednn_conv_describe(form, slice);
  OnednnConvPrimitive primitive{.slice = slice,
                                .compute = dnnl::convolution_forward(described),
                                .src = described.src_desc(),
                                .dst = described.dst_desc(),
                                .scratch = described.scratchpad_desc(),
                                .weights = onednn::empty_memory(described.weights_desc()),
                                .bias = {}};
  onednn::set_data(primitive.weights, plan.weights.in_layout(described.weights_desc()));
  if (bias != nullptr) {
    primitive.bias = onednn::empty_memory(described.bias_desc());
    onednn::set_data(primitive.bias, bias);
  }
  plan.scratch_bytes = std::max(plan.scratch_bytes, primitive.scratch.get_size());
  plan.primitives.push_back(std::move(primitive));
}

Result<std::unique_ptr<Step>> make_conv(const CallView& call, const StepSpec& spec) {
  const auto& attrs = call.attrs->as<FusedConvAttrs>();
  const ConvSize size = ConvSize::of(attrs, *call.inputs[0].shape, *call.output().shape);
  const bool has_bias = call.input(kOnednnConvBiasInput).exists();
  const auto stored = stored_weights(spec, size, has_bias);
  if (!stored) return stored.errors();
  return onednn::guarded("fused_conv", [&]() -> Result<std::unique_ptr<Step>> {
    const onednn::OneOpenMpThread one_thread;
    onednn::stream();
    ConvPlan plan{.size = size,
                  .slices = onednn::slices_per_image(size, spec.threads, host_machine().l2_bytes),
                  .has_residual = attrs.residual != ResidualPlace::none,
                  .weights = onednn::WeightLayouts(*stored)};
    const std::byte* bias = has_bias ? spec.packed[kOnednnConvPackedBias].data : nullptr;
    for (std::int64_t index = 0; index < plan.slices; ++index) {
      const RowSlice slice = onednn::slice_of(size, plan.slices, index);
      const auto known = std::find_if(plan.primitives.begin(), plan.primitives.end(),
                                      [&](const OnednnConvPrimitive& p) { return p.slice.same_form(slice); });
      plan.primitive_of.push_back(static_cast<std::size_t>(known - plan.primitives.begin()));
      if (known == plan.primitives.end()) add_primitive(plan, {size, attrs, has_bias}, slice, bias);
    }
    return std::unique_ptr<Step>(std::make_unique<ConvStep>(std::move(plan), spec.threads));
  });
}

constexpr KernelChoice kOnednnConvChoices[] = {{.code = {.name = "conv_f32_onednn",
                                                         .op = "fused_conv",
                                                         .needs = Isa::avx2,
                                                         .packs = true,
                                                         .prepare = prepare_by<refuse_conv, make_conv>,
                                                         .in_place_input = conv_in_place_input},
                                                .is_exact = false,
                                                .refusal = conv_refusal,
                                                .cost = conv_cost,
                                                .pack = pack_conv}};
constexpr auto kOnednnConvCodes = codes_of(kOnednnConvChoices);

}  // namespace

std::span<const KernelCode> onednn_conv_codes() { return kOnednnConvCodes; }
std::span<const KernelChoice> onednn_conv_choices() { return kOnednnConvChoices; }

}  // namespace octavo
