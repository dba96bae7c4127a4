// Operators that are one SeparableCopy. Part of kernels/.
#include "kernels/move/move.h"
#include "kernels/move/separable.h"
#include "ops/expand/expand.h"
#include "ops/pad/pad.h"
#include "ops/slice/slice.h"

namespace octavo {
namespace {

// Offsets are listed per axis, so an axis of many millions that is not copied as a whole is left to the reference.
constexpr std::int64_t kMaxAxis = std::int64_t{1} << 24;

std::string refuse_copy(const CallView& call) {
  for (std::int64_t size : *call.output().shape) {
    if (size > kMaxAxis) return "lists offsets per axis, of at most 2^24 indices";
  }
  return {};
}
std::string refuse_copy_nothing(const CallView&) { return {}; }

struct CopyParams {
  SeparableCopy copy;
  std::uint64_t zero = 0;  // the filling where no value is given
};

void run_copy(const CopyParams& params, const StepBuffers& buffers, ItemRange range) {
  const bool has_value = buffers.inputs.size() > 1 && buffers.inputs[1] != nullptr;
  params.copy.run(buffers.inputs[0], has_value ? buffers.inputs[1] : reinterpret_cast<const std::byte*>(&params.zero),
                  buffers.outputs[0], range);
}

std::unique_ptr<Step> make_copy(const CallView& call, std::vector<CopyAxis> axes) {
  CopyParams params{.copy = SeparableCopy(std::move(axes), size_of(call.output().dtype))};
  const std::int64_t items = params.copy.items();
  return make_step(std::move(params), items, run_copy);
}

Result<std::unique_ptr<Step>> make_slice(const CallView& call, const StepSpec&) {
  const auto& attrs = call.attrs->as<SliceAttrs>();
  const std::vector<std::int64_t> strides = call.input(0).shape->strides();
  std::vector<CopyAxis> axes;
  for (std::size_t i = 0; i < strides.size(); ++i)
    axes.push_back(plain_axis(attrs.sizes[i], strides[i], attrs.starts[i], attrs.steps[i]));
  return make_copy(call, std::move(axes));
}

Result<std::unique_ptr<Step>> make_expand(const CallView& call, const StepSpec&) {
  const Shape& x = *call.input(0).shape;
  const Shape& y = *call.output().shape;
  const std::vector<std::int64_t> strides = x.strides();
  std::vector<CopyAxis> axes;
  for (int axis = 0; axis < y.rank(); ++axis) {
    const int from = axis - (y.rank() - x.rank());
    const bool is_repeated = from < 0 || x[from] == 1;
    axes.push_back(plain_axis(y[axis], is_repeated ? 0 : strides[static_cast<std::size_t>(from)]));
  }
  return make_copy(call, std::move(axes));
}

Result<std::unique_ptr<Step>> make_pad(const CallView& call, const StepSpec&) {
  const auto& attrs = call.attrs->as<PadAttrs>();
  const Shape& x = *call.input(0).shape;
  const Shape& y = *call.output().shape;
  const std::vector<std::int64_t> strides = x.strides();
  std::vector<CopyAxis> axes;
  for (int axis = 0; axis < y.rank(); ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    std::vector<std::int64_t> index(static_cast<std::size_t>(y[axis]));
    for (std::int64_t at = 0; at < y[axis]; ++at)
      index[static_cast<std::size_t>(at)] = padded_index(attrs.mode, at - attrs.begin[i], x[axis]);
    axes.push_back(axis_of(index, strides[i]));
  }
  return make_copy(call, std::move(axes));
}

struct BytesParams {
  Chunks chunks;  // of bytes
};
void run_bytes(const BytesParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange bytes = params.chunks.units_of(range);
  if (buffers.inputs[0] == buffers.outputs[0]) return;
  __builtin_memcpy(buffers.outputs[0] + bytes.begin, buffers.inputs[0] + bytes.begin,
                   static_cast<std::size_t>(bytes.end - bytes.begin));
}
Result<std::unique_ptr<Step>> make_bytes(const CallView& call, const StepSpec&) {
  const Chunks chunks = Chunks::of(static_cast<std::int64_t>(call.output().bytes()), 1);
  return make_step(BytesParams{chunks}, chunks.items(), run_bytes);
}

double copy_cost(const OpCall& call, const Machine&) { return 100.0 + 0.15 * view_of(call).bytes(); }
int copy_first_input(const OpCall&) { return 0; }

constexpr KernelChoice kCopyChoices[] = {
    {.code = {.name = "bitcast_copy_portable",
              .op = "bitcast",
              .prepare = prepare_by<refuse_copy_nothing, make_bytes>,
              .in_place_input = copy_first_input},
     .refusal = refusal_by<refuse_copy_nothing>,
     .cost = copy_cost},
    {.code = {.name = "expand_copy_portable", .op = "expand", .prepare = prepare_by<refuse_copy, make_expand>},
     .refusal = refusal_by<refuse_copy>,
     .cost = copy_cost},
    {.code = {.name = "pad_copy_portable", .op = "pad", .prepare = prepare_by<refuse_copy, make_pad>},
     .refusal = refusal_by<refuse_copy>,
     .cost = copy_cost},
    {.code = {.name = "reshape_copy_portable",
              .op = "reshape",
              .prepare = prepare_by<refuse_copy_nothing, make_bytes>,
              .in_place_input = copy_first_input},
     .refusal = refusal_by<refuse_copy_nothing>,
     .cost = copy_cost},
    {.code = {.name = "slice_copy_portable", .op = "slice", .prepare = prepare_by<refuse_copy, make_slice>},
     .refusal = refusal_by<refuse_copy>,
     .cost = copy_cost},
};
constexpr auto kCopyCodes = codes_of(kCopyChoices);

}  // namespace

std::span<const KernelCode> copy_codes() { return kCopyCodes; }
std::span<const KernelChoice> copy_choices() { return kCopyChoices; }

}  // namespace octavo
