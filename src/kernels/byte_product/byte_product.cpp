// quantized_matmul: some columns of b are packed for dot products by every thread that needs them, then some rows of a
// an item. Part of kernels/.
#include "kernels/byte_product/byte_product.h"

#include <optional>

#include "kernels/byte_product/functions.h"
#include "kernels/cache_line.h"
#include "kernels/call.h"
#include "kernels/epilogue/step.h"
#include "kernels/jit/code.h"
#include "kernels/schedule.h"
#include "ops/product.h"
#include "ops/quantized_matmul/quantized_matmul.h"

namespace octavo {
namespace {

constexpr std::int64_t kMostPacked = std::int64_t{4} << 20;  // bytes of b, in the scratch of every thread

// ---- schedules ----

constexpr std::string_view kKnobs[] = {"rows", "columns"};

// An item is so many rows of a by so many columns of b: whole vectors.
struct Schedule {
  std::int64_t rows = 1, columns = 1;

  std::vector<std::byte> encode() const { return encode_schedule({{rows, columns}}); }
};

struct Sizes {
  std::int64_t matrices = 1, m = 1, k = 1, n = 1;

  std::int64_t most_rows() const { return std::clamp<std::int64_t>(m, 1, ByteProductFunctions::kMostRows); }
  std::int64_t items(const Schedule& s) const {
    return matrices * ((m + s.rows - 1) / s.rows) * ((n + s.columns - 1) / s.columns);
  }
};

Schedule chosen_schedule(const Sizes& sizes) {
  return {sizes.most_rows(), ByteProductFunctions::padded_columns(std::max<std::int64_t>(1, sizes.n))};
}

bool byte_product_is_legal(const Schedule& s, const Sizes& sizes) {
  const Schedule most = chosen_schedule(sizes);
  return s.rows >= 1 && s.rows <= most.rows && s.columns >= 1 && s.columns <= most.columns &&
         s.columns == ByteProductFunctions::padded_columns(s.columns);
}

std::optional<Schedule> decode(std::span<const std::byte> bytes, const Sizes& sizes) {
  const auto numbers = decode_schedule(bytes, std::size(kKnobs));
  if (!numbers) return std::nullopt;
  const Schedule schedule{(*numbers)[0], (*numbers)[1]};
  return byte_product_is_legal(schedule, sizes) ? std::optional(schedule) : std::nullopt;
}

// ---- scratch ----

struct ByteProductParams {
  std::int64_t m = 1, k = 1, n = 1;
  std::vector<std::pair<std::int64_t, std::int64_t>> offsets;  // elements, of each pair of matrices
  Schedule schedule;
  ByteOperand a, b;
  StepEpilogue epilogue;
  std::int64_t channels = 1;  // of y's last axis
  std::size_t y_bytes = 1;    // per element
  const ByteProductFunctions* functions;
};

std::int64_t packed_bytes(std::int64_t k, std::int64_t n) {
  return whole_lines(ByteProductFunctions::padded_columns(n) * ByteProductFunctions::quads(k) * 4);
}
struct ByteProductScratchSizes {
  std::int64_t packed, column_terms, row_quads, sums;  // bytes
  std::int64_t total() const { return packed + column_terms + row_quads + sums; }
};
ByteProductScratchSizes byte_product_scratch_sizes(const ByteProductParams& p) {
  const auto [rows, columns] = p.schedule;
  return {.packed = packed_bytes(p.k, columns),
          .column_terms = whole_lines(columns * 4),
          .row_quads = whole_lines(rows * ByteProductFunctions::quads(p.k) * 4),
          .sums = whole_lines(rows * columns * 4)};
}
void byte_product_place(std::byte* scratch, const ByteProductScratchSizes& sizes, ByteProduct& product) {
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

// Items lie matrix by matrix, columns by columns, so that a thread packs the same columns once.
void run_byte_product(const ByteProductParams& p, const StepBuffers& buffers, ItemRange range) {
  const auto [rows, columns] = p.schedule;
  const std::int64_t row_items = (p.m + rows - 1) / rows, column_items = (p.n + columns - 1) / columns;
  ByteProduct product{.a = p.a,
                      .b = p.b,
                      .depth = p.k,
                      .b_stride = p.n,
                      .quads = ByteProductFunctions::quads(p.k),
                      .padded_columns = columns};
  byte_product_place(buffers.scratch, byte_product_scratch_sizes(p), product);
  std::int64_t packed = -1;  // where in b
  for (std::int64_t item = range.begin; item < range.end; ++item) {
    const std::int64_t matrix = item / row_items / column_items, row = item % row_items * rows,
                       column = item / row_items % column_items * columns;
    const auto [a, b] = p.offsets[static_cast<std::size_t>(matrix)];
    product.a.first = reinterpret_cast<const std::uint8_t*>(buffers.inputs[0]) + a + row * p.k;
    product.b.first = reinterpret_cast<const std::uint8_t*>(buffers.inputs[1]) + b + column;
    product.rows = std::min(rows, p.m - row);
    product.columns = std::min(columns, p.n - column);
    product.is_packed = packed == b + column;
    packed = b + column;
    p.functions->multiply(product);
    for (std::int64_t r = 0; r < product.rows; ++r) {
      const std::int64_t first = (matrix * p.m + row + r) * p.n + column;
      p.functions->finish(p.epilogue.placed(buffers, first % p.channels), product.sums + r * columns, 1,
                          product.columns, buffers.outputs[0] + static_cast<std::size_t>(first) * p.y_bytes);
    }
  }
}

// ---- calls ----

std::string refuse_byte_product(const CallView& call) {
  const auto product = Product::of(*call.input(0).shape, *call.input(1).shape);
  if (product->batch.elements() > std::int64_t{1} << 20) return "needs at most 2^20 matrices";
  if (product->k == 0) return "needs a depth";
  if (product->k > kMostPacked || product->n > kMostPacked || packed_bytes(product->k, product->n) > kMostPacked)
    return "needs a second matrix of at most 4 MiB";
  return step_epilogue_refusal<QuantizedMatmulAttrs, kMatmulOperands>(call);
}

Sizes byte_product_sizes_of(const Product& product) {
  return {static_cast<std::int64_t>(product.offsets().size()), product.m, product.k, product.n};
}

Result<std::unique_ptr<Step>> make_byte_product(const CallView& call, const StepSpec& spec,
                                                const ByteProductFunctions& functions) {
  const auto& attrs = call.attrs->as<QuantizedMatmulAttrs>();
  const Product product = *Product::of(*call.input(0).shape, *call.input(1).shape);
  const Sizes sizes = byte_product_sizes_of(product);
  const auto schedule = spec.schedule.empty() ? chosen_schedule(sizes) : decode(spec.schedule, sizes);
  if (!schedule) return refused_at_load(spec, "needs a schedule that is legal for the shape");
  ByteProductParams params{.m = product.m,
                           .k = product.k,
                           .n = product.n,
                           .offsets = product.offsets(),
                           .schedule = *schedule,
                           .a = {.is_signed = call.input(0).dtype == DType::s8, .zero_point = attrs.a_zero_point},
                           .b = {.is_signed = call.input(1).dtype == DType::s8, .zero_point = attrs.b_zero_point},
                           .epilogue = *StepEpilogue::of(attrs.epilogue, kMatmulOperands, call),
                           .y_bytes = size_of(call.output().dtype),
                           .functions = &functions};
  const Shape& y = *call.output().shape;
  params.channels = y.rank() == 0 ? 1 : std::max<std::int64_t>(1, y[y.rank() - 1]);
  const std::int64_t items = y.elements() == 0 ? 0 : sizes.items(*schedule);
  const auto scratch = static_cast<std::size_t>(byte_product_scratch_sizes(params).total());
  return make_step(std::move(params), items, run_byte_product, scratch, schedule->encode());
}

constexpr double kPerPacked = 0.1, kPerResult = 0.3;  // ns

// Of a multiply-accumulate.
constexpr double ns_per_mac(Isa isa) {
  switch (isa) {
    case Isa::dotprod: return 0.02;
    case Isa::avxvnni: return 0.01;
    default: return 0.005;
  }
}

double byte_product_packed_elements(const OpCall& call) {
  return static_cast<double>(call.inputs[1]->shape.elements());
}

// Nanoseconds: multiplies, and the packing of b.
template <Isa isa>
double byte_product_cost(const OpCall& call, const Machine&) {
  const Shape& a = call.inputs[0]->shape;
  const double results = static_cast<double>(call.outputs[0].shape.elements()),
               depth = static_cast<double>(a[a.rank() - 1]);
  return 500.0 + results * depth * ns_per_mac(isa) + results * kPerResult +
         byte_product_packed_elements(call) * kPerPacked;
}

Product byte_product_product_of(const OpCall& call) {
  return *Product::of(call.inputs[0]->shape, call.inputs[1]->shape);
}

// Of the thread that takes longest: its share of the items, and b's columns that these read.
template <Isa isa>
std::vector<Candidate> byte_product_candidates(const OpCall& call, const Machine& machine, int threads) {
  constexpr double kItem = 40.0;  // ns
  const Sizes sizes = byte_product_sizes_of(byte_product_product_of(call));
  const Schedule most = chosen_schedule(sizes);
  if (sizes.items(most) == 0) return {};
  const double packing = kPerPacked * byte_product_packed_elements(call),
               rest = byte_product_cost<isa>(call, machine) - packing;
  std::vector<Candidate> all;
  const auto add = [&](const Schedule& tried) {
    const std::int64_t items = sizes.items(tried), slowest = (items + threads - 1) / threads;
    const std::int64_t row_items = (sizes.m + tried.rows - 1) / tried.rows, blocks = items / row_items;
    const double of_items = static_cast<double>(slowest) / static_cast<double>(items),
                 of_blocks = static_cast<double>((slowest + row_items - 1) / row_items) / static_cast<double>(blocks);
    const double ns = rest * of_items + packing * of_blocks + kItem * static_cast<double>(slowest);
    all.push_back({tried.encode(), ns});
  };
  std::vector<std::int64_t> widths;
  for (std::int64_t parts = 1; parts <= 8; ++parts) {
    const std::int64_t width = ByteProductFunctions::padded_columns((most.columns + parts - 1) / parts);
    if (widths.empty() || width < widths.back()) widths.push_back(width);
  }
  for (const std::int64_t width : widths) {
    for (std::int64_t rows = most.rows; rows >= 1; rows = rows > 8 ? (rows - 1) / 8 * 8 : rows / 2) add({rows, width});
  }
  return all;
}

std::string byte_product_schedule_refusal(const OpCall& call, const Machine&, std::span<const std::byte> schedule) {
  return decode(schedule, byte_product_sizes_of(byte_product_product_of(call))) ? "" : "is not legal for this shape";
}

// `evex`: the same for processors without the VEX encoding of AVX-VNNI.
template <const ByteProductFunctions& functions, const ByteProductFunctions& evex>
Result<std::unique_ptr<Step>> make_byte_product_encoded(const CallView& call, const StepSpec& spec) {
  return make_byte_product(call, spec, has_vex_vnni() ? functions : evex);
}

template <const ByteProductFunctions& functions, Isa isa, const ByteProductFunctions& evex = functions>
constexpr KernelChoice byte_product_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "quantized_matmul",
                   .needs = isa,
                   .knobs = kKnobs,
                   .prepare = prepare_on<isa, refuse_byte_product, make_byte_product_encoded<functions, evex>>()},
          .refusal = refusal_by<refuse_byte_product>,
          .cost = byte_product_cost<isa>,
          .candidates = byte_product_candidates<isa>,
          .schedule_refusal = byte_product_schedule_refusal};
}

constexpr KernelChoice kByteProductChoices[] = {
    byte_product_kernel<kByteProductAvxVnni, Isa::avxvnni, kByteProductEvexVnni>("product_q8_4x16_avxvnni"),
    byte_product_kernel<kByteProductAvx512Vnni, Isa::avx512vnni>("product_q8_8x32_avx512vnni"),
    byte_product_kernel<kByteProductDotprod, Isa::dotprod>("product_q8_4x16_dotprod"),
};
constexpr auto kByteProductCodes = codes_of(kByteProductChoices);

}  // namespace

std::span<const KernelCode> byte_product_codes() { return kByteProductCodes; }
std::span<const KernelChoice> byte_product_choices() { return kByteProductChoices; }

}  // namespace octavo
