// Deciding where quantize/dequantize pairs stand. Part of quantize/.
#include "quantize/placement.h"

#include <algorithm>

#include "ops/attention/attention.h"
#include "ops/binary/binary.h"
#include "ops/conv/conv.h"
#include "ops/gather/gather.h"
#include "ops/matmul/matmul.h"
#include "ops/unary/unary.h"
#include "quantize/node_pattern.h"
#include "quantize/roles.h"
#include "quantize/settled.h"
#include "quantize/shared_scales.h"
#include "quantize/tails.h"

namespace octavo {
namespace {

class Placer {
 public:
  Placer(const Graph& graph, const std::vector<std::string>& skip, const PlacementRules& rules);
  Placement place() &&;

 private:
  const Node& node(NodeId id) const { return graph_.node(id); }
  ValueId result(NodeId id) const { return node(id).outputs[0]; }
  Role role(NodeId id) const { return placement_.role(id).role; }
  Elements elements(NodeId id) const { return elements_of(*node(id).spec, node(id).attrs); }
  NodeRole given_role(const Node& node) const;
  bool has_constant_weights(NodeId id) const;
  bool is_embedding(const Node& node) const;
  bool is_activation(ValueId id) const {
    return id.exists() && graph_.fact(id).dtype == DType::f32 && !graph_.fact(id).is_constant();
  }
  NodeId only_reader(ValueId id) const { return graph_.has_one_reader(id) ? readers_[at(id)].front() : NodeId{}; }

  void join_biases();
  void join_residuals();
  void join_clamps();
  void find_regions();
  bool find_sources();
  ValueId common_source(const Node& node) const;
  void keep_float_sums();
  bool is_addition(NodeId id) const;
  void keep_all_but_products();
  bool is_row_product(NodeId id, ValueId x) const;
  bool is_gelu_of_product(NodeId id) const;
  void find_gelu_rows();
  void find_rows();
  bool stores_wide(NodeId id) const;
  RowSource row_source(ValueId x);
  bool is_scaled_for_rows(NodeId id) const;
  bool is_made_in_rows(ValueId id) const {
    const RowSource source = placement_.row_source(id);
    return source == RowSource::gelu || source == RowSource::scaled_stream;
  }
  void find_wide();
  void widen_inputs(NodeId id);
  bool has_region_reader(ValueId id) const;
  bool is_interior(ValueId id) const;
  void find_wanted();
  void want_ends();
  void decide_pairs();
  bool decide_pair(NodeId producer) const;

