// Epilogue: what happens to an exact sum until it is stored, as stages in order of execution. Part of ops/.
//
// An operator computes an exact s32 sum per element of its result (an element-wise one reads a stored value) and its
// epilogue does the rest. A value on its way is
//   a sum     an exact s32 integer
//   a wide sum, of 64 bits
//   a real    f32, or f64 after DoubleScale
//   stored    an integer of the type `to`: u8, s8 or s16 (or, before the first stage, of another one)
// and each stage says what it takes and gives. The scale is a stage like the others, so that an operator may have one,
// none, or several (a product after a convolution), and whatever a later operator needs (a scale per row, a division by
// a row's sum, a mask before a softmax) is one more stage. Bounds are always in stored units: values that stand in the
// result, zero point and relabelling included.
//
// Operands of stages are inputs of the operator, after its own ones, in the order of the stages; none is left out.
#ifndef OCTAVO_OPS_EPILOGUE_H_
#define OCTAVO_OPS_EPILOGUE_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "base/fixed_point.h"
#include "base/requantize.h"
#include "base/run_form.h"
#include "graph/op.h"

namespace octavo {

enum class StageOperand : std::uint8_t {
  channel_f32,  // [C] of the result's last axis, or [1]
  channel_s32,
  channel_f64,
  row_f32,        // one, or as many as divide the result's rows (its elements over C), in any shape
  stored,         // u8 or s8, broadcast to the result
  table,          // u8 or s8 [256]
  stored_or_s16,  // u8, s8 or s16, broadcast to the result
  sum,            // s32, of the result's shape
};

// ---- stages; their order in Stage is part of the artifact format ----

// sum -> real: f32(x) + rest, what a bias is more than whole units of the sum.
struct AddRest {
  static constexpr std::string_view kName = "add_rest";
  static constexpr std::array kOperands{StageOperand::channel_f32};
  bool operator==(const AddRest&) const = default;
  static constexpr auto fields() { return std::tuple(); }
};

// sum or real -> real: f32(x) * multiplier.
struct Scale {
  static constexpr std::string_view kName = "scale";
  static constexpr std::array kOperands{StageOperand::channel_f32};
  bool operator==(const Scale&) const = default;
  static constexpr auto fields() { return std::tuple(); }
};

// sum or real -> real: fma(f32(x), multiplier, f32(other - zero_point) * ratio), ratio = other's scale / y_scale.
// Octavo's own form, used where no rounding stands before an addition.
struct ScaleAndAdd {
  static constexpr std::string_view kName = "scale_and_add";
  static constexpr std::array kOperands{StageOperand::channel_f32, StageOperand::stored_or_s16};
  float ratio = 0.0f;
  std::int32_t zero_point = 0;
  bool operator==(const ScaleAndAdd&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"ratio", &ScaleAndAdd::ratio}, Field{"zero_point", &ScaleAndAdd::zero_point});
  }
};

// sum -> real: RunForm with x_scale known in the run, w_scale and bias (0 where there is none) per channel.
struct ScaleInRun {
  static constexpr std::string_view kName = "scale_in_run";
  static constexpr std::array kOperands{StageOperand::row_f32, StageOperand::channel_f32, StageOperand::channel_f32};
  RunForm form = RunForm::onnx;
  float apply(std::int32_t acc, float x_scale, float w_scale, float bias) const {
    return scaled_in_run(form, acc, x_scale, w_scale, bias);
  }
  bool operator==(const ScaleInRun&) const = default;
  static constexpr auto fields() { return std::tuple(Field{"form", &ScaleInRun::form}); }
};

// sum or wide sum, of which the lowest 32 bits count -> sum: FixedMultiplier{multiplier, shift}.apply of tflite-double,
// tflite-optimized or tflite-single; shifts are clamped to what a FixedMultiplier has, since they may come from a run.
struct FixedScale {
  static constexpr std::string_view kName = "fixed_scale";
  static constexpr std::array kOperands{StageOperand::channel_s32, StageOperand::channel_s32};
  Profile profile = Profile::tflite_double;
  bool operator==(const FixedScale&) const = default;
  static constexpr auto fields() { return std::tuple(Field{"profile", &FixedScale::profile}); }
};

