// See step.h. Part of kernels/epilogue/.
#include "kernels/epilogue/step.h"

#include "kernels/epilogue/parts.h"
#include "kernels/epilogue/stage_reader.h"

namespace octavo {
namespace {

FixedRounding fixed_rounding(Profile profile) {
  if (profile == Profile::tflite_optimized) return FixedRounding::twice_up;
  return profile == Profile::tflite_single ? FixedRounding::once : FixedRounding::twice;
}

RowFactor row_factor(const FixedMultiplier& factor) { return {factor.multiplier, factor.shift}; }

void set_affine(RowEpilogue& rows, const Affine& affine) {
  rows.factor = affine.multiplier, rows.offset = affine.offset;
}

void set_fixed(RowEpilogue& rows, const FixedBinary& fixed) {
  constexpr Formula formulas[] = {Formula::fixed_add,
                                  Formula::fixed_sub,
                                  Formula::fixed_mul,
                                  Formula::fixed_prelu,
                                  Formula::fixed_squared_difference,
                                  Formula::fixed_div};
  rows.formula = formulas[static_cast<int>(fixed.form.kind)];
  rows.fixed_rounding = fixed_rounding(fixed.profile);
  rows.a_factor = row_factor(fixed.form.a), rows.b_factor = row_factor(fixed.form.b);
  rows.y_factor = row_factor(fixed.form.y);
  rows.value_shift = fixed.value_zero_point, rows.other_shift = fixed.other_zero_point;
}

void set_add(RowEpilogue& rows, const AddReal& add) {
  rows.formula = Formula::add_real;
  rows.a_ratio = add.a_ratio, rows.b_ratio = add.b_ratio, rows.fixed = add.fixed;
  rows.value_shift = add.value_shift, rows.other_shift = add.other_shift;
}

void set_add(RowEpilogue& rows, const AddInteger& add) {
  rows.formula = Formula::add_integer;
  rows.a_factor.multiplier = add.form.a_multiplier, rows.b_factor.multiplier = add.form.b_multiplier;
  rows.bias = add.form.bias, rows.right_shift = add.form.right_shift;
  rows.round = row_round({.after = add.form.zero_point, .lowest = add.lowest, .highest = add.highest});
}

// Up to the rounding. False where it is none of those that are known.
bool take_formula(StageReader& in, StepEpilogue& e) {
  RowEpilogue& rows = e.rows;
  if (const auto* add = in.take<AddReal>(e.other)) {
    set_add(rows, *add);
    return add->side == Side::first;
  }
  if (const auto* fixed = in.take<FixedBinary>(e.other)) {
    set_fixed(rows, *fixed);
    e.headroom = fixed->form.headroom;
  } else if (const auto* product = in.take<Multiply>(e.other)) {
    rows.formula = Formula::multiply;
    rows.value_shift = product->value_zero_point, rows.other_shift = product->other_zero_point;
    const auto* affine = in.take<Affine>();
    if (affine == nullptr) return false;
    set_affine(rows, *affine);
  } else if (const auto* affine = in.take<Affine>()) {
    rows.formula = Formula::affine;
    set_affine(rows, *affine);
  } else if (const auto* divide = in.take<Divide>()) {
    rows.formula = Formula::divide;
    rows.factor = divide->divisor;
  } else if (const auto* scale = in.take<FixedScale>(e.factor)) {
    rows.formula = Formula::fixed_scale;
    rows.fixed_rounding = fixed_rounding(scale->profile);
    e.shift = e.factor + 1;
  } else if (in.take<DoubleScale>(e.factor) != nullptr) {
    rows.formula = Formula::double_scale;
  } else if (in.take<WideScale>(e.factor) != nullptr) {
    rows.formula = Formula::fixed_scale;
    e.is_wide = true;
    e.shift = e.factor + 1;
  }
  return true;
}

int step_of(int factor, const CallView& call) {
  return factor >= 0 && call.input(static_cast<std::size_t>(factor)).elements() != 1 ? 1 : 0;
}

}  // namespace

std::optional<StepEpilogue> StepEpilogue::of(const Epilogue& epilogue, std::size_t first_operand,
                                             const CallView& call) {
  StepEpilogue e{.rows = {.formula = Formula::whole}};
  if (epilogue.to == DType::s16) return std::nullopt;
  StageReader in(epilogue, first_operand);
  if (epilogue.stages.empty() && epilogue.to == DType::s32) {
    e.rows.result = RowEpilogue::Result::s32;
    return e;
  }
  if (const auto* add = in.take<AddInteger>(e.other)) {
    set_add(e.rows, *add);
  } else {
    const bool is_known = take_formula(in, e) && !e.is_wide;
    if (!is_known || e.headroom != FixedBinaryForm::kHeadroom) return std::nullopt;
    if (epilogue.to == DType::f32) {
      e.rows.result = RowEpilogue::Result::f32;
      return in.is_done() && e.rows.formula == Formula::affine ? std::optional(e) : std::nullopt;
    }
    const auto* round = in.take<Round>();
    if (round == nullptr) return std::nullopt;
    e.rows.round = row_round(*round);
    if (e.rows.formula == Formula::divide) e.rows.offset = static_cast<float>(round->before);
    else if (round->before != 0) return std::nullopt;
  }
  in.take<Lookup>(e.table);
  e.rows.factor_step = step_of(e.factor, call);
  return in.is_done() ? std::optional(e) : std::nullopt;
}

std::optional<StepEpilogue> StepEpilogue::of_s16(const Epilogue& epilogue, std::size_t first_operand,
                                                 const CallView& call) {
  StepEpilogue e{.rows = {.result = RowEpilogue::Result::words, .formula = Formula::whole}};
  StageReader in(epilogue, first_operand);
  const bool is_joined = in.take<JoinBytes>(e.lower) != nullptr;
  if (epilogue.to != DType::s16 || !take_formula(in, e)) return std::nullopt;
  const Formula formula = e.rows.formula;
  const bool is_sum = formula == Formula::fixed_add || formula == Formula::fixed_sub;
  const bool is_pair = formula == Formula::fixed_mul || formula == Formula::fixed_div ||
                       (is_sum && e.headroom == FixedBinaryForm::kHeadroomOfS16);
  if (is_joined ? e.factor < 0 : !is_pair) return std::nullopt;
  const auto* round = in.take<Round>();
  if (round == nullptr || round->before != 0) return std::nullopt;
  e.rows.round = row_round(*round);
  e.rows.factor_step = step_of(e.factor, call);
  return in.is_done() ? std::optional(e) : std::nullopt;
}

RowEpilogue StepEpilogue::placed(const StepBuffers& buffers, std::int64_t first_channel) const {
  RowEpilogue e = rows;
  const auto input = [&](int i) { return buffers.inputs[static_cast<std::size_t>(i)]; };
  const std::int64_t first = first_channel * e.factor_step;
  if (e.formula == Formula::double_scale) {
    e.double_multiplier = reinterpret_cast<const double*>(input(factor)) + first;
  } else if (factor >= 0) {
    e.fixed_multiplier = reinterpret_cast<const std::int32_t*>(input(factor)) + first;
    e.fixed_shift = reinterpret_cast<const std::int32_t*>(input(shift)) + first;
  }
  if (table >= 0) e.table = reinterpret_cast<const std::uint8_t*>(input(table));
  return e;
}

}  // namespace octavo
