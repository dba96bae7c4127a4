// Epilogue: encoding, checks, rewrites and the reference. Part of ops/.
#include "ops/epilogue.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "ops/check.h"
#include "ops/integers.h"
#include "ops/movement.h"
#include "ops/traits.h"

namespace octavo {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

std::string_view kind_of(const Stage& stage) {
  return std::visit([](const auto& s) { return s.kName; }, stage);
}

template <std::size_t... I>
bool decode_kind(ByteReader& in, std::size_t kind, Stage& stage, std::index_sequence<I...>) {
  return ((I == kind && decode(in, stage.emplace<I>())) || ...);
}

}  // namespace

// ---- encoding ----

template <>
void encode(const Stage& stage, Bytes& out) {
  out.push_back(static_cast<std::byte>(stage.index()));
  std::visit([&](const auto& s) { encode(s, out); }, stage);
}

template <>
bool decode(ByteReader& in, Stage& stage) {
  unsigned char kind = 0;
  if (!in.take(&kind, 1) || kind >= std::variant_size_v<Stage>) return in.ok = false;
  return decode_kind(in, kind, stage, std::make_index_sequence<std::variant_size_v<Stage>>());
}

template <>
std::string print(const Stage& stage) {
  const std::string fields = std::visit([](const auto& s) { return print(s); }, stage);
  return std::string(kind_of(stage)) + (fields == "{}" ? "" : fields);
}

template <>
std::string print_structure(const Epilogue& epilogue) {
  std::string text;
  for (const Stage& stage : epilogue.stages) {
    const std::string inner = std::visit([](const auto& s) { return print_structure(s); }, stage);
    text += std::string(kind_of(stage)) + (inner.empty() ? "" : "(" + inner + ")") + " ";
  }
  return text + "to=" + std::string(name_of(epilogue.to));
}

// ---- rewrites ----

std::vector<StageOperand> Epilogue::operands() const {
  std::vector<StageOperand> all;
  for (const Stage& stage : stages)
    std::visit([&](const auto& s) { all.insert(all.end(), s.kOperands.begin(), s.kOperands.end()); }, stage);
  return all;
}

Epilogue Epilogue::appended(const Epilogue& next) const {
  Epilogue joined = *this;
  joined.stages.insert(joined.stages.end(), next.stages.begin(), next.stages.end());
  joined.to = next.to;
  return joined;
}

bool Epilogue::has_bounds() const {
  return !stages.empty() &&
         (std::holds_alternative<Round>(stages.back()) || std::holds_alternative<AddInteger>(stages.back()));
}

Epilogue Epilogue::clamped(std::int32_t lowest, std::int32_t highest) const {
  Epilogue cut = *this;
  const auto clamp = [&](auto& stage) {
    stage.lowest = std::clamp(stage.lowest, lowest, highest);
    stage.highest = std::clamp(stage.highest, lowest, highest);
  };
  if (auto* round = std::get_if<Round>(&cut.stages.back())) clamp(*round);
  else clamp(std::get<AddInteger>(cut.stages.back()));
  return cut;
}

Epilogue Epilogue::relabelled(bool input_is_relabelled, const std::vector<bool>& is_relabelled) const {
  Epilogue changed = *this;
  const bool is_signed = to == DType::s8;
  if (is_signed) changed.to = DType::u8;
  std::int32_t value = input_is_relabelled ? kSignShift : 0;  // added to what the next stage takes
  std::size_t operand = 0;
  const auto stored = [&](auto& stage) {
    value = is_signed ? kSignShift : 0;
    stage.lowest += value;
    stage.highest += value;
  };
  for (Stage& stage : changed.stages) {
    const auto other = [&](std::size_t i) { return is_relabelled[operand + i] ? kSignShift : 0; };
    std::visit(
        Overloaded{[&](ScaleAndAdd& s) { s.zero_point += other(1); }, [&](AddScaled& s) { s.zero_point += other(0); },
                   [&](Round& s) {
                     stored(s);
                     s.after += value;
                   },
                   [&](AddReal& s) {
                     s.value_shift += value;
                     s.other_shift += other(0);
                   },
                   [&](Multiply& s) {
                     s.value_zero_point += value;
                     s.other_zero_point += other(0);
                   },
                   [&](FixedBinary& s) {
                     s.value_zero_point += value;
                     s.other_zero_point += other(0);
                   },
                   [&](AddInteger& s) {
                     s.form = s.form.with_shifted(value, other(0));
                     stored(s);
                     s.form.zero_point += value;
                   },
                   [](auto&) {}},
        stage);
    operand += std::visit([](const auto& s) { return s.kOperands.size(); }, stage);
  }
  return changed;
}

