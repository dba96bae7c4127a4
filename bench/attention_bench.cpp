// Attention in integers, by every kernel that this machine has: us, ns per score on one thread, and GMAC/s of both
// products together.
//   attention_bench [THREADS [KERNEL [TOKENS]]]  (of kernels whose names contain KERNEL)
// Values vary, as every byte does; a mask of f32 hides no key. Minimum of runs that follow each other, warm.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "ops/quantized_attention/quantized_attention.h"
#include "planner/choice_list.h"
#include "planner/trial.h"

namespace octavo {
namespace {

struct Size {
  std::int64_t images, tokens, heads, head_size;
};
// MiniLM's layers, BERT-base's, ViT-B's.
constexpr Size kSizes[] = {{1, 16, 12, 32},  {1, 128, 12, 32}, {32, 64, 12, 32},
                           {1, 512, 12, 32}, {1, 128, 12, 64}, {1, 197, 12, 64}};

Tensor weights_table(float steps) {
  Tensor table(DType::u8, {256});
  for (int i = 0; i < 255; ++i)
    table.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(std::nearbyint(255.0 * std::exp(-i / steps)));
  table.as<std::uint8_t>()[255] = 0;
  return table;
}

class AttentionCall {
 public:
  explicit AttentionCall(const Size& s) : attrs_(attrs_of(s)) {
    const std::int64_t columns = s.heads * s.head_size;
    rows_ = {.dtype = DType::u8, .shape = {s.images, s.tokens, columns}};
    mask_ = {.dtype = DType::f32, .shape = {s.images, 1, 1, s.tokens}};
    table_ = {.dtype = DType::u8, .shape = {256}};
    table_.constant = std::make_shared<const Tensor>(weights_table(kSteps));
    call.spec = &kQuantizedAttention;
    call.attrs = &attrs_;
    call.inputs = {&rows_, &rows_, &rows_, &mask_, &table_};
    call.outputs = {rows_};
  }

  OpCall call;  // refers to this object

 private:
  static constexpr float kSteps = 40.9f;
  static QuantizedAttentionAttrs attrs_of(const Size& s) {
    return {.heads = {.heads = s.heads, .kv_heads = s.heads, .head_size = s.head_size, .value_size = s.head_size},
            .q_zero_point = 128,
            .k_zero_point = 131,
            .v_zero_point = 125,
            .multiplier = 0.0001f,
            .steps = kSteps,
            .epilogue = {{Affine{0.9f, 0.0f}, Round{.after = 120, .lowest = 0, .highest = 255}}, DType::u8}};
  }
  Attrs attrs_;
  Fact rows_, mask_, table_;
};

int bench(const Size& s, int threads, std::string_view name) {
  const AttentionCall attention(s);
  Trial trial(attention.call, threads, {.cache = TrialCache::warm});
  const double scores = static_cast<double>(s.images * s.heads * s.tokens) * static_cast<double>(s.tokens);
  for (const KernelChoice* kernel : all_choices()) {
    if (kernel->code.op != "quantized_attention" || kernel->code.name.find(name) == std::string_view::npos) continue;
    if (!host_machine().isa.has(kernel->code.needs)) continue;
    if (const auto ready = trial.prepare(*kernel, {}, kernel->cost(attention.call, host_machine())); !ready)
      return std::puts(to_string(ready.errors()).c_str()), 1;
    const auto times = trial.time({.number = 1, .repeat = 50, .min_repeat_ms = 0.2});
    if (!times) return std::puts(to_string(times.errors()).c_str()), 1;
    const double ns = *std::min_element(times->begin(), times->end());
    std::printf("%3ldx%-4ld %2ld heads of %ld  %-32s us=%.1f ns_per_score=%.3f gmacs=%.0f\n", s.images, s.tokens,
                s.heads, s.head_size, kernel->code.name.data(), ns / 1e3, ns * threads / scores,
                2 * scores * static_cast<double>(s.head_size) / ns);
  }
  return 0;
}

}  // namespace
}  // namespace octavo

int main(int count, char** words) {
  const int threads = count > 1 ? std::clamp(std::atoi(words[1]), 1, 64) : 1;
  const std::string_view kernel = count > 2 ? words[2] : "";
  const std::int64_t tokens = count > 3 ? std::atoi(words[3]) : 0;
  int failed = 0;
  for (const octavo::Size& size : octavo::kSizes) {
    if (tokens == 0 || size.tokens == tokens) failed |= octavo::bench(size, threads, kernel);
  }
  return failed;
}
