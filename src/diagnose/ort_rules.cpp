// The rules of ONNX Runtime, measured with 1.32.0 on x86. Part of diagnose/.
#include <algorithm>

#include "diagnose/census.h"
#include "diagnose/ort_costs.h"

namespace octavo::diagnose {
namespace {

constexpr std::string_view kMeasured =
    "measured: ONNX Runtime 1.32.0, x86 with AVX-512 VNNI, optimized file and profile of a small network";

constexpr std::string_view kInferred =
    "follows from what ONNX Runtime 1.32.0 fuses, as measured; this pattern itself was not";

// ---- operators between pairs that are not products ----

template <class Test>
std::vector<Loss> islands_where(const Inspected& in, Test test) {
  return losses_where(in, [&](const ViewNode& node, const NodeCost& cost) {
    return !cost.is_integer && !cost.cause && is_between_pairs(in.view, node) && test(node);
  });
}

// Functions without a kernel for bytes, and the two operators that SiLU is made of.
std::vector<Loss> silus(const Inspected& in) {
  std::vector<Loss> losses = lost<Cause::qdq_around_silu>(in);
  const auto functions = islands_where(in, [](const ViewNode& node) {
    return (node.kind == Kind::function || node.kind == Kind::sigmoid) && node.op != "LeakyRelu" &&
           node.op != "Sigmoid";
  });
  losses.insert(losses.end(), functions.begin(), functions.end());
  return losses;
}

std::vector<Loss> means(const Inspected& in) {
  return islands_where(in, [](const ViewNode& node) { return node.op == "ReduceMean"; });
}

std::vector<Loss> resizes(const Inspected& in) {
  return islands_where(in, [](const ViewNode& node) { return node.kind == Kind::resize; });
}

std::vector<Loss> moves(const Inspected& in) {
  return islands_where(in, [&](const ViewNode& node) {
    return (node.kind == Kind::movement || node.kind == Kind::max_pool) && changes_scale(in.view, node);
  });
}

// A product that waits for the gate of squeeze-and-excite in float on one side.
std::vector<Loss> excites(const Inspected& in) {
  return losses_where(in, [&](const ViewNode& node, const NodeCost&) {
    const int a = in.view.input(node, 0), b = in.view.input(node, 1);
    if (node.kind != Kind::mul || node.is_integer || a < 0 || b < 0) return false;
    if (in.view.tensor(a).is_constant || in.view.tensor(b).is_constant) return false;
    return sight::is_dequantized(in.view, a) != sight::is_dequantized(in.view, b);
  });
}

// Behind a product that they keep from being fused, or between pairs of their own.
std::vector<Loss> batch_norms(const Inspected& in) {
  std::vector<Loss> losses = lost<Cause::batch_norm_unfolded>(in);
  const auto alone = islands_where(in, [](const ViewNode& node) { return node.kind == Kind::batch_norm; });
  losses.insert(losses.end(), alone.begin(), alone.end());
  return losses;
}

// Activations on their own between operators of integers.
std::vector<Loss> activations(const Inspected& in) {
  return islands_where(in, [](const ViewNode& node) { return node.kind == Kind::relu; });
}

std::vector<Loss> islands(const Inspected& in) {
  std::vector<Loss> losses = lost<Cause::float_island>(in);
  // A file with few quantized products is one whose owner chose so.
  const auto others = islands_where(in, [](const ViewNode& node) {
    return node.kind == Kind::norm || node.kind == Kind::recurrent || node.kind == Kind::other;
  });
  losses.insert(losses.end(), others.begin(), others.end());
  std::erase_if(losses, [&](const Loss& loss) {
    return sight::stored_weights(in.view, in.view.node(loss.node)) < 0 && is_product(in.view.node(loss.node).kind);
  });
  return losses;
}

template <std::vector<int> (*find)(const FileView&), bool is_free>
std::vector<Loss> pairs_of(const Inspected& in) {
  std::vector<Loss> losses;
  for (const int index : find(in.view)) {
    const std::int64_t elements = input_elements(in.view, in.view.node(index));
    const double ms = pass_ms(elements, Pass::quantize, in.rates) + pass_ms(elements, Pass::dequantize, in.rates);
    losses.push_back({index, is_free ? 0.0 : ms});
  }
  return losses;
}

constexpr std::string_view kFolds = "folds it when it compiles";

constexpr Rule kRules[] = {
    {.cause = Cause::signed_activations,
     .find = lost<Cause::signed_activations>,
     .source =
         "measured: ONNX Runtime 1.32.0, x86 with AVX-512 VNNI: QLinearConv of s8 by s8 runs in plain C++, 70 to "
         "280 times slower; s8 pairs become u8 when a file is loaded, but for those that several nodes read (skip "
         "connections, SiLU): the products before and behind these stay in float; microsoft/onnxruntime#6732, "
         "#21984",
     .advice = "quantize activations as QUInt8",
     .octavo = "relabels s8 as u8, with the same bits"},
    {.cause = Cause::sixteen_bit_activations,
     .find = lost<Cause::sixteen_bit_activations>,
     .source = "measured: ONNX Runtime 1.32.0 leaves convolutions between pairs of u16 in float (its optimized file)",
     .advice = "quantize activations as QUInt8; leave the few that need more in float",
     .octavo = "computes products of 16-bit activations in float and says so"},
    {.cause = Cause::range_behind_relu,
     .find = lost<Cause::range_behind_relu>,
     .source = kMeasured,
     .advice = "give what a ReLU leaves a range that begins at 0 (zero point 0 for u8, -128 for s8): a symmetric range "
               "keeps the ReLU, and with it the whole convolution, in float",
     .octavo = "clamps in the kernel, whatever the range"},
    {.cause = Cause::missing_output_pair,
     .find = lost<Cause::missing_output_pair>,
     .source = kMeasured,
     .advice = "quantize the result too, once for all that read it (skip connections, both sides of x * sigmoid(x)); "
               "without a pair behind it the product runs in float, with weights dequantized in every run",
     .octavo = "computes the product in integers and gives floats where the file asks for them"},
    {.cause = Cause::batch_norm_unfolded,
     .find = batch_norms,
     .source = kMeasured,
     .advice = "fold batch normalizations before quantizing (quant_pre_process, or export in eval mode); where they "
               "follow no convolution (RepVGG's branches for training), export what the network becomes without them",
     .octavo = kFolds},
    {.cause = Cause::requantized_branches,
     .find = lost<Cause::requantized_branches>,
     .sureness = Sureness::likely,
     .source = "its node groups take one QuantizeLinear behind a product",
     .advice = "give all readers of a tensor one pair",
     .octavo = "keeps each branch's rounding in the kernel"},
    {.cause = Cause::per_channel_axis,
     .find = lost<Cause::per_channel_axis>,
     .source = kMeasured,
     .advice = "give weights a scale per output channel: axis 0 of a convolution, the last axis of a MatMul",
     .octavo = "computes such weights in float and says so"},
    {.cause = Cause::unsigned_weights,
     .find = lost<Cause::unsigned_weights>,
     .source = "measured: ONNX Runtime 1.32.0, x86 with AVX-512 VNNI: 75 against 330 GMAC/s",
     .advice = "quantize weights as QInt8, symmetric",
     .octavo = "takes weights with zero points at the full rate"},
    {.cause = Cause::float_weights,
     .find = lost<Cause::float_weights>,
     .source = "measured: ONNX Runtime 1.32.0 quantizes float weights of convolutions when it loads a file, of Gemm "
               "and MatMul it does not",
     .advice = "quantize the weights of these nodes, too",
     .octavo = "names them in explain; quantize --precision int8 gives them scales"},
    {.cause = Cause::dynamic_range,
     .find = lost<Cause::dynamic_range>,
     .sureness = Sureness::likely,
     .source = kInferred,
     .advice = "quantize activations too (quantize_static with calibration data)",
     .octavo = "reads the weights as float unless calibrated: compile --calibrate"},
    {.cause = Cause::dynamic_quantize,
     .find = lost<Cause::dynamic_quantize>,
     .source =
         "measured for MatMulInteger: ONNX Runtime 1.32.0 fuses it; ConvInteger: microsoft/onnxruntime#12854, #16009",
     .advice = "quantize statically where the network has convolutions",
     .octavo = "runs it as the file says it, or compile --calibrate for static scales"},
    {.cause = Cause::float_island,
     .find = islands,
     .sureness = Sureness::likely,
     .source = kInferred,
     .advice = "take these nodes into op_types_to_quantize, or leave their neighbours in float, too",
     .octavo = "lists islands with their reason in explain"},
    {.cause = Cause::unfused_activation,
     .find = activations,
     .source = kMeasured,
     .advice =
         "let the activation be part of the operator before it: write QDQ, with the pair behind the activation alone",
     .octavo = "fuses it with the kernel before it"},
    {.cause = Cause::qdq_around_silu,
     .find = silus,
     .source = "measured: ONNX Runtime 1.32.0 has QLinearSigmoid and QLinearMul, a pass each (in floats between pairs "
               "they take a tenth more of a run), and no integer HardSwish, HardSigmoid, Gelu or Tanh",
     .advice = "Sigmoid and Mul, each with its pair, are the fastest form of SiLU there; HardSwish and GELU stay in "
               "float",
     .octavo = "one table in the kernel before it"},
    {.cause = Cause::qdq_around_mean,
     .find = means,
     .source = kMeasured,
     .advice = "export means over height and width as GlobalAveragePool, which has an integer kernel",
     .octavo = "has integer means"},
    {.cause = Cause::qdq_around_resize,
     .find = resizes,
     .source = kMeasured,
     .advice =
         "keep one scale around nearest resizes; leave linear ones without pairs where they stand between float nodes",
     .octavo = "resizes integers"},
    {.cause = Cause::moved_scales,
     .find = moves,
     .source = kMeasured,
     .advice = "give what is only moved (MaxPool, Reshape, Transpose, ...) the scale that it came with",
     .octavo = "rescales in the kernel before it"},
    {.cause = Cause::qdq_around_excite,
     .find = excites,
     .sureness = Sureness::likely,
     .source = kInferred,
     .advice = "quantize both factors of the product and its result",
     .octavo = "multiplies in integers"},
    {.cause = Cause::double_pairs,
     .find = pairs_of<sight::double_pairs, true>,
     .source = "measured: ONNX Runtime 1.32.0 merges two pairs; each rounds once more",
     .advice = "quantize an exported file once: remove fake quantization before quantize_static",
     .octavo = "rounds as the file says, without a pass"},
    {.cause = Cause::redundant_pairs,
     .find = pairs_of<sight::redundant_pairs, false>,
     .sureness = Sureness::likely,
     .source = kInferred,
     .advice = "leave pairs out around operators that compute in float (nodes_to_exclude)",
     .octavo = "rounds as the file says"},
    {.cause = Cause::constants_in_run,
     .find = pairs_of<sight::constants_in_run, true>,
     .source =
         "measured: ONNX Runtime 1.32.0 folds quantized constants when it loads a file, unless optimizations are off",
     .advice = "store weights quantized (AddQDQPairToWeight off): the file is a quarter as large",
     .octavo = kFolds},
};

}  // namespace

std::span<const Rule> ort_rules() { return kRules; }

}  // namespace octavo::diagnose