// ---- checks ----

namespace {

enum class Domain { sum, wide, real, real64, stored };

std::string_view name_of(Domain domain) {
  constexpr std::string_view names[] = {"an s32 sum", "an s64 sum", "an f32", "an f64", "a stored value"};
  return names[static_cast<int>(domain)];
}

bool is_one_of(Domain domain, std::initializer_list<Domain> allowed) {
  return std::find(allowed.begin(), allowed.end(), domain) != allowed.end();
}

// What a stage gives for what it takes; nothing where it does not take that.
std::optional<Domain> result_of(const Stage& stage, Domain from) {
  const auto when = [&](std::initializer_list<Domain> takes, Domain gives) {
    return is_one_of(from, takes) ? std::optional(gives) : std::nullopt;
  };
  using enum Domain;
  return std::visit(
      Overloaded{
          [&](const AddRest&) { return when({sum}, real); },
          [&](const Scale&) {
            return when({sum, real}, real);
          },
          [&](const ScaleAndAdd&) {
            return when({sum, real}, real);
          },
          [&](const ScaleInRun&) { return when({sum}, real); },
          [&](const FixedScale&) {
            return when({sum, wide}, sum);
          },
          [&](const DoubleScale&) {
            return when({sum, wide}, real64);
          },
          [&](const Affine&) {
            return when({sum, real}, real);
          },
          [&](const Divide&) { return when({real}, real); },
          [&](const Round&) {
            return when({sum, real, real64}, stored);
          },
          [&](const AddReal&) { return when({stored}, real); }, [&](const Multiply&) { return when({stored}, sum); },
          [&](const FixedBinary&) { return when({stored}, sum); },
          [&](const AddInteger&) { return when({stored}, stored); },
          [&](const ClampReal&) { return when({real}, real); }, [&](const Lookup&) { return when({stored}, stored); },
          [&](const ScaleAndShift&) { return when({real}, real); },
          [&](const AddScaled&) { return when({real}, real); }, [&](const JoinBytes&) { return when({sum}, wide); },
          [&](const WideScale&) { return when({wide}, sum); }},
      stage);
}

Problem check_bounds(DType to, std::int32_t lowest, std::int32_t highest) {
  if (!is_8bit(to) && to != DType::s16) return shape_error("to", std::string(name_of(to)), "u8, s8 or s16");
  const IntegerRange range = range_of(to);
  return first_of({check_range("lowest", lowest, range.lowest, range.highest),
                   check_range("highest", highest, lowest, range.highest)});
}

Problem check_8bit(DType to) {
  if (is_8bit(to)) return std::nullopt;
  return shape_error("to", std::string(name_of(to)), "u8 or s8");
}

Problem check_shift(std::string_view what, std::int32_t value) { return check_range(what, value, -255, 255); }

Problem check_epilogue_zero_points(std::int32_t value, std::int32_t other) {
  return first_of({check_shift("value_zero_point", value), check_shift("other_zero_point", other)});
}

Problem check_fixed_form(const FixedBinaryForm& form) {
  if (form.is_valid()) return std::nullopt;
  return shape_error("form", print(form), "multipliers from 0 on and shifts from -31 to 30");
}

Problem check_fields(const Stage& stage, DType to) {
  return std::visit(
      Overloaded{[&](const ScaleAndAdd& s) {
                   return first_of({check_finite("ratio", s.ratio), check_shift("zero_point", s.zero_point)});
                 },
                 [&](const AddScaled& s) {
                   return first_of({check_finite("ratio", s.ratio), check_shift("zero_point", s.zero_point)});
                 },
                 [&](const FixedScale& s) {
                   return s.profile == Profile::tflite_optimized ? Problem() : check_fixed_profile(s.profile);
                 },
                 [&](const Affine& s) {
                   return first_of({check_finite("multiplier", s.multiplier), check_finite("offset", s.offset)});
                 },
                 [&](const Divide& s) { return check_scale("divisor", s.divisor); },
                 [&](const Round& s) {
                   if (auto problem = check_bounds(to, s.lowest, s.highest)) return problem;
                   const IntegerRange range = range_of(to);
                   return first_of(
                       {check_shift("before", s.before), check_range("after", s.after, range.lowest, range.highest)});
                 },
                 [&](const AddReal& s) {
                   return first_of({check_finite("a_ratio", s.a_ratio), check_finite("b_ratio", s.b_ratio),
                                    check_finite("fixed", s.fixed), check_shift("value_shift", s.value_shift),
                                    check_shift("other_shift", s.other_shift)});
                 },
                 [&](const Multiply& s) { return check_epilogue_zero_points(s.value_zero_point, s.other_zero_point); },
                 [&](const FixedBinary& s) {
                   return first_of({check_fixed_profile(s.profile), check_fixed_form(s.form),
                                    check_epilogue_zero_points(s.value_zero_point, s.other_zero_point)});
                 },
                 [&](const AddInteger& s) {
                   return first_of({check_8bit(to), check_bounds(to, s.lowest, s.highest), check_integer_add(s.form)});
                 },
                 [&](const ClampReal& s) {
                   if (s.lowest <= s.highest) return Problem();
                   return Problem(shape_error("lowest", std::to_string(s.lowest), "at most the highest"));
                 },
                 [&](const Lookup&) { return check_8bit(to); }, [](const auto&) { return Problem(); }},
      stage);
}

Dim channels_of(const OpenShape& y) { return y.rank() == 0 ? Dim(1) : y[y.rank() - 1]; }

DType dtype_of_kind(StageOperand kind) {
  switch (kind) {
    case StageOperand::channel_s32:
    case StageOperand::sum: return DType::s32;
    case StageOperand::channel_f64: return DType::f64;
    default: return DType::f32;
  }
}

Problem check_operand(StageOperand kind, std::string_view what, const Fact* fact, const OpenShape& y) {
  if (fact == nullptr) return shape_error(std::string(what), "no operand", "one");
  if (kind == StageOperand::table) return check_table(*fact, {DType::u8, DType::s8});
  if (kind == StageOperand::stored || kind == StageOperand::stored_or_s16) {
    if (kind == StageOperand::stored || fact->dtype != DType::s16) {
      if (auto problem = check_dtype(what, *fact, {DType::u8, DType::s8})) return problem;
    }
    if (const auto shape = broadcast(fact->shape, y); shape && *shape == y) return std::nullopt;
    return shape_error(std::string(what), "shape " + fact->shape.to_string(),
                       "one that broadcasts to " + y.to_string());
  }
  if (auto problem = check_dtype(what, *fact, {dtype_of_kind(kind)})) return problem;
  if (kind == StageOperand::sum) return check_shape(what, *fact, y);
  if (kind != StageOperand::row_f32)
    return check_shape(what, *fact, is_same(fact->shape, Shape{1}) ? OpenShape{1} : OpenShape{channels_of(y)});
  const Dim given = fact->shape.elements(), channels = channels_of(y);
  const Dim rows = channels == 0 ? Dim(0) : y.elements() / channels;
  if (is_same(given, rows) || (given > 0 && rows % given == 0)) return std::nullopt;
  return shape_error(std::string(what), "shape " + fact->shape.to_string(), "as many as divide the rows of the result");
}

}  // namespace

