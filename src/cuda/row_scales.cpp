// Operators that find scales in the run: dynamic_quantize, row_quantize, row_requantize. Part of cuda/.
#include "cuda/arguments.h"
#include "cuda/cuda.h"
#include "cuda/element_kernel.h"
#include "ops/dynamic_quantize/dynamic_quantize.h"
#include "ops/row_quantize/row_quantize.h"
#include "ops/row_requantize/row_requantize.h"

namespace octavo::cuda {
namespace {

// A block has a row: more threads where it is long.
constexpr std::int64_t kShortRow = 8192;
constexpr int kFewThreads = 128, kManyThreads = 1024;

std::int64_t rows_of(const CallView& call) { return call.outputs[1].elements(); }

std::string refuse_row_scales(const CallView& call) {
  if (rows_of(call) == 0) return "needs a row";
  if (std::string reason = elements_refusal(call.input(0).elements()); !reason.empty()) return reason;
  return grid_refusal({rows_of(call), 1, 1});
}

// With the operands and the grid.
Result<std::unique_ptr<Step>> make_rows(LaunchMaker<RowScaleArgs>& maker, std::string_view kernel, const CallView& call,
                                        const StepSpec& spec) {
  RowScaleArgs& args = maker.arguments;
  const std::int64_t rows = rows_of(call);
  args.n = call.input(0).elements() / rows;
  const int threads = args.n <= kShortRow ? kFewThreads : kManyThreads;
  maker.point(args.x, Operand::input, 0);
  maker.point(args.y, Operand::output, 0);
  maker.point(args.scale, Operand::output, 1);
  maker.point(args.zero_point, Operand::output, 2);
  maker.launch.kernel = std::string(kernel) + "_" + std::to_string(threads);
  maker.launch.grid = {rows, 1, 1};
  maker.launch.threads = threads;
  maker.launch.shared_bytes = 2 * threads * static_cast<int>(sizeof(float));
  return maker.make(spec);
}

Result<std::unique_ptr<Step>> make_whole(const CallView& call, const StepSpec& spec) {
  LaunchMaker<RowScaleArgs> maker;
  maker.arguments.form = DynamicForm::onnx;
  return make_rows(maker, "scale_row_f32", call, spec);
}

Result<std::unique_ptr<Step>> make_row_scales_quantize(const CallView& call, const StepSpec& spec) {
  const auto& attrs = call.attrs->as<RowQuantizeAttrs>();
  LaunchMaker<RowScaleArgs> maker;
  maker.arguments.form = attrs.form;
  maker.arguments.least_scale = attrs.least_scale;
  return make_rows(maker, "scale_row_f32", call, spec);
}

Result<std::unique_ptr<Step>> make_requantize(const CallView& call, const StepSpec& spec) {
  LaunchMaker<RowScaleArgs> maker;
  maker.arguments.values = call.attrs->as<RowRequantizeAttrs>().values();
  maker.point_if(call.input(kRowFactor).exists(), maker.arguments.factor, Operand::input, kRowFactor);
  return make_rows(maker, "scale_row_s16", call, spec);
}

// A multiprocessor has a row, or some short ones; each of its threads waits for what it reads, twice.
double row_scales_cost(const OpCall& call, const Machine& machine) {
  constexpr double kTurnNs = 40.0, kThreadsAtOnce = 1024.0;
  const CallView view = view_of(call);
  const auto rows = static_cast<double>(rows_of(view));
  const double per_row = static_cast<double>(view.input(0).elements()) / rows;
  const double rows_each = std::max(1.0, rows / std::max(1, machine.cores));
  return memory_ns(view, machine) + rows_each * std::max(1.0, per_row / kThreadsAtOnce) * kTurnNs;
}

constexpr KernelChoice kRowScalesChoices[] = {
    element_kernel<refuse_row_scales, make_whole, row_scales_cost>("dynamic_quantize_f32_cuda", "dynamic_quantize"),
    element_kernel<refuse_row_scales, make_row_scales_quantize, row_scales_cost>("row_quantize_f32_cuda",
                                                                                 "row_quantize"),
    element_kernel<refuse_row_scales, make_requantize, row_scales_cost>("row_requantize_s16_cuda", "row_requantize"),
};
constexpr auto kRowScalesCodes = codes_of(kRowScalesChoices);

}  // namespace
}  // namespace octavo::cuda

std::span<const octavo::KernelCode> octavo::cuda_row_scale_codes() { return cuda::kRowScalesCodes; }
std::span<const octavo::KernelChoice> octavo::cuda_row_scale_choices() { return cuda::kRowScalesChoices; }
