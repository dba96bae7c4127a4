// Products of a matrix with constant weights through oneDNN's inner product, in blocks of rows times blocks of columns:
// matmul, and the convolutions of few pixels that classifiers and squeeze-excite blocks are. Part of onednn/.
#include "onednn/dense.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "kernels/call.h"
#include "onednn/engine.h"
#include "onednn/layout.h"
#include "onednn/onednn.h"
#include "onednn/post_ops.h"
#include "ops/fused_conv/fused_conv.h"
#include "ops/matmul/matmul.h"

namespace octavo {
namespace {

using onednn::Desc;
using onednn::Dims;

// What `pack` hands over: the weights block by block, the layout of a full block and that of the last one, then the
// bias where there is one.
constexpr std::size_t kOnednnDensePackedWeights = 0;
constexpr std::size_t kOnednnDensePackedLayout = 1;
constexpr std::size_t kPackedLastLayout = 2;
constexpr std::size_t kOnednnDensePackedBias = 3;
constexpr std::size_t kOnednnDenseBiasInput = 2;
constexpr std::int64_t kMostRows = 64;  // of a block

// y[m, n] = activation(sum over k of x[m, k] · w[k, n] + bias[n]).
struct DenseSize {
  std::int64_t m = 1, n = 1, k = 1;

  // About 16 blocks of whole cache lines, so that any number of threads gets an even share of the weights, but none of
  // less than 64K weights (some 10 us of reading). Depends on the weights alone, since `pack` does not know the
  // threads.
  std::int64_t columns_per_block() const {
    const std::int64_t worth_a_call = (65536 / k + 63) / 64 * 64;
    return std::min(n, std::max(worth_a_call, std::clamp<std::int64_t>((n + 1023) / 1024 * 64, 64, 512)));
  }
  std::int64_t column_blocks() const { return (n + columns_per_block() - 1) / columns_per_block(); }
  std::int64_t columns(std::int64_t block) const {
    return std::min(columns_per_block(), n - block * columns_per_block());
  }
  // Rows in blocks equal to within one, so that two forms of primitive do.
  std::int64_t row_blocks() const { return (m + kMostRows - 1) / kMostRows; }
  std::int64_t first_row(std::int64_t block) const { return block * m / row_blocks(); }
  std::int64_t rows(std::int64_t block) const { return first_row(block + 1) - first_row(block); }
  // One primitive writes whole rows of the result.
  bool writes_in_place() const { return m == 1 || column_blocks() == 1; }
};

// The product that a call is.
struct DenseForm {
  DenseSize size;
  bool has_bias = false;
  UnaryAttrs activation;
  // Where w[k, n] lies in the graph's weights, in elements.
  std::int64_t k_stride = 1, n_stride = 1;