Result<DType> infer_epilogue(const Epilogue& epilogue, EpilogueInput input, InputFacts operands, const OpenShape& y) {
  Domain domain = input == EpilogueInput::sum    ? Domain::sum
                  : input == EpilogueInput::real ? Domain::real
                                                 : Domain::stored;
  std::optional<DType> table;
  std::size_t at = 0;
  for (const Stage& stage : epilogue.stages) {
    const auto next = result_of(stage, domain);
    if (!next || table)
      return shape_error("stages", std::string(kind_of(stage)) + " of " + std::string(name_of(domain)),
                         table ? "nothing after a table" : "a stage that takes it");
    if (auto problem = check_fields(stage, epilogue.to)) return *problem;
    domain = *next;
    const auto kinds = std::visit(
        [](const auto& s) { return std::vector<StageOperand>(s.kOperands.begin(), s.kOperands.end()); }, stage);
    for (const StageOperand kind : kinds) {
      const Fact* fact = fact_at(operands, at++);
      if (auto problem = check_operand(kind, kind_of(stage), fact, y)) return *problem;
      if (kind == StageOperand::table) table = fact->dtype;
    }
  }
  if (operands.size() > at)
    return shape_error("stages", std::to_string(operands.size()) + " operands", std::to_string(at));
  const bool is_whole = epilogue.to == DType::s32 ? domain == Domain::sum
                        : epilogue.to == DType::f32
                            ? domain == Domain::real
                            : (is_8bit(epilogue.to) || epilogue.to == DType::s16) && domain == Domain::stored;
  if (!is_whole)
    return shape_error("to", std::string(name_of(epilogue.to)), "what holds " + std::string(name_of(domain)));
  return table.value_or(epilogue.to);
}

