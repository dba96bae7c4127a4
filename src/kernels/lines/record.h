// What the records of lines/ have in common. Internal to kernels/lines/.
#ifndef OCTAVO_KERNELS_LINES_RECORD_H_
#define OCTAVO_KERNELS_LINES_RECORD_H_

#include <string_view>

#include "kernels/call.h"
#include "kernels/choice.h"

namespace octavo {

// Nanoseconds, by the elements of the first input.
template <int kPicoseconds>
double line_cost(const OpCall& call, const Machine&) {
  return 200.0 + kPicoseconds / 1000.0 * static_cast<double>(call.inputs[0]->shape.elements());
}

inline int over_first_input(const OpCall&) { return 0; }

template <auto refuse, auto make, int kPicoseconds>
constexpr KernelChoice line_kernel(std::string_view op, Isa isa, std::string_view name,
                                   int (*in_place_input)(const OpCall&) = nullptr) {
  return {.code = {.name = name,
                   .op = op,
                   .needs = isa,
                   .prepare = prepare_by<refuse, make>,
                   .in_place_input = in_place_input},
          .refusal = refusal_by<refuse>,
          .cost = line_cost<kPicoseconds>};
}

}  // namespace octavo

#endif  // OCTAVO_KERNELS_LINES_RECORD_H_
