// See parts.h. Part of kernels/epilogue/.
#include "kernels/epilogue/parts.h"

#include "kernels/call.h"
#include "kernels/epilogue/stage_reader.h"

namespace octavo {

RowRound row_round(const Round& round) {
  return {round.lowest_real(), round.highest_real(), round.after, round.lowest - round.after,
          round.highest - round.after};
}

std::optional<EpilogueParts> EpilogueParts::of(const Epilogue& epilogue, std::size_t first_operand) {
  EpilogueParts parts{.to = epilogue.to};
  StageReader in(epilogue, first_operand);
  in.take<AddRest>(parts.rest);
  if (in.take<Scale>(parts.multiplier) == nullptr) {
    if ((parts.scale_and_add = in.take<ScaleAndAdd>(parts.multiplier))) {
      parts.other = parts.multiplier + 1;
    } else if ((parts.in_run = in.take<ScaleInRun>(parts.x_scale))) {
      if (parts.rest >= 0) return std::nullopt;
      parts.multiplier = parts.x_scale + 1, parts.rest = parts.x_scale + 2;
      parts.clamp = in.take<ClampReal>();
      if (parts.clamp == nullptr) parts.add_scaled = in.take<AddScaled>(parts.other);
    }
  }
  if (parts.rest >= 0 && parts.multiplier < 0) return std::nullopt;
  if ((parts.round = in.take<Round>())) {
    if (parts.multiplier < 0 || parts.clamp != nullptr || parts.round->before != 0) return std::nullopt;
    if (parts.scale_and_add == nullptr && parts.in_run == nullptr) {
      if ((parts.add_real = in.take<AddReal>(parts.other))) {
        parts.add_round = in.take<Round>();
        if (parts.add_round == nullptr || parts.add_round->before != 0) return std::nullopt;
      } else {
        parts.add_integer = in.take<AddInteger>(parts.other);
      }
    }
    in.take<Lookup>(parts.table);
  } else if (parts.scale_and_add != nullptr || parts.add_scaled != nullptr) {
    return std::nullopt;
  }
  const bool ends_in_words = parts.to == DType::s16;
  if (ends_in_words && (parts.add_real != nullptr || parts.add_integer != nullptr || parts.table >= 0))
    return std::nullopt;
  return in.is_done() ? std::optional(parts) : std::nullopt;
}

Addition EpilogueParts::addition() const {
  if (scale_and_add != nullptr || add_scaled != nullptr) return Addition::before_rounding;
  if (add_integer != nullptr) return Addition::integer;
  if (add_real == nullptr) return Addition::none;
  return add_real->side == Side::first ? Addition::real_first : Addition::real_second;
}

std::int32_t EpilogueParts::other_shift() const {
  if (add_real != nullptr) return add_real->other_shift;
  if (add_scaled != nullptr) return add_scaled->zero_point;
  return scale_and_add != nullptr ? scale_and_add->zero_point : 0;
}

Tensor EpilogueParts::constant(const OpCall& call, int input) {
  return input < 0 ? Tensor(DType::u8, Shape{0}) : *call.inputs[static_cast<std::size_t>(input)]->constant;
}

std::int64_t EpilogueParts::residual_bytes(const StepSpec& spec) const {
  return other < 0 ? 1 : static_cast<std::int64_t>(size_of(spec.inputs[static_cast<std::size_t>(other)].dtype));
}

bool EpilogueParts::is_read_in_run(const StepSpec& spec) const {
  for (const int input : {x_scale, other}) {
    if (input >= 0 && !octavo::is_read_in_run(spec, static_cast<std::size_t>(input))) return false;
  }
  return true;
}

RowEpilogue EpilogueParts::for_rows(const StepSpec& spec) const {
  using enum RowEpilogue::Result;
  const DType other_type = other < 0 ? DType::u8 : spec.inputs[static_cast<std::size_t>(other)].dtype;
  RowEpilogue e{.result = to == DType::s32   ? s32
                          : to == DType::f32 ? f32
                          : to == DType::s16 ? words
                                             : bytes,
                .other_shift = other_shift(),
                .addition = addition(),
                .other_is_signed = other_type == DType::s8,
                .other_is_words = other_type == DType::s16};
  if (round != nullptr) e.round = row_round(*round);
  if (scale_and_add != nullptr) e.ratio = scale_and_add->ratio;
  if (add_scaled != nullptr) e.ratio = add_scaled->ratio;
  if (add_real != nullptr) {
    e.add_round = row_round(*add_round);
    e.a_ratio = add_real->a_ratio, e.b_ratio = add_real->b_ratio, e.fixed = add_real->fixed;
    e.value_shift = add_real->value_shift;
  }
  if (add_integer != nullptr) {
    const Round bounds{
        .after = add_integer->form.zero_point, .lowest = add_integer->lowest, .highest = add_integer->highest};
    e.add_round = row_round(bounds);
    e.a_factor.multiplier = add_integer->form.a_multiplier, e.b_factor.multiplier = add_integer->form.b_multiplier;
    e.bias = add_integer->form.bias, e.right_shift = add_integer->form.right_shift;
  }
  return e;
}

std::string epilogue_refusal(const OpCall& call, const Epilogue& epilogue, std::size_t first_operand) {
  const auto parts = EpilogueParts::of(epilogue, first_operand);
  if (!parts) return "needs an epilogue of a scale, a rounding, an addition and a table";
  const auto fact = [&](int input) { return input < 0 ? nullptr : call.inputs[static_cast<std::size_t>(input)]; };
  const Shape& y = call.outputs[0].shape;
  for (const int input : {parts->rest, parts->multiplier}) {
    if (fact(input) == nullptr) continue;
    if (!fact(input)->is_constant()) return "needs constant multipliers and biases";
    if (fact(input)->shape != Shape{y[y.rank() - 1]}) return "needs a multiplier for each channel";
  }
  if (fact(parts->table) != nullptr && !fact(parts->table)->is_constant()) return "needs a constant table";
  for (const int input : {parts->x_scale, parts->other}) {
    if (fact(input) != nullptr && fact(input)->is_constant()) return "needs inputs known only in a run";
  }
  if (fact(parts->other) != nullptr && fact(parts->other)->shape != y) return "needs an addition of the same shape";
  return {};
}

}  // namespace octavo
