// Measuring speeds, and predictions against times of reference layers. Part of analyze/.
#include "analyze/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>

#include "analyze/table.h"
#include "kernels/jit/peak.h"
#include "ops/quantized_conv/quantized_conv.h"
#include "ops/quantized_matmul/quantized_matmul.h"
#include "planner/machine_file.h"
#include "planner/select.h"
#include "planner/trial.h"
#include "run/thread_pool.h"

namespace octavo {
namespace {

using Clock = std::chrono::steady_clock;

// A convolution of a square image, padded to keep its size; or, of `heads` above 0, so many products of size x in by
// in x out.
struct ReferenceLayer {
  std::int64_t size, in, out, kernel = 1, stride = 1, groups = 1, heads = 0;

  std::string name() const {
    if (heads > 0) return fmt::format("product {}x {}x{} {}x{}", heads, size, in, in, out);
    const char* kind = groups == 1 ? "" : "depthwise ";
    return fmt::format("{}{}x{} {}x{} {}>{}{}", kind, kernel, kernel, size, size, in, out, stride == 1 ? "" : " /2");
  }
};

// What convolutional networks and encoders spend their time on; one thread takes up to some milliseconds.
constexpr ReferenceLayer kLayers[] = {
    {56, 64, 64, 3},
    {28, 128, 128, 3},
    {14, 256, 256, 3},
    {7, 512, 512, 3},
    {56, 64, 256},
    {28, 512, 128},
    {14, 256, 1024},
    {7, 2048, 512},
    {224, 3, 64, 7, 2},
    {56, 64, 128, 3, 2},
    {1, 2048, 1000},
    {1, 64, 1536},
    {112, 32, 32, 3, 1, 32},
    {56, 144, 144, 3, 2, 144},
    {14, 480, 480, 5, 1, 480},
    {128, 64, 128, 1, 1, 1, 12},
};

// A call with all that it refers to.
class ReferenceCall {
 public:
  explicit ReferenceCall(const ReferenceLayer& layer) {
    layer.heads > 0 ? make_product(layer) : make_convolution(layer);
    call_.attrs = &attrs_;
  }
  ReferenceCall(const ReferenceCall&) = delete;
  ReferenceCall& operator=(const ReferenceCall&) = delete;
  const OpCall& operator*() const { return call_; }

 private:
  void make_convolution(const ReferenceLayer& l) {
    const std::int64_t pad = l.kernel / 2, out = (l.size + 2 * pad - l.kernel) / l.stride + 1;
    attrs_ = QuantizedConvAttrs{.window = {{l.kernel, l.kernel}, {l.stride, l.stride}, {1, 1}, {pad, pad}, {pad, pad}},
                                .groups = l.groups,
                                .epilogue = requantized(DType::u8, 0, 0, 255)};
    call_.spec = &kQuantizedConv;
    add({.dtype = DType::u8, .shape = {1, l.size, l.size, l.in}});
    // Spread like those of trained networks: Winograd cuts sums that could grow too large into parts.
    Tensor weights(DType::s8, {l.out, l.kernel, l.kernel, l.in / l.groups});
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0.0f, 36.0f);
    for (std::int8_t& w : weights.span<std::int8_t>())
      w = static_cast<std::int8_t>(std::clamp(normal(random), -127.0f, 127.0f));
    add_constant(std::move(weights));
    add_constant(Tensor(DType::s32, {l.out}));
    call_.inputs.push_back(nullptr);
    Tensor multipliers(DType::f32, {l.out});
    std::ranges::fill(multipliers.span<float>(), 0.0003f);
    add_constant(std::move(multipliers));
    call_.outputs = {{.dtype = DType::u8, .shape = {1, out, out, l.out}}};
  }
  void make_product(const ReferenceLayer& l) {
    attrs_ = QuantizedMatmulAttrs{
        .a_zero_point = 128, .b_zero_point = 128, .epilogue = {{Affine{0.001f}, Round{.after = 128}}, DType::u8}};
    call_.spec = &kQuantizedMatmul;
    add({.dtype = DType::u8, .shape = {l.heads, l.size, l.in}});
    add({.dtype = DType::u8, .shape = {l.heads, l.in, l.out}});
    call_.outputs = {{.dtype = DType::u8, .shape = {l.heads, l.size, l.out}}};
  }
  void add(Fact fact) { call_.inputs.push_back(&facts_.emplace_back(std::move(fact))); }
  void add_constant(Tensor tensor) {
    const auto constant = std::make_shared<Tensor>(std::move(tensor));
    add({.dtype = constant->dtype(), .shape = constant->shape(), .constant = constant});
  }

