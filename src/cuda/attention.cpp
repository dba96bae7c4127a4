// attention and quantized_attention. Part of cuda/.
#include "ops/attention/attention.h"

#include <cmath>

#include "cuda/arguments.h"
#include "cuda/cuda.h"
#include "cuda/element_kernel.h"
#include "kernels/attention_mask.h"
#include "kernels/epilogue/parts.h"
#include "kernels/integer_attention/head_epilogue.h"
#include "ops/quantized_attention/quantized_attention.h"

namespace octavo::cuda {
namespace {

constexpr int kPartials = 16;
constexpr std::int64_t kRowsSharedBytes = 48 * 1024;
constexpr std::int64_t kTileSharedBytes = 96 * 1024;  // what every device has

const AttentionAttrs& heads_of(const CallView& call) {
  const auto* stored = call.attrs->get_if<QuantizedAttentionAttrs>();
  return stored != nullptr ? stored->heads : call.attrs->as<AttentionAttrs>();
}

std::int64_t images_of(const CallView& call) {
  return AttentionSizes::of(*call.input(0).shape, *call.input(1).shape).batch.elements();
}

// q, k, v and the mask, with the sizes that both operators have; without rows.
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
  args.mask.query_stride = layout.query_stride, args.mask.key_stride = static_cast<std::int32_t>(layout.key_stride);
  for (std::size_t i = 0; i < layout.batch.size(); ++i) {
    const std::size_t to = kMostAxes - layout.batch.size() + i;
    args.mask.size[to] = layout.batch[i], args.mask.stride[to] = layout.batch_strides[i];
  }
  return args;
}

// ---- how queries are cut into blocks ----

struct Cut {
  std::int64_t rows = 1;  // queries of a block
  int threads = 0;
  std::int64_t shared_bytes = 0;
};

std::array<std::int64_t, 3> attention_grid_of(const CallView& call, std::int64_t rows) {
  const auto sizes = AttentionSizes::of(*call.input(0).shape, *call.input(1).shape);
  return {std::max<std::int64_t>(1, (sizes.queries + rows - 1) / rows), heads_of(call).heads,
          std::max<std::int64_t>(1, images_of(call))};
}

// Eight queries, or one where their scores would not fit.
Cut rows_cut(const CallView& call) {
  constexpr std::int64_t kThreads = 128, kRows = kThreads / kPartials;
  const std::int64_t row_bytes = 4 * (attention_args(call).keys + 2 * kPartials);
  const std::int64_t rows = kRows * row_bytes <= kRowsSharedBytes ? kRows : 1;
  return {rows, kThreads, rows * row_bytes};
}

std::string refuse_rows(const CallView& call) {
  if (rows_cut(call).shared_bytes > kRowsSharedBytes) return "needs the scores of a query in 48 KiB";
  return {};
}

// 64, 32 or 16 queries: the fewest that fit, where blocks are few. bytes_of(rows): of shared memory.
template <class BytesOf>
Cut cut_by_tiles(const CallView& call, const BytesOf& bytes_of) {
  constexpr std::int64_t kEnoughBlocks = 256;
  std::int64_t rows = 64;
  const auto blocks = [&] {
    const auto grid = attention_grid_of(call, rows);
    return grid[0] * grid[1] * grid[2];
  };
  while (rows > 16 && (bytes_of(rows) > kTileSharedBytes || blocks() < kEnoughBlocks)) rows /= 2;
  return {rows, static_cast<int>(2 * rows), bytes_of(rows)};
}
Cut tile_cut(const CallView& call) {
  const auto sizes = AttentionTileSizes::of(attention_args(call));
  return cut_by_tiles(call, [&](std::int64_t rows) { return sizes.bytes(static_cast<int>(rows)); });
}
Cut byte_tile_cut(const CallView& call) {
  const AttentionArgs args = attention_args(call);
  const auto sizes = ByteAttentionSizes::of(args);
  return cut_by_tiles(call, [&](std::int64_t rows) { return sizes.bytes(rows, args.keys); });
}

constexpr std::int64_t kMostOfHead = 2048;  // what sizes of shared memory are computed of

std::string refuse_alignment(const AttentionArgs& args) {
  if (args.head_size % 4 != 0 || args.value_size % 4 != 0) return "needs heads and values of a multiple of four";
  for (const HeadOperand& operand : args.operand)
    if (operand.columns % 4 != 0 || operand.first % 4 != 0) return "needs operands whose heads are aligned to four";
  return {};
}
std::string refuse_tile(const CallView& call) {
  const AttentionArgs args = attention_args(call);
  if (std::max({args.keys, args.head_size, args.value_size}) > kMostOfHead ||
      tile_cut(call).shared_bytes > kTileSharedBytes)
    return "needs the scores of 16 queries, and 64 keys, in 96 KiB";
  return refuse_alignment(args);
}
std::string refuse_byte_tile(const CallView& call) {
  const AttentionArgs args = attention_args(call);
  for (const HeadOperand& operand : args.operand)
    if (operand.is_signed != 0) return "needs q, k and v in u8";
  if (args.head_size > kMostOfHead || byte_tile_cut(call).shared_bytes > kTileSharedBytes)
    return "needs 16 queries, tiles of 64 keys, and a word for each key in 96 KiB";
  return refuse_alignment(args);
}

template <Cut (*cut)(const CallView&), std::string (*refuse_cut)(const CallView&)>
std::string refuse_real(const CallView& call) {
  if (call.output().elements() == 0) return "needs a result";
  if (call.input(0).shape->rank() - 2 > kMostAxes) return "needs at most six axes of a batch";
  if (std::string refusal = refuse_cut(call); !refusal.empty()) return refusal;
  return grid_refusal(attention_grid_of(call, cut(call).rows));
}

// With everything but what the operators have of their own.
Result<std::unique_ptr<Step>> launch(LaunchMaker<AttentionArgs>& maker, std::string kernel, const Cut& cut,
                                     const CallView& call, const StepSpec& spec) {
  AttentionArgs& args = maker.arguments;
  args.rows = cut.rows;
  for (std::size_t i = 0; i < 3; ++i) maker.point(args.operand[i].x, Operand::input, i);
  if (const OperandType mask = call.input(kAttentionMask); mask.exists()) {
    maker.point_if(mask.dtype == DType::f32, args.mask.added, Operand::input, kAttentionMask);
    maker.point_if(mask.dtype == DType::boolean, args.mask.shown, Operand::input, kAttentionMask);
  }
  maker.point(args.y, Operand::output, 0);
  maker.launch.kernel = std::move(kernel);
  maker.launch.grid = attention_grid_of(call, cut.rows);
  maker.launch.threads = cut.threads;
  maker.launch.shared_bytes = static_cast<int>(cut.shared_bytes);
  return maker.make(spec);
}

Result<std::unique_ptr<Step>> launch_real(std::string kernel, const Cut& cut, const CallView& call,
                                          const StepSpec& spec) {
  LaunchMaker<AttentionArgs> maker;
  maker.arguments = attention_args(call);
  return launch(maker, std::move(kernel), cut, call, spec);
}
Result<std::unique_ptr<Step>> make_real(const CallView& call, const StepSpec& spec) {
  return launch_real("attention_f32", rows_cut(call), call, spec);
}
Result<std::unique_ptr<Step>> make_real_tile(const CallView& call, const StepSpec& spec) {
  return launch_real("attention_f32_tile", tile_cut(call), call, spec);
}

// ---- of bytes ----

template <Cut (*cut)(const CallView&), std::string (*refuse_cut)(const CallView&)>
std::string refuse_stored(const CallView& call) {
  if (!HeadEpilogue::of(call.attrs->as<QuantizedAttentionAttrs>().epilogue))
    return "needs an epilogue of a scale, and a rounding where the result is bytes";
  return refuse_real<cut, refuse_cut>(call);
}

Result<std::unique_ptr<Step>> launch_stored(std::string kernel, const Cut& cut, const CallView& call,
                                            const StepSpec& spec) {
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
  const std::int64_t size[] = {args.head_size, args.head_size, args.value_size};
  for (std::size_t i = 0; i < 3; ++i) {
    HeadOperand& operand = args.operand[i];
    const bool is_wide = (operand.columns | operand.first | size[i]) % kAttentionPiece == 0;
    operand.piece = is_wide ? kAttentionPiece : 4;
  }
  maker.point(args.table, Operand::input, kAttentionTable);
  return launch(maker, std::move(kernel), cut, call, spec);
}
Result<std::unique_ptr<Step>> make_stored(const CallView& call, const StepSpec& spec) {
  return launch_stored("attention_q8", rows_cut(call), call, spec);
}
Result<std::unique_ptr<Step>> make_stored_tile(const CallView& call, const StepSpec& spec) {
  return launch_stored("attention_q8_tile", byte_tile_cut(call), call, spec);
}

// ---- what they take ----

// Blocks that a multiprocessor takes one after the other, their queries and keys in whole tiles.
struct Tiled {
  double turns = 1.0, scores = 0.0;  // of a block
};
template <Cut (*cut)(const CallView&)>
Tiled tiled(const CallView& call, const Machine& machine, std::int64_t key_step) {
  const std::int64_t rows = cut(call).rows, keys = attention_args(call).keys;
  const auto grid = attention_grid_of(call, rows);
  const auto blocks = static_cast<double>(grid[0] * grid[1] * grid[2]);
  return {std::ceil(blocks / std::max(1, machine.cores)),
          static_cast<double>(rows * ((keys + key_step - 1) / key_step * key_step))};
}

// Beside the memory, the products: `share` of what a multiprocessor can multiply and add in f32.
template <Cut (*cut)(const CallView&)>
double products_ns(const OpCall& call, const Machine& machine, std::int64_t key_step, double share) {
  constexpr double kLanes = 128.0;  // multiply-adds of a multiprocessor at once
  const CallView view = view_of(call);
  const Tiled work = tiled<cut>(view, machine, key_step);
  const AttentionAttrs& heads = heads_of(view);
  const double macs = work.scores * static_cast<double>(heads.head_size + heads.value_size);
  return memory_ns(view, machine) + work.turns * macs / (kLanes * share * machine.speeds.gigahertz);
}

// The share that an H200 reached: threads next to each other read rows of k that are far apart.
double rows_cost(const OpCall& call, const Machine& machine) { return products_ns<rows_cut>(call, machine, 1, 0.015); }
double tile_cost(const OpCall& call, const Machine& machine) {
  return products_ns<tile_cut>(call, machine, kTileKeys, 0.5);
}

// Beside the memory, the instructions of the loops as they are counted for sm_90a, of warps that have 32 scores each,
// as fast as half of what a multiprocessor can start.
double byte_tile_cost(const OpCall& call, const Machine& machine) {
  constexpr double kLargest = 0.47, kWeight = 0.55;  // of a score
  constexpr double kProduct = 0.00125;               // of one of its products
  constexpr double kACycle = 2.0;
  const CallView view = view_of(call);
  const Tiled work = tiled<byte_tile_cut>(view, machine, kTileKeys);
  const AttentionAttrs& heads = heads_of(view);
  const double chunks = std::ceil(static_cast<double>(heads.value_size) / kTileKeys);
  const double products = (1.0 + chunks) * static_cast<double>(heads.head_size) + static_cast<double>(heads.value_size);
  const double instructions = work.scores * (kLargest + kWeight * chunks + kProduct * products);
  return memory_ns(view, machine) + work.turns * instructions / (kACycle * machine.speeds.gigahertz);
}

constexpr KernelChoice kAttentionChoices[] = {
    element_kernel<refuse_real<tile_cut, refuse_tile>, make_real_tile, tile_cost>("attention_f32_tile_cuda",
                                                                                  "attention"),
    element_kernel<refuse_real<rows_cut, refuse_rows>, make_real, rows_cost>("attention_f32_cuda", "attention"),
    element_kernel<refuse_stored<byte_tile_cut, refuse_byte_tile>, make_stored_tile, byte_tile_cost>(
        "attention_q8_tile_cuda", "quantized_attention"),
    element_kernel<refuse_stored<rows_cut, refuse_rows>, make_stored, rows_cost>("attention_q8_cuda",
                                                                                 "quantized_attention"),
};
constexpr auto kAttentionCodes = codes_of(kAttentionChoices);

}  // namespace
}  // namespace octavo::cuda

std::span<const octavo::KernelCode> octavo::cuda_attention_codes() { return cuda::kAttentionCodes; }
std::span<const octavo::KernelChoice> octavo::cuda_attention_choices() { return cuda::kAttentionChoices; }
