// The rules of the other engines, and those about answers. Part of diagnose/.
#include "diagnose/rules.h"

#include <algorithm>

#include "diagnose/census.h"

namespace octavo::diagnose {

std::span<const Rule> ort_rules();

namespace {

// ---- time ----

// Products that stay in float in a quantized file.
std::vector<Loss> float_products(const Inspected& in) {
  return losses_where(in, [&](const ViewNode& node, const NodeCost&) {
    const int weights = sight::stored_weights(in.view, node);
    if (!is_product(node.kind) || node.is_integer || weights < 0) return false;
    // Those behind a quantize node are quantized when the file is read.
    return in.view.tensor(weights).dtype == DType::f32 && !sight::is_dequantized(in.view, in.view.input(node, 1));
  });
}

std::vector<Loss> hybrid_products(const Inspected& in) {
  return losses_where(in, [&](const ViewNode& node, const NodeCost&) {
    const int weights = sight::stored_weights(in.view, node);
    return is_product(node.kind) && !node.is_integer && weights >= 0 && sight::is_integer_8(in.view.tensor(weights)) &&
           !sight::is_dequantized(in.view, in.view.input(node, 0));
  });
}

// Products that take many times what other engines' do in floats. Only a profile shows them.
bool is_unscheduled(const Inspected& in, int node) {
  constexpr double kTimes = 8.0;
  const auto found = in.profile->ms_of_node.find(node);
  const ViewNode& product = in.view.node(node);
  if (!is_product(product.kind) || found == in.profile->ms_of_node.end()) return false;
  const double expected = product_ms(in.view, product, in.rates, Form::packed_float);
  return expected > 0.0 && found->second > kTimes * expected;
}

std::vector<Loss> unscheduled(const Inspected& in) {
  std::vector<Loss> losses;
  if (in.profile == nullptr) return losses;
  for (const auto& [node, ms] : in.profile->ms_of_node) {
    if (is_unscheduled(in, node)) losses.push_back({node, ms - in.costs[static_cast<std::size_t>(node)].best_ms});
  }
  return losses;
}

std::vector<Loss> unlowered_but_scheduled(const Inspected& in) {
  std::vector<Loss> losses = lost<Cause::unlowered_graph>(in);
  if (in.profile != nullptr) std::erase_if(losses, [&](const Loss& loss) { return is_unscheduled(in, loss.node); });
  return losses;
}

// TFLite: operators on floats behind operators on integers.
std::vector<Loss> tflite_islands(const Inspected& in) {
  if (in.view.dialect != Dialect::full_integer) return {};
  return losses_where(in, [&](const ViewNode& node, const NodeCost&) {
    const int result = in.view.output(node), x = in.view.input(node, 0);
    if (result < 0 || x < 0 || node.is_integer || node.kind == Kind::dequantize || node.kind == Kind::quantize)
      return false;
    if (in.view.tensor(result).dtype != DType::f32 || in.view.tensor(x).dtype != DType::f32) return false;
    if (in.view.tensor(result).is_output && node.kind == Kind::softmax) return false;  // of ten numbers
    return in.view.tensor(x).producer >= 0;
  });
}

template <std::vector<int> (*find)(const FileView&)>
std::vector<Loss> passes_of(const Inspected& in) {
  std::vector<Loss> losses;
  for (const int index : find(in.view)) {
    const std::int64_t elements = result_elements(in.view, in.view.node(index));
    losses.push_back(
        {index, pass_ms(elements, Pass::quantize, in.rates) + pass_ms(elements, Pass::dequantize, in.rates)});
  }
  return losses;
}

constexpr std::string_view kNames = "explain shows it";

constexpr Rule kBatchNorm{.cause = Cause::batch_norm_unfolded,
                          .find = passes_of<sight::unfolded_norms>,
                          .sureness = Sureness::likely,
                          .source = "an operator between a product and its pair is none that engines fuse",
                          .advice = "fold batch normalizations before quantizing",
                          .octavo = "folds it when it compiles"};
constexpr Rule kDoublePairs{.cause = Cause::double_pairs,
                            .find = passes_of<sight::double_pairs>,
                            .sureness = Sureness::likely,
                            .source = "two roundings of one tensor",
                            .advice = "quantize an exported file once",
                            .octavo = "rounds as the file says, without a pass"};
constexpr Rule kFloatWeights{.cause = Cause::float_weights,
                             .find = float_products,
                             .sureness = Sureness::likely,
                             .source = "a product of float weights is one of floats",
                             .advice = "quantize the weights of these nodes, too",
                             .octavo = kNames};

constexpr Rule kRulesLitert[] = {
    {.cause = Cause::dynamic_range,
     .find = lost<Cause::dynamic_range>,
     .source =
         "measured: LiteRT 2.3.0 with XNNPACK, AMD EPYC (Zen 5): convolutions of floats by bytes are as fast as "
         "those of bytes, depthwise ones 4 times slower, since they run in LiteRT's own kernel; results are float",
     .advice = "convert with a representative data set (full integer); without one --write-fixed has depthwise weights "
               "dequantized when the file is loaded, which makes those convolutions as fast as in fp32",
     .octavo = "compile --calibrate gives static scales"},
    {.cause = Cause::float_island,
     .find = tflite_islands,
     .sureness = Sureness::likely,
     .source = "operators without integer kernels stand between DEQUANTIZE and QUANTIZE, and cut what a delegate takes",
     .advice = "--write-fixed makes what has an integer kernel compute on bytes; or convert with TFLITE_BUILTINS_INT8 "
               "alone, which names the operators that stand in the way",
     .octavo = "lists islands with their reason in explain"},
    {.cause = Cause::double_pairs,
     .find = passes_of<sight::double_pairs>,
     .sureness = Sureness::likely,
     .source = "two QUANTIZE one after the other",
     .advice = "convert the trained network once, without fake quantization of its own",
     .octavo = "rescales in the kernel before it"},
    {.cause = Cause::sixteen_bit_activations,
     .find = lost<Cause::sixteen_bit_activations>,
     .source = "measured: LiteRT 2.3.0, AMD EPYC (Zen 5): products of s16 activations run in its reference kernels, 30 "
               "(depthwise) to 150 times (3x3) slower than those of s8; XNNPACK does not take them",
     .advice = "quantize activations as s8, or have --write-fixed compute in floats with the weights as they are: the "
               "same answers, 40 times as fast",
     .octavo = "computes products of 16-bit activations in float and says so"},
    {.cause = Cause::unsigned_weights,
     .find = lost<Cause::unsigned_weights>,
     .source = "measured: LiteRT 2.3.0 with XNNPACK, AMD EPYC (Zen 5): kernels for u8 have no VNNI, and take twice as "
               "long as those for s8",
     .advice = "--write-fixed makes u8 s8, weights symmetric per channel; or convert with a TensorFlow of today",
     .octavo = "has kernels for both"},
    {.cause = Cause::slow_bytes,
     .find = lost<Cause::slow_bytes>,
     .source =
         "measured: LiteRT 2.3.0 with XNNPACK, AMD EPYC (Zen 5): the delegate takes HARD_SWISH, ReLUs of their own, "
         "SOFTMAX, PRELU and AVERAGE_POOL_2D with windows in floats alone; on bytes they run in LiteRT's own "
         "kernels, 6 to 150 times as long, and cut what the delegate takes",
     .advice =
         "--write-fixed has them compute in floats between DEQUANTIZE and QUANTIZE, which the delegate takes, too",
     .octavo = "has a kernel on bytes for each"},
    kFloatWeights,
};
constexpr Rule kOpenvino[] = {
    kBatchNorm,
    kDoublePairs,
    kFloatWeights,
    {.cause = Cause::dynamic_range,
     .find = hybrid_products,
     .sureness = Sureness::likely,
     .source =
         "OpenVINO's documentation of weight compression: compressed weights are decompressed, products are of floats",
     .advice = "quantize activations too (nncf.quantize)",
     .octavo = "compile --calibrate"}};
constexpr Rule kTvm[] = {
    {.cause = Cause::unscheduled_products,
     .find = unscheduled,
     .source = "measured: TVM 0.27 (Relax), AMD EPYC (Zen 5): convolutions of its default pipeline "
               "run in the loops that they are defined by, hundreds of times slower than in other engines "
               "(docs/stories/tvm.md)",
     .advice = "tune it: relax.get_pipeline('static_shape_tuning', target=..., total_trials=...); "
               "in floats the network is as slow",
     .octavo = "has a kernel for each, tuned or not"},
    {.cause = Cause::unlowered_graph,
     .find = unlowered_but_scheduled,
     .sureness = Sureness::likely,
     .source = "Relax reads QuantizeLinear and DequantizeLinear (apache/tvm#19391, #19993) as "
               "arithmetic on floats; nothing turns pairs into integer products",
     .advice = "none within TVM 0.27; relay's quantize pass is gone",
     .octavo = "one fused integer graph"},
    kBatchNorm,
    kFloatWeights};
constexpr Rule kRulesTorch[] = {
    {.cause = Cause::unlowered_graph,
     .find = lost<Cause::unlowered_graph>,
     .sureness = Sureness::likely,
     .source =
         "convert_pt2e leaves quantize and dequantize nodes beside float operators (pytorch#113019, #108638, #144434)",
     .advice = "quantize by X86InductorQuantizer, for whose patterns inductor has integer kernels, and compile the "
               "converted graph with freezing on (torch._inductor.config.freezing = True)",
     .octavo = "reads the exported program as one integer graph"},
    kBatchNorm,
    kDoublePairs,
    kFloatWeights};

// ---- answers ----

template <sight::ScaleFault fault>
std::vector<Loss> faulty_scales(const Inspected& in) {
  std::vector<Loss> losses;
  for (const ViewTensor& tensor : in.view.tensors) {
    if (tensor.dtype == DType::s32 || sight::fault_of(in.view, tensor) != fault) continue;
    const int node = tensor.producer >= 0 ? tensor.producer : tensor.readers.empty() ? -1 : tensor.readers[0];
    if (node >= 0) losses.push_back({node, 0.0});
  }
  return losses;
}

// Ranges that observers begin with; and one range for every activation, which no data gives.
std::vector<Loss> uncalibrated(const Inspected& in) {
  std::vector<Loss> losses = faulty_scales<sight::ScaleFault::uncalibrated>(in);
  if (!losses.empty()) return losses;
  for (const int node : sight::nodes_of_one_range(in.view)) losses.push_back({node, 0.0});
  return losses;
}

template <class Test>
std::vector<Loss> weights_where(const Inspected& in, Test test) {
  std::vector<Loss> losses = losses_where(in, [&](const ViewNode& node, const NodeCost&) {
    if (!is_product(node.kind)) return false;
    const int index = sight::stored_weights(in.view, node);
    if (index < 0 || !sight::is_integer_8(in.view.tensor(index)) || !in.view.tensor(index).quant) return false;
    return test(node, index);
  });
  for (Loss& loss : losses) loss.ms = 0.0;
  return losses;
}

std::vector<Loss> saturated(const Inspected& in) {
  constexpr double kMost = 0.05;
  return weights_where(in, [&](const ViewNode&, int index) {
    const auto values = in.view.values(index);
    const auto scales = static_cast<std::int64_t>(in.view.tensor(index).quant->scale.size());
    return values && sight::saturated_share(*values, scales) > kMost;
  });
}

std::vector<Loss> wide(const Inspected& in) {
  return weights_where(in, [&](const ViewNode& node, int index) {
    constexpr double kFew = 60.0;
    // Scales of their own hold channels however far apart. Under one: a channel that has two steps of 127.
    const QuantParams& quant = *in.view.tensor(index).quant;
    if (quant.scale.size() > 1) return false;
    const auto values = in.view.values(index);
    const bool is_last = in.view.format == FileFormat::tflite && node.kind == Kind::depthwise_conv;
    const int axis = is_last ? values ? values->shape().rank() - 1 : 0 : 0;
    const bool has_zero = std::ranges::any_of(quant.zero_point, [](int z) { return z != 0; });
    return values && !has_zero && node.kind != Kind::matmul && sight::channel_spread(*values, axis) > kFew;
  });
}

std::vector<Loss> one_scale(const Inspected& in) {
  return weights_where(in, [&](const ViewNode& node, int index) {
    return node.kind == Kind::depthwise_conv && in.view.tensor(index).quant->scale.size() == 1;
  });
}

std::vector<Loss> saturating(const Inspected& in) {
  const bool saturates = in.isa.has(Isa::avx2) && !in.isa.has(Isa::avxvnni) && !in.isa.has(Isa::avx512vnni);
  if (!saturates) return {};
  return weights_where(in, [&](const ViewNode&, int) { return true; });
}

constexpr std::string_view kAsItIs = "computes what the file says, and warns of it here";
constexpr Rule kAnswers[] = {
    {.cause = Cause::zero_scale,
     .find = faulty_scales<sight::ScaleFault::zero>,
     .source = "a scale divides",
     .advice = "calibrate again: this tensor was constant, or its range was lost",
     .octavo = "refuses the file, and names the node"},
    {.cause = Cause::denormal_scale,
     .find = faulty_scales<sight::ScaleFault::denormal>,
     .source = "processors that flush denormals divide by 0",
     .advice = "calibrate again, with a least range",
     .octavo = kAsItIs},
    {.cause = Cause::mask_in_range,
     .find = faulty_scales<sight::ScaleFault::mask>,
     .source = "masks add -3.4e38, which one step of 255 does not hold beside numbers",
     .advice = "leave masked additions out of quantization, or clip masks to -1e4 before calibrating",
     .octavo = kAsItIs},
    {.cause = Cause::uncalibrated_range,
     .find = uncalibrated,
     .source = "observers begin with a scale of 1, or with the least range; no data gives every activation one range",
     .advice = "run calibration data through these nodes",
     .octavo = kAsItIs},
    {.cause = Cause::saturated_weights,
     .find = saturated,
     .source = "more than 5 % of the weights stand at the ends of the type",
     .advice = "quantize the weights again by their greatest magnitude, per channel",
     .octavo = kAsItIs},
    {.cause = Cause::wide_channels,
     .find = wide,
     .source = "channels that have two of 127 steps under the scale of all",
     .advice = "quantize weights per channel; equalize channels first",
     .octavo = "quantize equalizes channels and has scales per channel"},
    {.cause = Cause::per_tensor_weights,
     .find = one_scale,
     .sureness = Sureness::likely,
     .source = "depthwise channels differ most; microsoft/onnxruntime#11415 and others",
     .advice = "quantize depthwise weights per channel",
     .octavo = "quantize has scales per channel"},
    {.cause = Cause::saturating_sums,
     .find = saturating,
     .source = "vpmaddubsw saturates sums of two products of 8 bits; ONNX Runtime's documentation (reduce_range), "
               "microsoft/onnxruntime#6004",
     .advice = "quantize with reduce_range=True for processors without VNNI",
     .octavo = "has exact kernels for them"},
};

}  // namespace

std::span<const Rule> rules_of(Engine engine) {
  switch (engine) {
    case Engine::ort: return ort_rules();
    case Engine::litert: return kRulesLitert;
    case Engine::openvino: return kOpenvino;
    case Engine::tvm: return kTvm;
    case Engine::torch: return kRulesTorch;
  }
  return {};
}

std::span<const Rule> answer_rules() { return kAnswers; }

}  // namespace octavo::diagnose
