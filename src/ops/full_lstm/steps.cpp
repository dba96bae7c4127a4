// full_lstm: one sequence, step by step; for the reference and for the kernel. Part of ops/.
#include <algorithm>
#include <cmath>

#include "base/lane.h"
#include "ops/full_lstm/full_lstm.h"
#include "ops/unary/f32.h"

namespace octavo {
namespace {

// A row of floats as integers, which stand for scale * (value - zero_point).
struct LstmRow {
  const std::int8_t* values = nullptr;
  float scale = 1.0f;
  std::int32_t zero_point = 0;
};

LstmRow lstm_row_of(DynamicForm form, const float* x, std::int64_t n, std::int8_t* to) {
  float lowest = 0.0f, highest = 0.0f;
  for (std::int64_t i = 0; i < n; ++i) {
    lowest = x[i] < lowest ? x[i] : lowest;
    highest = x[i] > highest ? x[i] : highest;
  }
  const RunScale scale = RunScale::of(form, lowest, highest);
  for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<std::int8_t>(scale.quantize(x[i]) - 128);
  return {to, scale.scale, scale.zero_point - 128};
}

// What steps of a sequence work on. Lines of gates are `hidden` long.
struct LstmState {
  const float* x = nullptr;
  const float* h = nullptr;
  float *c = nullptr, *gates = nullptr;
  float* inner = nullptr;        // before the projection
  std::int8_t* bytes = nullptr;  // a row of x, h or inner, the longest of them
};

class Steps {
 public:
  Steps(const FullLstmAttrs& attrs, const FullLstmCall& call) : attrs_(attrs), call_(call) {}

  void run(const LstmState& s, float* y) const {
    const std::int64_t n = call_.hidden;
    std::fill_n(s.gates, call_.gates * n, 0.0f);
    add_products(s.x, call_.inputs, call_.w, attrs_.w_scale, s);
    add_products(s.h, call_.outputs, call_.r, attrs_.r_scale, s);
    // With three gates, they and all their lists begin with f.
    const int first = call_.gates == 4 ? 0 : 1;
    float *const i = s.gates, *const f = s.gates + (1 - first) * n, *const g = f + n, *const o = g + n;
    if (first == 0) finish_gate(0, 0, s.c, i);
    finish_gate(1 - first, 1 - first, s.c, f);
    finish(2 - first, attrs_.function, g);
    for (std::int64_t j = 0; j < n; ++j) {
      const float taken = first == 0 ? i[j] : 1.0f - f[j];
      s.c[j] = clipped(f[j] * s.c[j] + taken * g[j], attrs_.cell_clip);
    }
    finish_gate(3 - first, 2 - first, s.c, o);
    std::copy_n(s.c, n, s.inner);
    apply(attrs_.function, s.inner);
    for (std::int64_t j = 0; j < n; ++j) s.inner[j] *= o[j];
    project(s, y);
  }

 private:
  static float clipped(float x, float clip) { return clip > 0.0f ? clamp_f32(x, -clip, clip) : x; }

  // sums[j] += x weights[j].
  void add_floats(const float* x, std::int64_t depth, const float* weights, std::int64_t lines, float* sums) const {
    for (std::int64_t j = 0; j < lines; ++j) {
      float sum = 0.0f;
      for (std::int64_t k = 0; k < depth; ++k) sum += x[k] * weights[j * depth + k];
      sums[j] += sum;
    }
  }
  void add_bytes(const LstmRow& x, std::int64_t depth, const std::int8_t* weights, float scale, std::int64_t lines,
                 float* sums) const {
    for (std::int64_t j = 0; j < lines; ++j) {
      std::uint32_t sum = 0;  // wraps where it leaves 32 bits
      for (std::int64_t k = 0; k < depth; ++k)
        sum += static_cast<std::uint32_t>((x.values[k] - x.zero_point) * weights[j * depth + k]);
      sums[j] += static_cast<float>(static_cast<std::int32_t>(sum)) * (x.scale * scale);
    }
  }

  void add_products(const float* x, std::int64_t depth, const std::byte* weights, const std::array<float, 4>& scales,
                    const LstmState& s) const {
    const std::int64_t n = call_.hidden;
    if (!call_.has_bytes)
      return add_floats(x, depth, reinterpret_cast<const float*>(weights), call_.gates * n, s.gates);
    const LstmRow row = lstm_row_of(attrs_.form, x, depth, s.bytes);
    const auto* bytes = reinterpret_cast<const std::int8_t*>(weights);
    for (std::int64_t gate = 0; gate < call_.gates; ++gate)
      add_bytes(row, depth, bytes + gate * n * depth, scales[static_cast<std::size_t>(gate + 4 - call_.gates)], n,
                s.gates + gate * n);
  }

  void apply(const UnaryAttrs& function, float* line) const {
    constexpr UnaryLines kFunctions = unary_lines<Lane>();
    kFunctions.of[static_cast<int>(function.kind)](line, line, call_.hidden, {function.alpha, function.beta});
  }

