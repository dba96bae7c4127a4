// StepEpilogue: the epilogue of an operator that is no convolution, its operands read where they lie. Part of
// kernels/epilogue/.
#ifndef OCTAVO_KERNELS_EPILOGUE_STEP_H_
#define OCTAVO_KERNELS_EPILOGUE_STEP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fixed_point.h"
#include "kernels/call.h"
#include "kernels/epilogue/rows.h"

namespace octavo {

struct Epilogue;

// One of these, each with a lookup behind it or not, or no stage at all:
//   of a sum: round | affine, round | fixed_scale, round | double_scale, round | affine, stored as f32
//   of a real: divide, round
//   of two stored values: add_real, round | multiply, affine, round | add_integer | fixed_binary, round
struct StepEpilogue {
  RowEpilogue rows;  // without pointers
  // Inputs of the operator, -1 where there is none. `lower`: the sums of join_bytes.
  int other = -1, factor = -1, shift = -1, table = -1, lower = -1;
  bool is_wide = false;                                // the factors of fixed_scale are those of a wide_scale
  std::int32_t headroom = FixedBinaryForm::kHeadroom;  // of sums and differences in fixed point

  // Nothing for other stages or orders. The operands' types are those that infer_epilogue accepted.
  static std::optional<StepEpilogue> of(const Epilogue& epilogue, std::size_t first_operand, const CallView& call);
  // With a result of s16, without a lookup:
  //   of a sum: join_bytes, fixed_scale | double_scale | wide_scale, round; of two stored values: fixed_binary, round
  static std::optional<StepEpilogue> of_s16(const Epilogue& epilogue, std::size_t first_operand, const CallView& call);

  // f(input of the operator, -1 for none; the pointer of `placed` that goes there) for factors and table.
  template <class F>
  void for_operands(const RowEpilogue& placed, const F& f) const {
    f(table, placed.table);
    if (rows.formula == Formula::double_scale) return f(factor, placed.double_multiplier);
    f(factor, placed.fixed_multiplier);
    f(shift, placed.fixed_shift);
  }
  // With its operands, factors those of this channel on.
  RowEpilogue placed(const StepBuffers& buffers, std::int64_t first_channel) const;
};

inline constexpr std::string_view kStepEpilogueRefusal =
    "needs an epilogue of one scale, addition or product, a rounding and a table, or of one scale alone";
// Empty where there is one.
template <class EpilogueAttrs, std::size_t operands>
std::string step_epilogue_refusal(const CallView& call) {
  const bool is_known = StepEpilogue::of(call.attrs->as<EpilogueAttrs>().epilogue, operands, call).has_value();
  return std::string(is_known ? "" : kStepEpilogueRefusal);
}

}  // namespace octavo

#endif  // OCTAVO_KERNELS_EPILOGUE_STEP_H_