// ---- reference ----

struct EpilogueReference::OnItsWay {
  std::int64_t integer = 0;  // of sums and stored values
  float real = 0.0f;
  double real64 = 0.0;
  Domain domain = Domain::sum;

  float as_real() const { return domain == Domain::real ? real : static_cast<float>(integer); }
  void become(float value) { real = value, domain = Domain::real; }
  void become(double value) { real64 = value, domain = Domain::real64; }
  void become_sum(std::int32_t value) { integer = value, domain = Domain::sum; }
  void become_wide(std::int64_t value) { integer = value, domain = Domain::wide; }
  void become_stored(std::int64_t value) { integer = value, domain = Domain::stored; }

  std::int64_t rounded(const Round& round) const {
    if (domain == Domain::real)
      return static_cast<std::int64_t>(round_even(
                 clamp_f32(real + static_cast<float>(round.before), round.lowest_real(), round.highest_real()))) +
             round.after;
    if (domain == Domain::real64) {
      const double lowest = round.lowest - round.after, highest = round.highest - round.after;
      const double shifted = real64 + round.before, raised = shifted > lowest ? shifted : lowest;
      return static_cast<std::int64_t>(std::round(raised < highest ? raised : highest)) + round.after;
    }
    return std::clamp<std::int64_t>(integer + round.before + round.after, round.lowest, round.highest);
  }
};

EpilogueReference::EpilogueReference(const Epilogue& epilogue, InputViews operands, const TensorView& y)
    : epilogue_(epilogue), operands_(operands), y_(y), channels_(std::max<std::int64_t>(1, channels_of(y.shape))) {
  std::size_t i = 0;
  const auto add = [&](StageOperand kind) {
    const bool is_stored = kind == StageOperand::stored || kind == StageOperand::stored_or_s16;
    if (is_stored && operands_[i].shape != y.shape) {
      strides_.resize(operands_.size());
      strides_[i] = broadcast_strides(operands_[i].shape, y.shape);
    }
    ++i;
  };
  for (const Stage& stage : epilogue.stages)
    std::visit([&](const auto& s) { std::for_each(s.kOperands.begin(), s.kOperands.end(), add); }, stage);
}

// Of the operand's element that stands beside this one of y.
std::int64_t EpilogueReference::index_of(std::size_t operand, StageOperand kind, std::int64_t element) const {
  const Shape& shape = operands_[operand].shape;
  switch (kind) {
    case StageOperand::row_f32: return element / channels_ / (y_.shape.elements() / channels_ / shape.elements());
    case StageOperand::stored:
    case StageOperand::stored_or_s16: break;
    case StageOperand::sum: return element;
    default: return shape.elements() == 1 ? 0 : element % channels_;
  }
  if (shape == y_.shape) return element;
  const std::vector<std::int64_t>& strides = strides_[operand];
  std::int64_t index = 0;
  for (int axis = y_.shape.rank() - 1; axis >= 0; --axis) {
    index += element % y_.shape[axis] * strides[static_cast<std::size_t>(axis)];
    element /= y_.shape[axis];
  }
  return index;
}

