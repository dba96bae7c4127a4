// The contract of recurrence/: LSTM, GRU and simple recurrent layers in f32 with the reference's bits, up to kCellRows
// sequences at a time. Part of kernels/.
#ifndef OCTAVO_KERNELS_RECURRENCE_RECURRENCE_H_
#define OCTAVO_KERNELS_RECURRENCE_RECURRENCE_H_

#include <span>

#include "kernels/choice.h"
#include "ops/recurrence/kind.h"

namespace octavo {

std::span<const KernelCode> recurrence_codes();
std::span<const KernelChoice> recurrence_choices();
// Of full_lstm (full.cpp) and fixed_lstm (fixed.cpp).
std::span<const KernelCode> full_lstm_codes();
std::span<const KernelChoice> full_lstm_choices();
std::span<const KernelCode> fixed_lstm_codes();
std::span<const KernelChoice> fixed_lstm_choices();

// Defined in functions.cpp for each instruction set that it is compiled for.
template <Isa isa>
void step_cell_on(const Cell& cell, const CellRows& rows);

}  // namespace octavo

#endif  // OCTAVO_KERNELS_RECURRENCE_RECURRENCE_H_
