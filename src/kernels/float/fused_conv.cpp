// fused_conv: chains of fused multiply-adds in tiles of positions by panels of output channels. Part of kernels/.
#include "ops/fused_conv/fused_conv.h"

#include "kernels/call.h"
#include "kernels/compiled_for.h"
#include "kernels/float/float.h"
#include "kernels/float/fused_conv_params.h"

namespace octavo {

using namespace fused_conv;

namespace {

// What a thread needs beside its tensors.
struct Workspace {
  const float** pointers;
  float* zeros;  // of all channels: what the padding reads
  float* panel;  // of weights that are computed, then its bias

  static std::size_t bytes(const Params& p, std::int64_t panel_elements) {
    const std::int64_t floats = p.x.channels + panel_elements;
    return static_cast<std::size_t>(p.block() * p.taps()) * sizeof(const float*) +
           static_cast<std::size_t>(floats) * sizeof(float);
  }
  static Workspace in(const Params& p, std::byte* scratch) {
    Workspace w{};
    w.pointers = reinterpret_cast<const float**>(scratch);
    w.zeros = reinterpret_cast<float*>(scratch + static_cast<std::size_t>(p.block() * p.taps()) * sizeof(const float*));
    w.panel = w.zeros + p.x.channels;
    std::fill_n(w.zeros, p.x.channels, 0.0f);
    return w;
  }
};

// Where a window whose first tap lies at (top, left) reads, tap after tap, `apart` places of the list apart.
void list_window(const Params& p, const float* image, const float* zeros, std::int64_t top, std::int64_t left,
                 std::int64_t apart, const float** to) {
  const bool is_inside = top >= 0 && left >= 0 && top + (p.kernel[0] - 1) * p.dilation[0] < p.x.height &&
                         left + (p.kernel[1] - 1) * p.dilation[1] < p.x.width;
  if (is_inside) {
    const float* first = image + top * p.x.strides.row + left * p.x.strides.column;
    for (const std::int64_t offset : p.offsets) *to = first + offset, to += apart;
    return;
  }
  for (std::int64_t kh = 0; kh < p.kernel[0]; ++kh) {
    const std::int64_t ih = top + kh * p.dilation[0];
    const bool is_row = ih >= 0 && ih < p.x.height;
    for (std::int64_t kw = 0; kw < p.kernel[1]; ++kw, to += apart) {
      const std::int64_t iw = left + kw * p.dilation[1];
      const bool is_pixel = is_row && iw >= 0 && iw < p.x.width;
      *to = is_pixel ? image + ih * p.x.strides.row + iw * p.x.strides.column : zeros;
    }
  }
}

// Where the windows of `count` positions read, as [tap][position].
void list_pointers(const Params& p, const float* x, const float* zeros, std::int64_t first, std::int64_t count,
                   const float** to) {
  std::int64_t column = first % p.y.width, row = first / p.y.width % p.y.height;
  const float* image = x + first / p.y.width / p.y.height * p.x.strides.image;
  for (std::int64_t i = 0; i < count; ++i) {
    list_window(p, image, zeros, row * p.stride[0] - p.pad[0], column * p.stride[1] - p.pad[1], count, to + i);
    if (++column < p.y.width) continue;
    column = 0;
    if (++row < p.y.height) continue;
    row = 0;
    image += p.x.strides.image;
  }
}

struct Tensors {
  const float* x;
  const float* residual;
  float* y;

