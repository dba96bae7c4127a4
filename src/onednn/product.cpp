// Products of two tensors that are known only in a run, through oneDNN's matmul: a matrix, or some of its rows, a call.
// Part of onednn/.
#include "ops/product.h"

#include <algorithm>
#include <array>
#include <limits>

#include "kernels/call.h"
#include "onednn/engine.h"
#include "onednn/layout.h"
#include "onednn/onednn.h"
#include "ops/matmul/matmul.h"

namespace octavo {
namespace {

using onednn::Desc;

struct Size {
  std::int64_t m = 1, k = 1, n = 1;
};

Desc matrix(std::int64_t rows, std::int64_t columns) { return onednn::plain_desc({rows, columns}, {0, 1}); }

struct OnednnProductPrimitive {
  std::int64_t rows = 0;
  dnnl::matmul compute;
  Desc a, b, y, scratch;

  static OnednnProductPrimitive of(const Size& size, std::int64_t rows) {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::matmul::desc description(matrix(rows, size.k), matrix(size.k, size.n), matrix(rows, size.n));
    const dnnl::matmul::primitive_desc described(description, attr, onednn::engine());
    return {rows,
            dnnl::matmul(described),
            described.src_desc(),
            described.weights_desc(),
            described.dst_desc(),
            described.scratchpad_desc()};
  }
};

// The memory objects of one primitive for one thread.
struct OnednnProductArguments {
  dnnl::memory a, b, y, scratch;
  std::array<dnnl_exec_arg_t, 4> list;

  explicit OnednnProductArguments(const OnednnProductPrimitive& primitive)
      : a(onednn::empty_memory(primitive.a)),
        b(onednn::empty_memory(primitive.b)),
        y(onednn::empty_memory(primitive.y)),
        scratch(onednn::empty_memory(primitive.scratch)),
        list{{{DNNL_ARG_SRC, a.get()},
              {DNNL_ARG_WEIGHTS, b.get()},
              {DNNL_ARG_DST, y.get()},
              {DNNL_ARG_SCRATCHPAD, scratch.get()}}} {}
};

struct ProductPlan {
  Size size;
  std::vector<std::pair<std::int64_t, std::int64_t>> offsets;  // elements, of each pair of matrices
  std::int64_t blocks = 1;                                     // of rows, equal to within one
  std::vector<OnednnProductPrimitive> primitives;              // of the most rows, then of one less
  std::size_t scratch_bytes = 0;

  std::int64_t first_row(std::int64_t block) const { return block * size.m / blocks; }
};

class ProductStep final : public Step {
 public:
  ProductStep(ProductPlan plan, int threads) : plan_(std::move(plan)), slots_(make_slots(plan_, threads)) {}

  std::int64_t items() const override { return static_cast<std::int64_t>(plan_.offsets.size()) * plan_.blocks; }
  std::size_t scratch_bytes() const override { return plan_.scratch_bytes; }

  void run(const StepBuffers& buffers, ItemRange range) const noexcept override {
    if (range.begin >= range.end) return;
    const onednn::OneOpenMpThread one_thread;
    const auto slot = slots_.take();
    for (std::int64_t item = range.begin; item < range.end; ++item) run_rows(buffers, *slot, item);
  }

 private:
  using Slot = std::vector<OnednnProductArguments>;

  static std::vector<Slot> make_slots(const ProductPlan& plan, int threads) {
    std::vector<Slot> slots(static_cast<std::size_t>(std::max(threads, 1)) + 1);
    for (Slot& slot : slots) {
      for (const OnednnProductPrimitive& primitive : plan.primitives) slot.emplace_back(primitive);
    }
    return slots;
  }

