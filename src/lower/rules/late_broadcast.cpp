// Elements are computed once and repeated afterwards, not the other way round. Part of lower/.
#include "lower/rules/late_broadcast.h"

#include <algorithm>

#include "graph/attrs_of.h"
#include "ops/attention/attention.h"
#include "ops/binary/binary.h"
#include "ops/cumsum/cumsum.h"
#include "ops/expand/expand.h"
#include "ops/gather/gather.h"
#include "ops/reshape/reshape.h"
#include "ops/slice/slice.h"
#include "ops/transpose/transpose.h"
#include "ops/where/where.h"

namespace octavo {
namespace {

constexpr int kMostNodes = 8;                           // behind a value that are asked about its sign
constexpr std::int64_t kSmall = std::int64_t{1} << 20;  // sums of fewer than 2^40 of them stay in 64 bits

// Of a constant of integers that no open size is in; absent where there is another.
const Tensor* integers_at(const Graph& graph, ValueId id) {
  const Fact& fact = graph.fact(id);
  return fact.is_constant() && fact.extents == nullptr && fact.dtype == DType::s64 ? fact.constant.get() : nullptr;
}

template <class Test>
bool all(const Tensor& tensor, const Test& test) {
  const auto values = tensor.span<std::int64_t>();
  return std::all_of(values.begin(), values.end(), test);
}

// Each element of the result is one of the first input's, or a sum of some.
bool keeps_sign(const Node& node) {
  const OpSpec* movements[] = {&kExpand, &kReshape, &kTranspose, &kSlice, &kGather};
  const auto* cumsum = node.attrs.get_if<CumsumAttrs>();
  return std::count(std::begin(movements), std::end(movements), node.spec) > 0 ||
         (cumsum != nullptr && cumsum->kind == CumsumKind::sum);
}

// s64 of which no element is below 0.
bool is_never_negative(const Graph& graph, ValueId id, int depth = kMostNodes) {
  if (const Tensor* constant = integers_at(graph, id))
    return all(*constant, [](std::int64_t x) { return x >= 0 && x <= kSmall; });
  const Node* node = graph.producer(id);
  if (node == nullptr || depth == 0 || graph.fact(id).dtype != DType::s64) return false;
  return keeps_sign(*node) && is_never_negative(graph, node->inputs[0], depth - 1);
}

bool is_never_positive(const Graph& graph, ValueId id) {
  const Tensor* constant = integers_at(graph, id);
  return constant != nullptr && all(*constant, [](std::int64_t x) { return x <= 0; });
}

bool is_true(const Graph& graph, ValueId id) {
  if (const Node* expand = graph.producer_if(id, kExpand)) return is_true(graph, expand->inputs[0]);
  const Fact& fact = graph.fact(id);
  if (!fact.is_constant() || fact.dtype != DType::boolean) return false;
  const auto values = fact.constant->span<std::uint8_t>();
  return std::all_of(values.begin(), values.end(), [](std::uint8_t x) { return x != 0; });
}

// `value` as it stands for y: repeated to its shape.
Patch repeated(Patch patch, const Node& node, ValueId value) {
  const ValueId y = node.outputs[0];
  const OpenShape& shape = patch.fact(y).shape;
  const bool is_whole = is_same(patch.fact(value).shape, shape);
  const ExpandAttrs attrs{shape.to_vector()};
  patch.replace(y, is_whole ? value : patch.add(kExpand, attrs, {value}, node.name + "/repeated", node.origin));
  return patch;
}

// Whether repeating is all that an operator of several operands does to an operand's elements.
bool is_scalar(const Graph& graph, ValueId id) {
  const OpenShape& shape = graph.fact(id).shape;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!is_one(shape[axis])) return false;
  }
  return true;
}

}  // namespace

Match settle_comparison(const Graph& graph, const Node& node) {
  const auto* binary = node.attrs.get_if<BinaryAttrs>();
  if (binary == nullptr || graph.fact(node.outputs[0]).is_constant()) return std::string();
  const bool is_greater = binary->kind == BinaryKind::greater_or_equal,
             is_less = binary->kind == BinaryKind::less_or_equal;
  if (!is_greater && !is_less) return std::string();
  const ValueId larger = node.inputs[is_greater ? 0 : 1], smaller = node.inputs[is_greater ? 1 : 0];
  if (!is_never_positive(graph, smaller) || !is_never_negative(graph, larger)) return std::string();
  Patch patch(graph);
  Tensor truth(DType::boolean, {1});
  truth.as<std::uint8_t>()[0] = 1;
  const ValueId constant = patch.constant(node.name + "/true", std::move(truth));
  return repeated(std::move(patch), node, constant);
}

Match drop_true(const Graph& graph, const Node& node) {
  if (!is_binary(node.attrs, BinaryKind::logical_and)) return std::string();
  for (const std::size_t side : {0u, 1u}) {
    const ValueId other = node.inputs[1 - side];
    // An output of the graph has a node of its own.
    if (!is_true(graph, node.inputs[side]) || graph.is_output(node.outputs[0])) continue;
    return repeated(Patch(graph), node, other);
  }
  return std::string();
}

Match expand_later(const Graph& graph, const Node& node) {
  if (node.spec->pointwise == nullptr && node.spec != &kWhere) return std::string();
  std::vector<ValueId> inputs = node.inputs;
  const Node* expand = nullptr;
  for (ValueId& input : inputs) {
    if (!input.exists()) return std::string();
    if (is_scalar(graph, input)) continue;
    if (expand != nullptr) return std::string();
    expand = graph.producer_if(input, kExpand);
    if (expand == nullptr) return std::string();
    input = expand->inputs[0];
  }
  if (expand == nullptr || graph.fact(expand->inputs[0]).is_constant()) return std::string();
  Patch patch(graph);
  const ValueId value = patch.add(*node.spec, node.attrs, std::move(inputs), node.name, node.origin);
  return repeated(std::move(patch), node, value);
}

Match mask_before_expand(const Graph& graph, const Node& node) {
  if (node.spec != &kAttention || node.inputs.size() <= kAttentionMask || !node.inputs[kAttentionMask].exists())
    return std::string();
  const Node* expand = graph.producer_if(node.inputs[kAttentionMask], kExpand);
  if (expand == nullptr) return std::string();
  std::vector<ValueId> inputs = node.inputs;
  inputs[kAttentionMask] = expand->inputs[0];
  Patch patch(graph);
  patch.replace(node.outputs[0], patch.add(*node.spec, node.attrs, std::move(inputs), node.name, node.origin));
  return patch;
}

}  // namespace octavo
