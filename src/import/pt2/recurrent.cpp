// ATen readers: recurrent layers, and single steps of them. Part of import/.
#include <algorithm>
#include <array>

#include "import/pt2/operators.h"
#include "import/rare_verbs.h"
#include "ops/expand/expand.h"
#include "ops/recurrence/recurrence.h"

namespace octavo::pt2_import {
namespace {

using K = RecurrenceKind;
using U = UnaryKind;

// What a layer learned for one direction: w [gates * H, I], r [gates * H, H], biases [gates * H] or none.
struct CellWeights {
  ValueId w, r, bias, state_bias;
};

// Where each gate of a recurrence stands in PyTorch: i, o, f, c in i, f, g, o; z, r, h in r, z, n.
std::span<const std::int64_t> gates_in_order(K kind) {
  static constexpr std::array<std::int64_t, 4> kLstm{0, 3, 1, 2};
  static constexpr std::array<std::int64_t, 3> kGru{1, 0, 2};
  if (kind == K::simple) return {};
  return kind == K::lstm ? std::span<const std::int64_t>(kLstm) : kGru;
}

// Lines of the gates along axis 0 in the order of a recurrence.
ValueId by_gate(NodeReader& in, K kind, ValueId lines, const std::string& name) {
  if (kind == K::simple || in.failed()) return lines;
  const std::int64_t hidden = in.shape(lines)[0].fixed() / gates_of(kind);
  std::vector<ValueId> parts;
  for (const std::int64_t gate : gates_in_order(kind))
    parts.push_back(slice(in, lines, 0, Range{.start = gate * hidden, .size = hidden}, name + std::to_string(gate)));
  return concat(in, parts, 0, name);
}

// A state that begins with zeros is the same as none.
bool is_zero(NodeReader& in, ValueId state) {
  if (in.failed()) return false;
  const Node* expanded = in.built().graph.producer_if(state, kExpand);
  const Fact& fact = in.fact(expanded == nullptr ? state : expanded->inputs[0]);
  if (!fact.is_constant() || fact.dtype != DType::f32) return false;
  const auto numbers = fact.constant->span<float>();
  return std::all_of(numbers.begin(), numbers.end(), [](float number) { return number == 0.0f; });
}

// h of every step [T, B, H], and the last states [1 or 2, B, H].
struct CellStates {
  ValueId all, last;
};

// x [T, B, I]; states [B, H].
CellStates add_cell(NodeReader& in, const RecurrenceAttrs& attrs, ValueId x, const CellWeights& given,
                    const std::vector<ValueId>& states, const std::string& name) {
  in.require_rank(given.w, 2, 2);
  in.require_rank(given.r, 2, 2);
  if (in.failed()) return {};
  const Dim hidden = in.shape(given.r)[1], lines = gates_of(attrs.kind) * hidden;
  const auto expect = [&](ValueId value, const OpenShape& shape) {
    if (value.exists() && !is_same(in.shape(value), shape))
      in.fail(in.place_of(value), name + ", shape " + in.shape(value).to_string(), shape.to_string());
  };
  expect(given.w, {lines, in.shape(x)[2]});
  expect(given.r, {lines, hidden});
  expect(given.bias, {lines});
  expect(given.state_bias, {lines});
  if (given.bias.exists() != given.state_bias.exists()) in.fail("", "one bias of two", "both, or none");
  if (in.failed()) return {};
  const ValueId w = swap_axes(in, by_gate(in, attrs.kind, given.w, name + ".w"), 0, 1, name + ".wt");
  const ValueId r = swap_axes(in, by_gate(in, attrs.kind, given.r, name + ".r"), 0, 1, name + ".rt");
  RecurrentBiases biases;
  if (given.bias.exists() || attrs.kind == K::gru) {
    const auto ordered = [&](ValueId bias, const std::string& part) {
      return bias.exists() ? by_gate(in, attrs.kind, bias, name + part)
                           : in.constant(Tensor(DType::f32, Shape{lines.fixed()}), name + part);
    };
    biases = recurrent_biases(in, attrs, ordered(given.bias, ".wb"), ordered(given.state_bias, ".rb"), name);
  }
  const ValueId products = matmul(in, x, w, given.bias.exists() ? biases.all : ValueId{}, name + ".inputs");
  std::vector<ValueId> inputs{products, r, biases.candidate};
  inputs.insert(inputs.end(), states.begin(), states.end());
  while (!inputs.back().exists()) inputs.pop_back();
  const auto made = in.add_exactly(kRecurrence, attrs, std::move(inputs), name);
  return in.failed() ? CellStates{} : CellStates{made[0], made[1]};
}

RecurrenceAttrs attrs_of(K kind, U function) {
  return {.kind = kind,
          .gate = {.kind = kind == K::simple ? function : U::sigmoid},
          .candidate = {.kind = function},
          .output = {.kind = kind == K::lstm ? function : U::identity},
          .resets_after_product = kind == K::gru};
}

// h, and of an lstm c.
std::vector<ValueId> read_states(NodeReader& in, K kind, int rank) {
  const std::vector<ValueId> states = kind == K::lstm ? in.values("hx") : std::vector{in.value("hx")};
  if (!in.failed() && states.size() != (kind == K::lstm ? 2u : 1u))
    in.fail("argument 'hx'", std::to_string(states.size()) + " tensors", "h and c");
  for (const ValueId state : states) in.require_rank(state, rank, rank);
  return states;
}

// ---- one step ----

template <K kind, U function = U::tanh>
ValueId read_cell(NodeReader& in) {
  const ValueId x = in.value("input");
  const CellWeights weights{in.value("w_ih"), in.value("w_hh"), in.optional("b_ih"), in.optional("b_hh")};
  in.require_rank(x, 2, 2);
  std::vector<ValueId> states = read_states(in, kind, 2);
  std::replace_if(
      states.begin(), states.end(), [&](ValueId state) { return is_zero(in, state); }, ValueId{});
  const CellStates made =
      add_cell(in, attrs_of(kind, function), unsqueeze(in, x, Integers{0}, "step"), weights, states, "states");
  if (kind == K::lstm) in.output(1, pick(in, made.last, 0, 1, "next_cell"));
  return pick(in, made.last, 0, 0, "next_hidden");
}

// ---- layers ----

// Weights of each layer, direction by direction; states [layers * directions, B, H].
struct Layers {
  std::vector<ValueId> params, states;
  std::int64_t count = 1, directions = 1;
  bool has_biases = true;