  const Graph& graph_;
  const PlacementRules& rules_;
  bool is_own_;  // may have s16 and tables by row
  Placement placement_;
  std::vector<std::vector<NodeId>> readers_;  // by ValueId
  std::vector<int> position_;                 // by NodeId, in the order
  std::vector<bool> is_skipped_;              // by NodeId
  std::vector<bool> is_joined_;  // by ValueId: its producer and its one reader are one kernel; nothing is rounded here
  std::vector<bool> is_chain_end_;  // by NodeId: a bias, addition or clamp joined to the kernel before it
  std::vector<ValueId> source_;     // by ValueId: the value of which this one is a function, element by element
  std::vector<bool> is_cut_;        // by ValueId: also read outside of its region, so a source of its own
  std::vector<bool> is_wanted_;     // by ValueId: some reader wants it in 8 bits
};

Placer::Placer(const Graph& graph, const std::vector<std::string>& skip, const PlacementRules& rules)
    : graph_(graph), rules_(rules), is_own_(rules.vocabulary == Vocabulary::own && rules.ends == Ends::floats) {
  const auto values = static_cast<std::size_t>(graph.value_count());
  std::size_t nodes = 0;
  for (NodeId id : graph.order()) nodes = std::max(nodes, at(id) + 1);
  readers_.resize(values);
  is_joined_.resize(values);
  is_cut_.resize(values);
  is_wanted_.resize(values);
  position_.resize(nodes);
  is_skipped_.resize(nodes);
  is_chain_end_.resize(nodes);
  placement_.roles.resize(nodes);
  placement_.is_8bit.resize(nodes);
  placement_.is_bias.resize(nodes);
  placement_.has_pair.resize(values);
  placement_.is_wide.resize(values);
  placement_.has_bytes.resize(values);
  placement_.rows.resize(values);
  placement_.reads_rows.resize(nodes);
  placement_.takes_wide.resize(nodes);
  placement_.looks_up_rows.resize(nodes);
  int position = 0;
  for (NodeId id : graph.order()) {
    position_[at(id)] = position++;
    for (ValueId input : node(id).inputs) {
      if (input.exists() && (readers_[at(input)].empty() || readers_[at(input)].back() != id))
        readers_[at(input)].push_back(id);
    }
    is_skipped_[at(id)] = matches_any(skip, node(id));
    placement_.roles[at(id)] =
        is_skipped_[at(id)] ? NodeRole{Role::floating, "kept in float as asked"} : given_role(node(id));
    placement_.looks_up_rows[at(id)] = !is_skipped_[at(id)] && is_own_ && is_embedding(node(id));
  }
  keep_settled_in_float(graph, placement_.roles);
  if (rules.ends == Ends::floats) keep_tails_in_float(graph, placement_.roles);
}

// Softmax is what networks end in: between floats it has nothing to gain from 8-bit values, between integers no other
// way.
NodeRole Placer::given_role(const Node& node) const {
  if (rules_.vocabulary == Vocabulary::standard && (is_norm(node) || node.attrs.is<AttentionAttrs>()))
    return {Role::floating, "other programs have no 8-bit form of " + std::string(node.spec->name)};
  if (rules_.ends == Ends::integers && is_integer_softmax(graph_, node)) return {Role::kernel, {}};
  return role_of(graph_, node);
}

Placement Placer::place() && {
  join_biases();
  if (rules_.rows == RowProducts::alone) keep_all_but_products();
  if (rules_.pairs == PairPlacement::fused) join_residuals();
  join_clamps();
  find_regions();
  if (is_own_) keep_float_sums();
  if (is_own_) find_gelu_rows();
  if (rules_.rows != RowProducts::behind_gelu) find_rows();
  find_wanted();
  if (is_own_) find_wide();
  decide_pairs();
  placement_.scale_of = shared_scales(graph_, placement_);
  return std::move(placement_);
}

// product -> addition of a constant along the last axis: the bias of the product.
void Placer::join_biases() {
  for (NodeId id : graph_.order()) {
    const bool has_no_bias = node(id).spec == &kMatmul;
    if (!has_no_bias || role(id) != Role::product || !graph_.fact(node(id).inputs[1]).is_constant()) continue;
    const NodeId next = only_reader(result(id));
    if (!next.exists() || is_skipped_[at(next)] || !is_binary(node(next).attrs, BinaryKind::add)) continue;
    const ValueId other = node(next).inputs[0] == result(id) ? node(next).inputs[1] : node(next).inputs[0];
    const Fact& bias = graph_.fact(other);
    const std::int64_t channels = graph_.fact(node(id).inputs[1]).shape[1];
    const bool is_row = bias.is_constant() && bias.shape.rank() >= 1 && bias.shape[bias.shape.rank() - 1] == channels &&
                        bias.shape.elements() == channels;
    if (!is_row || graph_.fact(result(next)).shape != graph_.fact(result(id)).shape) continue;
    is_joined_[at(result(id))] = true;
    is_chain_end_[at(next)] = placement_.is_bias[at(next)] = true;
    placement_.roles[at(next)] = {Role::product, {}};
  }
}

bool Placer::is_embedding(const Node& node) const {
  constexpr std::int64_t kSmallestTable = 1 << 16;  // elements; smaller ones save nothing
  const auto* gather = node.attrs.get_if<GatherAttrs>();
  if (gather == nullptr || gather->axis != 0) return false;
  const Fact& table = graph_.fact(node.inputs[0]);
  return table.is_constant() && table.dtype == DType::f32 && table.shape.rank() == 2 &&
         table.constant->elements() >= kSmallestTable && !graph_.fact(node.inputs[1]).is_constant();
}

// A convolution, or a product of a constant, with or without its bias.
bool Placer::has_constant_weights(NodeId id) const {
  if (role(id) != Role::product) return false;
  if (placement_.is_bias[at(id)] || node(id).attrs.is<ConvAttrs>()) return true;
  return node(id).spec == &kMatmul && graph_.fact(node(id).inputs[1]).is_constant();
}

// convolution -> addition: of two candidates the later one, because the other operand must be there when it runs.
void Placer::join_residuals() {
  for (NodeId id : graph_.order()) {
    if (role(id) != Role::kernel || !is_binary(node(id).attrs, BinaryKind::add)) continue;
    NodeId latest;
    for (ValueId input : node(id).inputs) {
      const NodeId producer = graph_.value(input).producer;
      if (!producer.exists() || !has_constant_weights(producer)) continue;
      if (!graph_.has_one_reader(input) || graph_.fact(input).shape != graph_.fact(result(id)).shape) continue;
      if (!latest.exists() || position_[at(producer)] > position_[at(latest)]) latest = producer;
    }
    const bool is_constant = std::any_of(node(id).inputs.begin(), node(id).inputs.end(),
                                         [&](ValueId input) { return graph_.fact(input).is_constant(); });
    if (!latest.exists() || is_constant) continue;
    is_joined_[at(result(latest))] = true;
    is_chain_end_[at(id)] = true;
  }
}

// kernel -> ReLU or clip: a clamp of the rounding. After a node that stays in float the clamp does, too.
void Placer::join_clamps() {
  for (NodeId id : graph_.order()) {
    if (!is_activation(result(id)) || role(id) == Role::pointwise || role(id) == Role::moving) continue;
    const NodeId next = only_reader(result(id));
    if (!next.exists() || role(next) != Role::pointwise || !is_clamp(node(next))) continue;
    if (role(id) == Role::floating) {
      placement_.roles[at(next)] = {Role::floating, "follows '" + node(id).name + "', which stays in float"};
      continue;
    }
    is_joined_[at(result(id))] = true;
    is_chain_end_[at(next)] = true;
    placement_.roles[at(next)] = placement_.roles[at(id)];
  }
}

// A region is everything that is a function of one value element by element: one table, nothing rounded inside.
void Placer::find_regions() {
  const std::vector<NodeRole> given = placement_.roles;
  while (find_sources()) placement_.roles = given;
}

// The value of which all activations that the node reads are functions, or none.
ValueId Placer::common_source(const Node& reader) const {
  ValueId common;
  for (ValueId input : reader.inputs) {
    if (!is_activation(input)) {
      if (!input.exists() || !graph_.fact(input).is_constant() || graph_.fact(input).shape.elements() != 1) return {};
      continue;
    }
    if (common.exists() && source_[at(input)] != common) return {};
    common = source_[at(input)];
  }
  const bool keeps_shape = common.exists() && graph_.fact(common).shape == graph_.fact(reader.outputs[0]).shape;
  return keeps_shape ? common : ValueId{};
}

// One round; true where a value had to be cut, after which everything is to be found anew.
bool Placer::find_sources() {
  source_.resize(placement_.has_pair.size());
  for (std::size_t i = 0; i < source_.size(); ++i) source_[i] = {static_cast<int>(i)};
  for (NodeId id : graph_.order()) {
    const bool joins_values =
        rules_.pairs == PairPlacement::fused && node(id).attrs.is<BinaryAttrs>() && is_activation(result(id));
    const bool may_be_pointwise = role(id) == Role::pointwise || joins_values;
    if (is_skipped_[at(id)] || is_chain_end_[at(id)] || !may_be_pointwise) continue;
    const ValueId source = common_source(node(id));
    if (source.exists()) placement_.roles[at(id)] = {Role::pointwise, {}};
    else if (role(id) == Role::pointwise) placement_.roles[at(id)] = {Role::floating, "changes the shape"};
    if (source.exists() && !is_cut_[at(result(id))]) source_[at(result(id))] = source;
  }
  bool has_new_cut = false;
  for (NodeId id : graph_.order()) {
    const ValueId value = result(id);
    if (role(id) != Role::pointwise || source_[at(value)] == value || is_interior(value) || !has_region_reader(value))
      continue;
    is_cut_[at(value)] = true;
    has_new_cut = true;
  }
  return has_new_cut;
}

bool Placer::has_region_reader(ValueId id) const {
  return std::any_of(readers_[at(id)].begin(), readers_[at(id)].end(), [&](NodeId reader) {
    return role(reader) == Role::pointwise && common_source(node(reader)) == source_[at(id)];
  });
}

bool Placer::is_interior(ValueId id) const {
  if (source_[at(id)] == id || graph_.is_output(id) || readers_[at(id)].empty()) return false;
  return std::all_of(readers_[at(id)].begin(), readers_[at(id)].end(), [&](NodeId reader) {
    return role(reader) == Role::pointwise && common_source(node(reader)) == source_[at(id)];
  });
}

// Outputs, and what only asks which value is the largest.
void Placer::want_ends() {
  for (ValueId output : graph_.outputs()) is_wanted_[at(output)] = is_activation(output);
  for (NodeId id : graph_.order()) {
    if (elements(id) == Elements::ranked && !is_skipped_[at(id)])
      is_wanted_[at(node(id).inputs[0])] = is_activation(node(id).inputs[0]);
  }
}

// From the outputs back: what reads 8-bit values wants its inputs so; tables and moving nodes want what their readers
// want.
void Placer::find_wanted() {
  if (rules_.ends == Ends::integers) want_ends();
  for (auto it = graph_.order().rbegin(); it != graph_.order().rend(); ++it) {
    const Role own = role(*it);
    if (own == Role::floating) continue;
    const bool follows_readers = own == Role::pointwise || own == Role::moving;
    if (follows_readers && !is_wanted_[at(result(*it))]) continue;
    if (placement_.reads_rows[at(*it)] && placement_.row_source(node(*it).inputs[0]) == RowSource::floats) continue;
    for (std::size_t i = 0; i < node(*it).inputs.size(); ++i) {
      const ValueId input = node(*it).inputs[i];
      if (is_activation(input) && takes_integers(node(*it), i)) is_wanted_[at(input)] = true;
    }
  }
}

// Sums of what is in float anyway, embeddings, stay so until a normalisation reads them: one rounding instead of three.
void Placer::keep_float_sums() {
  std::vector<bool> is_summed(is_wanted_.size());  // by ValueId: a normalisation reads it, through additions alone
  for (auto it = graph_.order().rbegin(); it != graph_.order().rend(); ++it) {
    const bool is_read_by_norm = is_norm(node(*it)) && role(*it) == Role::kernel;
    if (!is_read_by_norm && !(is_addition(*it) && is_summed[at(result(*it))])) continue;
    for (ValueId input : node(*it).inputs) {
      if (is_activation(input)) is_summed[at(input)] = true;
    }
  }
  for (NodeId id : graph_.order()) {
    const auto& inputs = node(id).inputs;
    const bool is_in_float = std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) {
      if (!is_activation(input)) return true;  // which an input that is left out is not either
      const NodeId producer = graph_.value(input).producer;
      return producer.exists() && role(producer) == Role::floating;
    });
    if (is_addition(id) && is_summed[at(result(id))] && is_in_float)
      placement_.roles[at(id)] = {Role::floating, "adds up what is in float"};
  }
}

