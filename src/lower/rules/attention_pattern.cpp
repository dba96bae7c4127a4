// Attention that exporters write as products around a softmax. Part of lower/.
#include "lower/rules/attention_pattern.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lower/column_view.h"
#include "lower/leading_axes.h"
#include "lower/quantized_value.h"
#include "lower/tensor_edit.h"
#include "ops/attention/attention.h"
#include "ops/binary/binary.h"
#include "ops/expand/expand.h"
#include "ops/matmul/matmul.h"
#include "ops/reshape/reshape.h"
#include "ops/softmax/softmax.h"
#include "ops/transpose/transpose.h"
#include "ops/unary/unary.h"
#include "ops/where/where.h"

namespace octavo {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();
// Half a unit in the last place of a fill this large is beyond any score: score + fill = fill.
constexpr float kOverwhelming = -0x1p60f;
constexpr std::size_t kMostSteps = 16;

// One step from the product to the softmax, in the units of what the softmax reads.
struct AttentionStep {
  enum class Kind { plus, keep };
  Kind kind = Kind::plus;
  ValueId mask;              // plus: f32; keep: bool
  double factor = 1.0;       // of the mask
  bool is_inverted = false;  // keep: the scores where the mask is false
  float fill = 0.0f;         // keep: elsewhere
  OpenShape leading;         // of the scores at this step
};

struct Scores {
  const Node* product = nullptr;
  double factor = 1.0;
  std::vector<AttentionStep> steps;  // the last one first
  OpenShape leading;                 // the finest that the scores have on their way
  ValueId matrix_factor;             // a constant [..., 1, 1] that the product is multiplied with, if any
};

bool same_shape(const Graph& graph, ValueId a, ValueId b) { return is_same(graph.fact(a).shape, graph.fact(b).shape); }

OpenShape leading_of(const Graph& graph, ValueId wire) { return leading_axes(graph.fact(wire).shape); }

std::string described(const Node& node) {
  return "'" + node.name + "' (" + std::string(node.spec->name) +
         (node.attrs.is<BinaryAttrs>() ? " " + std::string(name_of(node.attrs.as<BinaryAttrs>().kind)) : "") + ")";
}

bool keeps_matrices(const Graph& graph, const Node& reshape) {
  const OpenShape& from = graph.fact(reshape.inputs[0]).shape;
  const OpenShape& to = graph.fact(reshape.outputs[0]).shape;
  return from.rank() >= 2 && to.rank() >= 2 && is_same(OpenShape(from.dims().last(2)), OpenShape(to.dims().last(2)));
}

// Walks from what the softmax reads up to the product of queries and keys.
class ScoreWalk {
 public:
  // `found` on the way to the wire.
  ScoreWalk(const Graph& graph, ValueId wire, Scores found) : graph_(graph), scores_(std::move(found)) {
    if (leading_of(graph, wire).rank() > scores_.leading.rank()) scores_.leading = leading_of(graph, wire);
    while (reason_.empty() && scores_.product == nullptr) wire = next(wire);
  }

  std::variant<Scores, std::string> result() && {
    if (!reason_.empty()) return std::move(reason_);
    return std::move(scores_);
  }

 private:
  ValueId refuse(std::string reason) {
    reason_ = std::move(reason);
    return {};
  }

  ValueId next(ValueId wire) {
    if (scores_.steps.size() == kMostSteps) return refuse("more masks than files have");
    const Node* node = graph_.producer(wire);
    if (node == nullptr) return refuse("its scores are not computed by a product");
    if (!graph_.has_one_reader(wire)) return refuse("its scores are read by others too, behind " + described(*node));
    if (node->spec == &kMatmul) {
      scores_.product = node;
      return {};
    }
    if (const auto product = one_multiple(wire)) {
      scores_.factor *= product->factor;
      return product->x;
    }
    if (node->spec == &kReshape) return reshape(*node);
    if (node->spec == &kWhere) return where(*node);
    if (is_binary(node->attrs, BinaryKind::mul)) return times_matrices(*node);
    if (is_binary(node->attrs, BinaryKind::add) || is_binary(node->attrs, BinaryKind::sub)) return plus(*node);
    return refuse(described(*node) + " between the product and the softmax is no scale and no mask");
  }

  std::optional<Multiple> one_multiple(ValueId wire) const {
    const Multiple found = multiple_of(graph_, wire);
    return found.x == wire ? std::nullopt : std::optional(found);
  }

