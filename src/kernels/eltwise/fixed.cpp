// fixed_binary on rows: any broadcasting. Part of kernels/.
#include "kernels/broadcast.h"
#include "kernels/call.h"
#include "kernels/eltwise/eltwise.h"
#include "ops/fixed_binary/fixed_binary.h"
#include "ops/integers.h"

namespace octavo {
namespace {

struct Params {
  Broadcast broadcast;
  FixedBinaryAttrs attrs;
  DType a = DType::u8, b = DType::u8;
};

std::string refuse(const CallView& call) { return is_8bit(call.input(0).dtype) && is_8bit(call.input(1).dtype) ? "" : "needs 8-bit operands"; }

void run(const Params& params, const StepBuffers& buffers, ItemRange range) {
  // By value: stores of bytes may alias anything reached through a pointer.
  const FixedBinaryAttrs attrs = params.attrs;
  params.broadcast.for_blocks(range, [&](const RowBlock& block) {
    for (std::int64_t row = 0; row < block.rows; ++row) {
      const std::byte* a = buffers.inputs[0] + block.offset[0] + row * block.row_stride[0];
      const std::byte* b = buffers.inputs[1] + block.offset[1] + row * block.row_stride[1];
      std::byte* y = buffers.outputs[0] + block.y_offset + row * block.n;
      for (std::int64_t i = 0; i < block.n; ++i) {
        store_8bit(y, i, attrs.apply(load_8bit(a, params.a, i * block.step[0]), load_8bit(b, params.b, i * block.step[1])));
      }
    }
  });
}

Result<std::unique_ptr<Step>> make(const CallView& call, const StepSpec&) {
  const Shape* const operands[] = {call.input(0).shape, call.input(1).shape};
  Broadcast broadcast(*call.output().shape, operands);
  const std::int64_t items = broadcast.items();
  return make_step(Params{std::move(broadcast), call.attrs->as<FixedBinaryAttrs>(), call.input(0).dtype, call.input(1).dtype}, items, run);
}

// Scalar code: three products of 64 bits per element.
double cost(const OpCall& call, const Machine&) { return 100.0 + 6.0 * static_cast<double>(call.outputs[0].shape.elements()); }

constexpr Kernel kKernels[] = {
    {.name = "eltwise_fixed_portable", .op = "fixed_binary", .refusal = refusal_by<refuse>, .cost = cost, .prepare = prepare_by<refuse, make>}};

}  // namespace

std::span<const Kernel> fixed_eltwise_kernels() { return kKernels; }

}  // namespace octavo
