// ONNX writers: recurrent layers. Part of export/.
#include "export/onnx_operators.h"
#include "ops/recurrence/recurrence.h"

namespace octavo::onnx_export {
namespace {

struct CellName {
  std::string_view name;
  int numbers = 0;  // alpha; alpha and beta
};

CellName name_of_function(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::elu: return {"Elu", 1};
    case UnaryKind::hard_sigmoid: return {"HardSigmoid", 2};
    case UnaryKind::leaky_relu: return {"LeakyRelu", 1};
    case UnaryKind::relu: return {"Relu"};
    case UnaryKind::sigmoid: return {"Sigmoid"};
    case UnaryKind::softplus: return {"Softplus"};
    case UnaryKind::softsign: return {"Softsign"};
    case UnaryKind::tanh: return {"Tanh"};
    case UnaryKind::thresholded_relu: return {"ThresholdedRelu", 1};
    default: return {};
  }
}

// False, and an error, where ONNX has no such activation in a cell.
bool set_activations(NodeExport& node, onnx::NodeProto& made, const std::vector<UnaryAttrs>& functions) {
  std::vector<std::string> names;
  std::vector<float> alphas, betas;
  for (const UnaryAttrs& function : functions) {
    const CellName known = name_of_function(function.kind);
    if (known.name.empty()) {
      node.refuse("the activation '" + std::string(octavo::name_of(function.kind)) + "'", "one that ONNX's cells have");
      return false;
    }
    names.emplace_back(known.name);
    if (known.numbers > 0) alphas.push_back(function.alpha);
    if (known.numbers > 1) betas.push_back(function.beta);
  }
  set_attribute(made, "activations", names);
  if (!alphas.empty()) set_attribute(made, "activation_alpha", alphas);
  if (!betas.empty()) set_attribute(made, "activation_beta", betas);
  return true;
}

class RecurrenceWriter {
 public:
  explicit RecurrenceWriter(NodeExport& node)
      : node_(node),
        attrs_(node.attrs<RecurrenceAttrs>()),
        hidden_(node.fact(kRecurrenceW).shape[0].fixed()),
        width_(gates_of(attrs_.kind) * hidden_) {}

  // x is the product of the inputs already: ONNX's product is one with the identity.
  void write() {
    const bool is_lstm = attrs_.kind == RecurrenceKind::lstm;
    constexpr std::string_view kNames[] = {"RNN", "GRU", "LSTM"};
    std::vector<std::string> inputs{
        node_.input(kRecurrenceX),     identity(), weights(), bias(), node_.input(kRecurrenceLengths),
        state(kRecurrenceH, "first_h")};
    if (is_lstm) inputs.push_back(state(kRecurrenceC, "first_c"));
    if (is_lstm && !node_.input(kRecurrencePeepholes).empty())
      inputs.push_back(
          node_.before("Reshape", {node_.input(kRecurrencePeepholes), list("p.shape", {1, 3 * hidden_})}, "p"));
    const std::string steps = node_.out.fresh(node_.name("steps")), h = node_.out.fresh(node_.name("h"));
    onnx::NodeProto& made = node_.out.node(kNames[static_cast<int>(attrs_.kind)], node_.node.name, inputs, steps);
    made.add_output(h);
    const std::string c = is_lstm ? node_.out.fresh(node_.name("c")) : "";
    if (is_lstm) made.add_output(c);
    set_attribute(made, "hidden_size", hidden_);
    set_attribute(made, "direction", std::string_view(attrs_.is_backward ? "reverse" : "forward"));
    if (attrs_.clip < kNoClip) set_attribute(made, "clip", attrs_.clip);
    if (attrs_.resets_after_product) set_attribute(made, "linear_before_reset", std::int64_t{1});
    if (attrs_.couples_gates) set_attribute(made, "input_forget", std::int64_t{1});
    const std::vector<UnaryAttrs> all{attrs_.gate, attrs_.candidate, attrs_.output};
    const bool is_simple = attrs_.kind == RecurrenceKind::simple;
    if (!set_activations(node_, made, {all.begin() + (is_simple ? 1 : 0), all.end() - (is_lstm ? 0 : 1)})) return;
    const auto& results = node_.node.outputs;
    node_.out.node("Squeeze", node_.name("y"), {steps, list("y.axis", {1})}, node_.out.name_of(results[0]));
    const std::string last = node_.out.name_of(results[1]);
    if (!is_lstm) node_.out.node("Identity", node_.name("last"), {h}, last);
    else set_attribute(node_.out.node("Concat", node_.name("last"), {h, c}, last), "axis", std::int64_t{0});
  }

 private:
  std::string list(const std::string& name, const Integers& values) {
    return node_.out.integers(node_.name(name), values);
  }

  std::string identity() {
    Tensor ones(DType::f32, Shape{1, width_, width_});
    for (std::int64_t i = 0; i < width_; ++i) ones.as<float>()[i * (width_ + 1)] = 1.0f;
    return node_.out.constant(node_.name("identity"), ones);
  }
  // [hidden, width] as [1, width, hidden].
  std::string weights() {
    std::string turned = node_.out.fresh(node_.name("r.turned"));
    set_attribute(node_.out.node("Transpose", node_.name("r.turned"), {node_.input(kRecurrenceW)}, turned), "perm",
                  Integers{1, 0});
    return node_.before("Reshape", {turned, list("r.shape", {1, width_, hidden_})}, "r");
  }
  // That of the candidate is the last part of the state's.
  std::string bias() {
    if (node_.input(kRecurrenceBias).empty()) return "";
    const Tensor zeros(DType::f32, Shape{2 * width_ - hidden_});
    const std::string none = node_.out.constant(node_.name("no_bias"), zeros);
    std::string all = node_.out.fresh(node_.name("b.all"));
    set_attribute(node_.out.node("Concat", node_.name("b.all"), {none, node_.input(kRecurrenceBias)}, all), "axis",
                  std::int64_t{0});
    return node_.before("Reshape", {all, list("b.shape", {1, 2 * width_})}, "b");
  }
  std::string state(std::size_t input, const std::string& name) {
    if (node_.input(input).empty()) return "";
    return node_.before("Unsqueeze", {node_.input(input), list(name + ".axis", {0})}, name);
  }

  NodeExport& node_;
  const RecurrenceAttrs& attrs_;
  std::int64_t hidden_, width_;
};

}  // namespace

void write_recurrence(NodeExport& node) { RecurrenceWriter(node).write(); }

}  // namespace octavo::onnx_export
