// How a network becomes 8-bit and how its kernels are chosen: words that CompileOptions takes. Part of the public API.
#ifndef OCTAVO_CHOICES_H_
#define OCTAVO_CHOICES_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace octavo {

// How the range of an activation comes from samples.
enum class CalibrationMethod : std::uint8_t {
  minmax,
  percentile,
  mse,        // the range whose 8-bit values are nearest to what was seen, in the mean of squares
  average,    // the mean of each sample's smallest and largest value; after 100 samples a moving average
  entropy,    // the range whose 8-bit values are distributed most like what was seen (Kullback-Leibler)
  automatic,  // per tensor: clipped as far as the error it saves is larger than the one it makes
};

// How weights become s8.
enum class WeightMethod : std::uint8_t {
  max,       // the largest of a channel is 127, each is rounded to the nearest
  mse,       // the scale of a channel with the least sum of squared errors
  adaround,  // that scale, and each rounded up or down so that the layer's result on the samples is nearest
};

// Which results are rounded to 8 bits on their way to the next operator.
enum class PairPlacement : std::uint8_t {
  fused,  // none between a product and the addition or clamp after it, none inside x * f(x): what Octavo computes in
          // one step
  per_operator,  // those, too, but before clamps: what runtimes that fuse less need to compute every operator in
                 // integers
};

// What is asked of an axis of an input: a number, or that it stays open between two, at multiples of a step.
struct Extent {
  std::int64_t lowest = 1;
  std::int64_t highest = 1;
  std::int64_t step = 1;

  Extent() = default;
  Extent(std::int64_t number) : lowest(number), highest(number) {}
  Extent(std::int64_t least, std::int64_t most, std::int64_t multiple = 1)
      : lowest(least), highest(most), step(multiple) {}
  bool is_number() const { return lowest == highest; }
  bool operator==(const Extent&) const = default;
};

// Which source's formulas a quantized operator follows. docs/numerics.md holds the table. The numbers are part of the
// artifact format; never renumber.
enum class Profile : std::uint8_t {
  onnx = 0,            // what ONNX Runtime computes by default
  tflite_xnnpack = 1,  // what LiteRT computes by default
  tflite_double = 2,   // TFLite's reference kernels
  tflite_single = 3,   // Q31 multiplier, one rounding
  pt2e = 4,            // multiplies by 1/scale
  // Of single operators of TFLite files, which no whole file is asked to have.
  tflite_optimized = 5,  // Q31 multiplier, two roundings, halves up: some of LiteRT's optimised kernels
  tflite_real = 6,       // one factor in f64: FULLY_CONNECTED of TFLite's reference kernels
  tflite_joined = 7,     // CONCATENATION of values that have another scale, in f32
  tflite_wide = 8,       // sums of 64 bits, a multiplier of 15 bits, one rounding: convolutions of s16
};
constexpr int count_of(Profile) { return 9; }
constexpr std::string_view name_of(Profile profile) {
  constexpr std::string_view names[] = {"onnx",          "tflite-xnnpack", "tflite-double",
                                        "tflite-single", "pt2e",           "tflite-optimized",
                                        "tflite-real",   "tflite-joined",  "tflite-wide"};
  return names[static_cast<int>(profile)];
}

// Whether a whole file can be asked to follow it.
constexpr bool is_of_whole_files(Profile profile) { return profile <= Profile::pt2e; }

// The profile of whole files of a name; nothing where there is none.
constexpr std::optional<Profile> profile_named(std::string_view name) {
  for (int i = 0; i < count_of(Profile{}) && is_of_whole_files(static_cast<Profile>(i)); ++i) {
    if (name_of(static_cast<Profile>(i)) == name) return static_cast<Profile>(i);
  }
  return std::nullopt;
}

// All of a batch through one step after the other, or image by image as far as the operators allow, or whichever is
// predicted to be faster.
enum class BatchOrder : std::uint8_t { automatic, steps, images };
constexpr int count_of(BatchOrder) { return 3; }
constexpr std::string_view name_of(BatchOrder order) {
  constexpr std::string_view names[] = {"automatic", "steps", "images"};
  return names[static_cast<int>(order)];
}

// What is measured on this machine where a log has no time of a call, to overrule the cost model's predictions. The
// bits of the answers do not depend on it.
enum class TuningMode : std::uint8_t {
  off,    // nothing
  quick,  // the kernels that are predicted to be nearly the fastest (seconds)
  full,   // all that can take the call (minutes)
};

}  // namespace octavo

#endif  // OCTAVO_CHOICES_H_