// sum or wide sum -> real: f64(x) * multiplier; the rounding that follows takes halves away from 0: FULLY_CONNECTED of
// LiteRT 2.3's reference kernels.
struct DoubleScale {
  static constexpr std::string_view kName = "double_scale";
  static constexpr std::array kOperands{StageOperand::channel_f64};
  bool operator==(const DoubleScale&) const = default;
  static constexpr auto fields() { return std::tuple(); }
};

// sum or real -> real: f32(x) * multiplier + offset, one pair for all channels. With a multiplier of x_scale / y_scale
// (divided by a count) and zero points in the offset these are means and sums of XNNPACK (StoredSumForm); a
// product of two activations has no offset, one of two stored values that of QLinearMul: y's zero point.
struct Affine {
  static constexpr std::string_view kName = "affine";
  static constexpr std::array<StageOperand, 0> kOperands{};
  float multiplier = 1.0f;
  float offset = 0.0f;
  float apply(float value) const { return value * multiplier + offset; }
  bool operator==(const Affine&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"multiplier", &Affine::multiplier}, Field{"offset", &Affine::offset});
  }
};

// real -> real: x / divisor.
struct Divide {
  static constexpr std::string_view kName = "divide";
  static constexpr std::array<StageOperand, 0> kOperands{};
  float divisor = 1.0f;
  bool operator==(const Divide&) const = default;
  static constexpr auto fields() { return std::tuple(Field{"divisor", &Divide::divisor}); }
};

// sum or real -> stored: clamp(rne(x + before) + after, lowest, highest); a sum is rounded already. `before` is a zero
// point that its profile adds before rounding, `after` one that comes after it (and the 128 of relabelled values).
// The clamp comes before the rounding, so that no conversion to an integer can overflow; the result is the same, and
// that of NaN is the lowest value.
struct Round {
  static constexpr std::string_view kName = "round";
  static constexpr std::array<StageOperand, 0> kOperands{};
  std::int32_t before = 0;
  std::int32_t after = 0;
  std::int32_t lowest = 0;
  std::int32_t highest = 255;
  // The bounds before `after` comes to it.
  float lowest_real() const { return static_cast<float>(lowest - after); }
  float highest_real() const { return static_cast<float>(highest - after); }
  bool operator==(const Round&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"before", &Round::before}, Field{"after", &Round::after}, Field{"lowest", &Round::lowest},
                      Field{"highest", &Round::highest});
  }
};

// Which operand of an addition the value on its way is; the order matters for ties.
enum class Side : std::uint8_t { first = 0, second = 1 };
constexpr int count_of(Side) { return 2; }
constexpr std::string_view name_of(Side side) { return side == Side::first ? "first" : "second"; }

// stored -> real: AddForm of the value and the other operand: fma(a', a_ratio, fma(b', b_ratio, fixed)), where a' and
// b' are what is stored less what `value_shift` and `other_shift` say was added to it.
struct AddReal {
  static constexpr std::string_view kName = "add_real";
  static constexpr std::array kOperands{StageOperand::stored};
  Side side = Side::first;  // of the value
  float a_ratio = 1.0f, b_ratio = 1.0f, fixed = 0.0f;
  std::int32_t value_shift = 0, other_shift = 0;
  float apply(std::int32_t value, std::int32_t other) const {
    const auto x = static_cast<float>(value - value_shift), r = static_cast<float>(other - other_shift);
    const float a = side == Side::first ? x : r, b = side == Side::first ? r : x;
    return std::fma(a, a_ratio, std::fma(b, b_ratio, fixed));
  }
  bool operator==(const AddReal&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"side", &AddReal::side}, Field{"a_ratio", &AddReal::a_ratio},
                      Field{"b_ratio", &AddReal::b_ratio}, Field{"fixed", &AddReal::fixed},
                      Field{"value_shift", &AddReal::value_shift}, Field{"other_shift", &AddReal::other_shift});
  }
};

// stored -> sum: (value - value_zero_point) * (other - other_zero_point).
struct Multiply {
  static constexpr std::string_view kName = "multiply";
  static constexpr std::array kOperands{StageOperand::stored};
  std::int32_t value_zero_point = 0, other_zero_point = 0;
  std::int32_t apply(std::int32_t value, std::int32_t other) const {
    return (value - value_zero_point) * (other - other_zero_point);
  }
  bool operator==(const Multiply&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"value_zero_point", &Multiply::value_zero_point},
                      Field{"other_zero_point", &Multiply::other_zero_point});
  }
};

