// What LSTMs ask of their cells. Part of ops/.
#include "ops/lstm.h"

namespace octavo {

Problem check_cell_function(std::string_view what, const UnaryAttrs& function) {
  if (function.kind == UnaryKind::is_nan || function.kind == UnaryKind::logical_not)
    return shape_error(std::string(what), std::string(name_of(function.kind)), "a function that gives floats");
  return std::nullopt;
}

Problem check_lstm(const Fact& w, const Fact& r, const Fact* projection, const Fact* projection_bias) {
  const Dim gates = w.shape[0];
  if (gates != 3 && gates != 4) return shape_error("w", "shape " + w.shape.to_string(), "3 or 4 gates");
  if (projection == nullptr && projection_bias != nullptr)
    return shape_error("projection_bias", "one", "none without a projection");
  if (projection == nullptr && r.shape[2] != w.shape[1])
    return shape_error("r", "shape " + r.shape.to_string(), "as many columns as hidden elements");
  return std::nullopt;
}

}  // namespace octavo