  // The product times a number for each of its matrices.
  ValueId times_matrices(const Node& node) {
    for (std::size_t side = 0; side < 2; ++side) {
      const ValueId scores = node.inputs[side];
      const Fact& factor = graph_.fact(node.inputs[1 - side]);
      const int rank = factor.shape.rank();
      const bool is_of_matrices =
          factor.is_constant() && rank >= 2 && is_one(factor.shape[rank - 1]) && is_one(factor.shape[rank - 2]);
      const Node* product = graph_.producer_if(scores, kMatmul);
      if (!is_of_matrices || product == nullptr || !graph_.has_one_reader(scores) ||
          !same_shape(graph_, scores, node.outputs[0]))
        continue;
      scores_.product = product;
      scores_.matrix_factor = node.inputs[1 - side];
      return {};
    }
    return refuse(described(node) + " between the product and the softmax is no scale and no mask");
  }

  // Only leading axes change.
  ValueId reshape(const Node& node) {
    if (!keeps_matrices(graph_, node))
      return refuse(described(node) + " reshapes more than the leading axes of its scores");
    const OpenShape& from = graph_.fact(node.inputs[0]).shape;
    if (from.rank() > scores_.leading.rank() + 2) scores_.leading = leading_axes(from);
    return node.inputs[0];
  }

  ValueId where(const Node& node) {
    for (std::size_t side = 1; side <= 2; ++side) {
      const auto fill = scalar_constant(graph_, node.inputs[3 - side]);
      const ValueId scores = node.inputs[side];
      if (!fill || !same_shape(graph_, scores, node.outputs[0])) continue;
      const float filled = static_cast<float>(*fill * scores_.factor);
      if (!(filled <= kOverwhelming))
        return refuse("its mask writes " + std::to_string(*fill) +
                      " into the scores: -inf, or -2^60 and less, is no score; this may be one");
      scores_.steps.push_back({.kind = AttentionStep::Kind::keep,
                               .mask = node.inputs[0],
                               .is_inverted = side == 2,
                               .fill = filled,
                               .leading = leading_of(graph_, scores)});
      return scores;
    }
    return refuse(described(node) + " between the product and the softmax is no mask with a scalar fill");
  }

  // The side that a product is behind has the scores.
  ValueId plus(const Node& node) {
    const bool is_difference = is_binary(node.attrs, BinaryKind::sub);
    for (std::size_t side = 0; side < (is_difference ? 1 : 2); ++side) {
      const ValueId scores = node.inputs[side];
      const ValueId mask = node.inputs[1 - side];
      if (!same_shape(graph_, scores, node.outputs[0]) || !graph_.has_one_reader(scores)) continue;
      Scores with_mask = scores_;
      with_mask.steps.push_back({.kind = AttentionStep::Kind::plus,
                                 .mask = mask,
                                 .factor = is_difference ? -scores_.factor : scores_.factor,
                                 .leading = leading_of(graph_, scores)});
      auto found = ScoreWalk(graph_, scores, std::move(with_mask)).result();
      if (!std::holds_alternative<Scores>(found)) continue;
      scores_ = std::get<Scores>(std::move(found));
      return {};
    }
    return refuse(described(node) + " adds to something that is no product, or that others read");
  }

  const Graph& graph_;
  Scores scores_;
  std::string reason_;
};

// What attention takes as its mask: sums and conditions in the order of the steps.
class MaskBuilder {
 public:
  MaskBuilder(Patch& patch, const Graph& graph, const Node& node, const OpenShape& leading)
      : patch_(patch), graph_(graph), node_(node), leading_(leading) {}

  // False where a mask does not say for which of the leading axes it is.
  bool add(const AttentionStep& step) {
    const auto mask = mask_for_leading_axes(patch_, step.mask, step.leading, leading_, name("mask"));
    if (!mask) return false;
    if (step.kind == AttentionStep::Kind::plus) plus(*mask, step.factor);
    else keep(*mask, step);
    return true;
  }

  // Nothing where there is none. With an axis for the head in front of the last two.
  std::optional<ValueId> result() {
    std::optional<ValueId> mask = sum_;
    if (kept_) mask = sum_ ? patch_.add(kWhere, NoAttrs{}, {*kept_, *sum_, constant(kMasked)}, name("mask")) : *kept_;
    if (!mask || patch_.fact(*mask).shape.rank() < 3) return mask;
    auto dims = patch_.fact(*mask).shape.to_vector();
    dims.insert(dims.end() - 2, Dim(1));
    return patch_.add(kReshape, ReshapeAttrs{dims}, {*mask}, name("mask"));
  }

 private:
  std::string name(std::string_view what) const { return node_.name + "/" + std::string(what); }
  ValueId constant(float value) { return patch_.constant(name("fill"), Tensor::scalar(value)); }

  void plus(ValueId mask, double factor) {
    if (factor != 1.0)
      mask =
          patch_.add(kBinary, BinaryAttrs{BinaryKind::mul}, {mask, constant(static_cast<float>(factor))}, name("mask"));
    sum_ = sum_ ? patch_.add(kBinary, BinaryAttrs{BinaryKind::add}, {*sum_, mask}, name("mask")) : mask;
  }

