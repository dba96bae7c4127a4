// Matrix products: f32, f64, integers, and 8 bit to s32 or 8 bit. Part of kernels/.
#include "ops/product.h"

#include <algorithm>
#include <limits>

#include "kernels/call.h"
#include "kernels/compiled_for.h"
#include "kernels/epilogue/step.h"
#include "kernels/float/float.h"
#include "kernels/float/sums.h"
#include "ops/quantized_matmul/quantized_matmul.h"

namespace octavo {
namespace {

// Matrices of a batch, cut into blocks of rows and columns.
struct ProductShape {
  std::int64_t m = 1, k = 1, n = 1;
  std::vector<std::pair<std::int64_t, std::int64_t>> offsets;  // elements, of each pair of matrices
  std::int64_t row_block = 1, column_block = 1;

  std::int64_t row_blocks() const { return (m + row_block - 1) / row_block; }
  std::int64_t column_blocks() const { return (n + column_block - 1) / column_block; }
  std::int64_t items() const { return static_cast<std::int64_t>(offsets.size()) * row_blocks() * column_blocks(); }
};

// One item.
struct ProductBlock {
  std::size_t matrix = 0;
  std::int64_t row = 0, rows = 0, column = 0, columns = 0;
};

// All rows of the same columns of b one after the other.
ProductBlock block_at(const ProductShape& p, std::int64_t item) {
  ProductBlock block;
  block.row = item % p.row_blocks() * p.row_block;
  block.rows = std::min(p.row_block, p.m - block.row);
  item /= p.row_blocks();
  block.column = item % p.column_blocks() * p.column_block;
  block.columns = std::min(p.column_block, p.n - block.column);
  block.matrix = static_cast<std::size_t>(item / p.column_blocks());
  return block;
}

ProductShape float_product_product_of(const CallView& call, std::int64_t row_block, std::int64_t column_block) {
  Product product = *Product::of(*call.input(0).shape, *call.input(1).shape);
  return {product.m, product.k, product.n, product.offsets(), row_block, column_block};
}

// Element `offset` of an operand, which has none where the depth is 0.
template <class T>
const T* element_at(const ProductShape& p, const std::byte* operand, std::int64_t offset) {
  return p.k == 0 ? nullptr : reinterpret_cast<const T*>(operand) + offset;
}

// Offsets are listed per matrix.
std::string refuse_batches(const CallView& call) {
  const auto product = Product::of(*call.input(0).shape, *call.input(1).shape);
  return product->batch.elements() > std::int64_t{1} << 20 ? "needs at most 2^20 matrices" : "";
}

// ---- f32: chains in tiles of rows by panels of columns ----

constexpr std::int64_t kTileRows = 10;  // as fused_conv: the pointers of more rows leave the registers
constexpr std::int64_t kTilesOfItem = 6;
constexpr std::int64_t kPanelDepth = 1024;  // of the part of a panel that is packed at a time

struct FloatParams {
  ProductShape shape;  // its blocks: the rows of an item by the columns of a panel
  const SumFunctions* functions;
  std::int64_t tile_rows = 1;