  static Tensors of(const Params& p, const StepBuffers& buffers) {
    const bool has_residual = p.residual != ResidualPlace::none;
    return {.x = reinterpret_cast<const float*>(buffers.inputs[kX]),
            .residual = has_residual ? reinterpret_cast<const float*>(buffers.inputs[kResidual]) : nullptr,
            .y = reinterpret_cast<float*>(buffers.outputs[0])};
  }
};

// What the sums end with at element `at` of the result: where the activation is a clamp all, else what comes before it.
ChainEnd end_at(const Params& p, const Tensors& tensors, const float* bias, std::int64_t at) {
  ChainEnd end{.bias = bias, .lowest = p.lowest, .highest = p.highest};
  if (p.residual == ResidualPlace::before_activation) end.residual_before = tensors.residual + at;
  if (p.residual == ResidualPlace::after_activation && p.activation == nullptr)
    end.residual_after = tensors.residual + at;
  return end;
}

// Other activations, and a residual after them, of `width` neighbouring results of `count` positions.
void fused_conv_finish(const Params& p, const Tensors& tensors, std::int64_t at, std::int64_t count,
                       std::int64_t width) {
  if (width == p.y.channels) width *= count, count = 1;
  for (std::int64_t i = 0; i < count; ++i, at += p.y.channels) {
    float* y = tensors.y + at;
    p.activation(y, y, width, p.numbers);
    if (p.residual != ResidualPlace::after_activation) continue;
    for (std::int64_t j = 0; j < width; ++j) y[j] += tensors.residual[at + j];
  }
}

// `count` positions from `first` on, whose pointers are listed.
void run_fused_conv_tile(const Params& p, const Tensors& tensors, const Panel& panel, const float* const* pointers,
                         std::int64_t first, std::int64_t count) {
  const std::int64_t at = first * p.y.channels + panel.group * p.out_per_group() + panel.first;
  p.chains({.a = pointers,
            .first = panel.group * p.depth(),
            .rows = static_cast<int>(count),
            .vectors = panel.vectors,
            .taps = p.taps(),
            .depth = p.depth(),
            .w = panel.weights,
            .end = end_at(p, tensors, panel.bias, at),
            .y = tensors.y + at,
            .y_stride = p.y.channels,
            .width = panel.width});
  if (p.activation != nullptr) fused_conv_finish(p, tensors, at, count, panel.width);
}

// The tiles of a block: calls f(pointers, first position, count).
template <class F>
void for_tiles(const Params& p, std::int64_t block, const Workspace& work, const F& f) {
  const std::int64_t end = std::min(p.positions(), (block + 1) * p.block());
  const float** pointers = work.pointers;
  for (std::int64_t first = block * p.block(); first < end;
       first += p.schedule.rows, pointers += p.schedule.rows * p.taps())
    f(pointers, first, std::min(p.schedule.rows, end - first));
}

void list_block(const Params& p, const Tensors& tensors, std::int64_t block, const Workspace& work) {
  for_tiles(p, block, work, [&](const float** pointers, std::int64_t first, std::int64_t count) {
    list_pointers(p, tensors.x, work.zeros, first, count, pointers);
  });
}

// An item is a panel of a block of positions.
void run_fused_conv(const Params& p, const StepBuffers& buffers, ItemRange items) {
  const Tensors tensors = Tensors::of(p, buffers);
  const Workspace work = Workspace::in(p, buffers.scratch);
  std::int64_t listed = -1;
  for (std::int64_t item = items.begin; item < items.end; ++item) {
    const std::int64_t block = p.schedule.by_panels ? item % p.blocks() : item / p.units(),
                       unit = p.schedule.by_panels ? item / p.blocks() : item % p.units();
    if (block != listed) list_block(p, tensors, block, work);
    listed = block;
    const Panel panel = packed_panel_at(p, unit);
    for_tiles(p, block, work, [&](const float* const* pointers, std::int64_t first, std::int64_t count) {
      run_fused_conv_tile(p, tensors, panel, pointers, first, count);
    });
  }
}

// ---- one channel in and out of each group ----

constexpr std::int64_t kPixelsOfItem = 64;

void run_depthwise(const Params& p, const StepBuffers& buffers, ItemRange items) {
  const Tensors tensors = Tensors::of(p, buffers);
  const Workspace work = Workspace::in(p, buffers.scratch);
  const std::int64_t end = std::min(p.positions(), items.end * kPixelsOfItem);
  for (std::int64_t first = items.begin * kPixelsOfItem; first < end; first += kChainPixels) {
    const std::int64_t count = std::min<std::int64_t>(kChainPixels, end - first), at = first * p.y.channels;
    list_pointers(p, tensors.x, work.zeros, first, count, work.pointers);
    p.channel_chains({.a = work.pointers,
                      .pixels = static_cast<int>(count),
                      .taps = p.taps(),
                      .channels = p.x.channels,
                      .w = p.weights,
                      .end = end_at(p, tensors, p.bias, at),
                      .y = tensors.y + at});
    if (p.activation != nullptr) fused_conv_finish(p, tensors, at, count, p.y.channels);
  }
}

// ---- weights that are computed: an item is a panel, which it packs ----

std::int64_t panel_elements(const Params& p) { return (p.links() + 1) * p.panel_width(); }

// One panel as [tap][ic][column], w in the graph's order.
void pack_fused_conv_panel(const Params& p, const Panel& panel, const float* w, float* to) {
  const std::int64_t links = p.links(), width = panel.vectors * p.lanes;
  const float* from = w + (panel.group * p.out_per_group() + panel.first) * links;
  for (std::int64_t link = 0; link < links; ++link) {
    for (std::int64_t j = 0; j < width; ++j) *to++ = j < panel.width ? from[j * links + link] : 0.0f;
  }
}

void pack_bias(const Params& p, const Panel& panel, const float* bias, float* to) {
  const float* from = bias == nullptr ? nullptr : bias + panel.group * p.out_per_group() + panel.first;
  for (std::int64_t j = 0; j < panel.vectors * p.lanes; ++j)
    to[j] = from != nullptr && j < panel.width ? from[j] : 0.0f;
}

void run_fused_conv_computed(const Params& p, const StepBuffers& buffers, ItemRange items) {
  const Tensors tensors = Tensors::of(p, buffers);
  const Workspace work = Workspace::in(p, buffers.scratch);
  for (std::int64_t item = items.begin; item < items.end; ++item) {
    Panel panel = panel_at(p, item);
    float* bias = work.panel + p.links() * p.panel_width();
    pack_fused_conv_panel(p, panel, reinterpret_cast<const float*>(buffers.inputs[kW]), work.panel);
    pack_bias(p, panel, p.has_bias ? reinterpret_cast<const float*>(buffers.inputs[kBias]) : nullptr, bias);
    panel.weights = work.panel;
    panel.bias = bias;
    for (std::int64_t block = 0; block < p.blocks(); ++block) {
      list_block(p, tensors, block, work);
      for_tiles(p, block, work, [&](const float* const* pointers, std::int64_t first, std::int64_t count) {
        run_fused_conv_tile(p, tensors, panel, pointers, first, count);
      });
    }
  }
}

// ---- choices and codes ----

std::string refuse_fused_conv(const CallView& call) {
  return call.input(kX).dtype == DType::f32 && call.input(kX).shape->rank() == 4 ? "" : "needs images of f32";
}

std::string fused_conv_refusal(const OpCall& call) {
  for (std::size_t i : {kW, kBias}) {
    if (i < call.inputs.size() && call.inputs[i] != nullptr && !call.inputs[i]->is_constant())
      return "needs constant weights";
  }
  for (std::size_t i : {kX, kResidual}) {
    if (i < call.inputs.size() && call.inputs[i] != nullptr && call.inputs[i]->is_constant())
      return "needs a variable x and residual";
  }
  return refuse_fused_conv(view_of(call));
}

// Panel by panel, each as [tap][ic][column]; of a channel a group: [tap][channel]. A bias of 0 where there is none.
template <Isa isa>
std::vector<Tensor> pack_fused_conv(const OpCall& call) {
  const Params p = params_of(view_of(call), CompiledFor<SumFunctions, isa>::table);
  const float* w = call.inputs[kW]->constant->as<float>();
  const float* bias = p.has_bias ? call.inputs[kBias]->constant->as<float>() : nullptr;
  const Packed size = Packed::of(p);
  Tensor weights(DType::f32, Shape{size.weights}), biases(DType::f32, Shape{size.bias});
  if (is_depthwise(p)) {
    float* to = weights.as<float>();
    for (std::int64_t tap = 0; tap < p.taps(); ++tap) {
      for (std::int64_t c = 0; c < p.groups; ++c) *to++ = w[c * p.taps() + tap];
    }
    if (bias != nullptr) std::copy_n(bias, p.groups, biases.as<float>());
  } else {
    for (std::int64_t unit = 0; unit < p.units(); ++unit) {
      const Panel panel = panel_at(p, unit);
      pack_fused_conv_panel(p, panel, w, weights.as<float>() + column_of(p, panel) * p.links());
      pack_bias(p, panel, bias, biases.as<float>() + column_of(p, panel));
    }
  }
  std::vector<Tensor> packed;
  packed.push_back(std::move(weights));
  packed.push_back(std::move(biases));
  return packed;
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_fused_conv(const CallView& call, const StepSpec& spec) {
  Params p = params_of(call, CompiledFor<SumFunctions, isa>::table, CompiledFor<EltwiseFunctions, isa>::table);
  const Packed size = Packed::of(p);
  const bool is_right = is_packed_as(spec, 0, DType::f32, size.weights) && is_packed_as(spec, 1, DType::f32, size.bias);
  if (!is_right || !is_read_in_run(spec, kX) || !is_read_in_run(spec, kResidual)) return not_as_packed(spec);
  p.weights = spec.packed[0].as<float>();
  p.bias = spec.packed[1].as<float>();
  if (!spec.schedule.empty()) {
    const auto schedule = decode(spec.schedule, p);
    if (!schedule) return refused_at_load(spec, "needs a schedule that is legal for the shape");
    p.schedule = *schedule;
  }
  const std::int64_t positions = p.positions(), blocks = p.blocks(), units = p.units();
  const bool is_by_channel = is_depthwise(p);
  const std::size_t scratch = Workspace::bytes(p, 0);
  if (is_by_channel) {
    const std::int64_t items = (positions + kPixelsOfItem - 1) / kPixelsOfItem;
    return make_step(std::move(p), items, run_depthwise, scratch);
  }
  std::vector<std::byte> schedule = p.schedule.encode();
  return make_step(std::move(p), call.output().elements() == 0 ? 0 : blocks * units, run_fused_conv, scratch,
                   std::move(schedule));
}

template <Isa isa>
Result<std::unique_ptr<Step>> make_fused_conv_computed(const CallView& call, const StepSpec&) {
  Params p = params_of(call, CompiledFor<SumFunctions, isa>::table, CompiledFor<EltwiseFunctions, isa>::table);
  const std::int64_t items = call.output().elements() == 0 ? 0 : p.units();
  const std::size_t scratch = Workspace::bytes(p, panel_elements(p));
  return make_step(std::move(p), items, run_fused_conv_computed, scratch);
}

// Zen 4: 100 to 116 GFLOP/s on a core with AVX2 and with AVX-512; aarch64: nine tenths of fmla, by its instructions. A
// channel a group is bound by its loads.
template <Isa isa>
double fused_conv_cost(const OpCall& call, const Machine& machine) {
  constexpr double ns_per_flop = isa == Isa::neon ? 1.0 / 36.0 : by_width(isa, {1.0 / 0.8, 1.0 / 45.0, 1.0 / 110.0});
  const auto& conv = call.attrs->as<FusedConvAttrs>();
  const Shape &w = call.inputs[kW]->shape, &y = call.outputs[0].shape;
  const double channels = std::max(1.0, static_cast<double>(w[0]));
  const double macs = static_cast<double>(y.elements()) * static_cast<double>(w.elements()) / channels;
  const double by_channel = w[3] == 1 && conv.groups == w[0] ? 4.0 : 1.0;
  const double filled = std::min(1.0, channels / static_cast<double>(conv.groups) / 16.0);
  return 2500.0 + 2.0 * macs * by_channel * ns_per_flop * multiply_add_scale(isa, machine.speeds) /
                      (by_channel > 1.0 ? 1.0 : std::max(filled, 1.0 / 16.0));
}

template <Isa isa>
std::vector<Candidate> fused_conv_candidates(const OpCall& call, const Machine& machine, int threads) {
  const Params p = params_of(view_of(call), CompiledFor<SumFunctions, isa>::table);
  std::vector<Candidate> all;
  for (const Schedule& schedule : schedules_of(p))
    all.push_back({schedule.encode(), schedule_cost(p, schedule, fused_conv_cost<isa>(call, machine), threads)});
  return all;
}

template <Isa isa>
std::string fused_conv_schedule_refusal(const OpCall& call, const Machine&, std::span<const std::byte> schedule) {
  return decode(schedule, params_of(view_of(call), CompiledFor<SumFunctions, isa>::table))
             ? ""
             : "is not legal for this shape";
}

template <Isa isa>
constexpr KernelChoice fused_conv_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "fused_conv",
                   .needs = isa,
                   .packs = true,
                   .knobs = kKnobs,
                   .prepare = prepare_on<isa, refuse_fused_conv, make_fused_conv<isa>>()},
          .refusal = fused_conv_refusal,
          .cost = fused_conv_cost<isa>,
          .candidates = fused_conv_candidates<isa>,
          .schedule_refusal = fused_conv_schedule_refusal<isa>,
          .pack = pack_fused_conv<isa>,
          .packed_layout = same_layout};
}

