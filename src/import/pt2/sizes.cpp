// ATen readers: numbers that depend on sizes. All are known here, because the inputs' shapes are. Part of import/.
#include "import/pt2/operators.h"
#include "import/pt2/parts.h"

namespace octavo::pt2_import {

void read_size(NodeReader& in) {
  const ValueId x = in.value("self");
  const std::int64_t dim = in.integer("dim");
  if (in.failed()) return;
  const std::int64_t axis = in.axis("dim", dim, in.rank(x));
  if (!in.failed()) in.output_size(in.shape(x)[static_cast<int>(axis)]);
}

void read_size_arithmetic(NodeReader& in) {
  const std::string name = base_name(in.target());
  const std::int64_t a = in.integer("a"), b = in.integer("b");
  const bool divides = name == "floordiv" || name == "mod";
  // Sizes are not negative, and what is made of them stays a size.
  if (divides && (b <= 0 || a < 0))
    return in.fail("argument 'b'", std::to_string(a) + " and " + std::to_string(b), "sizes");
  std::int64_t result = 0;
  bool is_beyond = false;
  if (name == "add") is_beyond = __builtin_add_overflow(a, b, &result);
  else if (name == "sub") is_beyond = __builtin_sub_overflow(a, b, &result);
  else if (name == "mul") is_beyond = __builtin_mul_overflow(a, b, &result);
  else result = name == "mod" ? a % b : a / b;
  if (is_beyond) return in.fail("", std::to_string(a) + " and " + std::to_string(b), "a result of 64 bits");
  in.output_size(result);
}

}  // namespace octavo::pt2_import