  std::int64_t packed_elements() const { return std::min(kPanelDepth, shape.k) * shape.column_block; }
};

// b's columns as [k][column], 0 behind the last one.
void pack_float_product_panel(const float* b, std::int64_t stride, std::int64_t depth, std::int64_t columns,
                              std::int64_t width, float* to) {
  for (std::int64_t k = 0; k < depth; ++k, b += stride, to += width) {
    std::copy_n(b, columns, to);
    std::fill(to + columns, to + width, 0.0f);
  }
}

// Part by part of the depth; the end of a chain, which keeps every value, comes after each. `is_packed`: the first part
// of the panel lies in `packed`.
void run_float_block(const FloatParams& params, const ProductBlock& block, const float* a, const float* b, float* y,
                     float* packed, bool is_packed) {
  const ProductShape& p = params.shape;
  const int lanes = params.functions->chain_lanes;
  const int vectors = static_cast<int>((block.columns + lanes - 1) / lanes);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const ChainEnd end{.bias = packed + params.packed_elements(), .lowest = -kInfinity, .highest = kInfinity};
  for (std::int64_t k = 0; k < std::max<std::int64_t>(1, p.k); k += kPanelDepth) {
    const std::int64_t depth = std::min(kPanelDepth, p.k - k);
    if (k > 0 || !is_packed) pack_float_product_panel(b + k * p.n, p.n, depth, block.columns, vectors * lanes, packed);
    for (std::int64_t row = 0; row < block.rows; row += params.tile_rows) {
      const std::int64_t rows = std::min(params.tile_rows, block.rows - row);
      const float* pointers[kTileRows];
      for (std::int64_t r = 0; r < rows; ++r) pointers[r] = a + (row + r) * p.k + k;
      params.functions->chains({.a = pointers,
                                .rows = static_cast<int>(rows),
                                .vectors = vectors,
                                .taps = 1,
                                .depth = depth,
                                .w = packed,
                                .continues = k > 0,
                                .end = end,
                                .y = y + row * p.n,
                                .y_stride = p.n,
                                .width = block.columns});
    }
  }
}

void run_float(const FloatParams& params, const StepBuffers& buffers, ItemRange range) {
  const ProductShape& p = params.shape;
  auto* packed = reinterpret_cast<float*>(buffers.scratch);
  std::fill_n(packed + params.packed_elements(), p.column_block, -0.0f);  // a bias that keeps the sign of 0
  for (std::int64_t item = range.begin; item < range.end; ++item) {
    const ProductBlock block = block_at(p, item);
    const auto [a, b] = p.offsets[block.matrix];
    const bool is_packed = item > range.begin && block.row > 0 && p.k <= kPanelDepth;
    run_float_block(params, block, element_at<float>(p, buffers.inputs[0], a + block.row * p.k),
                    element_at<float>(p, buffers.inputs[1], b + block.column),
                    reinterpret_cast<float*>(buffers.outputs[0]) +
                        (static_cast<std::int64_t>(block.matrix) * p.m + block.row) * p.n + block.column,
                    packed, is_packed);
  }
}

std::string refuse_float(const CallView& call) {
  return call.input(0).dtype == DType::f32 ? refuse_batches(call) : "needs f32";
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_float(const CallView& call, const StepSpec&) {
  const SumFunctions& functions = CompiledFor<SumFunctions, isa>::table;
  const std::int64_t tile_rows = std::min<std::int64_t>(kTileRows, functions.chain_rows);
  FloatParams params{float_product_product_of(call, tile_rows * kTilesOfItem, kChainVectors * functions.chain_lanes),
                     &functions, tile_rows};
  const std::int64_t items = params.shape.items();
  const std::int64_t elements = params.packed_elements() + params.shape.column_block;
  return make_step(std::move(params), items, run_float, static_cast<std::size_t>(elements) * sizeof(float));
}

// ---- f64, and integers that wrap ----

constexpr std::int64_t kWideRows = 4, kWideColumns = 64;

struct WideParams {
  ProductShape shape;
  DType dtype;
};

template <class T>
void run_wide_as(const ProductShape& p, const StepBuffers& buffers, ItemRange range) {
  for (std::int64_t item = range.begin; item < range.end; ++item) {
    const ProductBlock block = block_at(p, item);
    const T* a = element_at<T>(p, buffers.inputs[0], p.offsets[block.matrix].first + block.row * p.k);
    const T* b = element_at<T>(p, buffers.inputs[1], p.offsets[block.matrix].second + block.column);
    T* y = reinterpret_cast<T*>(buffers.outputs[0]) +
           (static_cast<std::int64_t>(block.matrix) * p.m + block.row) * p.n + block.column;
    for (std::int64_t r = 0; r < block.rows; ++r) {
      T sums[kWideColumns] = {};
      for (std::int64_t k = 0; k < p.k; ++k) {
        for (std::int64_t j = 0; j < block.columns; ++j) sums[j] += a[r * p.k + k] * b[k * p.n + j];
      }
      std::copy_n(sums, block.columns, y + r * p.n);
    }
  }
}

void run_wide(const WideParams& params, const StepBuffers& buffers, ItemRange range) {
  if (params.dtype == DType::f64) run_wide_as<double>(params.shape, buffers, range);
  else if (size_of(params.dtype) == 4) run_wide_as<std::uint32_t>(params.shape, buffers, range);
  else run_wide_as<std::uint64_t>(params.shape, buffers, range);
}

std::string refuse_wide(const CallView& call) {
  const DType dtype = call.input(0).dtype;
  return dtype == DType::f64 || is_integer(dtype) ? refuse_batches(call) : "needs f64 or integers";
}

Result<std::unique_ptr<Step>> make_wide(const CallView& call, const StepSpec&) {
  WideParams params{float_product_product_of(call, kWideRows, kWideColumns), call.input(0).dtype};
  const std::int64_t items = params.shape.items();
  return make_step(std::move(params), items, run_wide);
}

// ---- 8 bit ----

// Zero points read in a run, or the two of the attributes.
struct IntegerParams {
  ProductShape shape;
  const SumFunctions* functions;
  DType a_type, b_type;
  std::int64_t a_zero_points = 0, b_zero_points = 0;  // how many lie in the inputs; 0: the attributes'
  std::int32_t a_zero_point = 0, b_zero_point = 0;
  StepEpilogue epilogue;
  std::int64_t channels = 1;  // of y's last axis
  std::size_t y_bytes = 1;    // per element
};

std::int32_t float_product_byte_at(const std::byte* data, DType dtype, std::int64_t i) {
  const auto value = std::to_integer<std::uint8_t>(data[i]);
  return dtype == DType::s8 ? static_cast<std::int32_t>(static_cast<std::int8_t>(value))
                            : static_cast<std::int32_t>(value);
}

void run_float_product_integers(const IntegerParams& params, const StepBuffers& buffers, ItemRange range) {
  const ProductShape& p = params.shape;
  auto* acc = reinterpret_cast<std::int32_t*>(buffers.scratch);
  std::int32_t* zeros = acc + p.column_block;
  for (std::int64_t item = range.begin; item < range.end; ++item) {
    const ProductBlock block = block_at(p, item);
    const auto [a0, b0] = p.offsets[block.matrix];
    const std::int64_t first_zero = p.k == 0 ? 0 : b0 / p.k + block.column;  // matrix * n + column
    for (std::int64_t j = 0; j < block.columns; ++j) {
      zeros[j] = params.b_zero_points == 0
                     ? params.b_zero_point
                     : float_product_byte_at(buffers.inputs[3], params.b_type, (first_zero + j) % params.b_zero_points);
    }
    const std::int64_t row = p.k == 0 ? 0 : a0 / p.k + block.row;
    params.functions->multiply_integers(
        {.a = element_at<std::uint8_t>(p, buffers.inputs[0], a0 + block.row * p.k),
         .b = element_at<std::uint8_t>(p, buffers.inputs[1], b0 + block.column),
         .a_is_signed = params.a_type == DType::s8,
         .b_is_signed = params.b_type == DType::s8,
         .a_zero_point = params.a_zero_points == 0
                             ? params.a_zero_point
                             : float_product_byte_at(buffers.inputs[2], params.a_type, row % params.a_zero_points),
         .b_zero_point = zeros,
         .b_stride = p.n,
         .depth = p.k,
         .width = block.columns,
         .acc = acc});
    const std::int64_t first = (static_cast<std::int64_t>(block.matrix) * p.m + block.row) * p.n + block.column;
    params.functions->finish(params.epilogue.placed(buffers, first % params.channels), acc, 1, block.columns,
                             buffers.outputs[0] + static_cast<std::size_t>(first) * params.y_bytes);
  }
}

std::unique_ptr<Step> make_integers(const CallView& call, IntegerParams params) {
  constexpr std::int64_t kIntegerColumns = 1024;
  params.shape = float_product_product_of(call, 1, kIntegerColumns);
  params.a_type = call.input(0).dtype;
  params.b_type = call.input(1).dtype;
  const Shape& y = *call.output().shape;
  params.channels = y.rank() == 0 ? 1 : std::max<std::int64_t>(1, y[y.rank() - 1]);
  params.y_bytes = size_of(call.output().dtype);
  const std::int64_t items = params.shape.items();
  return make_step(std::move(params), items, run_float_product_integers, 2 * kIntegerColumns * sizeof(std::int32_t));
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_matmul_integer(const CallView& call, const StepSpec&) {
  return make_integers(call, {.functions = &CompiledFor<SumFunctions, isa>::table,
                              .a_zero_points = call.input(2).elements(),
                              .b_zero_points = call.input(3).elements(),
                              .epilogue = *StepEpilogue::of({.to = DType::s32}, 0, call)});
}

std::string refuse_float_product_quantized(const CallView& call) {
  const std::string reason = refuse_batches(call);
  return reason.empty() ? step_epilogue_refusal<QuantizedMatmulAttrs, kMatmulOperands>(call) : reason;
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_quantized_matmul(const CallView& call, const StepSpec&) {
  const auto& attrs = call.attrs->as<QuantizedMatmulAttrs>();
  return make_integers(call, {.functions = &CompiledFor<SumFunctions, isa>::table,
                              .a_zero_point = attrs.a_zero_point,
                              .b_zero_point = attrs.b_zero_point,
                              .epilogue = *StepEpilogue::of(attrs.epilogue, kMatmulOperands, call)});
}

// ---- costs and records ----

double macs_of(const OpCall& call) {
  const Shape& a = call.inputs[0]->shape;
  return static_cast<double>(call.outputs[0].shape.elements()) * static_cast<double>(a[a.rank() - 1]);
}
template <Isa isa>
double float_product_cost(const OpCall& call, const Machine&) {
  return 500.0 + by_width(isa, {0.8, 0.2, 0.12}) * macs_of(call);
}

// As fused_conv, and packing the second factor.
template <Isa isa>
double float_cost(const OpCall& call, const Machine& machine) {
  constexpr double per_mac = isa == Isa::neon ? 0.055 : by_width(isa, {2.5, 0.045, 0.02});
  return 500.0 + per_mac * multiply_add_scale(isa, machine.speeds) * macs_of(call) +
         0.1 * static_cast<double>(call.inputs[1]->shape.elements());
}
double wide_cost(const OpCall& call, const Machine&) { return 500.0 + macs_of(call); }

template <Isa isa>
constexpr KernelChoice float_kernel(std::string_view name) {
  return {
      .code = {.name = name, .op = "matmul", .needs = isa, .prepare = prepare_on<isa, refuse_float, make_float<isa>>()},
      .refusal = refusal_by<refuse_float>,
      .cost = float_cost<isa>};
}
template <Isa isa>
constexpr KernelChoice integer_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "matmul_integer",
                   .needs = isa,
                   .prepare = prepare_on<isa, refuse_batches, make_matmul_integer<isa>>()},
          .refusal = refusal_by<refuse_batches>,
          .cost = float_product_cost<isa>};
}
template <Isa isa>
constexpr KernelChoice float_product_quantized_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "quantized_matmul",
                   .needs = isa,
                   .prepare = prepare_on<isa, refuse_float_product_quantized, make_quantized_matmul<isa>>()},
          .refusal = refusal_by<refuse_float_product_quantized>,
          .cost = float_product_cost<isa>};
}