  void keep(ValueId condition, const AttentionStep& step) {
    if (step.fill != kMasked) {
      const ValueId kept = sum_ ? *sum_ : constant(0.0f);
      const ValueId fill = constant(step.fill);
      sum_ = patch_.add(kWhere, NoAttrs{}, {condition, step.is_inverted ? fill : kept, step.is_inverted ? kept : fill},
                        name("mask"));
      return;
    }
    if (step.is_inverted) condition = inverse(condition);
    kept_ = kept_ ? patch_.add(kBinary, BinaryAttrs{BinaryKind::logical_and}, {*kept_, condition}, name("mask"))
                  : condition;
  }

  ValueId inverse(ValueId condition) {
    if (condition.index < graph_.value_count()) {
      const Node* producer = graph_.producer_if(condition, kUnary);
      if (producer != nullptr && producer->attrs.as<UnaryAttrs>().kind == UnaryKind::logical_not)
        return producer->inputs[0];
    }
    return patch_.add(kUnary, UnaryAttrs{UnaryKind::logical_not}, {condition}, name("mask"));
  }

  Patch& patch_;
  const Graph& graph_;
  const Node& node_;
  const OpenShape& leading_;
  std::optional<ValueId> sum_, kept_;
};

// p of where(is_nan(p), 0, p); none for other nodes.
ValueId guarded(const Graph& graph, const Node& node) {
  const Node* test = node.spec == &kWhere ? graph.producer_if(node.inputs[0], kUnary) : nullptr;
  if (test == nullptr || test->attrs.as<UnaryAttrs>().kind != UnaryKind::is_nan) return {};
  const ValueId p = node.inputs[2];
  return test->inputs[0] == p && scalar_constant(graph, node.inputs[1]) == 0.0f ? p : ValueId{};
}

// The softmax that makes the probabilities, through a guard against NaN and reshapes of leading axes.
struct Probabilities {
  const Node* softmax = nullptr;
  bool others_read = false;
};
Probabilities probabilities(const Graph& graph, ValueId wire) {
  Probabilities found;
  bool is_guarded = false;
  while (const Node* node = graph.producer(wire)) {
    // A guard reads twice: in its test, and what it lets pass.
    found.others_read |=
        is_guarded ? graph.readers(wire).size() > 2 || graph.is_output(wire) : !graph.has_one_reader(wire);
    if (node->spec == &kSoftmax) found.softmax = node;
    const ValueId p = guarded(graph, *node);
    is_guarded = p.exists();
    if (is_guarded) found.others_read |= !graph.has_one_reader(node->inputs[0]);
    else if (node->spec != &kReshape || !keeps_matrices(graph, *node)) break;
    wire = is_guarded ? p : node->inputs[0];
  }
  return found;
}

// Some axis of size 1 of the leading ones stands for several: as matmul broadcasts.
ValueId expanded(Patch& patch, ValueId x, const OpenShape& leading, const std::string& name) {
  const OpenShape& shape = patch.fact(x).shape;
  if (is_same(leading_axes(shape), leading)) return x;
  auto dims = leading.to_vector();
  dims.insert(dims.end(), shape.end() - 2, shape.end());
  return patch.add(kExpand, ExpandAttrs{dims}, {x}, name);
}

ValueId transposed_matrices(Patch& patch, ValueId x, const std::string& name) {
  Axes perm = identity_axes(patch.fact(x).shape.rank());
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return patch.add(kTranspose, TransposeAttrs{perm}, {x}, name);
}

// k of k^T, without scalar factors on either side of the transpose.
Multiple keys_of(Patch& patch, const Graph& graph, ValueId wire, const std::string& name) {
  const Multiple outer = multiple_of(graph, wire);
  const Node* transpose = graph.producer_if(outer.x, kTranspose);
  if (transpose == nullptr) return {transposed_matrices(patch, outer.x, name), outer.factor};
  const Multiple inner = multiple_of(graph, transpose->inputs[0]);
  Axes perm = transpose->attrs.as<TransposeAttrs>().perm;
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  const double factor = outer.factor * inner.factor;
  if (is_identity(perm)) return {inner.x, factor};
  return {patch.add(kTranspose, TransposeAttrs{perm}, {inner.x}, name), factor};
}

bool is_moved_from_integers(const Graph& graph, ValueId wire) {
  for (const Node* node = graph.producer(wire); node != nullptr; node = graph.producer(wire)) {
    const ValueId moved = moved_by(graph, *node);
    if (!moved.exists()) return dequantized(graph, wire).has_value();
    wire = moved;
  }
  return false;
}

// The leading axes of the products' operands and results, and of what attention makes of them.
struct Leading {
  OpenShape product, result, finest;
};

Match fused(const Graph& graph, const Node& node, const Scores& scores) {
  const Node& product = *scores.product;
  for (const ValueId operand : {product.inputs[0], product.inputs[1], node.inputs[1]}) {
    const Fact& fact = graph.fact(operand);
    if (fact.dtype != DType::f32 || fact.shape.rank() < 2) return std::string("an operand is a row or not of type f32");
    if (is_moved_from_integers(graph, operand)) return std::string("its operands are quantized: products of integers");
  }
  const Leading leading{leading_of(graph, product.outputs[0]), leading_of(graph, node.outputs[0]), scores.leading};
  for (const OpenShape& other : {leading.product, leading.result}) {
    if (!is_same(other.elements(), leading.finest.elements()))
      return std::string("its masks or values are for more matrices than its queries and keys");
  }
  Patch patch(graph);
  const auto finest = [&](ValueId x, const OpenShape& from, std::string_view what) {
    const std::string name = node.name + "/" + std::string(what);
    return with_leading_axes(patch, expanded(patch, x, from, name), leading.finest, name);
  };
  Multiple q = multiple_of(graph, product.inputs[0]);
  if (scores.matrix_factor.exists())
    q.x = patch.add(kBinary, BinaryAttrs{BinaryKind::mul}, {q.x, scores.matrix_factor}, node.name + "/q");
  const Multiple k = keys_of(patch, graph, product.inputs[1], node.name + "/k");
  MaskBuilder masks(patch, graph, node, leading.finest);
  for (auto step = scores.steps.rbegin(); step != scores.steps.rend(); ++step) {
    if (!masks.add(*step)) return std::string("its mask is for leading axes that are merged where it is added");
  }
  const OpenShape& keys = patch.fact(k.x).shape;
  const OpenShape& values = graph.fact(node.inputs[1]).shape;
  const AttentionAttrs attrs{.head_size = keys[keys.rank() - 1],
                             .value_size = values[values.rank() - 1],
                             .scale = static_cast<float>(scores.factor * q.factor * k.factor)};
  if (!std::isfinite(attrs.scale)) return std::string("its scale is beyond f32");
  std::vector<ValueId> inputs = {finest(q.x, leading.product, "q"), finest(k.x, leading.product, "k"),
                                 finest(node.inputs[1], leading.result, "v")};
  if (const auto mask = masks.result()) inputs.push_back(*mask);
  const ValueId result = patch.add(kAttention, attrs, std::move(inputs), node.name, node.origin);
  patch.replace(node.outputs[0], with_leading_axes(patch, result, leading.result, node.name));
  return patch;
}

// The product that probabilities go into, through reshapes of leading axes; nullptr where there is none.
const Node* product_after(const Graph& graph, const Node& softmax) {
  const Node* reader = only_reader(graph, softmax.outputs[0]);
  while (reader != nullptr && reader->spec == &kReshape && keeps_matrices(graph, *reader))
    reader = only_reader(graph, reader->outputs[0]);
  return reader != nullptr && reader->spec == &kMatmul ? reader : nullptr;
}

}  // namespace