  static DenseForm of_matmul(const CallView& call) {
    const Shape& b = *call.inputs[1].shape;
    return {.size = {call.inputs[0].elements() / b[0], b[1], b[0]}, .k_stride = b[1], .n_stride = 1};
  }
  static DenseForm of_conv(const CallView& call) {
    const Shape& w = *call.inputs[1].shape;
    return {.size = {call.inputs[0].elements() / w[3], w[0], w[3]},
            .has_bias = call.input(kOnednnDenseBiasInput).exists(),
            .activation = call.attrs->as<FusedConvAttrs>().activation,
            .k_stride = 1,
            .n_stride = w[3]};
  }
};
using FormOf = DenseForm (*)(const CallView&);

std::string refuse_sizes(const CallView& call) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  for (std::int64_t elements : {call.inputs[0].elements(), call.inputs[1].elements(), call.output().elements()}) {
    if (elements < 1 || elements > kMost) return "needs tensors of 1 to 2^31 - 1 elements";
  }
  return "";
}

std::string refuse_matmul(const CallView& call) {
  if (call.inputs[0].dtype != DType::f32) return "needs f32";
  if (call.inputs[1].shape->rank() != 2 || call.inputs[0].shape->rank() < 1) return "needs a second operand of rank 2";
  return refuse_sizes(call);
}

std::string refuse_dense_conv(const CallView& call) {
  if (!is_dense_conv(call))
    return "needs a 1x1 convolution of at most " + std::to_string(kMostDensePixels) + " pixels and no residual";
  const auto& attrs = call.attrs->as<FusedConvAttrs>();
  dnnl::post_ops post_ops;
  if (!onednn::append_activation(post_ops, attrs.activation))
    return "oneDNN has no " + std::string(name_of(attrs.activation.kind));
  return refuse_sizes(call);
}

template <Refuse refuse>
std::string dense_refusal(const OpCall& call) {
  if (call.inputs[0]->is_constant()) return "needs a variable x";
  if (!call.inputs[1]->is_constant()) return "needs constant weights";
  const bool has_bias = call.inputs.size() > kOnednnDenseBiasInput && call.inputs[kOnednnDenseBiasInput] != nullptr;
  if (has_bias && !call.inputs[kOnednnDenseBiasInput]->is_constant()) return "needs a constant bias";
  return refuse(view_of(call));
}

// Few rows are bound by reading the weights, at some 12 GB/s from memory.
template <FormOf form_of>
double dense_cost(const OpCall& call, const Machine& machine) {
  const DenseSize size = form_of(view_of(call)).size;
  const double weights = static_cast<double>(size.n) * static_cast<double>(size.k);
  const double flops = 2.0 * static_cast<double>(size.m) * weights;
  return 2000.0 + std::max(weights * 4.0 / 12.0, flops / (machine.isa.has(Isa::avx512) ? 110.0 : 45.0));
}

dnnl::inner_product_forward::primitive_desc onednn_dense_describe(const DenseForm& form, std::int64_t rows,
                                                                  std::int64_t columns) {
  const Desc src = onednn::plain_desc({rows, form.size.k}, {0, 1});
  const Desc dst = onednn::plain_desc({rows, columns}, {0, 1});
  const Desc bias = form.has_bias ? onednn::plain_desc({columns}, {0}) : Desc();
  dnnl::post_ops post_ops;
  onednn::append_activation(post_ops, form.activation);
  dnnl::primitive_attr attr;
  attr.set_post_ops(post_ops);
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const Desc weights = onednn::any_desc({columns, form.size.k});
  const dnnl::inner_product_forward::desc description(dnnl::prop_kind::forward_inference, src, weights, bias, dst);
  return {description, attr, onednn::engine()};
}

// The graph's weights of one block of columns, which oneDNN calls rows.
onednn::Weights graph_block(const DenseForm& form, const std::byte* weights, std::int64_t block) {
  const DenseSize& size = form.size;
  const Desc desc({size.columns(block), size.k}, dnnl::memory::data_type::f32, Dims{form.n_stride, form.k_stride});
  return {desc, weights + static_cast<std::size_t>(block * size.columns_per_block() * form.n_stride) * sizeof(float)};
}

// The layout that this host wants for a block; plain where that cannot be said in numbers.
Desc wanted_layout(const DenseForm& form, std::int64_t block) {
  const auto asked = onednn::guarded("matrix product", [&]() -> Result<Desc> {
    const onednn::OneOpenMpThread one_thread;
    return Desc(onednn_dense_describe(form, form.size.rows(0), form.size.columns(block)).weights_desc());
  });
  if (asked && onednn::encode_layout(*asked)) return *asked;
  return onednn::plain_desc({form.size.columns(block), form.size.k}, {0, 1});
}

template <FormOf form_of>
std::vector<Tensor> pack_dense(const OpCall& call) {
  const DenseForm form = form_of(view_of(call));
  const std::int64_t last = form.size.column_blocks() - 1;
  const Desc full = wanted_layout(form, 0);
  const Desc rest = wanted_layout(form, last);
  const std::size_t bytes = static_cast<std::size_t>(last) * full.get_size() + rest.get_size();
  Tensor weights(DType::f32, {static_cast<std::int64_t>(bytes / sizeof(float))});
  for (std::int64_t block = 0; block <= last; ++block) {
    const Tensor packed =
        onednn::reorder(graph_block(form, call.inputs[1]->constant->data(), block), block == last ? rest : full);
    std::memcpy(weights.data() + static_cast<std::size_t>(block) * full.get_size(), packed.data(), packed.bytes());
  }
  const auto layout = [](const Desc& desc) {
    const std::vector<std::int32_t> numbers = *onednn::encode_layout(desc);
    return Tensor::of<std::int32_t>({static_cast<std::int64_t>(numbers.size())}, numbers);
  };
  std::vector<Tensor> packed = {std::move(weights), layout(full), layout(rest)};
  if (form.has_bias) packed.push_back(*call.inputs[kOnednnDenseBiasInput]->constant);
  return packed;
}

// A primitive for blocks of one size, and what it asks for.
struct OnednnDensePrimitive {
  std::int64_t rows = 0, columns = 0;
  dnnl::inner_product_forward compute;
  Desc src, weights, dst, bias, scratch;
};

// The memory objects of one primitive for one thread.
struct OnednnDenseArguments {
  dnnl::memory src, weights, dst, bias, scratch;
  std::array<dnnl_exec_arg_t, 5> list{};
  int count = 0;