void EpilogueReference::store(std::int64_t element, std::int32_t value) const { finish(element, {.integer = value}); }

void EpilogueReference::store_real(std::int64_t element, float value) const {
  finish(element, {.real = value, .domain = Domain::real});
}

void EpilogueReference::finish(std::int64_t element, OnItsWay x) const {
  std::size_t operand = 0;
  std::span<const StageOperand> kinds;
  const auto at = [&](std::size_t i) { return index_of(operand + i, kinds[i], element); };
  const auto f32 = [&](std::size_t i) { return operands_[operand + i].as<float>()[at(i)]; };
  const auto s32 = [&](std::size_t i) { return operands_[operand + i].as<std::int32_t>()[at(i)]; };
  const auto byte = [&](std::size_t i) {
    return load_8bit(operands_[operand + i].data, operands_[operand + i].dtype, at(i));
  };
  const auto stored = [&](std::size_t i) {
    const ConstTensorView& view = operands_[operand + i];
    return view.dtype == DType::s16 ? std::int32_t{view.as<std::int16_t>()[at(i)]} : byte(i);
  };
  const auto integer = [&] { return static_cast<std::int32_t>(x.integer); };
  const auto apply = Overloaded{
      [&](const AddRest&) { x.become(x.as_real() + f32(0)); },
      [&](const Scale&) { x.become(x.as_real() * f32(0)); },
      [&](const ScaleAndAdd& s) {
        x.become(std::fma(x.as_real(), f32(0), static_cast<float>(stored(1) - s.zero_point) * s.ratio));
      },
      [&](const ScaleInRun& s) { x.become(s.apply(integer(), f32(0), f32(1), f32(2))); },
      [&](const FixedScale& s) {
        const FixedMultiplier factor{s32(0),
                                     std::clamp(s32(1), FixedMultiplier::kLowestShift, FixedMultiplier::kHighestShift)};
        x.become_sum(factor.apply(s.profile, integer()));
      },
      [&](const DoubleScale&) { x.become(static_cast<double>(x.integer) * operands_[operand].as<double>()[at(0)]); },
      [&](const Affine& s) { x.become(s.apply(x.as_real())); },
      [&](const Divide& s) { x.become(x.real / s.divisor); },
      [&](const Round& s) { x.become_stored(x.rounded(s)); },
      [&](const AddReal& s) { x.become(s.apply(integer(), byte(0))); },
      [&](const Multiply& s) { x.become_sum(s.apply(integer(), byte(0))); },
      [&](const FixedBinary& s) { x.become_sum(s.apply(integer(), stored(0))); },
      [&](const AddInteger& s) { x.become_stored(s.form.apply(integer(), byte(0), s.lowest, s.highest)); },
      [&](const ClampReal& s) { x.become(s.apply(x.real)); },
      [&](const ScaleAndShift&) { x.become(std::fma(x.real, f32(0), f32(1))); },
      [&](const AddScaled& s) { x.become(std::fma(static_cast<float>(stored(0) - s.zero_point), s.ratio, x.real)); },
      [&](const JoinBytes&) { x.become_wide(256 * x.integer + s32(0)); },
      [&](const WideScale&) {
        x.become_sum(WideMultiplier{s32(0), std::clamp(s32(1), 1, WideMultiplier::kMostShift)}.apply(x.integer));
      },
      [&](const Lookup&) { x.integer = std::to_integer<std::uint8_t>(operands_[operand].data[x.integer & 0xff]); }};
  for (const Stage& stage : epilogue_.stages) {
    std::visit(
        [&](const auto& s) {
          kinds = s.kOperands;
          apply(s);
        },
        stage);
    operand += kinds.size();
  }
  if (y_.dtype == DType::f32) y_.as<float>()[element] = x.real;
  else if (y_.dtype == DType::s32) y_.as<std::int32_t>()[element] = integer();
  else if (y_.dtype == DType::s16) y_.as<std::int16_t>()[element] = static_cast<std::int16_t>(integer());
  else store_8bit(y_.data, element, integer());
}

}  // namespace octavo