// stored -> sum: FixedBinaryForm of the value (a) and the other operand (b), both without their zero points; s16 values
// with each other alone.
struct FixedBinary {
  static constexpr std::string_view kName = "fixed_binary";
  static constexpr std::array kOperands{StageOperand::stored_or_s16};
  FixedBinaryForm form;
  Profile profile = Profile::tflite_double;
  std::int32_t value_zero_point = 0, other_zero_point = 0;
  std::int32_t apply(std::int32_t value, std::int32_t other) const {
    return form.apply(profile, value - value_zero_point, other - other_zero_point);
  }
  bool operator==(const FixedBinary&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"form", &FixedBinary::form}, Field{"profile", &FixedBinary::profile},
                      Field{"value_zero_point", &FixedBinary::value_zero_point},
                      Field{"other_zero_point", &FixedBinary::other_zero_point});
  }
};

// stored -> stored: IntegerAddForm; the value is a, the other operand b.
struct AddInteger {
  static constexpr std::string_view kName = "add_integer";
  static constexpr std::array kOperands{StageOperand::stored};
  IntegerAddForm form;
  std::int32_t lowest = 0;
  std::int32_t highest = 255;
  bool operator==(const AddInteger&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"form", &AddInteger::form}, Field{"lowest", &AddInteger::lowest},
                      Field{"highest", &AddInteger::highest});
  }
};

// real -> real: NaN stays what it is.
struct ClampReal {
  static constexpr std::string_view kName = "clamp";
  static constexpr std::array<StageOperand, 0> kOperands{};
  float lowest = -std::numeric_limits<float>::infinity();
  float highest = std::numeric_limits<float>::infinity();
  float apply(float value) const {
    const float raised = value < lowest ? lowest : value;
    return raised > highest ? highest : raised;
  }
  bool operator==(const ClampReal&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"lowest", &ClampReal::lowest}, Field{"highest", &ClampReal::highest});
  }
};

// stored -> the table's type, last: table[the value as an unsigned byte].
struct Lookup {
  static constexpr std::string_view kName = "lookup";
  static constexpr std::array kOperands{StageOperand::table};
  bool operator==(const Lookup&) const = default;
  static constexpr auto fields() { return std::tuple(); }
};

// real -> real: fma(x, factor, shift), both per channel: what a normalisation ends in.
struct ScaleAndShift {
  static constexpr std::string_view kName = "scale_and_shift";
  static constexpr std::array kOperands{StageOperand::channel_f32, StageOperand::channel_f32};
  bool operator==(const ScaleAndShift&) const = default;
  static constexpr auto fields() { return std::tuple(); }
};

// real -> real: fma(f32(other - zero_point), ratio, x), ratio = other's scale / y_scale: a residual behind ScaleInRun.
struct AddScaled {
  static constexpr std::string_view kName = "add_scaled";
  static constexpr std::array kOperands{StageOperand::stored_or_s16};
  float ratio = 0.0f;
  std::int32_t zero_point = 0;
  bool operator==(const AddScaled&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"ratio", &AddScaled::ratio}, Field{"zero_point", &AddScaled::zero_point});
  }
};

// sum -> wide sum: 256 * x + other. The sums of the upper and the lower byte of s16 values (ops/s16_byte) become those
// of the values.
struct JoinBytes {
  static constexpr std::string_view kName = "join_bytes";
  static constexpr std::array kOperands{StageOperand::sum};
  bool operator==(const JoinBytes&) const = default;
  static constexpr auto fields() { return std::tuple(); }
};

// wide sum -> sum: WideMultiplier{multiplier, shift}.apply; shifts are clamped to what it has, since they may come from
// a run.
struct WideScale {
  static constexpr std::string_view kName = "wide_scale";
  static constexpr std::array kOperands{StageOperand::channel_s32, StageOperand::channel_s32};
  bool operator==(const WideScale&) const = default;
  static constexpr auto fields() { return std::tuple(); }
};

using Stage =
    std::variant<AddRest, Scale, ScaleAndAdd, ScaleInRun, FixedScale, DoubleScale, Affine, Divide, Round, AddReal,
                 Multiply, FixedBinary, AddInteger, ClampReal, Lookup, ScaleAndShift, AddScaled, JoinBytes, WideScale>;