  explicit OnednnDenseArguments(const OnednnDensePrimitive& primitive)
      : src(onednn::empty_memory(primitive.src)),
        weights(onednn::empty_memory(primitive.weights)),
        dst(onednn::empty_memory(primitive.dst)),
        scratch(onednn::empty_memory(primitive.scratch)) {
    const auto add = [&](int argument, const dnnl::memory& memory) {
      list[static_cast<std::size_t>(count++)] = {argument, memory.get()};
    };
    add(DNNL_ARG_SRC, src);
    add(DNNL_ARG_WEIGHTS, weights);
    add(DNNL_ARG_DST, dst);
    add(DNNL_ARG_SCRATCHPAD, scratch);
    if (primitive.bias.get_size() == 0) return;
    bias = onednn::empty_memory(primitive.bias);
    add(DNNL_ARG_BIAS, bias);
  }
  std::span<const dnnl_exec_arg_t> given() const { return {list.data(), static_cast<std::size_t>(count)}; }
};

struct DensePlan {
  DenseForm form;
  const float* bias = nullptr;
  std::vector<onednn::WeightLayouts> blocks;
  std::vector<OnednnDensePrimitive> primitives;
  std::vector<std::size_t> primitive_of;     // by item
  std::vector<const std::byte*> weights_of;  // by item, in the layout of its primitive
  std::size_t onednn_scratch_bytes = 0;      // the block's result follows, where it is not written in place
};

class DenseStep final : public Step {
 public:
  DenseStep(DensePlan plan, int threads) : plan_(std::move(plan)), slots_(make_slots(plan_, threads)) {}

  std::int64_t items() const override { return static_cast<std::int64_t>(plan_.primitive_of.size()); }
  std::size_t scratch_bytes() const override {
    const DenseSize& size = plan_.form.size;
    const std::size_t block =
        size.writes_in_place() ? 0 : static_cast<std::size_t>(kMostRows * size.columns_per_block()) * sizeof(float);
    return plan_.onednn_scratch_bytes + block;
  }

  void run(const StepBuffers& buffers, ItemRange range) const noexcept override {
    if (range.begin >= range.end) return;
    const onednn::OneOpenMpThread one_thread;
    const auto slot = slots_.take();
    for (std::int64_t item = range.begin; item < range.end; ++item) run_block(buffers, *slot, item);
  }

 private:
  using Slot = std::vector<OnednnDenseArguments>;

  static std::vector<Slot> make_slots(const DensePlan& plan, int threads) {
    std::vector<Slot> slots(static_cast<std::size_t>(std::max(threads, 1)) + 1);
    for (Slot& slot : slots) {
      for (const OnednnDensePrimitive& primitive : plan.primitives) slot.emplace_back(primitive);
    }
    return slots;
  }

