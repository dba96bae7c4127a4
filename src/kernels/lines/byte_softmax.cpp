// quantized_softmax of the profiles whose exponentials are f32. Part of kernels/.
#include "kernels/compiled_for.h"
#include "kernels/lines/lines.h"
#include "kernels/lines/record.h"
#include "ops/quantized_softmax/quantized_softmax.h"

namespace octavo {
namespace {

struct ByteSoftmaxParams {
  ByteSoftmaxLines lines;  // without pointers and their number
  Chunks chunks;
  void (*run)(const ByteSoftmaxLines&) = nullptr;
};

void run_byte_softmax(const ByteSoftmaxParams& params, const StepBuffers& buffers, ItemRange range) {
  const ItemRange units = params.chunks.units_of(range);
  ByteSoftmaxLines lines = params.lines;
  lines.x = reinterpret_cast<const std::uint8_t*>(buffers.inputs[0]) + units.begin * lines.n;
  lines.y = reinterpret_cast<std::uint8_t*>(buffers.outputs[0]) + units.begin * lines.n;
  lines.lines = units.end - units.begin;
  lines.line = reinterpret_cast<float*>(buffers.scratch);
  params.run(lines);
}

std::string refuse_byte_softmax(const CallView& call) {
  return call.attrs->as<QuantizedSoftmaxAttrs>().makes_exponentials() ? "" : "needs exponentials in f32";
}

// Bounds of q + zero_point: of the real q (onnx), or of the integer.
RowRound round_of(const QuantizedSoftmaxAttrs& attrs) {
  const IntegerRange range = range_of(attrs.to);
  const auto lowest = static_cast<std::int32_t>(range.lowest) - attrs.zero_point,
             highest = static_cast<std::int32_t>(range.highest) - attrs.zero_point;
  return {.lowest = static_cast<float>(lowest),
          .highest = static_cast<float>(highest),
          .after = attrs.zero_point,
          .lowest_integer = lowest,
          .highest_integer = highest};
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_byte_softmax(const CallView& call, const StepSpec& spec) {
  if (!is_packed_as(spec, 0, DType::f32, 256) || !is_read_in_run(spec, 0)) return not_as_packed(spec);
  const auto& attrs = call.attrs->as<QuantizedSoftmaxAttrs>();
  const Shape& x = *call.input(0).shape;
  const std::int64_t n = x[x.rank() - 1];
  ByteSoftmaxParams params{.lines = {.n = n,
                                     .x_is_signed = call.input(0).dtype == DType::s8,
                                     .exponentials = spec.packed[0].as<float>(),
                                     .is_onnx = attrs.profile == Profile::onnx,
                                     .y_scale = attrs.y_scale,
                                     .round = round_of(attrs)},
                           .chunks = Chunks::of(n == 0 ? 0 : x.elements() / n, 8 * n),
                           .run = CompiledFor<LineFunctions, isa>::table.byte_softmax_lines};
  const std::int64_t items = params.chunks.items();
  return make_step(std::move(params), items, run_byte_softmax, static_cast<std::size_t>(n) * sizeof(float));
}

template <Isa isa, int kPicoseconds>
constexpr KernelChoice byte_softmax_kernel(std::string_view name) {
  KernelChoice choice = line_kernel<refuse_byte_softmax, make_byte_softmax<isa>, kPicoseconds>("quantized_softmax", isa,
                                                                                               name, over_first_input);
  choice.code.packs = true;
  choice.pack = pack_softmax_exponentials;
  choice.packed_layout = softmax_exponentials_layout;
  return choice;
}

constexpr KernelChoice kByteSoftmaxChoices[] = {
    byte_softmax_kernel<Isa::scalar, 5000>("lines_byte_softmax_portable"),
    byte_softmax_kernel<Isa::avx2, 2000>("lines_byte_softmax_avx2"),
    byte_softmax_kernel<Isa::avx512, 1800>("lines_byte_softmax_avx512"),
    byte_softmax_kernel<Isa::neon, 3000>("lines_byte_softmax_neon"),
};
constexpr auto kByteSoftmaxCodes = codes_of(kByteSoftmaxChoices);

}  // namespace

std::vector<Tensor> pack_softmax_exponentials(const OpCall& call) {
  return {softmax_exponentials(call.attrs->as<QuantizedSoftmaxAttrs>(), softmax_exponentials_layout(call)[0])};
}
std::vector<std::int64_t> softmax_exponentials_layout(const OpCall& call) {
  const OpenShape& x = call.inputs[0]->shape;
  return {x[x.rank() - 1]};
}

std::span<const KernelCode> byte_softmax_codes() { return kByteSoftmaxCodes; }
std::span<const KernelChoice> byte_softmax_choices() { return kByteSoftmaxChoices; }

}  // namespace octavo