  void run_rows(const StepBuffers& buffers, Slot& slot, std::int64_t item) const {
    const Size& size = plan_.size;
    const std::int64_t index = item / plan_.blocks, block = item % plan_.blocks;
    const std::int64_t row = plan_.first_row(block), rows = plan_.first_row(block + 1) - row;
    const auto [a, b] = plan_.offsets[static_cast<std::size_t>(index)];
    const std::size_t which = plan_.primitives[0].rows == rows ? 0 : 1;
    const auto bytes = [](std::int64_t elements) { return static_cast<std::size_t>(elements) * sizeof(float); };
    OnednnProductArguments& arguments = slot[which];
    onednn::set_data(arguments.a, buffers.inputs[0] + bytes(a + row * size.k));
    onednn::set_data(arguments.b, buffers.inputs[1] + bytes(b));
    onednn::set_data(arguments.y, buffers.outputs[0] + bytes((index * size.m + row) * size.n));
    onednn::set_data(arguments.scratch, buffers.scratch);
    onednn::execute(plan_.primitives[which].compute, arguments.list, *buffers.failure);
  }

  ProductPlan plan_;
  mutable onednn::SlotPool<Slot> slots_;
};

std::string refuse(const CallView& call) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (call.input(0).dtype != DType::f32) return "needs f32";
  for (const std::int64_t elements : {call.input(0).elements(), call.input(1).elements(), call.output().elements()}) {
    if (elements < 1 || elements > kMost) return "needs tensors of 1 to 2^31 - 1 elements";
  }
  const auto product = Product::of(*call.input(0).shape, *call.input(1).shape);
  return product->batch.elements() > std::int64_t{1} << 20 ? "needs at most 2^20 matrices" : "";
}

std::string refusal(const OpCall& call) {
  if (call.inputs[0]->is_constant() || call.inputs[1]->is_constant()) return "needs two variables";
  return refuse(view_of(call));
}

// A few parts for each thread: matrices, or where these are few, rows of them, but no fewer than pay for reading b.
std::int64_t row_blocks(std::int64_t matrices, std::int64_t m, int threads) {
  constexpr std::int64_t kLeastRows = 32, kPartsPerThread = 4;
  const std::int64_t wanted = (kPartsPerThread * threads + matrices - 1) / matrices;
  return std::clamp<std::int64_t>(m / kLeastRows, 1, std::max<std::int64_t>(wanted, 1));
}

Result<std::unique_ptr<Step>> make(const CallView& call, const StepSpec& spec) {
  const Product product = *Product::of(*call.input(0).shape, *call.input(1).shape);
  return onednn::guarded("matrix product", [&]() -> Result<std::unique_ptr<Step>> {
    const onednn::OneOpenMpThread one_thread;
    onednn::stream();
    ProductPlan plan{.size = {product.m, product.k, product.n}, .offsets = product.offsets()};
    plan.blocks = row_blocks(std::ssize(plan.offsets), plan.size.m, spec.threads);
    const std::int64_t most = (plan.size.m + plan.blocks - 1) / plan.blocks;
    plan.primitives.push_back(OnednnProductPrimitive::of(plan.size, most));
    if (plan.size.m % plan.blocks != 0) plan.primitives.push_back(OnednnProductPrimitive::of(plan.size, most - 1));
    for (const OnednnProductPrimitive& primitive : plan.primitives)
      plan.scratch_bytes = std::max(plan.scratch_bytes, primitive.scratch.get_size());
    return std::unique_ptr<Step>(std::make_unique<ProductStep>(std::move(plan), spec.threads));
  });
}

// A call of oneDNN takes about a microsecond.
double onednn_product_cost(const OpCall& call, const Machine& machine) {
  const double results = static_cast<double>(call.outputs[0].shape.elements());
  const Product product = *Product::of(call.inputs[0]->shape, call.inputs[1]->shape);
  const double gflops = machine.isa.has(Isa::avx512) ? 80.0 : 35.0;
  const double matrices = static_cast<double>(product.batch.elements().fixed());
  return 1000.0 + 1000.0 * matrices + 2.0 * results * static_cast<double>(product.k.fixed()) / gflops;
}

constexpr KernelChoice kOnednnProductChoices[] = {
    {.code = {.name = "matmul_variables_f32_onednn", .op = "matmul", .prepare = prepare_by<refuse, make>},
     .is_exact = false,
     .refusal = refusal,
     .cost = onednn_product_cost},
};
constexpr auto kOnednnProductCodes = codes_of(kOnednnProductChoices);

}  // namespace

std::span<const KernelCode> onednn_product_codes() { return kOnednnProductCodes; }
std::span<const KernelChoice> onednn_product_choices() { return kOnednnProductChoices; }

}  // namespace octavo