Match attention_pattern(const Graph& graph, const Node& node) {
  if (node.spec == &kSoftmax) {
    const Node* product = product_after(graph, node);
    Match match = product == nullptr ? Match(std::string()) : attention_pattern(graph, *product);
    return std::holds_alternative<Patch>(match) ? Match(std::string()) : match;
  }
  if (node.spec != &kMatmul || graph.fact(node.outputs[0]).dtype != DType::f32) return std::string();
  const auto [softmax, others_read] = probabilities(graph, node.inputs[0]);
  if (softmax == nullptr) return std::string();
  const auto refused = [](const std::string& why) { return Match(std::string(kNoAttention) + why); };
  if (others_read) return refused("its probabilities are read by others too");
  const auto& attrs = softmax->attrs.as<SoftmaxAttrs>();
  const int rank = graph.fact(softmax->inputs[0]).shape.rank();
  if (attrs.kind != SoftmaxKind::softmax || attrs.axis != rank - 1 || rank < 2)
    return refused("its softmax is not over the keys, the last axis");
  auto walked = ScoreWalk(graph, softmax->inputs[0], {}).result();
  if (const auto* why = std::get_if<std::string>(&walked)) return refused(*why);
  auto& scores = std::get<Scores>(walked);
  if (leading_of(graph, node.outputs[0]).rank() > scores.leading.rank())
    scores.leading = leading_of(graph, node.outputs[0]);
  Match match = fused(graph, node, scores);
  if (const auto* why = std::get_if<std::string>(&match)) return refused(*why);
  return match;
}

}  // namespace octavo