bool Placer::is_addition(NodeId id) const {
  return role(id) == Role::kernel && is_binary(node(id).attrs, BinaryKind::add);
}

// A product of x with a constant matrix.
bool Placer::is_row_product(NodeId id, ValueId x) const {
  if (node(id).spec != &kMatmul || role(id) != Role::product || node(id).inputs[0] != x) return false;
  const Fact& weights = graph_.fact(node(id).inputs[1]);
  return weights.is_constant() && weights.shape.rank() == 2;
}

// Of everything else there are no ranges.
void Placer::keep_all_but_products() {
  for (NodeId id : graph_.order()) {
    const bool is_kept = role(id) == Role::kernel || (role(id) == Role::product && !placement_.is_bias[at(id)] &&
                                                      !is_row_product(id, node(id).inputs[0]));
    const std::string reason = role(id) == Role::product ? "there are no samples to find its ranges from" : "";
    if (is_kept || role(id) == Role::pointwise) placement_.roles[at(id)] = {Role::floating, reason};
  }
}

bool Placer::is_gelu_of_product(NodeId id) const {
  const auto* unary = node(id).attrs.get_if<UnaryAttrs>();
  const bool is_gelu = unary != nullptr && (unary->kind == UnaryKind::gelu || unary->kind == UnaryKind::gelu_tanh);
  if (!is_gelu || role(id) != Role::pointwise || graph_.is_output(result(id))) return false;
  const NodeId producer = graph_.value(node(id).inputs[0]).producer;
  return producer.exists() && role(producer) == Role::product && only_reader(node(id).inputs[0]) == id;
}