constexpr KernelChoice kFloatProductChoices[] = {
    float_kernel<Isa::scalar>("product_f32_portable"),
    float_kernel<Isa::avx2>("product_f32_avx2"),
    float_kernel<Isa::avx512>("product_f32_avx512"),
    float_kernel<Isa::neon>("product_f32_neon"),
    {.code = {.name = "product_wide_portable", .op = "matmul", .prepare = prepare_by<refuse_wide, make_wide>},
     .refusal = refusal_by<refuse_wide>,
     .cost = wide_cost},
    integer_kernel<Isa::scalar>("product_integer_portable"),
    integer_kernel<Isa::avx2>("product_integer_avx2"),
    integer_kernel<Isa::avx512>("product_integer_avx512"),
    integer_kernel<Isa::neon>("product_integer_neon"),
    float_product_quantized_kernel<Isa::scalar>("product_q8_portable"),
    float_product_quantized_kernel<Isa::avx2>("product_q8_avx2"),
    float_product_quantized_kernel<Isa::avx512>("product_q8_avx512"),
    float_product_quantized_kernel<Isa::neon>("product_q8_neon"),
};
constexpr auto kFloatProductCodes = codes_of(kFloatProductChoices);

}  // namespace

std::span<const KernelCode> product_codes() { return kFloatProductCodes; }
std::span<const KernelChoice> product_choices() { return kFloatProductChoices; }

}  // namespace octavo