// Weights are packed in every run.
template <Isa isa>
double fused_conv_cost_computed(const OpCall& call, const Machine& machine) {
  return 1.1 * fused_conv_cost<isa>(call, machine) + 2.0 * static_cast<double>(call.inputs[kW]->shape.elements());
}

template <Isa isa>
constexpr KernelChoice fused_conv_computed_kernel(std::string_view name) {
  return {.code = {.name = name,
                   .op = "fused_conv",
                   .needs = isa,
                   .prepare = prepare_on<isa, refuse_fused_conv, make_fused_conv_computed<isa>>()},
          .refusal = refusal_by<refuse_fused_conv>,
          .cost = fused_conv_cost_computed<isa>};
}

constexpr KernelChoice kFusedConvChoices[] = {
    fused_conv_computed_kernel<Isa::scalar>("float_fused_conv_chains_computed_portable"),
    fused_conv_computed_kernel<Isa::avx2>("float_fused_conv_chains_computed_avx2"),
    fused_conv_computed_kernel<Isa::avx512>("float_fused_conv_chains_computed_avx512"),
    fused_conv_computed_kernel<Isa::neon>("float_fused_conv_chains_computed_neon"),
    fused_conv_kernel<Isa::scalar>("float_fused_conv_chains_portable"),
    fused_conv_kernel<Isa::avx2>("float_fused_conv_chains_avx2"),
    fused_conv_kernel<Isa::avx512>("float_fused_conv_chains_avx512"),
    fused_conv_kernel<Isa::neon>("float_fused_conv_chains_neon"),
};
constexpr auto kFusedConvCodes = codes_of(kFusedConvChoices);

}  // namespace

std::span<const KernelCode> float_fused_conv_codes() { return kFusedConvCodes; }
std::span<const KernelChoice> float_fused_conv_choices() { return kFusedConvChoices; }

}  // namespace octavo