// product -> GELU -> products.
void Placer::find_gelu_rows() {
  for (NodeId id : graph_.order()) {
    if (!is_gelu_of_product(id)) continue;
    const ValueId x = node(id).inputs[0], y = result(id);
    const auto& readers = readers_[at(y)];
    const bool is_read_by_products =
        !readers.empty() &&
        std::all_of(readers.begin(), readers.end(), [&](NodeId reader) { return is_row_product(reader, y); });
    if (!is_read_by_products) continue;
    placement_.rows[at(y)] = RowSource::gelu;
    placement_.is_wide[at(x)] = placement_.takes_wide[at(id)] = true;
    for (NodeId reader : readers) placement_.reads_rows[at(reader)] = true;
  }
}

// All that products of a constant matrix read, but for what has bytes of its own.
void Placer::find_rows() {
  for (NodeId id : graph_.order()) {
    const ValueId x = node(id).inputs[0];
    if (!is_row_product(id, x) || !is_activation(x) || placement_.reads_rows[at(id)]) continue;
    if (!placement_.row_scales(x)) placement_.rows[at(x)] = row_source(x);
    placement_.reads_rows[at(id)] = placement_.takes_wide[at(id)] = placement_.row_scales(x);
  }
}

// Products with what is joined to them, additions and normalisations store s16.
bool Placer::stores_wide(NodeId id) const {
  if (is_chain_end_[at(id)] && is_clamp(node(id))) id = graph_.value(node(id).inputs[0]).producer;
  return has_constant_weights(id) || is_norm(node(id)) || is_addition(id);
}

