// A layer with random data, prepared for one kernel. Its weights rotate through copies that together exceed L2, as in a
// whole network; the input stays where the last layer would have left it.
#ifndef OCTAVO_BENCH_PREPARED_LAYER_H_
#define OCTAVO_BENCH_PREPARED_LAYER_H_

#include <algorithm>
#include <ctime>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/choice.h"
#include "layers.h"
#include "ops/quantized_conv/quantized_conv.h"
#include "run/thread_pool.h"

namespace octavo {

// Of this thread's own running: what others take of a shared machine does not count.
inline double thread_us() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

class Prepared {
 public:
  // No threads: only asks whether the kernel takes the layer.
  Prepared(const Layer& l, const KernelChoice& kernel, int threads) : attrs_(attrs_of(l)), kernel_(kernel) {
    std::mt19937 random(1);
    const std::int64_t out = (l.size + 2 * (l.kernel / 2) - l.kernel) / l.stride + 1;
    x_ = filled(random, DType::u8, {1, l.size, l.size, l.in});
    y_ = Tensor(DType::u8, {1, out, out, l.out});
    residual_ = filled(random, DType::u8, y_.shape());
    macs = out * out * l.out * l.kernel * l.kernel * (l.in / l.groups);
    Tensor multiplier(DType::f32, {l.out});
    for (float& m : multiplier.span<float>()) m = 0.0003f;
    facts_ = {{.dtype = DType::u8, .shape = x_.shape()},
              constant(threads == 0 ? Tensor(DType::s8, weight_shape(l)) : weights(random, l)),
              constant(Tensor(DType::s32, {l.out})),
              constant(multiplier),
              {.dtype = DType::u8, .shape = y_.shape()},
              constant(filled(random, DType::u8, {256}))};
    call = {.attrs = &attrs_, .outputs = {{.dtype = DType::u8, .shape = y_.shape()}}};
    call.inputs = {&facts_[0], &facts_[1], &facts_[2], nullptr, &facts_[3]};
    if (l.has_residual) call.inputs.push_back(&facts_[4]);
    if (l.has_table) call.inputs.push_back(&facts_[5]);
    reason = kernel.refusal(call);
    shares_work = std::string_view(kernel.code.name).starts_with("winograd");
    if (!reason.empty() || threads == 0) return;
    predicted_us = predicted_ns(kernel, call, host_machine()) / 1000.0;
    packed_.push_back(kernel.pack(call));
    constexpr std::size_t kColdBytes = 4 << 20;
    const std::size_t copies = std::clamp<std::size_t>(kColdBytes / packed_[0][0].bytes(), 1, 64);
    for (std::size_t i = 1; i < copies; ++i) {
      packed_.push_back(packed_[0]);
      packed_.back()[0] = Tensor::copy_of(packed_[0][0].view());
    }
    threads_ = threads;
    prepare({});
  }

  // Again, in another way.
  void prepare(std::span<const std::byte> schedule) {
    steps_.clear();
    scratch_.clear();
    next_ = 0;
    for (const auto& packed : packed_) prepare(packed, schedule);
  }

  void run(Executor& pool) {
    const Step& step = *steps_[next_++ % steps_.size()];
    const auto parts = static_cast<int>(std::min<std::int64_t>(pool.threads(), step.items()));
    const auto body = [&](int part) { run_part(step, part, parts, scratch_[static_cast<std::size_t>(part)]); };
    const auto run_it = [](const void* context, int part) { (*static_cast<const decltype(body)*>(context))(part); };
    pool.run(parts, {run_it, &body});
  }

  // All slices one after another; keeps the best time of each.
  void run_slices(std::vector<double>& best_us) {
    const Step& step = *steps_[next_++ % steps_.size()];
    const auto slices = shares_work ? 1
                                    : static_cast<int>(std::clamp<std::int64_t>(
                                          static_cast<std::int64_t>(predicted_us / 500.0), 1, step.items()));
    best_us.resize(static_cast<std::size_t>(slices), 1e30);
    for (int i = 0; i < slices; ++i) {
      const double start = thread_us();
      run_part(step, i, slices, scratch_[0]);
      double& best = best_us[static_cast<std::size_t>(i)];
      best = std::min(best, thread_us() - start);
    }
  }

