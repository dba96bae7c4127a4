// ONNX readers: LSTM, GRU and RNN. Part of import/.
#include <algorithm>
#include <array>

#include "base/fields.h"
#include "graph/open_shape.h"
#include "import/onnx/operators.h"
#include "import/rare_verbs.h"
#include "ops/dynamic_quantize/dynamic_quantize.h"
#include "ops/matmul_integer/matmul_integer.h"
#include "ops/recurrence/recurrence.h"

namespace octavo::onnx_import {
namespace {

using K = RecurrenceKind;

// A function that a cell may name, and what it is without numbers of its own.
struct CellActivation {
  std::string_view name;
  UnaryAttrs function;
  int numbers = 0;
};
constexpr std::array kCellActivations = {
    CellActivation{"elu", {UnaryKind::elu, 1.0f}, 1},
    CellActivation{"hardsigmoid", {UnaryKind::hard_sigmoid, 0.2f, 0.5f}, 2},
    CellActivation{"leakyrelu", {UnaryKind::leaky_relu, 0.01f}, 1},
    CellActivation{"relu", {UnaryKind::relu}},
    CellActivation{"sigmoid", {UnaryKind::sigmoid}},
    CellActivation{"softplus", {UnaryKind::softplus}},
    CellActivation{"softsign", {UnaryKind::softsign}},
    CellActivation{"tanh", {UnaryKind::tanh}},
    CellActivation{"thresholdedrelu", {UnaryKind::thresholded_relu, 1.0f}, 1},
};

// Names may be in any case; numbers are taken from the lists in the order of the functions that have some.
std::vector<UnaryAttrs> read_activations(NodeReader& in, const std::vector<std::string>& defaults,
                                         std::size_t directions) {
  std::vector<std::string> names = in.texts("activations");
  if (names.empty()) {
    for (std::size_t d = 0; d < directions; ++d) names.insert(names.end(), defaults.begin(), defaults.end());
  }
  const std::vector<float> alphas = in.numbers("activation_alpha"), betas = in.numbers("activation_beta");
  if (names.size() != directions * defaults.size())
    in.fail("attribute 'activations'", std::to_string(names.size()) + " names",
            std::to_string(directions * defaults.size()));
  std::vector<UnaryAttrs> functions;
  std::size_t alpha = 0, beta = 0;
  for (std::string& name : names) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const auto known = std::find_if(kCellActivations.begin(), kCellActivations.end(),
                                    [&](const CellActivation& one) { return one.name == name; });
    if (known == kCellActivations.end()) {
      in.unsupported("attribute 'activations'", "'" + name + "'",
                     "Elu, HardSigmoid, LeakyRelu, Relu, Sigmoid, Softplus, Softsign, Tanh or ThresholdedRelu");
      return {};
    }
    UnaryAttrs function = known->function;
    if (known->numbers > 0 && alpha < alphas.size()) function.alpha = alphas[alpha++];
    if (known->numbers > 1 && beta < betas.size()) function.beta = betas[beta++];
    functions.push_back(function);
  }
  return functions;
}

// X in bytes of its own range, and weights [directions, K, N] with a scale and a zero point for each direction or each
// column of it.
struct IntegerProduct {
  ValueId x, x_scale, x_zero_point, w, w_scale, w_zero_point;
};

// The node's inputs; shapes [directions, ...].
struct Operands {
  ValueId x, w, r, bias, lengths, h, c, peepholes;
  std::optional<IntegerProduct> integers;  // what x and w are products of
  Dim steps, batch;
  std::int64_t hidden = 0, directions = 1;
};

// One line of the first axis, under `suffix`; nothing where there is none.
ValueId line_of(NodeReader& in, ValueId x, std::int64_t direction, const std::string& suffix) {
  return x.exists() ? pick(in, x, 0, direction, suffix) : ValueId{};
}

RecurrentBiases biases_of(NodeReader& in, const Operands& operands, const RecurrenceAttrs& attrs,
                          std::int64_t direction, const std::string& name) {
  const std::int64_t width = gates_of(attrs.kind) * operands.hidden;
  const bool needs_one = attrs.kind == K::gru && attrs.resets_after_product;
  ValueId both = line_of(in, operands.bias, direction, name + ".b");
  if (!both.exists() && !needs_one) return {};
  if (!both.exists()) both = in.constant(Tensor(DType::f32, Shape{2 * width}), name + ".no_b");
  return recurrent_biases(in, attrs, slice(in, both, 0, Range{.size = width}, name + ".wb"),
                          slice(in, both, 0, Range{.start = width, .size = width}, name + ".rb"), name);
}

bool is_zero(const Fact& bias) {
  return bias.is_constant() && bias.dtype == DType::f32 &&
         std::all_of(bias.constant->span<float>().begin(), bias.constant->span<float>().end(),
                     [](float value) { return value == 0.0f; });
}

// What the exporter writes where the product of the inputs is a node of its own.
bool is_identity(const Fact& w) {
  if (!w.is_constant() || w.dtype != DType::f32 || w.shape[0] != w.shape[1]) return false;
  const std::int64_t n = w.shape[0].fixed();
  for (std::int64_t i = 0; i < n * n; ++i) {
    if (w.constant->as<float>()[i] != (i % (n + 1) == 0 ? 1.0f : 0.0f)) return false;
  }
  return true;
}

// f32(sum) * (x_scale * w_scale), then the bias: the product of DynamicQuantizeMatMul.
ValueId integer_product(NodeReader& in, const IntegerProduct& p, std::int64_t direction, ValueId bias,
                        const std::string& name) {
  const ValueId sum = in.add(kMatmulInteger, NoAttrs{},
                             {p.x, line_of(in, p.w, direction, name + ".wq"), p.x_zero_point,
                              line_of(in, p.w_zero_point, direction, name + ".wz")},
                             name + ".sums");
  const ValueId scale =
      in.binary(BinaryKind::mul, p.x_scale, line_of(in, p.w_scale, direction, name + ".ws"), name + ".scale");
  const ValueId y = in.binary(BinaryKind::mul, in.cast(sum, DType::f32, name + ".wide"), scale, name + ".product");
  return bias.exists() ? in.binary(BinaryKind::add, y, bias, name + ".inputs") : y;
}

// h of every step [T, B, H], and the last states.
std::vector<ValueId> add_direction(NodeReader& in, const Operands& operands, const RecurrenceAttrs& attrs,
                                   std::int64_t direction) {
  const std::string name = attrs.is_backward ? "backward" : "forward";
  const ValueId w = swap_axes(in, line_of(in, operands.w, direction, name + ".w"), 0, 1, name + ".wt");
  const ValueId r = swap_axes(in, line_of(in, operands.r, direction, name + ".r"), 0, 1, name + ".rt");
  const RecurrentBiases biases = biases_of(in, operands, attrs, direction, name);
  ValueId x = operands.x;
  if (in.failed()) return {};
  const bool adds = biases.all.exists() && !is_zero(in.fact(biases.all));
  const ValueId bias = adds ? biases.all : ValueId{};
  if (operands.integers) x = integer_product(in, *operands.integers, direction, bias, name);
  else if (adds || !is_identity(in.fact(w))) x = matmul(in, x, w, bias, name + ".inputs");
  ValueId peepholes = line_of(in, operands.peepholes, direction, name + ".p");
  if (peepholes.exists()) peepholes = in.reshape(peepholes, {3, operands.hidden}, name + ".peepholes");
  std::vector<ValueId> inputs{x,
                              r,
                              biases.candidate,
                              line_of(in, operands.h, direction, name + ".h"),
                              line_of(in, operands.c, direction, name + ".c"),
                              peepholes,
                              operands.lengths};
  while (!inputs.back().exists()) inputs.pop_back();
  return in.failed() ? std::vector<ValueId>{} : in.add_exactly(kRecurrence, attrs, std::move(inputs), name);
}

// Weights [directions, K, N] of DynamicQuantizeLSTM, whose scales and zero points are two inputs from `first` on, as
// those of LSTM: [directions, N, K] in f32.
ValueId real_weights(NodeReader& in, ValueId w, int first, const std::string& name) {
  const auto by_direction = [&](ValueId numbers, const std::string& suffix) {
    if (in.failed() || !numbers.exists()) return numbers;
    in.require_rank(numbers, 1, 2);
    return in.failed() ? ValueId{}
                       : unsqueeze(in, numbers, in.rank(numbers) == 1 ? Integers{1, 2} : Integers{1}, suffix);
  };
  ValueId real = in.cast(w, DType::f32, name + ".real");
  const ValueId zero_point = by_direction(in.optional(first + 1), name + ".zero_point");
  if (zero_point.exists())
    real = in.binary(BinaryKind::sub, real, in.cast(zero_point, DType::f32, name + ".real_zero"), name + ".moved");
  real = in.binary(BinaryKind::mul, real, by_direction(in.value(first), name + ".scale"), name + ".scaled");
  return in.failed() ? ValueId{} : swap_axes(in, real, 1, 2, name + ".by_gate");
}

// ONNX Runtime's LSTM of integers. The products of its inputs are integers here, too; states stay in f32, where it
// rounds them to bytes of their range in every step.
void take_integers(NodeReader& in, Operands& o) {
  for (const ValueId w : {o.w, o.r}) {
    in.require_rank(w, 3, 3);
    if (!in.failed() && !is_8bit(in.dtype(w)))
      in.fail(in.place_of(w), "elements of type " + std::string(octavo::name_of(in.dtype(w))), "u8 or s8");
  }
  if (in.failed()) return;
  const auto x = in.add_exactly(kDynamicQuantize, NoAttrs{}, {o.x}, "x");
  if (in.failed()) return;
  ++in.built().activation_types[DType::u8];
  o.integers = IntegerProduct{.x = x[0],
                              .x_scale = x[1],
                              .x_zero_point = x[2],
                              .w = o.w,
                              .w_scale = in.value(8, "W_scale"),
                              .w_zero_point = in.optional(9, "W_zero_point")};
  o.w = real_weights(in, o.w, 8, "W");
  o.r = real_weights(in, o.r, 10, "R");
}

Operands read_operands(NodeReader& in, K kind, bool is_batch_first, bool has_integers) {
  Operands o{.x = in.value(0, "X"),
             .w = in.value(1, "W"),
             .r = in.value(2, "R"),
             .bias = in.optional(3, "B"),
             .lengths = in.optional(4, "sequence_lens"),
             .h = in.optional(5, "initial_h")};
  if (kind == K::lstm) o.c = in.optional(6, "initial_c"), o.peepholes = in.optional(7, "P");
  if (has_integers) take_integers(in, o);
  if (in.failed()) return o;
  for (const ValueId x : {o.x, o.w, o.r}) in.require_rank(x, 3, 3);
  for (const ValueId x : {o.h, o.c}) {
    if (x.exists()) in.require_rank(x, 3, 3);
  }
  for (const ValueId x : {o.bias, o.peepholes}) {
    if (x.exists()) in.require_rank(x, 2, 2);
  }
  if (in.failed()) return o;
  if (is_batch_first) {
    o.x = swap_axes(in, o.x, 0, 1, "by_step");
    if (o.h.exists()) o.h = swap_axes(in, o.h, 0, 1, "h_by_direction");
    if (o.c.exists()) o.c = swap_axes(in, o.c, 0, 1, "c_by_direction");
  }
  if (o.lengths.exists()) o.lengths = in.cast(o.lengths, DType::s32, "lengths");
  o.steps = in.shape(o.x)[0], o.batch = in.shape(o.x)[1];
  o.hidden = in.shape(o.r)[2].fixed(), o.directions = in.shape(o.w)[0].fixed();
  const std::int64_t gates = gates_of(kind);
  const auto expect = [&](ValueId value, const OpenShape& shape) {
    if (value.exists() && !must_equal(in.shape(value).dims(), shape.dims()))
      in.fail(in.place_of(value), "shape " + in.shape(value).to_string(), shape.to_string());
  };
  expect(o.w, {o.directions, gates * o.hidden, in.shape(o.x)[2]});
  expect(o.r, {o.directions, gates * o.hidden, o.hidden});
  expect(o.bias, {o.directions, 2 * gates * o.hidden});
  expect(o.peepholes, {o.directions, 3 * o.hidden});
  for (const ValueId state : {o.h, o.c}) expect(state, {o.directions, o.batch, o.hidden});
  return o;
}

// Output `index`: all directions' values, which get a new axis `axis`; a batch that comes first goes there.
void join_directions(NodeReader& in, int index, const std::vector<ValueId>& parts, std::int64_t axis,
                     const Integers& batch_first) {
  if (in.failed() || !in.wants(index)) return;
  const std::string name = "y" + std::to_string(index);
  std::vector<ValueId> apart;
  for (std::size_t d = 0; d < parts.size(); ++d)
    apart.push_back(unsqueeze(in, parts[d], Integers{axis}, name + "." + std::to_string(d)));
  const ValueId all = apart.size() == 1 ? apart[0] : concat(in, apart, axis, name);
  in.output(index, batch_first.empty() ? all : transpose(in, all, batch_first, name + ".by_batch"));
}

template <K kind, bool has_integers = false>
ValueId read_recurrent(NodeReader& in) {
  const std::string direction = in.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    return in.fail("attribute 'direction'", "'" + direction + "'", "forward, reverse or bidirectional");
  const bool is_batch_first = !has_integers && in.opset() >= 14 && in.flag("layout");
  const Operands operands = read_operands(in, kind, is_batch_first, has_integers);
  const Number hidden = in.integer("hidden_size", operands.hidden);
  in.ignore("output_sequence");
  RecurrenceAttrs attrs{.kind = kind, .clip = in.number("clip", kNoClip)};
  if (kind == K::gru) attrs.resets_after_product = in.flag("linear_before_reset");
  if (kind == K::lstm) attrs.couples_gates = in.flag("input_forget");
  const std::size_t directions = direction == "bidirectional" ? 2 : 1;
  const std::vector<std::string> defaults = kind == K::simple ? std::vector<std::string>{"tanh"}
                                            : kind == K::gru  ? std::vector<std::string>{"sigmoid", "tanh"}
                                                              : std::vector<std::string>{"sigmoid", "tanh", "tanh"};
  const std::vector<UnaryAttrs> functions = read_activations(in, defaults, directions);
  if (in.failed()) return {};
  if (operands.directions != static_cast<std::int64_t>(directions))
    return in.fail("input 'W'", "shape " + in.shape(operands.w).to_string(),
                   std::to_string(directions) + " directions");
  if (hidden != operands.hidden)
    return in.fail(hidden.place, std::to_string(hidden.value), std::to_string(operands.hidden) + ", as R has");
  std::vector<ValueId> results, last_h, last_c;
  for (std::size_t d = 0; d < directions; ++d) {
    const UnaryAttrs* f = &functions[d * defaults.size()];
    attrs.gate = f[0], attrs.candidate = kind == K::simple ? f[0] : f[1];
    attrs.output = kind == K::lstm ? f[2] : UnaryAttrs{};
    attrs.is_backward = direction == "reverse" || d == 1;
    const auto made = add_direction(in, operands, attrs, static_cast<std::int64_t>(d));
    if (in.failed()) return {};
    results.push_back(made[0]);
    last_h.push_back(pick(in, made[1], 0, 0, "h." + std::to_string(d)));
    if (kind == K::lstm) last_c.push_back(pick(in, made[1], 0, 1, "c." + std::to_string(d)));
  }
  const Integers states = is_batch_first ? Integers{1, 0, 2} : Integers{};
  join_directions(in, 1, last_h, 0, states);
  if (kind == K::lstm) join_directions(in, 2, last_c, 0, states);
  join_directions(in, 0, results, 1, is_batch_first ? Integers{2, 0, 1, 3} : Integers{});
  return {};
}

constexpr Operator kCellTable[] = {
    {"GRU", 7, 3, 6, read_recurrent<K::gru>},
    {"LSTM", 7, 3, 8, read_recurrent<K::lstm>},
    {"RNN", 7, 3, 6, read_recurrent<K::simple>},
    {"com.microsoft.DynamicQuantizeLSTM", 1, 10, 12, read_recurrent<K::lstm, true>},
};

}  // namespace

const std::span<const Operator> kRecurrent = kCellTable;

}  // namespace octavo::onnx_import
