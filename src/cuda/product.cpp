// Products of two matrices that are known only in a run: matmul of f32, quantized_matmul, matmul_integer. Part of
// cuda/.
#include "ops/product.h"

#include <cmath>

#include "cuda/arguments.h"
#include "cuda/cuda.h"
#include "cuda/element_kernel.h"
#include "cuda/strided.h"
#include "kernels/epilogue/step.h"
#include "ops/quantized_matmul/quantized_matmul.h"

namespace octavo::cuda {
namespace {

constexpr std::int64_t kProductTile = 64;  // rows and columns of a block
constexpr int kThreads = 256;

Product product_of(const CallView& call) { return *Product::of(*call.input(0).shape, *call.input(1).shape); }

std::int64_t batch_of(const Product& product) { return product.batch.elements(); }

std::array<std::int64_t, 3> product_grid_of(const Product& product) {
  return {(product.m + kProductTile - 1) / kProductTile, (product.n + kProductTile - 1) / kProductTile,
          batch_of(product)};
}

// Where the matrices of a batch lie; broadcast axes have no stride.
std::optional<StridedArgs> matrices_of(const Product& product) {
  return strided_args(broadcast_axes(Shape(product.batch), Shape(product.a_batch), Shape(product.b_batch)));
}

std::string refuse_product(const CallView& call) {
  const Product product = product_of(call);
  if (call.output().elements() == 0) return "needs a result";
  if (!matrices_of(product)) return "needs at most six axes of a batch that cannot be merged";
  return grid_refusal(product_grid_of(product));
}

std::string refuse_float(const CallView& call) {
  return call.input(0).dtype == DType::f32 ? refuse_product(call) : "needs f32";
}

std::string refuse_product_quantized(const CallView& call) {
  if (std::string reason = step_epilogue_refusal<QuantizedMatmulAttrs, kMatmulOperands>(call); !reason.empty())
    return reason;
  const auto epilogue = StepEpilogue::of(call.attrs->as<QuantizedMatmulAttrs>().epilogue, kMatmulOperands, call);
  if (epilogue->factor >= 0 && call.input(1).shape->rank() == 1) return "needs a column of b for each factor";
  return refuse_product(call);
}

// With matrices, grid, threads and shared memory.
Result<std::unique_ptr<Step>> make_product(LaunchMaker<ProductArgs>& maker, std::string kernel, const CallView& call,
                                           const StepSpec& spec) {
  const Product product = product_of(call);
  const StridedArgs matrices = *matrices_of(product);
  ProductArgs& args = maker.arguments;
  args.m = product.m, args.k = product.k, args.n = product.n;
  for (int axis = 0; axis < kMostAxes; ++axis) {
    args.size[axis] = matrices.size[axis];
    args.a_stride[axis] = matrices.x_stride[axis] * args.m * args.k;
    args.b_stride[axis] = matrices.other_stride[axis] * args.k * args.n;
  }
  args.a_is_signed = call.input(0).dtype == DType::s8 ? 1 : 0;
  args.b_is_signed = call.input(1).dtype == DType::s8 ? 1 : 0;
  maker.point(args.a, Operand::input, 0);
  maker.point(args.b, Operand::input, 1);
  maker.point(args.y, Operand::output, 0);
  maker.launch.kernel = std::move(kernel);
  maker.launch.grid = product_grid_of(product);
  maker.launch.threads = kThreads;
  maker.launch.shared_bytes = static_cast<int>(kProductTile * kProductTile * sizeof(float));
  return maker.make(spec);
}

Result<std::unique_ptr<Step>> make_float(const CallView& call, const StepSpec& spec) {
  LaunchMaker<ProductArgs> maker;
  return make_product(maker, "product_f32", call, spec);
}

Result<std::unique_ptr<Step>> make_product_integer(const CallView& call, const StepSpec& spec) {
  LaunchMaker<ProductArgs> maker;
  ProductArgs& args = maker.arguments;
  args.epilogue = StepEpilogue::of({.to = DType::s32}, 0, call)->rows;
  args.a_zeros = std::max<std::int64_t>(1, call.input(2).elements());
  args.b_zeros = std::max<std::int64_t>(1, call.input(3).elements());
  maker.point_if(call.input(2).exists(), args.a_zero_points, Operand::input, 2);
  maker.point_if(call.input(3).exists(), args.b_zero_points, Operand::input, 3);
  return make_product(maker, "product_bytes", call, spec);
}

Result<std::unique_ptr<Step>> make_product_quantized(const CallView& call, const StepSpec& spec) {
  const auto& attrs = call.attrs->as<QuantizedMatmulAttrs>();
  const StepEpilogue epilogue = *StepEpilogue::of(attrs.epilogue, kMatmulOperands, call);
  LaunchMaker<ProductArgs> maker;
  ProductArgs& args = maker.arguments;
  args.a_zero_point = attrs.a_zero_point, args.b_zero_point = attrs.b_zero_point;
  args.epilogue = epilogue.rows;
  epilogue.for_operands(args.epilogue, [&](int input, const auto& member) {
    maker.point_if(input >= 0, member, Operand::input, static_cast<std::size_t>(input));
  });
  return make_product(maker, "product_bytes", call, spec);
}

// Tiles one after the other on a multiprocessor.
double product_cost(const OpCall& call, const Machine& machine) {
  constexpr double kLanes = 128.0, kShare = 0.3;  // multiply-adds of a multiprocessor at once, and what is reached
  const CallView view = view_of(call);
  const Product product = product_of(view);
  const std::array<std::int64_t, 3> grid = product_grid_of(product);
  const double turns = std::ceil(static_cast<double>(grid[0] * grid[1] * grid[2]) / std::max(1, machine.cores));
  const double tile_ns = static_cast<double>(kProductTile * kProductTile * product.k.fixed()) /
                         (kLanes * kShare * machine.speeds.gigahertz);
  return memory_ns(view, machine) + turns * tile_ns;
}

constexpr KernelChoice kProductChoices[] = {
    element_kernel<refuse_float, make_float, product_cost>("product_f32_cuda", "matmul"),
    element_kernel<refuse_product, make_product_integer, product_cost>("product_q8_s32_cuda", "matmul_integer"),
    element_kernel<refuse_product_quantized, make_product_quantized, product_cost>("product_q8_cuda",
                                                                                   "quantized_matmul"),
};
constexpr auto kProductCodes = codes_of(kProductChoices);

}  // namespace
}  // namespace octavo::cuda

std::span<const octavo::KernelCode> octavo::cuda_product_codes() { return cuda::kProductCodes; }
std::span<const octavo::KernelChoice> octavo::cuda_product_choices() { return cuda::kProductChoices; }
