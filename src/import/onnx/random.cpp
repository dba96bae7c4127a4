// ONNX readers: random numbers. Part of import/.
#include <bit>

#include "import/onnx/operators.h"

namespace octavo::onnx_import {
namespace {

// Of the file, a float; as its bits.
std::optional<std::uint64_t> read_seed(NodeReader& in) {
  if (!in.has("seed")) return std::nullopt;
  return std::bit_cast<std::uint32_t>(in.number("seed", 0.0f));
}

ValueId read_numbers(NodeReader& in, const Extents& shape, std::optional<DType> type, bool is_normal) {
  RandomArgs args{.shape = shape, .seed = read_seed(in)};
  if (is_normal) {
    args.offset = in.number("mean", 0.0f), args.scale = in.number("scale", 1.0f);
  } else {
    args.offset = in.number("low", 0.0f);
    args.scale = in.number("high", 1.0f) - args.offset;
  }
  if (in.failed() || !type) return {};
  if (!is_float(*type)) return in.fail("attribute 'dtype'", std::string(octavo::name_of(*type)), "floats");
  return in.rounded(is_normal ? random_normal(in, args, "numbers") : random_uniform(in, args, "numbers"), *type);
}

template <bool is_normal>
ValueId read_random(NodeReader& in) {
  const Numbers shape = in.integers("shape");
  if (!in.has("shape")) return in.fail("attribute 'shape'", "none", "one");
  for (const Dim& dim : shape) {
    if (dim.fixed() < 0) return in.fail(shape.place, std::to_string(dim.fixed()), "numbers of at least 0");
  }
  if (shape.size() > kMaxRank || !checked_elements(shape.values))
    return in.fail(shape.place, std::to_string(shape.size()) + " dimensions", "at most 2^33 elements in 64 dimensions");
  return read_numbers(in, shape.values, in.element_type("dtype", DType::f32), is_normal);
}

template <bool is_normal>
ValueId read_random_like(NodeReader& in) {
  const ValueId x = in.value(0);
  return read_numbers(in, in.shape(x).to_vector(), in.element_type("dtype", in.dtype(x)), is_normal);
}

ValueId read_bernoulli(NodeReader& in) {
  const ValueId x = in.value(0);
  const auto type = in.element_type("dtype", in.dtype(x));
  const RandomArgs args{.shape = in.shape(x).to_vector(), .seed = read_seed(in)};
  if (in.failed() || !type) return {};
  const ValueId numbers = random_uniform(in, args, "numbers");
  return in.cast(in.binary(BinaryKind::less, numbers, in.cast(x, DType::f32, "probabilities"), "drawn"), *type);
}

ValueId read_multinomial(NodeReader& in) {
  const ValueId x = in.value(0);
  const Number count = in.integer("sample_size", 1);
  const auto type = in.element_type("dtype", DType::s32);
  if (count < 1) in.fail(count.place, std::to_string(count.value), "1 or more");
  const std::optional<std::uint64_t> own = read_seed(in);
  if (in.failed() || !type) return {};
  return in.cast(random_classes(in, x, count, own, "classes"), *type);
}

constexpr Operator kRandomTable[] = {
    {"Bernoulli", 15, 1, 1, read_bernoulli},        {"Multinomial", 7, 1, 1, read_multinomial},
    {"RandomNormal", 1, 0, 0, read_random<true>},   {"RandomNormalLike", 1, 1, 1, read_random_like<true>},
    {"RandomUniform", 1, 0, 0, read_random<false>}, {"RandomUniformLike", 1, 1, 1, read_random_like<false>},
};

}  // namespace

const std::span<const Operator> kRandom = kRandomTable;

}  // namespace octavo::onnx_import