  // Normalization, bias and function of a gate's sums.
  void finish(std::int64_t gate, const UnaryAttrs& function, float* line) const {
    const std::int64_t n = call_.hidden;
    if (call_.norms != nullptr) normalize(call_.norms + gate * n, line);
    for (std::int64_t j = 0; j < n; ++j) line[j] += call_.bias[gate * n + j];
    apply(function, line);
  }
  void finish_gate(std::int64_t gate, std::int64_t peephole, const float* c, float* line) const {
    const std::int64_t n = call_.hidden;
    for (std::int64_t j = 0; j < n && call_.peepholes != nullptr; ++j)
      line[j] += call_.peepholes[peephole * n + j] * c[j];
    finish(gate, {.kind = UnaryKind::sigmoid}, line);
  }

  void normalize(const float* norms, float* line) const {
    constexpr double kEpsilon = 1e-8;
    const std::int64_t n = call_.hidden;
    double sum = 0.0, squares = 0.0;
    for (std::int64_t j = 0; j < n; ++j) sum += line[j];
    const double mean = sum / static_cast<double>(n);
    for (std::int64_t j = 0; j < n; ++j) squares += (line[j] - mean) * (line[j] - mean);
    const double inverse = 1.0 / std::sqrt(squares / static_cast<double>(n) + kEpsilon);
    for (std::int64_t j = 0; j < n; ++j) line[j] = static_cast<float>((line[j] - mean) * inverse) * norms[j];
  }

  void project(const LstmState& s, float* y) const {
    if (call_.projection == nullptr) {
      std::copy_n(s.inner, call_.hidden, y);
      return;
    }
    const std::int64_t n = call_.outputs;
    if (call_.projection_bias != nullptr) std::copy_n(call_.projection_bias, n, y);
    else std::fill_n(y, n, 0.0f);
    if (call_.has_bytes)
      add_bytes(lstm_row_of(attrs_.form, s.inner, call_.hidden, s.bytes), call_.hidden,
                reinterpret_cast<const std::int8_t*>(call_.projection), attrs_.projection_scale, n, y);
    else add_floats(s.inner, call_.hidden, reinterpret_cast<const float*>(call_.projection), n, y);
    for (std::int64_t p = 0; p < n; ++p) y[p] = clipped(y[p], attrs_.projection_clip);
  }

  const FullLstmAttrs& attrs_;
  const FullLstmCall& call_;
};

// Bytes of the longest row, in floats.
std::int64_t floats_of_bytes(const FullLstmCall& call) {
  return (std::max({call.inputs, call.outputs, call.hidden}) + 3) / 4;
}

}  // namespace

FullLstmCall FullLstmCall::sizes_of(const Shape& x, const Shape& w, const Shape& r, DType weights) {
  return {.steps = x[0],
          .batch = x[1],
          .inputs = x[2],
          .hidden = w[1],
          .outputs = r[2],
          .gates = w[0],
          .has_bytes = weights == DType::s8};
}

void FullLstmCall::take(std::size_t input, const std::byte* data) {
  const auto* floats = reinterpret_cast<const float*>(data);
  switch (input) {
    case kFullLstmX: x = floats; break;
    case kFullLstmW: w = data; break;
    case kFullLstmR: r = data; break;
    case kFullLstmBias: bias = floats; break;
    case kFullLstmPeepholes: peepholes = floats; break;
    case kFullLstmNorms: norms = floats; break;
    case kFullLstmProjection: projection = data; break;
    case kFullLstmProjectionBias: projection_bias = floats; break;
    case kFullLstmH: h = floats; break;
    default: c = floats; break;
  }
}

// Cells, gates, what goes into a projection, the first h, and a row of bytes.
std::int64_t FullLstmCall::scratch_floats() const { return (gates + 2) * hidden + outputs + floats_of_bytes(*this); }

void run_full_lstm(const FullLstmAttrs& attrs, const FullLstmCall& call, std::int64_t sequence, float* scratch) {
  LstmState s{.c = scratch, .gates = scratch + call.hidden};
  s.inner = s.gates + call.gates * call.hidden;
  float* const first = s.inner + call.hidden;
  s.bytes = reinterpret_cast<std::int8_t*>(first + call.outputs);
  const auto fill = [&](const float* given, std::int64_t n, float* to) {
    if (given != nullptr) std::copy_n(given + sequence * n, n, to);
    else std::fill_n(to, n, 0.0f);
  };
  fill(call.c, call.hidden, s.c);
  fill(call.h, call.outputs, first);
  s.h = first;
  const Steps steps(attrs, call);
  for (std::int64_t step = 0; step < call.steps; ++step) {
    const std::int64_t t = attrs.is_backward ? call.steps - 1 - step : step;
    const std::int64_t row = t * call.batch + sequence;
    s.x = call.x + row * call.inputs;
    float* const y = call.y + row * call.outputs;
    steps.run(s, y);
    s.h = y;
  }
}

}  // namespace octavo
