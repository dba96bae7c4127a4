// matmul with a constant second operand through oneDNN's inner product: blocks of rows times blocks of columns. Part of kernels/onednn.
#include "ops/matmul/matmul.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "kernels/call.h"
#include "kernels/onednn/engine.h"
#include "kernels/onednn/layout.h"
#include "kernels/onednn/onednn.h"

namespace octavo {
namespace {

using onednn::Desc;
using onednn::Dims;

// What `pack` hands over: the weights block by block, the layout of a full block and that of the last one.
constexpr std::size_t kPackedWeights = 0;
constexpr std::size_t kPackedLayout = 1;
constexpr std::size_t kPackedLastLayout = 2;

// y[m, n] = sum over k of a[m, k] · b[k, n]; leading axes of a are rows too.
struct MatmulSize {
  std::int64_t m = 1, n = 1, k = 1;

  static MatmulSize of(const Shape& a, const Shape& b) { return {a.elements() / b[0], b[1], b[0]}; }
  // About 16 blocks of whole cache lines, so that any number of threads gets an even share of the weights; depends on n alone, since
  // `pack` does not know the threads.
  std::int64_t columns_per_block() const { return std::min(n, std::clamp<std::int64_t>((n + 1023) / 1024 * 64, 64, 512)); }
  std::int64_t column_blocks() const { return (n + columns_per_block() - 1) / columns_per_block(); }
  std::int64_t columns(std::int64_t block) const { return std::min(columns_per_block(), n - block * columns_per_block()); }
  // Rows in blocks of at most 64 and equal to within one, so that two forms of primitive do.
  std::int64_t row_blocks() const { return (m + 63) / 64; }
  std::int64_t first_row(std::int64_t block) const { return block * m / row_blocks(); }
  std::int64_t rows(std::int64_t block) const { return first_row(block + 1) - first_row(block); }
  // One primitive writes whole rows of the result.
  bool writes_in_place() const { return m == 1 || column_blocks() == 1; }
};

std::string refuse_matmul(const CallView& call) {
  const Shape& b = *call.inputs[1].shape;
  if (call.inputs[0].dtype != DType::f32) return "needs f32";
  if (b.rank() != 2 || call.inputs[0].shape->rank() < 1) return "needs a second operand of rank 2";
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  for (std::int64_t elements : {call.inputs[0].elements(), call.inputs[1].elements(), call.output().elements()}) {
    if (elements < 1 || elements > kMost) return "needs tensors of 1 to 2^31 - 1 elements";
  }
  return "";
}

std::string matmul_refusal(const OpCall& call) {
  if (!call.inputs[1]->is_constant()) return "needs a constant second operand";
  return refuse_matmul(view_of(call));
}

// Few rows are bound by reading the weights, at some 12 GB/s from memory.
double matmul_cost(const OpCall& call, const Machine& machine) {
  const MatmulSize size = MatmulSize::of(call.inputs[0]->shape, call.inputs[1]->shape);
  const double weights = static_cast<double>(size.n) * static_cast<double>(size.k);
  const double flops = 2.0 * static_cast<double>(size.m) * weights;
  return 2000.0 + std::max(weights * 4.0 / 12.0, flops / (machine.isa.has(Isa::avx512) ? 110.0 : 45.0));
}

dnnl::inner_product_forward::primitive_desc describe(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  const Desc src = onednn::plain_desc({rows, depth}, {0, 1});
  const Desc dst = onednn::plain_desc({rows, columns}, {0, 1});
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::inner_product_forward::desc description(dnnl::prop_kind::forward_inference, src, onednn::any_desc({columns, depth}), dst);
  return {description, attr, onednn::engine()};
}

// Columns [first, first + columns) of b [k, n], which oneDNN calls rows of its weights.
onednn::Weights graph_block(const std::byte* b, const MatmulSize& size, std::int64_t block) {
  const Desc desc({size.columns(block), size.k}, dnnl::memory::data_type::f32, Dims{1, size.n});
  return {desc, b + static_cast<std::size_t>(block * size.columns_per_block()) * sizeof(float)};
}

// The layout that this host wants for a block; plain where that cannot be said in numbers.
Desc wanted_layout(const MatmulSize& size, std::int64_t block) {
  const auto asked = onednn::guarded("matmul", [&]() -> Result<Desc> {
    const onednn::OneOpenMpThread one_thread;
    return Desc(describe(size.rows(0), size.columns(block), size.k).weights_desc());
  });
  if (asked && onednn::encode_layout(*asked)) return *asked;
  return onednn::plain_desc({size.columns(block), size.k}, {0, 1});
}

std::vector<Tensor> pack_matmul(const OpCall& call) {
  const MatmulSize size = MatmulSize::of(call.inputs[0]->shape, call.inputs[1]->shape);
  const std::byte* b = call.inputs[1]->constant->data();
  const std::int64_t last = size.column_blocks() - 1;
  const Desc full = wanted_layout(size, 0);
  const Desc rest = wanted_layout(size, last);
  const std::size_t bytes = static_cast<std::size_t>(last) * full.get_size() + rest.get_size();
  Tensor weights(DType::f32, {static_cast<std::int64_t>(bytes / sizeof(float))});
  for (std::int64_t block = 0; block <= last; ++block) {
    const Tensor packed = onednn::reorder(graph_block(b, size, block), block == last ? rest : full);
    std::memcpy(weights.data() + static_cast<std::size_t>(block) * full.get_size(), packed.data(), packed.bytes());
  }
  const auto layout = [](const Desc& desc) {
    const std::vector<std::int32_t> numbers = *onednn::encode_layout(desc);
    return Tensor::of<std::int32_t>({static_cast<std::int64_t>(numbers.size())}, numbers);
  };
  return {std::move(weights), layout(full), layout(rest)};
}

// A primitive for blocks of one size, and what it asks for.
struct Primitive {
  std::int64_t rows = 0, columns = 0;
  dnnl::inner_product_forward compute;
  Desc src, weights, dst, scratch;
};

// The memory objects of one primitive for one thread.
struct Arguments {
  dnnl::memory src, weights, dst, scratch;
  std::array<dnnl_exec_arg_t, 4> list{};

