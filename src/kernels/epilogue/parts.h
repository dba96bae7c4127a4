// EpilogueParts: an epilogue as the vector kernels see it: the stages that one pass over registers can do, by name, and
// where their operands are. Part of kernels/epilogue/.
#ifndef OCTAVO_KERNELS_EPILOGUE_PARTS_H_
#define OCTAVO_KERNELS_EPILOGUE_PARTS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/epilogue/rows.h"
#include "kernels/kernel.h"

namespace octavo {

struct AddInteger;
struct AddReal;
struct AddScaled;
struct ClampReal;
struct Epilogue;
struct Round;
struct ScaleAndAdd;
struct ScaleInRun;

RowRound row_round(const Round& round);

// The stages in the one order that is known here, each of them perhaps missing (nullptr):
//   add_rest, scale or scale_and_add, round, add_real and round or add_integer, lookup
//   scale_in_run, clamp or add_scaled and round, lookup
// An s16 result has no addition after its rounding and no table.
// Operands are input numbers of the operator, -1 where there is none. Points into the epilogue.
struct EpilogueParts {
  DType to = DType::u8;
  const ScaleAndAdd* scale_and_add = nullptr;
  const ScaleInRun* in_run = nullptr;  // x_scale, multiplier (w_scale) and rest (the bias) are its operands
  const AddScaled* add_scaled = nullptr;
  const ClampReal* clamp = nullptr;
  const Round* round = nullptr;  // of the scaled sum
  const AddReal* add_real = nullptr;
  const Round* add_round = nullptr;  // of add_real
  const AddInteger* add_integer = nullptr;
  int rest = -1, multiplier = -1, x_scale = -1, other = -1, table = -1;

  // Nothing for other stages or orders.
  static std::optional<EpilogueParts> of(const Epilogue& epilogue, std::size_t first_operand);

  Addition addition() const;
  // Of an element of `other`; 1 where there is none.
  std::int64_t residual_bytes(const StepSpec& spec) const;
  // What is added to values of `other` as they are stored.
  std::int32_t other_shift() const;
  // Without multipliers, rests and table.
  RowEpilogue for_rows(const StepSpec& spec) const;
  // At compile time: one of the operands as a tensor of the same type, or an empty one for -1.
  static Tensor constant(const OpCall& call, int input);
  // False where a file claims that the kernel packed what is known only in a run.
  bool is_read_in_run(const StepSpec& spec) const;
};

// Empty where the epilogue has parts and packing may keep its operands: constants are known at compile time, and as
// many as y has channels; the other operand of an addition has y's shape and is known only in a run.
std::string epilogue_refusal(const OpCall& call, const Epilogue& epilogue, std::size_t first_operand);

}  // namespace octavo

#endif  // OCTAVO_KERNELS_EPILOGUE_PARTS_H_