  std::size_t per_direction() const { return has_biases ? 4 : 2; }
  CellWeights of(std::size_t line) const {
    const ValueId* first = &params[line * per_direction()];
    return has_biases ? CellWeights{first[0], first[1], first[2], first[3]} : CellWeights{first[0], first[1], {}, {}};
  }
};

void check_layers(NodeReader& in, const Layers& layers, const std::string& place) {
  const auto given = static_cast<std::int64_t>(layers.params.size());
  if (layers.count < 1 || layers.count > given)
    in.fail(place, std::to_string(layers.count), "as many layers as have weights among " + std::to_string(given));
  if (in.failed()) return;
  const std::int64_t lines = layers.count * layers.directions;
  const auto each = static_cast<std::int64_t>(layers.per_direction());
  if (given == lines * (each + 1))
    in.unsupported("argument 'params'", "weights that project the states (proj_size)", "states as they are");
  else if (given != lines * each)
    in.fail("argument 'params'", std::to_string(given) + " tensors", std::to_string(lines * each));
  for (const ValueId state : layers.states) {
    if (!in.failed() && !is_same(in.shape(state)[0], lines))
      in.fail("argument 'hx'", "shape " + in.shape(state).to_string(), std::to_string(lines) + " states");
  }
}

Layers read_weights(NodeReader& in, K kind) {
  const Number count = in.integer("num_layers");
  Layers layers{.params = in.values("params"),
                .states = read_states(in, kind, 3),
                .count = count,
                .directions = in.flag("bidirectional") ? 2 : 1,
                .has_biases = in.flag("has_biases")};
  check_layers(in, layers, count.place);
  return layers;
}

// All directions of one layer side by side, [T, B, directions * H]; `made` has those of the layers before.
ValueId add_layer(NodeReader& in, RecurrenceAttrs attrs, ValueId x, const Layers& layers,
                  std::vector<CellStates>& made) {
  const std::string name = "layer" + std::to_string(made.size() / static_cast<std::size_t>(layers.directions));
  std::vector<ValueId> directions;
  for (std::int64_t d = 0; d < layers.directions && !in.failed(); ++d) {
    const std::string part = name + (d == 0 ? ".forward" : ".backward");
    const std::size_t line = made.size();
    std::vector<ValueId> states;
    for (const ValueId state : layers.states) {
      const std::string called = part + (states.empty() ? ".h" : ".c");
      const auto index = static_cast<std::int64_t>(line);
      states.push_back(is_zero(in, state) ? ValueId{} : pick(in, state, 0, index, called));
    }
    attrs.is_backward = d == 1;
    made.push_back(add_cell(in, attrs, x, layers.of(line), states, part));
    directions.push_back(made.back().all);
  }
  return directions.size() == 1 ? directions[0] : concat(in, directions, 2, name);
}

// One state of each layer and direction: [layers * directions, B, H].
ValueId joined_states(NodeReader& in, const std::vector<CellStates>& made, std::int64_t which,
                      const std::string& name) {
  std::vector<ValueId> lines;
  for (const CellStates& states : made) {
    if (in.failed()) return {};
    const std::string part = name + std::to_string(lines.size());
    lines.push_back(slice(in, states.last, 0, Range{.start = which, .size = 1}, part));
  }
  return lines.size() == 1 ? lines[0] : concat(in, lines, 0, name);
}

template <K kind, U function = U::tanh>
ValueId read_layers(NodeReader& in) {
  ValueId x = in.value("input");
  const Layers layers = read_weights(in, kind);
  const bool is_batch_first = in.flag("batch_first");
  if (in.flag("train") && in.number("dropout", 0.0) != 0.0)
    in.unsupported("argument 'train'", "true", "false; export the model in evaluation mode");
  in.ignore("dropout");
  in.require_rank(x, 3, 3);
  if (in.failed()) return {};
  if (is_batch_first) x = swap_axes(in, x, 0, 1, "by_step");
  std::vector<CellStates> made;
  for (std::int64_t layer = 0; layer < layers.count && !in.failed(); ++layer)
    x = add_layer(in, attrs_of(kind, function), x, layers, made);
  in.output(1, joined_states(in, made, 0, "h"));
  if (kind == K::lstm) in.output(2, joined_states(in, made, 1, "c"));
  return is_batch_first ? swap_axes(in, x, 0, 1, "by_batch") : x;
}

constexpr Operator kRecurrentTable[] = {
    {"aten.gru", "input", kFresh, read_layers<K::gru>},
    {"aten.gru_cell", "default", kFresh, read_cell<K::gru>},
    {"aten.lstm", "input", kFresh, read_layers<K::lstm>},
    {"aten.lstm_cell", "default", kFresh, read_cell<K::lstm>},
    {"aten.rnn_relu", "input", kFresh, read_layers<K::simple, U::relu>},
    {"aten.rnn_relu_cell", "default", kFresh, read_cell<K::simple, U::relu>},
    {"aten.rnn_tanh", "input", kFresh, read_layers<K::simple>},
    {"aten.rnn_tanh_cell", "default", kFresh, read_cell<K::simple>},
};

}  // namespace

const std::span<const Operator> kRecurrent = kRecurrentTable;

}  // namespace octavo::pt2_import