  explicit Arguments(const Primitive& primitive)
      : src(onednn::empty_memory(primitive.src)),
        weights(onednn::empty_memory(primitive.weights)),
        dst(onednn::empty_memory(primitive.dst)),
        scratch(onednn::empty_memory(primitive.scratch)) {
    list = {{{DNNL_ARG_SRC, src.get()}, {DNNL_ARG_WEIGHTS, weights.get()}, {DNNL_ARG_DST, dst.get()}, {DNNL_ARG_SCRATCHPAD, scratch.get()}}};
  }
};

struct MatmulPlan {
  MatmulSize size;
  std::vector<onednn::WeightLayouts> blocks;
  std::vector<Primitive> primitives;
  std::vector<std::size_t> primitive_of;     // by item
  std::vector<const std::byte*> weights_of;  // by item, in the layout of its primitive
  std::size_t onednn_scratch_bytes = 0;      // the block's result follows, where it is not written in place
};

class MatmulStep final : public Step {
 public:
  MatmulStep(MatmulPlan plan, int threads) : plan_(std::move(plan)), slots_(make_slots(plan_, threads)) {}

  std::int64_t items() const override { return static_cast<std::int64_t>(plan_.primitive_of.size()); }
  std::size_t scratch_bytes() const override {
    const MatmulSize& size = plan_.size;
    const std::size_t block = size.writes_in_place() ? 0 : static_cast<std::size_t>(64 * size.columns_per_block()) * sizeof(float);
    return plan_.onednn_scratch_bytes + block;
  }

  void run(const StepBuffers& buffers, ItemRange range) const noexcept override {
    if (range.begin >= range.end) return;
    const onednn::OneOpenMpThread one_thread;
    const auto slot = slots_.take();
    for (std::int64_t item = range.begin; item < range.end; ++item) run_block(buffers, *slot, item);
  }

 private:
  using Slot = std::vector<Arguments>;

  static std::vector<Slot> make_slots(const MatmulPlan& plan, int threads) {
    std::vector<Slot> slots(static_cast<std::size_t>(std::max(threads, 1)) + 1);
    for (Slot& slot : slots) {
      for (const Primitive& primitive : plan.primitives) slot.emplace_back(primitive);
    }
    return slots;
  }

  void run_block(const StepBuffers& buffers, Slot& slot, std::int64_t item) const {
    const MatmulSize& size = plan_.size;
    const auto at = static_cast<std::size_t>(item);
    const std::int64_t first_row = size.first_row(item / size.column_blocks());
    const std::int64_t first_column = item % size.column_blocks() * size.columns_per_block();
    const Primitive& primitive = plan_.primitives[plan_.primitive_of[at]];
    auto* y = reinterpret_cast<float*>(buffers.outputs[0]) + first_row * size.n + first_column;
    auto* result = size.writes_in_place() ? y : reinterpret_cast<float*>(buffers.scratch + plan_.onednn_scratch_bytes);
    Arguments& arguments = slot[plan_.primitive_of[at]];
    onednn::set_data(arguments.src, buffers.inputs[0] + static_cast<std::size_t>(first_row * size.k) * sizeof(float));
    onednn::set_data(arguments.weights, plan_.weights_of[at]);
    onednn::set_data(arguments.dst, result);
    onednn::set_data(arguments.scratch, buffers.scratch);
    const auto status =
        dnnl_primitive_execute(primitive.compute.get(), onednn::stream().get(), static_cast<int>(arguments.list.size()), arguments.list.data());
    // Only for want of memory; never a plausible answer then.
    if (status != dnnl_success) std::fill_n(result, primitive.rows * primitive.columns, std::numeric_limits<float>::quiet_NaN());
    if (result == y) return;
    for (std::int64_t row = 0; row < primitive.rows; ++row) std::copy_n(result + row * primitive.columns, primitive.columns, y + row * size.n);
  }