// A stream times a row of constants, which only products of rows read.
bool Placer::is_scaled_for_rows(NodeId id) const {
  if (role(id) != Role::kernel || !is_binary(node(id).attrs, BinaryKind::mul)) return false;
  const Fact& factor = graph_.fact(node(id).inputs[1]);
  const OpenShape& shape = graph_.fact(result(id)).shape;
  if (!factor.is_constant() || factor.shape.rank() != 1 || !is_same(factor.shape[0], shape[shape.rank() - 1]))
    return false;
  const auto& readers = readers_[at(result(id))];
  return !graph_.is_output(result(id)) &&
         std::all_of(readers.begin(), readers.end(), [&](NodeId reader) { return is_row_product(reader, result(id)); });
}

// Functions of one value stay in f32 up to where the rows are made.
RowSource Placer::row_source(ValueId x) {
  ValueId source = x;
  NodeId producer = graph_.value(x).producer;
  while (producer.exists() && role(producer) == Role::moving && elements(producer) != Elements::joined) {
    source = node(producer).inputs[0];
    producer = graph_.value(source).producer;
  }
  if (!producer.exists() || role(producer) == Role::floating || node(producer).attrs.is<AttentionAttrs>())
    return RowSource::floats;
  if (stores_wide(producer)) {
    placement_.is_wide[at(source)] = true;
    return RowSource::stream;
  }
  if (source == x && is_scaled_for_rows(producer)) {
    const ValueId stream = node(producer).inputs[0];
    if (!placement_.row_scales(stream)) placement_.rows[at(stream)] = row_source(stream);
    placement_.takes_wide[at(producer)] = true;
    if (placement_.row_source(stream) == RowSource::stream) return RowSource::scaled_stream;
    placement_.roles[at(producer)] = {Role::floating, {}};
    return RowSource::floats;
  }
  if (role(producer) != Role::pointwise) return RowSource::none;
  const ValueId root = source_[at(source)];
  for (NodeId id : graph_.order()) {
    if (role(id) == Role::pointwise && source_[at(result(id))] == root)
      placement_.roles[at(id)] = {Role::floating, "products read its rows, whose scales are found in the run"};
  }
  return RowSource::floats;
}

