// TFLite readers: discrete Fourier transforms and what is made of complex numbers, which are pairs along a last axis.
// Part of import/.
#include "import/tflite/operators.h"

namespace octavo::tflite_import {
namespace {

using B = BinaryKind;

// Half of the spectrum of each matrix of the last two axes, which is cut, or followed by zeros, to the lengths.
ValueId read_rfft2d(OperatorReader& in) {
  const ValueId x = in.stored(0);
  const Numbers lengths = in.constant_integers(1, "fft_length");
  in.require_rank(x, 2, kMaxRank - 1);
  if (in.failed()) return {};
  if (!in.output_tensor(0).is_complex)
    return in.fail("output 0", std::string(octavo::name_of(in.output_tensor(0).dtype)), "complex numbers");
  if (lengths.size() != 2) return in.fail(lengths.place, std::to_string(lengths.size()) + " numbers", "two");
  const int rank = in.rank(x);
  const ValueId numbers = unsqueeze(in, x, Integers{rank}, "numbers");
  const ValueId rows = dft(in, {.x = numbers,
                                .axis = rank - 1,
                                .length = Number(lengths[1].fixed(), lengths.place),
                                .is_onesided = true,
                                .name = "rows."});
  return dft(in,
             {.x = rows, .axis = rank - 2, .length = Number(lengths[0].fixed(), lengths.place), .name = "columns."});
}

// Part 0 or 1 of the numbers.
ValueId part_of(OperatorReader& in, std::int64_t part, std::string_view suffix = {}) {
  const ValueId x = in.stored(0);
  if (!in.failed() && !in.tensor(0).is_complex)
    return in.fail("input 0", std::string(octavo::name_of(in.dtype(x))), "complex numbers");
  if (!in.failed() && in.output_tensor(0).is_complex) return in.fail("output 0", "complex numbers", "real ones");
  return pick(in, x, in.rank(x) - 1, part, suffix);
}

template <std::int64_t part>
ValueId read_part(OperatorReader& in) {
  return part_of(in, part);
}

ValueId read_complex_abs(OperatorReader& in) {
  const ValueId real = part_of(in, 0, "real"), imaginary = part_of(in, 1, "imaginary");
  const ValueId sum = in.binary(B::add, in.binary(B::mul, real, real, "real.square"),
                                in.binary(B::mul, imaginary, imaginary, "imaginary.square"), "squares");
  return in.unary({.kind = UnaryKind::sqrt}, sum);
}

constexpr OperatorEntry kSpectraTable[] = {
    {"COMPLEX_ABS", 1, 1, 1, kPairs, read_complex_abs},
    {"IMAG", 1, 1, 1, kPairs, read_part<1>},
    {"REAL", 1, 1, 1, kPairs, read_part<0>},
    {"RFFT2D", 2, 2, 1, kPairs, read_rfft2d},
};

}  // namespace

const std::span<const OperatorEntry> kSpectra = kSpectraTable;

}  // namespace octavo::tflite_import