  Attrs attrs_ = NoAttrs{};
  std::deque<Fact> facts_;
  OpCall call_;
};

double ns_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// What it takes longer when so many threads do some microseconds of work each than when one does its share: the least
// of several means. Without work the calling thread would do the parts of the others before they come. Nothing where
// that is so all the same: other programs have the cores.
std::optional<double> measure_barrier(int threads) {
  constexpr double kWorkNs = 3000.0;
  constexpr int kRuns = 40, kRepeats = 30;
  ThreadPool pool(threads);
  const AcquiredExecutor acquired(&pool);
  const PartBody work{[](const void*, int) {
                        const auto start = Clock::now();
                        while (ns_since(start) < kWorkNs) continue;
                      },
                      nullptr};
  const auto mean_ns = [&](int parts) {
    const auto start = Clock::now();
    for (int i = 0; i < kRuns; ++i) pool.run(parts, work);
    return ns_since(start) / kRuns;
  };
  double shared = HUGE_VAL, alone = HUGE_VAL;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    shared = std::min(shared, mean_ns(threads));
    alone = std::min(alone, mean_ns(1));
  }
  const double barrier = shared - alone;
  if (barrier > kWorkNs / 2.0) return std::nullopt;
  return std::max(10.0, barrier);
}

// The least of some runs, weights as they lie in a network.
Result<double> time_of(const KernelChoice& kernel, const OpCall& call, const MachineSpeeds& speeds) {
  constexpr std::int64_t kNetworkBytes = std::int64_t{16} << 20;
  Trial trial(call, 1, {.network_bytes = kNetworkBytes, .speeds = speeds});
  if (const Status prepared = trial.prepare(kernel, {}, 0.0); !prepared) return prepared.errors();
  const auto times = trial.time({.number = 1, .repeat = 12, .min_repeat_ms = 0.2});
  if (!times) return times.errors();
  return *std::min_element(times->begin(), times->end());
}

// By how much a prediction is off, either way, as a factor.
double off(double measured_ns, double predicted_ns) { return std::exp(std::abs(std::log(measured_ns / predicted_ns))); }

struct Off {
  double logarithms = 0.0, worst = 1.0;
  std::string worst_at;
  int count = 0;

  void add(const ReferenceTime& time, double predicted_ns) {
    const double factor = off(time.measured_ns, predicted_ns);
    logarithms += std::log(factor);
    ++count;
    if (factor > worst) worst = factor, worst_at = time.layer;
  }
  double mean() const { return std::exp(logarithms / std::max(count, 1)); }
};

struct OffOfKernel {
  Off by_default, calibrated;
};

// By kernel, and of all under an empty name.
std::map<std::string, OffOfKernel> off_by_kernel(const Calibration& calibration) {
  std::map<std::string, OffOfKernel> all;
  for (const ReferenceTime& time : calibration.times) {
    for (const std::string& name : {time.kernel, std::string()}) {
      all[name].by_default.add(time, time.default_ns);
      all[name].calibrated.add(time, time.calibrated_ns);
    }
  }
  return all;
}

struct Chosen {
  double by_default = 0.0, calibrated = 0.0, best = HUGE_VAL;  // ns measured of what is chosen by either, of the best
};

std::map<std::string, Chosen> chosen_by_layer(const Calibration& calibration) {
  std::map<std::string, Chosen> chosen;
  std::map<std::string, std::pair<double, double>> least;
  for (const ReferenceTime& time : calibration.times) {
    Chosen& of_layer = chosen[time.layer];
    auto& [default_ns, calibrated_ns] = least.try_emplace(time.layer, HUGE_VAL, HUGE_VAL).first->second;
    if (time.default_ns < default_ns) default_ns = time.default_ns, of_layer.by_default = time.measured_ns;
    if (time.calibrated_ns < calibrated_ns) calibrated_ns = time.calibrated_ns, of_layer.calibrated = time.measured_ns;
    of_layer.best = std::min(of_layer.best, time.measured_ns);
  }
  return chosen;
}

struct Regret {
  double mean = 1.0, worst = 1.0;  // factors
};