template <>
void encode(const Stage& stage, Bytes& out);
template <>
bool decode(ByteReader& in, Stage& stage);
template <>
std::string print(const Stage& stage);

// ---- the whole ----

// What an operator hands to its epilogue.
enum class EpilogueInput { sum, real, stored };

struct Epilogue {
  std::vector<Stage> stages;  // none: the sum itself
  DType to = DType::u8;       // s32 for a sum, f32 for a real, u8, s8 (before a table too) or s16 for stored values

  // The first stage of this kind, or nullptr.
  template <class T>
  const T* find() const {
    for (const Stage& stage : stages) {
      if (const T* found = std::get_if<T>(&stage)) return found;
    }
    return nullptr;
  }
  // Of all stages, in the order of the operator's inputs.
  std::vector<StageOperand> operands() const;
  // Where the operands of the first stage of this kind begin among those of all; -1 where there is none.
  template <class T>
  int operand_of() const {
    int at = 0;
    for (const Stage& stage : stages) {
      if (std::holds_alternative<T>(stage)) return at;
      at += std::visit([](const auto& s) { return static_cast<int>(s.kOperands.size()); }, stage);
    }
    return -1;
  }

  // This one, then the stages of `next`, which takes what this one stores.
  Epilogue appended(const Epilogue& next) const;
  // Whether `clamped` can cut the result: it is stored, and no table follows.
  bool has_bounds() const;
  // With its results cut to [lowest, highest], in stored units.
  Epilogue clamped(std::int32_t lowest, std::int32_t highest) const;
  // The same results, s8 ones stored as u8 with 128 added, of values of `input` and stored operands that have been
  // relabelled likewise where is_relabelled says so (one entry per operand; those of others are not looked at). Tables
  // are the caller's to rearrange.
  Epilogue relabelled(bool input_is_relabelled, const std::vector<bool>& is_relabelled) const;

  bool operator==(const Epilogue&) const = default;
  static constexpr auto fields() { return std::tuple(Field{"stages", &Epilogue::stages}, Field{"to", &Epilogue::to}); }
};

// Which stages there are, and what of them shapes the code.
template <>
std::string print_structure(const Epilogue& epilogue);

// OpSpec::epilogue of operators with an attribute `epilogue`.
template <class EpilogueAttrs, std::size_t operands>
inline constexpr EpilogueTrait kEndsInEpilogue{
    [](const Attrs& attrs) -> const Epilogue& { return attrs.as<EpilogueAttrs>().epilogue; },
    [](const Attrs& attrs, const Epilogue& epilogue) -> Attrs {
      auto changed = attrs.as<EpilogueAttrs>();
      changed.epilogue = epilogue;
      return changed;
    },
    operands};

// The type of the result, or what does not fit: the order of stages, their numbers, their operands (facts from the
// first one on) with a result of shape y.
Result<DType> infer_epilogue(const Epilogue& epilogue, EpilogueInput input, InputFacts operands, const OpenShape& y);

// The operator's operands from its `first` on; none where it has fewer.
template <class Item>
std::span<Item> operands_from(std::span<Item> inputs, std::size_t first) {
  return inputs.subspan(std::min(first, inputs.size()));
}

// The meaning, element by element. Built of what infer_epilogue accepted; views live as long as it.
class EpilogueReference {
 public:
  EpilogueReference(const Epilogue& epilogue, InputViews operands, const TensorView& y);
  // What becomes of the sum (or stored value) of an element of y, in y.
  void store(std::int64_t element, std::int32_t value) const;
  // Of the real that the operator hands over.
  void store_real(std::int64_t element, float value) const;

 private:
  struct OnItsWay;
  void finish(std::int64_t element, OnItsWay x) const;
  std::int64_t index_of(std::size_t operand, StageOperand kind, std::int64_t element) const;

  const Epilogue& epilogue_;
  InputViews operands_;
  TensorView y_;
  std::vector<std::vector<std::int64_t>> strides_;  // per operand, where one has another shape than y; else none
  std::int64_t channels_ = 1;
};

}  // namespace octavo

#endif  // OCTAVO_OPS_EPILOGUE_H_
