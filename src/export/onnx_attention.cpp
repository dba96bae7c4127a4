// ONNX writers: attention, as the products and the softmax that opset 17 has. Part of export/.
#include <limits>

#include "export/onnx_operators.h"
#include "ops/attention/attention.h"

namespace octavo::onnx_export {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Where an operand has its heads.
struct Columns {
  std::int64_t first = 0, heads = 1, size = 1;
};

class AttentionWriter {
 public:
  explicit AttentionWriter(NodeExport& node) : node_(node), attrs_(node.attrs<AttentionAttrs>()) {
    batch_ = node.fact(0).shape.rank() - 2;
  }

  void write() {
    const std::string q = by_heads(0, "q", {attrs_.q_first, attrs_.heads, attrs_.head_size}, batch_rows_last());
    const std::string k = by_heads(1, "k", {attrs_.k_first, attrs_.kv_heads, attrs_.head_size}, batch_columns_last());
    const std::string v = by_heads(2, "v", {attrs_.v_first, attrs_.kv_heads, attrs_.value_size}, batch_rows_last());
    std::string scores = node_.before("MatMul", {q, k}, "scores");
    if (attrs_.scale != 1.0f)
      scores = node_.before("Mul", {scores, node_.out.scalar(node_.name("scale"), attrs_.scale)}, "scaled");
    const std::string weights = probabilities(masked(scores));
    const std::string values = node_.before("MatMul", {weights, v}, "values");
    const std::string joined = with("Transpose", {values}, "joined", "perm", batch_rows_last());
    Integers dims(static_cast<std::size_t>(batch_) + 1, 0);
    dims.push_back(attrs_.heads * attrs_.value_size);
    node_.emit("Reshape", {joined, node_.out.integers(node_.name("shape"), dims)});
  }

 private:
  // A node before it, with one attribute.
  template <class T>
  std::string with(std::string_view op, const std::vector<std::string>& inputs, std::string_view suffix,
                   std::string_view attribute, const T& value) {
    std::string result = node_.out.fresh(node_.name(suffix));
    set_attribute(node_.out.node(op, node_.name(suffix), inputs, result), attribute, value);
    return result;
  }
  std::string list(const std::string& name, const Integers& values) {
    return node_.out.integers(node_.name(name), values);
  }

  // Of [batch..., T, heads, size]: to [batch..., heads, T, size], or [batch..., heads, size, T].
  Integers order(Integers last) const {
    Integers perm;
    for (std::int64_t axis = 0; axis < batch_; ++axis) perm.push_back(axis);
    for (const std::int64_t axis : last) perm.push_back(batch_ + axis);
    return perm;
  }
  Integers batch_rows_last() const { return order({1, 0, 2}); }
  Integers batch_columns_last() const { return order({1, 2, 0}); }

  // Dimensions of 0 are those of the input: they may follow the batch.
  std::string by_heads(std::size_t input, const std::string& name, const Columns& columns, const Integers& perm) {
    const std::int64_t last = batch_ + 1, width = columns.heads * columns.size;
    std::string x = node_.input(input);
    if (node_.fact(input).shape[static_cast<int>(last)] != width) {
      x = node_.before("Slice",
                       {x, list(name + ".first", {columns.first}), list(name + ".end", {columns.first + width}),
                        list(name + ".axis", {last})},
                       name + ".columns");
    }
    Integers dims(static_cast<std::size_t>(batch_) + 1, 0);
    dims.insert(dims.end(), {columns.heads, columns.size});
    x = node_.before("Reshape", {x, list(name + ".shape", dims)}, name + ".apart");
    x = with("Transpose", {x}, name, "perm", perm);
    return columns.heads == attrs_.heads ? x : repeated(x, name, columns, perm == batch_columns_last());
  }

  // Each head for all that read it.
  std::string repeated(std::string x, const std::string& name, const Columns& columns, bool has_columns_first) {
    const std::int64_t times = attrs_.heads / columns.heads;
    x = node_.before("Unsqueeze", {x, list(name + ".times_axis", {batch_ + 1})}, name + ".once");
    x = node_.before("Expand", {x, list(name + ".times", {times, 1, 1})}, name + ".repeated");
    Integers dims(static_cast<std::size_t>(batch_), 0);
    dims.push_back(attrs_.heads);
    if (has_columns_first) dims.insert(dims.end(), {columns.size, -1});
    else dims.insert(dims.end(), {-1, columns.size});
    return node_.before("Reshape", {x, list(name + ".all_shape", dims)}, name + ".all");
  }

  bool has_mask() const {
    return node_.node.inputs.size() > kAttentionMask && node_.node.inputs[kAttentionMask].exists();
  }

  std::string masked(std::string scores) {
    if (has_mask()) {
      const std::string mask = node_.input(kAttentionMask);
      scores = node_.fact(kAttentionMask).dtype == DType::boolean ? kept(mask, scores, "kept")
                                                                  : node_.before("Add", {scores, mask}, "masked");
    }
    return attrs_.is_causal ? kept(causal(), scores, "causal") : scores;
  }

  std::string kept(const std::string& condition, const std::string& scores, const std::string& suffix) {
    return node_.before("Where", {condition, scores, node_.out.scalar(node_.name(suffix + ".fill"), -kInfinity)},
                        suffix);
  }

  // Key j of query i: j <= i.
  std::string causal() {
    const auto rows = [&](std::size_t input) {
      const std::int64_t size = node_.fact(input).shape[static_cast<int>(batch_)];
      const std::int64_t other = node_.out.other_shape(node_.node.inputs[input])[static_cast<int>(batch_)];
      if (size != other) node_.out.give_up_symbols();
      return size;
    };
    const std::int64_t queries = rows(0), keys = rows(1);
    Tensor seen(DType::boolean, {queries, keys});
    for (std::int64_t i = 0; i < queries * keys; ++i) seen.as<std::uint8_t>()[i] = i % keys <= i / keys ? 1 : 0;
    return node_.out.constant(node_.name("seen"), seen);
  }

  // Rows in which no key takes part are 0.
  std::string probabilities(const std::string& scores) {
    const std::string softmax = with("Softmax", {scores}, "softmax", "axis", std::int64_t{-1});
    if (!has_mask()) return softmax;
    const std::string nothing = node_.before("IsNaN", {softmax}, "nothing");
    return node_.before("Where", {nothing, node_.out.scalar(node_.name("zero"), 0.0f), softmax}, "weights");
  }

  NodeExport& node_;
  const AttentionAttrs& attrs_;
  std::int64_t batch_ = 0;
};

}  // namespace

void write_attention(NodeExport& node) { AttentionWriter(node).write(); }

}  // namespace octavo::onnx_export