  std::int64_t macs = 0;
  double predicted_us = 0.0;
  bool shares_work = false;  // slices would each transform all weights again
  std::string reason;
  OpCall call;  // refers to this object

 private:
  void run_part(const Step& step, int part, int parts, Tensor& scratch) {
    const std::byte* inputs[] = {x_.data(), nullptr, nullptr, nullptr, nullptr, residual_.data(), nullptr};
    std::byte* outputs[] = {y_.data()};
    step.run({inputs, outputs, scratch.data()}, {step.items() * part / parts, step.items() * (part + 1) / parts});
  }
  static QuantizedConvAttrs attrs_of(const Layer& l) {
    const std::int64_t pad = l.kernel / 2;
    QuantizedConvAttrs attrs{.window = {{l.kernel, l.kernel}, {l.stride, l.stride}, {1, 1}, {pad, pad}, {pad, pad}},
                             .groups = l.groups,
                             .x_zero_point = l.has_table ? 3 : 0};
    attrs.epilogue = requantized(DType::u8, l.has_table ? 40 : 0, 0, 255);
    if (l.has_residual) attrs.epilogue.stages.front() = ScaleAndAdd{0.7f, 2};
    if (l.has_table) attrs.epilogue.stages.emplace_back(Lookup{});
    return attrs;
  }
  static Tensor filled(std::mt19937& random, DType dtype, Shape shape) {
    Tensor tensor(dtype, std::move(shape));
    for (std::uint8_t& v : tensor.span<std::uint8_t>()) v = static_cast<std::uint8_t>(random());
    return tensor;
  }
  static Shape weight_shape(const Layer& l) { return {l.out, l.kernel, l.kernel, l.in / l.groups}; }
  // Spread like those of trained networks: a channel's largest weight is 127.
  static Tensor weights(std::mt19937& random, const Layer& l) {
    Tensor tensor(DType::s8, weight_shape(l));
    std::normal_distribution<float> normal(0.0f, 36.0f);
    for (std::int8_t& w : tensor.span<std::int8_t>()) {
      const float value = normal(random);
      w = l.has_extreme_weights ? 127 : static_cast<std::int8_t>(std::clamp(value, -127.0f, 127.0f));
    }
    return tensor;
  }
  static Fact constant(const Tensor& t) {
    return {.dtype = t.dtype(), .shape = t.shape(), .quant = {}, .constant = std::make_shared<Tensor>(t)};
  }
  void prepare(const std::vector<Tensor>& packed, std::span<const std::byte> schedule) {
    StepSpec spec{.attrs = &attrs_, .schedule = schedule, .threads = threads_};
    for (const Fact* fact : call.inputs) {
      spec.inputs.push_back(fact ? StepOperand{true, fact->dtype, fact->shape, nullptr}
                                 : StepOperand{.is_present = false});
    }
    spec.outputs.push_back({true, DType::u8, y_.shape(), nullptr});
    for (const Tensor& tensor : packed) spec.packed.push_back(tensor.view());
    auto step = kernel_.code.prepare(spec);
    if (!step) {
      reason = to_string(step.errors());
      return;
    }
    if (scratch_.empty()) {
      for (int t = 0; t < threads_; ++t)
        scratch_.emplace_back(DType::u8, Shape{static_cast<std::int64_t>((*step)->scratch_bytes())});
    }
    steps_.push_back(std::move(*step));
  }

  Attrs attrs_;
  KernelChoice kernel_;
  int threads_ = 1;
  std::vector<Fact> facts_;
  Tensor x_, y_, residual_;
  std::vector<std::vector<Tensor>> packed_;
  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<Tensor> scratch_;
  std::size_t next_ = 0;
};

}  // namespace octavo

#endif  // OCTAVO_BENCH_PREPARED_LAYER_H_