  void run_block(const StepBuffers& buffers, Slot& slot, std::int64_t item) const {
    const DenseSize& size = plan_.form.size;
    const auto at = static_cast<std::size_t>(item);
    const std::int64_t first_row = size.first_row(item / size.column_blocks());
    const std::int64_t first_column = item % size.column_blocks() * size.columns_per_block();
    const OnednnDensePrimitive& primitive = plan_.primitives[plan_.primitive_of[at]];
    auto* y = reinterpret_cast<float*>(buffers.outputs[0]) + first_row * size.n + first_column;
    auto* result = size.writes_in_place() ? y : reinterpret_cast<float*>(buffers.scratch + plan_.onednn_scratch_bytes);
    OnednnDenseArguments& arguments = slot[plan_.primitive_of[at]];
    onednn::set_data(arguments.src, buffers.inputs[0] + static_cast<std::size_t>(first_row * size.k) * sizeof(float));
    onednn::set_data(arguments.weights, plan_.weights_of[at]);
    onednn::set_data(arguments.dst, result);
    onednn::set_data(arguments.scratch, buffers.scratch);
    if (plan_.bias != nullptr) onednn::set_data(arguments.bias, plan_.bias + first_column);
    onednn::execute(primitive.compute, arguments.given(), *buffers.failure);
    if (result == y) return;
    for (std::int64_t row = 0; row < primitive.rows; ++row)
      std::copy_n(result + row * primitive.columns, primitive.columns, y + row * size.n);
  }

