// TFLite readers: random numbers. Part of import/.
#include "import/tflite/operators.h"

namespace octavo::tflite_import {
namespace {

// Two zeros are none.
std::optional<std::uint64_t> read_seed(OperatorReader& in) {
  const auto* given = in.options<file::RandomOptions>();
  if (given == nullptr || (given->seed() == 0 && given->seed2() == 0)) return std::nullopt;
  return static_cast<std::uint64_t>(given->seed()) ^ static_cast<std::uint64_t>(given->seed2()) << 32;
}

template <bool is_normal>
ValueId read_random(OperatorReader& in) {
  const Numbers shape = in.constant_integers(0, "shape");
  const bool is_shape = shape.size() <= static_cast<std::size_t>(kMaxRank) && checked_elements(shape.values);
  if (!in.failed() && !is_shape)
    in.fail(shape.place, std::to_string(shape.size()) + " dimensions", "at most 2^33 elements in 8 dimensions");
  if (in.failed()) return {};
  const RandomArgs args{.shape = shape.values, .seed = read_seed(in)};
  return is_normal ? random_normal(in, args) : random_uniform(in, args);
}

ValueId read_multinomial(OperatorReader& in) {
  const Number count = in.constant_integer(1, "num_samples");
  if (count < 1) in.fail(count.place, std::to_string(count.value), "1 or more");
  const ValueId classes = random_classes(in, in.stored(0), count, read_seed(in), "classes");
  return in.cast(classes, in.output_tensor(0).dtype);
}

constexpr OperatorEntry kTfliteRandomTable[] = {
    {"MULTINOMIAL", 2, 2, 1, kStored, read_multinomial},
    {"RANDOM_STANDARD_NORMAL", 1, 1, 1, kStored, read_random<true>},
    {"RANDOM_UNIFORM", 1, 1, 1, kStored, read_random<false>},
};

}  // namespace

const std::span<const OperatorEntry> kRandom = kTfliteRandomTable;

}  // namespace octavo::tflite_import