  MatmulPlan plan_;
  mutable onednn::SlotPool<Slot> slots_;
};

Error damaged(std::string found, std::string expected) {
  return {.kind = ErrorKind::invalid_input, .where = "matmul, packed weights", .found = std::move(found), .expected = std::move(expected)};
}

// The packed blocks where they are what `pack` makes for this size.
Result<std::vector<onednn::WeightLayouts>> stored_blocks(const StepSpec& spec, const MatmulSize& size) {
  if (spec.packed.size() != 3) return damaged(std::to_string(spec.packed.size()) + " tensors", "3");
  const ConstTensorView& weights = spec.packed[kPackedWeights];
  const ConstTensorView& layout = spec.packed[kPackedLayout];
  const ConstTensorView& last_layout = spec.packed[kPackedLastLayout];
  const bool has_types = weights.dtype == DType::f32 && layout.dtype == DType::s32 && last_layout.dtype == DType::s32;
  if (!has_types) return damaged("other element types", "f32, s32 and s32");
  const std::int64_t last = size.column_blocks() - 1;
  const auto full = onednn::decode_layout({size.columns(0), size.k}, layout.span<std::int32_t>());
  const auto rest = onednn::decode_layout({size.columns(last), size.k}, last_layout.span<std::int32_t>());
  if (!full || !rest) return damaged("numbers that are no layout", "permutations and blocks");
  const std::size_t bytes = static_cast<std::size_t>(last) * full->get_size() + rest->get_size();
  if (weights.bytes() != bytes) return damaged(std::to_string(weights.bytes()) + " bytes", std::to_string(bytes));
  std::vector<onednn::WeightLayouts> blocks;
  for (std::int64_t block = 0; block <= last; ++block) {
    blocks.emplace_back(onednn::Weights{block == last ? *rest : *full, weights.data + static_cast<std::size_t>(block) * full->get_size()});
  }
  return blocks;
}

std::size_t primitive_for(MatmulPlan& plan, std::int64_t rows, std::int64_t columns) {
  const auto known = std::find_if(plan.primitives.begin(), plan.primitives.end(),
                                  [&](const Primitive& primitive) { return primitive.rows == rows && primitive.columns == columns; });
  const auto index = static_cast<std::size_t>(known - plan.primitives.begin());
  if (known != plan.primitives.end()) return index;
  const auto described = describe(rows, columns, plan.size.k);
  plan.primitives.push_back({.rows = rows,
                             .columns = columns,
                             .compute = dnnl::inner_product_forward(described),
                             .src = described.src_desc(),
                             .weights = described.weights_desc(),
                             .dst = described.dst_desc(),
                             .scratch = described.scratchpad_desc()});
  const std::size_t scratch = (plan.primitives.back().scratch.get_size() + kAlignment - 1) / kAlignment * kAlignment;
  plan.onednn_scratch_bytes = std::max(plan.onednn_scratch_bytes, scratch);
  return index;
}

Result<std::unique_ptr<Step>> make_matmul(const CallView& call, const StepSpec& spec) {
  const MatmulSize size = MatmulSize::of(*call.inputs[0].shape, *call.inputs[1].shape);
  auto stored = stored_blocks(spec, size);
  if (!stored) return std::move(stored).errors();
  return onednn::guarded("matmul", [&]() -> Result<std::unique_ptr<Step>> {
    const onednn::OneOpenMpThread one_thread;
    onednn::stream();
    MatmulPlan plan{.size = size, .blocks = *std::move(stored)};
    for (std::int64_t row_block = 0; row_block < size.row_blocks(); ++row_block) {
      for (std::int64_t block = 0; block < size.column_blocks(); ++block) {
        const std::size_t index = primitive_for(plan, size.rows(row_block), size.columns(block));
        plan.primitive_of.push_back(index);
        plan.weights_of.push_back(plan.blocks[static_cast<std::size_t>(block)].in_layout(plan.primitives[index].weights));
      }
    }
    return std::unique_ptr<Step>(std::make_unique<MatmulStep>(std::move(plan), spec.threads));
  });
}

constexpr Kernel kKernels[] = {{
    .name = "matmul_f32_onednn",
    .op = "matmul",
    .needs = Isa::avx2,
    .refusal = matmul_refusal,
    .cost = matmul_cost,
    .pack = pack_matmul,
    .prepare = prepare_by<refuse_matmul, make_matmul>,
}};

}  // namespace

std::span<const Kernel> onednn_matmul_kernels() { return kKernels; }

}  // namespace octavo