// From the last normalisation back: what it reads, and the operands of additions and movements that make it; then
// forth, through what only moves elements.
void Placer::find_wide() {
  for (auto it = graph_.order().rbegin(); it != graph_.order().rend(); ++it) {
    const bool follows = is_addition(*it) || role(*it) == Role::moving;
    const bool takes = is_norm(node(*it)) ? role(*it) == Role::kernel : follows && placement_.wide(result(*it));
    if (takes) widen_inputs(*it);
  }
  for (NodeId id : graph_.order()) {
    if (role(id) != Role::moving || elements(id) == Elements::joined || !placement_.wide(node(id).inputs[0])) continue;
    placement_.is_wide[at(result(id))] = placement_.takes_wide[at(id)] = true;
  }
  for (NodeId id : graph_.order()) {
    const bool reads_bytes = role(id) != Role::floating && !placement_.takes_wide[at(id)];
    for (std::size_t i = 0; reads_bytes && i < node(id).inputs.size(); ++i) {
      const ValueId input = node(id).inputs[i];
      if (takes_integers(node(id), i) && input.exists() && placement_.wide(input))
        placement_.has_bytes[at(input)] = true;
    }
  }
}

void Placer::widen_inputs(NodeId id) {
  placement_.takes_wide[at(id)] = true;
  for (std::size_t i = 0; i < node(id).inputs.size(); ++i) {
    const ValueId input = node(id).inputs[i];
    if (takes_integers(node(id), i) && is_activation(input) && !is_joined_[at(input)])
      placement_.is_wide[at(input)] = true;
  }
}

void Placer::decide_pairs() {
  for (ValueId input : graph_.inputs()) placement_.has_pair[at(input)] = is_activation(input) && is_wanted_[at(input)];
  for (NodeId id : graph_.order()) {
    const ValueId value = result(id);
    const bool has_pair = is_activation(value) && !is_joined_[at(value)] && !is_made_in_rows(value) && decide_pair(id);
    placement_.has_pair[at(value)] = has_pair;
    const Role own = role(id);
    placement_.is_8bit[at(id)] = own == Role::product || own == Role::kernel ||
                                 (own == Role::pointwise && is_wanted_[at(value)]) || (own == Role::moving && has_pair);
  }
}

bool Placer::decide_pair(NodeId producer) const {
  const ValueId value = result(producer);
  const auto& inputs = node(producer).inputs;
  switch (role(producer)) {
    case Role::product:
    case Role::floating: return is_wanted_[at(value)];
    case Role::kernel: {
      // Scores that only f32 readers want are not rounded once more: one that is larger than any of the samples' would
      // be cut off.
      const bool may_give_floats = is_mean(node(producer)) || is_norm(node(producer)) || placement_.row_scales(value);
      return is_wanted_[at(value)] || !may_give_floats;
    }
    case Role::pointwise: return is_wanted_[at(value)] && !is_interior(value);
    case Role::moving:
      return is_wanted_[at(value)] || std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) {
               return !is_activation(input) || placement_.pair(input);
             });
  }
  return false;
}

}  // namespace

Placement place_pairs(const Graph& graph, const std::vector<std::string>& skip, const PlacementRules& rules) {
  return Placer(graph, skip, rules).place();
}

}  // namespace octavo