  DensePlan plan_;
  mutable onednn::SlotPool<Slot> slots_;
};

Error onednn_dense_damaged(std::string found, std::string expected) {
  return {.kind = ErrorKind::invalid_input,
          .where = "matrix product, packed weights",
          .found = std::move(found),
          .expected = std::move(expected)};
}

// The packed blocks where they are what `pack` makes for this size.
Result<std::vector<onednn::WeightLayouts>> stored_blocks(const StepSpec& spec, const DenseForm& form) {
  const DenseSize& size = form.size;
  if (!is_read_in_run(spec, 0)) return onednn_dense_damaged("a packed x", "one that a run passes");
  const std::size_t count = form.has_bias ? 4 : 3;
  if (spec.packed.size() != count)
    return onednn_dense_damaged(std::to_string(spec.packed.size()) + " tensors", std::to_string(count));
  const ConstTensorView& weights = spec.packed[kOnednnDensePackedWeights];
  const ConstTensorView& layout = spec.packed[kOnednnDensePackedLayout];
  const ConstTensorView& last_layout = spec.packed[kPackedLastLayout];
  const bool has_types = weights.dtype == DType::f32 && layout.dtype == DType::s32 && last_layout.dtype == DType::s32;
  if (!has_types) return onednn_dense_damaged("other element types", "f32, s32 and s32");
  const std::int64_t last = size.column_blocks() - 1;
  const auto full = onednn::decode_layout({size.columns(0), size.k}, layout.span<std::int32_t>());
  const auto rest = onednn::decode_layout({size.columns(last), size.k}, last_layout.span<std::int32_t>());
  if (!full || !rest) return onednn_dense_damaged("numbers that are no layout", "permutations and blocks");
  const std::size_t bytes = static_cast<std::size_t>(last) * full->get_size() + rest->get_size();
  if (weights.bytes() != bytes)
    return onednn_dense_damaged(std::to_string(weights.bytes()) + " bytes", std::to_string(bytes));
  const bool is_bias_right = !form.has_bias || (spec.packed[kOnednnDensePackedBias].dtype == DType::f32 &&
                                                spec.packed[kOnednnDensePackedBias].shape == Shape{size.n});
  if (!is_bias_right) return onednn_dense_damaged("another bias", std::to_string(size.n) + " of f32");
  std::vector<onednn::WeightLayouts> blocks;
  for (std::int64_t block = 0; block <= last; ++block) {
    blocks.emplace_back(onednn::Weights{block == last ? *rest : *full,
                                        weights.data + static_cast<std::size_t>(block) * full->get_size()});
  }
  return blocks;
}

std::size_t primitive_for(DensePlan& plan, std::int64_t rows, std::int64_t columns) {
  const auto known = std::find_if(
      plan.primitives.begin(), plan.primitives.end(),
      [&](const OnednnDensePrimitive& primitive) { return primitive.rows == rows && primitive.columns == columns; });
  const auto index = static_cast<std::size_t>(known - plan.primitives.begin());
  if (known != plan.primitives.end()) return index;
  const auto described = onednn_dense_describe(plan.form, rows, columns);
  plan.primitives.push_back({.rows = rows,
                             .columns = columns,
                             .compute = dnnl::inner_product_forward(described),
                             .src = described.src_desc(),
                             .weights = described.weights_desc(),
                             .dst = described.dst_desc(),
                             .bias = described.bias_desc(),
                             .scratch = described.scratchpad_desc()});
  const std::size_t scratch = (plan.primitives.back().scratch.get_size() + kAlignment - 1) / kAlignment * kAlignment;
  plan.onednn_scratch_bytes = std::max(plan.onednn_scratch_bytes, scratch);
  return index;
}

template <FormOf form_of>
Result<std::unique_ptr<Step>> make_dense(const CallView& call, const StepSpec& spec) {
  const DenseForm form = form_of(call);
  auto stored = stored_blocks(spec, form);
  if (!stored) return std::move(stored).errors();
  return onednn::guarded("matrix product", [&]() -> Result<std::unique_ptr<Step>> {
    const onednn::OneOpenMpThread one_thread;
    onednn::stream();
    DensePlan plan{.form = form, .blocks = *std::move(stored)};
    if (form.has_bias) plan.bias = spec.packed[kOnednnDensePackedBias].as<float>();
    for (std::int64_t row_block = 0; row_block < form.size.row_blocks(); ++row_block) {
      for (std::int64_t block = 0; block < form.size.column_blocks(); ++block) {
        const std::size_t index = primitive_for(plan, form.size.rows(row_block), form.size.columns(block));
        plan.primitive_of.push_back(index);
        plan.weights_of.push_back(
            plan.blocks[static_cast<std::size_t>(block)].in_layout(plan.primitives[index].weights));
      }
    }
    return std::unique_ptr<Step>(std::make_unique<DenseStep>(std::move(plan), spec.threads));
  });
}

template <Refuse refuse, FormOf form_of>
constexpr KernelChoice dense_kernel(std::string_view name, std::string_view op) {
  return {.code = {.name = name,
                   .op = op,
                   .needs = Isa::avx2,
                   .packs = true,
                   .prepare = prepare_by<refuse, make_dense<form_of>>},
          .is_exact = false,
          .refusal = dense_refusal<refuse>,
          .cost = dense_cost<form_of>,
          .pack = pack_dense<form_of>};
}

constexpr KernelChoice kOnednnDenseChoices[] = {
    dense_kernel<refuse_matmul, DenseForm::of_matmul>("matmul_f32_onednn", "matmul"),
    dense_kernel<refuse_dense_conv, DenseForm::of_conv>("dense_f32_onednn", "fused_conv"),
};
constexpr auto kOnednnDenseCodes = codes_of(kOnednnDenseChoices);

}  // namespace

bool is_dense_conv(const CallView& call) {
  const auto& attrs = call.attrs->as<FusedConvAttrs>();
  const Shape& x = *call.inputs[0].shape;
  const bool is_pointwise = attrs.window == unit_window({1, 1}) && attrs.groups == 1;
  return is_pointwise && attrs.residual == ResidualPlace::none && x[3] > 0 && x.elements() / x[3] <= kMostDensePixels;
}

std::span<const KernelCode> onednn_dense_codes() { return kOnednnDenseCodes; }
std::span<const KernelChoice> onednn_dense_choices() { return kOnednnDenseChoices; }

}  // namespace octavo
