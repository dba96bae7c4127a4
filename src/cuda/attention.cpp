// attention and quantized_attention. Part of cuda/.
#include "ops/attention/attention.h"

#include "cuda/arguments.h"
#include "cuda/cuda.h"
#include "cuda/element_kernel.h"
#include "kernels/attention_mask.h"
#include "kernels/epilogue/parts.h"
#include "kernels/integer_attention/head_epilogue.h"
#include "ops/quantized_attention/quantized_attention.h"

namespace octavo::cuda {
namespace {

constexpr int kThreads = 128, kPartials = 16;
constexpr std::int64_t kSharedBytes = 48 * 1024;

// Queries of a block: eight, or one where their scores would not fit.
std::int64_t rows_of(std::int64_t keys) {
  constexpr std::int64_t kRows = kThreads / kPartials;
  return 4 * kRows * (keys + 2 * kPartials) <= kSharedBytes ? kRows : 1;
}

const AttentionAttrs& heads_of(const CallView& call) {
  const auto* stored = call.attrs->get_if<QuantizedAttentionAttrs>();
  return stored != nullptr ? stored->heads : call.attrs->as<AttentionAttrs>();
}

// q, k, v and the mask, with the sizes that both operators have.
AttentionArgs attention_args(const CallView& call) {
  const AttentionAttrs& heads = heads_of(call);
  const auto sizes = AttentionSizes::of(*call.input(0).shape, *call.input(1).shape);
  AttentionArgs args{.queries = sizes.queries,
                     .keys = sizes.keys,
                     .heads = heads.heads,
                     .kv_heads = heads.kv_heads,
                     .head_size = heads.head_size,
                     .value_size = heads.value_size,
                     .scale = heads.scale,
                     .is_causal = heads.is_causal ? 1 : 0};
  args.rows = rows_of(args.keys);
  const std::int64_t first[] = {heads.q_first, heads.k_first, heads.v_first};
  for (std::size_t i = 0; i < 3; ++i) {
    const Shape& shape = *call.input(i).shape;
    args.operand[i] = {
        .columns = shape[shape.rank() - 1], .first = first[i], .is_signed = call.input(i).dtype == DType::s8 ? 1 : 0};
  }
  std::fill_n(args.mask.size, kMostAxes, 1);
  if (!call.input(kAttentionMask).exists()) return args;
  const auto layout = AttentionMaskLayout::of(*call.input(kAttentionMask).shape, Shape(sizes.scores(heads)));
  args.mask.head_stride = layout.head_stride;
  args.mask.query_stride = layout.query_stride, args.mask.key_stride = layout.key_stride;
  for (std::size_t i = 0; i < layout.batch.size(); ++i) {
    const std::size_t to = kMostAxes - layout.batch.size() + i;
    args.mask.size[to] = layout.batch[i], args.mask.stride[to] = layout.batch_strides[i];
  }
  return args;
}

std::int64_t images_of(const CallView& call) {
  return AttentionSizes::of(*call.input(0).shape, *call.input(1).shape).batch.elements();
}

std::array<std::int64_t, 3> grid_of(const CallView& call) {
  const auto sizes = AttentionSizes::of(*call.input(0).shape, *call.input(1).shape);
  const std::int64_t rows = rows_of(sizes.keys), queries = sizes.queries;
  return {std::max<std::int64_t>(1, (queries + rows - 1) / rows), heads_of(call).heads,
          std::max<std::int64_t>(1, images_of(call))};
}

std::string refuse_attention(const CallView& call) {
  const auto sizes = AttentionSizes::of(*call.input(0).shape, *call.input(1).shape);
  if (call.output().elements() == 0) return "needs a result";
  if (call.input(0).shape->rank() - 2 > kMostAxes) return "needs at most six axes of a batch";
  if (4 * rows_of(sizes.keys) * (std::int64_t{sizes.keys} + 2 * kPartials) > kSharedBytes)
    return "needs the scores of a query in 48 KiB";
  return grid_refusal(grid_of(call));
}

// With everything but what the operators have of their own.
Result<std::unique_ptr<Step>> launch(LaunchMaker<AttentionArgs>& maker, std::string kernel, const CallView& call,
                                     const StepSpec& spec) {
  AttentionArgs& args = maker.arguments;
  for (std::size_t i = 0; i < 3; ++i) maker.point(args.operand[i].x, Operand::input, i);
  if (const OperandType mask = call.input(kAttentionMask); mask.exists()) {
    maker.point_if(mask.dtype == DType::f32, args.mask.added, Operand::input, kAttentionMask);
    maker.point_if(mask.dtype == DType::boolean, args.mask.shown, Operand::input, kAttentionMask);
  }
  maker.point(args.y, Operand::output, 0);
  maker.launch.kernel = std::move(kernel);
  maker.launch.grid = grid_of(call);
  maker.launch.threads = kThreads;
  maker.launch.shared_bytes = static_cast<int>(4 * args.rows * (args.keys + 2 * kPartials));
  return maker.make(spec);
}

Result<std::unique_ptr<Step>> make_real(const CallView& call, const StepSpec& spec) {
  LaunchMaker<AttentionArgs> maker;
  maker.arguments = attention_args(call);
  return launch(maker, "attention_f32", call, spec);
}

// ---- of bytes ----

std::string refuse_stored(const CallView& call) {
  if (!HeadEpilogue::of(call.attrs->as<QuantizedAttentionAttrs>().epilogue))
    return "needs an epilogue of a scale, and a rounding where the result is bytes";
  return refuse_attention(call);
}

Result<std::unique_ptr<Step>> make_stored(const CallView& call, const StepSpec& spec) {
  const auto& attrs = call.attrs->as<QuantizedAttentionAttrs>();
  const HeadEpilogue epilogue = *HeadEpilogue::of(attrs.epilogue);
  LaunchMaker<AttentionArgs> maker;
  AttentionArgs& args = maker.arguments;
  args = attention_args(call);
  args.operand[0].zero_point = attrs.q_zero_point;
  args.operand[1].zero_point = attrs.k_zero_point, args.operand[2].zero_point = attrs.v_zero_point;
  args.scale = attrs.multiplier, args.steps = attrs.steps;
  args.factor = epilogue.affine->multiplier, args.offset = epilogue.affine->offset;
  args.is_real = epilogue.round == nullptr ? 1 : 0;
  if (epilogue.round != nullptr) args.round = row_round(*epilogue.round);
  maker.point(args.table, Operand::input, kAttentionTable);
  return launch(maker, "attention_q8", call, spec);
}

// Beside the memory, the products: each thread has one at a time.
double cost(const OpCall& call, const Machine& machine) {
  constexpr double kLanes = 128.0, kShare = 0.25;  // multiply-adds of a multiprocessor at once, and what is reached
  const CallView view = view_of(call);
  const AttentionAttrs& heads = heads_of(view);
  const auto sizes = AttentionSizes::of(*view.input(0).shape, *view.input(1).shape);
  const double products = static_cast<double>(images_of(view) * heads.heads * std::int64_t{sizes.queries}) *
                          static_cast<double>(std::int64_t{sizes.keys} * (heads.head_size + heads.value_size));
  const double gmacs = kLanes * kShare * machine.speeds.gigahertz * std::max(1, machine.cores);
  return memory_ns(view, machine) + products / gmacs;
}

constexpr KernelChoice kChoices[] = {
    element_kernel<refuse_attention, make_real, cost>("attention_f32_cuda", "attention"),
    element_kernel<refuse_stored, make_stored, cost>("attention_q8_cuda", "quantized_attention"),
};
constexpr auto kCodes = codes_of(kChoices);

}  // namespace
}  // namespace octavo::cuda

std::span<const octavo::KernelCode> octavo::cuda_attention_codes() { return cuda::kCodes; }
std::span<const octavo::KernelChoice> octavo::cuda_attention_choices() { return cuda::kChoices; }
