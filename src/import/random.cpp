// Verbs of random numbers: SplitMix64 as a function of a position, by operators on u64, so that they are the same on
// every target and for any number of threads. Part of import/.
#include <chrono>
#include <string_view>

#include "import/verbs.h"
#include "ops/argmax/argmax.h"

namespace octavo::importing {
namespace {

using B = BinaryKind;
using U = UnaryKind;

constexpr std::uint64_t kIncrement = 0x9e3779b97f4a7c15u, kFirstFactor = 0xbf58476d1ce4e5b9u,
                        kSecondFactor = 0x94d049bb133111ebu;

std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * kFirstFactor;
  z = (z ^ (z >> 27)) * kSecondFactor;
  return z ^ (z >> 31);
}

// FNV-1a.
std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

// Once for all that a program imports: a file may be read several times on its way.
std::uint64_t seed_by_clock() {
  static const auto kSeed = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  return kSeed;
}

// Where the numbers of this operator begin: those with seeds of their own at these, as ONNX Runtime has them, others
// each elsewhere.
std::uint64_t beginning(NodeBuilder& in, std::optional<std::uint64_t> own) {
  if (own) return mixed(*own + kIncrement);
  return mixed(in.built().options.seed.value_or(seed_by_clock()) + kIncrement) ^ hash_of(in.name());
}

ValueId word(NodeBuilder& in, std::uint64_t value, const std::string& name) {
  return in.constant(Tensor::scalar(value), name);
}

ValueId mixed_step(NodeBuilder& in, ValueId z, int shift, const std::string& name) {
  const ValueId above = in.binary(B::shift_right, z, word(in, static_cast<std::uint64_t>(shift), name + ".bits"), name);
  return in.binary(B::bitwise_xor, z, above, name + ".mixed");
}

// 64 bits for each of `count` positions: mixed(begin + position * kIncrement).
ValueId bits(NodeBuilder& in, const Dim& count, std::optional<std::uint64_t> own) {
  if (in.failed()) return {};
  if (in.built().loops > 0)
    return in.unsupported("", "random numbers in a loop, which would be the same in every iteration",
                          "them outside of loops");
  const ValueId positions = counted(in, count, DType::u64, "positions");
  ValueId z = in.binary(B::mul, positions, word(in, kIncrement, "increment"), "steps");
  z = in.binary(B::add, z, word(in, beginning(in, own), "begin"), "states");
  z = in.binary(B::mul, mixed_step(in, z, 30, "first"), word(in, kFirstFactor, "first.factor"), "first.product");
  z = in.binary(B::mul, mixed_step(in, z, 27, "second"), word(in, kSecondFactor, "second.factor"), "second.product");
  return mixed_step(in, z, 31, "last");
}

// (the `count` bits from `lowest` on + offset) / 2^count.
ValueId fraction(NodeBuilder& in, ValueId z, int lowest, int count, float offset, const std::string& name) {
  const std::uint64_t mask = (std::uint64_t{1} << count) - 1;
  ValueId part = in.binary(B::shift_right, z, word(in, static_cast<std::uint64_t>(lowest), name + ".lowest"), name);
  if (lowest + count < 64) part = in.binary(B::bitwise_and, part, word(in, mask, name + ".mask"), name + ".bits");
  ValueId real = in.cast(part, DType::f32, name + ".real");
  if (offset != 0.0f)
    real = in.binary(B::add, real, in.constant(Tensor::scalar(offset), name + ".offset"), name + ".up");
  const float unit = 1.0f / static_cast<float>(mask + 1);
  return in.binary(B::mul, real, in.constant(Tensor::scalar(unit), name + ".unit"), name + ".fraction");
}

ValueId times_plus(NodeBuilder& in, ValueId x, float factor, float offset, std::string_view suffix) {
  if (factor != 1.0f) x = in.binary(B::mul, x, in.constant(Tensor::scalar(factor), "factor"), "scaled");
  if (offset != 0.0f) x = in.binary(B::add, x, in.constant(Tensor::scalar(offset), "offset"), "moved");
  return in.unary({.kind = U::identity}, x, suffix);
}

Dim elements_of(const Extents& shape) { return OpenShape(shape).elements(); }

}  // namespace

ValueId random_uniform(NodeBuilder& in, const RandomArgs& args, std::string_view suffix) {
  const ValueId fractions = fraction(in, bits(in, elements_of(args.shape), args.seed), 40, 24, 0.0f, "uniform");
  return times_plus(in, in.reshape(fractions, args.shape, "shaped"), args.scale, args.offset, suffix);
}

// Box and Muller: sqrt(-2 ln u) * cos(2 pi v), u above 0.
ValueId random_normal(NodeBuilder& in, const RandomArgs& args, std::string_view suffix) {
  const ValueId z = bits(in, elements_of(args.shape), args.seed);
  const ValueId u = fraction(in, z, 40, 24, 1.0f, "length"), v = fraction(in, z, 16, 24, 0.0f, "turn");
  const ValueId log = in.unary({.kind = U::log}, u, "length.log");
  const ValueId square = in.binary(B::mul, log, in.constant(Tensor::scalar(-2.0f), "minus_two"), "length.square");
  const ValueId angle = in.binary(B::mul, v, in.constant(Tensor::scalar(static_cast<float>(kTurn)), "circle"), "angle");
  const ValueId normal = in.binary(B::mul, in.unary({.kind = U::sqrt}, square, "length.root"),
                                   in.unary({.kind = U::cos}, angle, "cosine"), "normal");
  return times_plus(in, in.reshape(normal, args.shape, "shaped"), args.scale, args.offset, suffix);
}

// Gumbel's: the largest of logit - ln(-ln u) is class c with the probability that softmax gives it.
ValueId random_classes(NodeBuilder& in, ValueId logits, std::int64_t count, std::optional<std::uint64_t> seed,
                       std::string_view suffix) {
  in.require_rank(logits, 2, 2);
  if (in.failed()) return {};
  const Extents shape{in.shape(logits)[0], count, in.shape(logits)[1]};
  const ValueId u = fraction(in, bits(in, elements_of(shape), seed), 41, 23, 0.5f, "uniform");
  const ValueId inner = in.unary({.kind = U::neg}, in.unary({.kind = U::log}, u, "log"), "exponential");
  const ValueId noise = in.reshape(in.unary({.kind = U::log}, inner, "log.log"), shape, "noise");
  const ValueId each = unsqueeze(in, in.cast(logits, DType::f32, "logits"), Integers{1}, "logits.each");
  return argmax(in, in.binary(B::sub, each, noise, "scores"), 2, {.keep_dims = false}, suffix);
}

}  // namespace octavo::importing
