// quantized_matmul: b is packed for dot products by every thread that needs it, then some rows of a an item. Part of
// kernels/.
#include "kernels/byte_product/byte_product.h"

#include "kernels/byte_product/functions.h"
#include "kernels/cache_line.h"
#include "kernels/call.h"
#include "kernels/epilogue/step.h"
#include "kernels/jit/code.h"
#include "ops/product.h"
#include "ops/quantized_matmul/quantized_matmul.h"

namespace octavo {
namespace {

constexpr std::int64_t kMostPacked = std::int64_t{4} << 20;  // bytes of b, in the scratch of every thread

struct Params {
  std::int64_t m = 1, k = 1, n = 1;
  std::vector<std::pair<std::int64_t, std::int64_t>> offsets;  // elements, of each pair of matrices
  std::int64_t chunks = 1;                                     // of rows, of each
  ByteOperand a, b;
  StepEpilogue epilogue;
  std::int64_t channels = 1;  // of y's last axis
  std::size_t y_bytes = 1;    // per element
  const ByteProductFunctions* functions;
};

// ---- scratch ----

std::int64_t packed_bytes(std::int64_t k, std::int64_t n) {
  return whole_lines(ByteProductFunctions::padded_columns(n) * ByteProductFunctions::quads(k) * 4);
}
struct ScratchSizes {
  std::int64_t packed, column_terms, row_quads, sums;  // bytes
  std::int64_t total() const { return packed + column_terms + row_quads + sums; }
};
ScratchSizes scratch_sizes(const Params& p) {
  const std::int64_t columns = ByteProductFunctions::padded_columns(p.n), rows = p.functions->rows;
  return {.packed = packed_bytes(p.k, p.n),
          .column_terms = whole_lines(columns * 4),
          .row_quads = whole_lines(rows * ByteProductFunctions::quads(p.k) * 4),
          .sums = whole_lines(rows * columns * 4)};
}
void place(std::byte* scratch, const ScratchSizes& sizes, ByteProduct& product) {
  const auto take = [&](std::int64_t bytes) {
    auto* part = reinterpret_cast<std::int32_t*>(scratch);
    scratch += bytes;
    return part;
  };
  product.packed = take(sizes.packed);
  product.column_terms = take(sizes.column_terms);
  product.row_quads = take(sizes.row_quads);
  product.sums = take(sizes.sums);
}

// ---- a run ----

void run(const Params& p, const StepBuffers& buffers, ItemRange range) {
  const std::int64_t columns = ByteProductFunctions::padded_columns(p.n), rows = p.functions->rows;
  ByteProduct product{.a = p.a,
                      .b = p.b,
                      .depth = p.k,
                      .columns = p.n,
                      .quads = ByteProductFunctions::quads(p.k),
                      .padded_columns = columns};
  place(buffers.scratch, scratch_sizes(p), product);
  std::int64_t packed = -1;  // where in b
  for (std::int64_t item = range.begin; item < range.end; ++item) {
    const std::int64_t matrix = item / p.chunks, row = item % p.chunks * rows;
    const auto [a, b] = p.offsets[static_cast<std::size_t>(matrix)];
    product.a.first = reinterpret_cast<const std::uint8_t*>(buffers.inputs[0]) + a + row * p.k;
    product.b.first = reinterpret_cast<const std::uint8_t*>(buffers.inputs[1]) + b;
    product.rows = std::min(rows, p.m - row);
    product.is_packed = packed == b;
    packed = b;
    p.functions->multiply(product);
    for (std::int64_t r = 0; r < product.rows; ++r) {
      const std::int64_t first = (matrix * p.m + row + r) * p.n;
      p.functions->finish(p.epilogue.placed(buffers, first % p.channels), product.sums + r * columns, 1, p.n,
                          buffers.outputs[0] + static_cast<std::size_t>(first) * p.y_bytes);
    }
  }
}

// ---- calls ----

std::string refuse(const CallView& call) {
  const auto product = Product::of(*call.input(0).shape, *call.input(1).shape);
  if (product->batch.elements() > std::int64_t{1} << 20) return "needs at most 2^20 matrices";
  if (product->k == 0) return "needs a depth";
  if (product->k > kMostPacked || product->n > kMostPacked || packed_bytes(product->k, product->n) > kMostPacked)
    return "needs a second matrix of at most 4 MiB";
  return step_epilogue_refusal<QuantizedMatmulAttrs, kMatmulOperands>(call);
}

template <const ByteProductFunctions& functions>
Result<std::unique_ptr<Step>> make(const CallView& call, const StepSpec&) {
  const auto& attrs = call.attrs->as<QuantizedMatmulAttrs>();
  const Product product = *Product::of(*call.input(0).shape, *call.input(1).shape);
  Params params{.m = product.m,
                .k = product.k,
                .n = product.n,
                .offsets = product.offsets(),
                .chunks = (product.m + functions.rows - 1) / functions.rows,
                .a = {.is_signed = call.input(0).dtype == DType::s8, .zero_point = attrs.a_zero_point},
                .b = {.is_signed = call.input(1).dtype == DType::s8, .zero_point = attrs.b_zero_point},
                .epilogue = *StepEpilogue::of(attrs.epilogue, kMatmulOperands, call),
                .y_bytes = size_of(call.output().dtype),
                .functions = &functions};
  const Shape& y = *call.output().shape;
  params.channels = y.rank() == 0 ? 1 : std::max<std::int64_t>(1, y[y.rank() - 1]);
  const std::int64_t items = y.elements() == 0 ? 0 : static_cast<std::int64_t>(params.offsets.size()) * params.chunks;
  const auto scratch = static_cast<std::size_t>(scratch_sizes(params).total());
  return make_step(std::move(params), items, run, scratch);
}

// Nanoseconds: multiplies, and the packing of b.
template <Isa isa>
double cost(const OpCall& call, const Machine&) {
  const Shape& a = call.inputs[0]->shape;
  const double results = static_cast<double>(call.outputs[0].shape.elements()),
               depth = static_cast<double>(a[a.rank() - 1]);
  const double packed = static_cast<double>(call.inputs[1]->shape.elements());
  return 500.0 + results * depth * (isa == Isa::avxvnni ? 0.01 : 0.005) + results * 0.3 + packed * 0.1;
}

// `evex`: the same for processors without the VEX encoding of AVX-VNNI.
template <const ByteProductFunctions& functions, const ByteProductFunctions& evex>
Result<std::unique_ptr<Step>> make_encoded(const CallView& call, const StepSpec& spec) {
  return has_vex_vnni() ? make<functions>(call, spec) : make<evex>(call, spec);
}

template <const ByteProductFunctions& functions, Isa isa, const ByteProductFunctions& evex = functions>
constexpr KernelChoice kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "quantized_matmul",
                   .needs = isa,
                   .prepare = prepare_by<refuse, make_encoded<functions, evex>>},
          .refusal = refusal_by<refuse>,
          .cost = cost<isa>};
}

constexpr KernelChoice kChoices[] = {
    kernel<kByteProductAvxVnni, Isa::avxvnni, kByteProductEvexVnni>("product_q8_4x16_avxvnni"),
    kernel<kByteProductAvx512Vnni, Isa::avx512vnni>("product_q8_8x32_avx512vnni"),
};
constexpr auto kCodes = codes_of(kChoices);

}  // namespace

std::span<const KernelCode> byte_product_codes() { return kCodes; }
std::span<const KernelChoice> byte_product_choices() { return kChoices; }

}  // namespace octavo