Regret regret_of(const std::map<std::string, Chosen>& chosen, double Chosen::*way) {
  double logarithms = 0.0, worst = 1.0;
  for (const auto& [layer, times] : chosen) {
    const double factor = times.*way / times.best;
    logarithms += std::log(factor);
    worst = std::max(worst, factor);
  }
  return {std::exp(logarithms / static_cast<double>(std::max<std::size_t>(chosen.size(), 1))), worst};
}

}  // namespace

Result<Calibration> calibrate(const std::function<void(double)>& progress) {
  Calibration calibration{.machine = host_machine(), .times = {}};
  Machine usual = calibration.machine;
  usual.speeds = kReferenceSpeeds;
  const int threads = calibration.machine.cores;
  const auto speeds = measure_speeds(usual, threads);
  if (!speeds) return speeds.errors();
  calibration.machine.speeds = *speeds;
  const auto level3_bytes = measure_level3_bytes(usual, *speeds, threads);
  if (!level3_bytes) return level3_bytes.errors();
  calibration.machine.l3_bytes = *level3_bytes;
  const auto barrier_ns = threads > 1 ? measure_barrier(threads) : std::nullopt;
  if (barrier_ns) calibration.machine.speeds.barrier_ns = *barrier_ns;
  double done = 0.0;
  for (const ReferenceLayer& layer : kLayers) {
    if (progress) progress(done++ / static_cast<double>(std::size(kLayers)));
    const ReferenceCall call(layer);
    for (const Way& way : all_ways(*call, usual, {})) {
      if (!way.schedule.empty()) continue;
      const auto ns = time_of(*way.kernel, *call, calibration.machine.speeds);
      if (!ns) return ns.errors();
      calibration.times.push_back({.layer = layer.name(),
                                   .kernel = std::string(way.kernel->code.name),
                                   .measured_ns = *ns,
                                   .default_ns = way.predicted_ns,
                                   .calibrated_ns = predicted_ns(*way.kernel, *call, calibration.machine)});
    }
  }
  return calibration;
}

std::string calibration_text(const Calibration& calibration) {
  Table speeds({"speed", "#usual", "#measured"});
  for_each_speed([&](const std::string& name, double MachineSpeeds::*speed) {
    speeds.add_row({name, fmt::format("{:.4g}", kReferenceSpeeds.*speed),
                    fmt::format("{:.4g}", calibration.machine.speeds.*speed)});
  });
  Table errors({"kernel", "#layers", "#usual", "#worst", "#measured", "#worst ", "at"});
  const auto factor = [](double value) { return fmt::format("{:.2f}", value); };
  auto by_kernel = off_by_kernel(calibration);
  const OffOfKernel all = by_kernel[""];
  by_kernel.erase("");
  const auto add_kernel = [&](const std::string& name, const OffOfKernel& kernel) {
    errors.add_row({name, std::to_string(kernel.calibrated.count), factor(kernel.by_default.mean()),
                    factor(kernel.by_default.worst), factor(kernel.calibrated.mean()), factor(kernel.calibrated.worst),
                    kernel.calibrated.worst_at});
  };
  for (const auto& [name, kernel] : by_kernel) add_kernel(name, kernel);
  add_kernel("all", all);
  const auto chosen = chosen_by_layer(calibration);
  const Regret usual = regret_of(chosen, &Chosen::by_default), measured = regret_of(chosen, &Chosen::calibrated);
  return fmt::format(
      "speeds of a core, with {} at work; {} KB L3 of {} are theirs\n{}\nmeasured over predicted times of reference "
      "layers, or the other way "
      "round; geometric mean, worst\n{}\nkernels chosen by these predictions over the fastest: {:.3f}, at worst {:.3f} "
      "with usual speeds; {:.3f}, {:.3f} with measured ones\n",
      calibration.machine.cores, calibration.machine.l3_bytes / 1024, host_machine().l3_bytes / 1024, speeds.text("  "),
      errors.text("  "), usual.mean, usual.worst, measured.mean, measured.worst);
}

nlohmann::json calibration_json(const Calibration& calibration) {
  nlohmann::json speeds, times = nlohmann::json::array();
  for_each_speed(
      [&](const std::string& name, double MachineSpeeds::*speed) { speeds[name] = calibration.machine.speeds.*speed; });
  for (const ReferenceTime& time : calibration.times) {
    times.push_back({{"layer", time.layer},
                     {"kernel", time.kernel},
                     {"measured_ns", time.measured_ns},
                     {"usual_ns", time.default_ns},
                     {"calibrated_ns", time.calibrated_ns}});
  }
  return {{"speeds", speeds}, {"reference_layers", times}};
}

}  // namespace octavo
