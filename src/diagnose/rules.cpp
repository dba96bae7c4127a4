// The rules of the other engines, those about answers, and what a file takes in an engine. Part of diagnose/.
#include "diagnose/rules.h"

#include <algorithm>

#include "base/machine.h"
#include "diagnose/census.h"

namespace octavo::diagnose {

std::span<const Rule> ort_rules();

namespace {

std::int64_t result_elements(const FileView& view, const ViewNode& node) {
  return node.outputs.empty() || node.outputs[0] < 0 ? 0 : view.tensor(node.outputs[0]).elements();
}

// ---- time ----

template <class Test>
std::vector<Loss> losses_where(const FileView& view, Test test) {
  std::vector<Loss> losses;
  for (std::size_t i = 0; i < view.nodes.size(); ++i) {
    if (const auto ms = test(view.nodes[i])) losses.push_back({static_cast<int>(i), *ms});
  }
  return losses;
}

// Products that stay in float in a quantized file, against their integer form.
std::vector<Loss> float_products(const FileView& view, const EngineRates& rates) {
  if (view.dialect == Dialect::fp32) return {};
  return losses_where(view, [&](const ViewNode& node) -> std::optional<double> {
    const int weights = sight::stored_weights(view, node);
    if (!is_product(node.kind) || node.is_integer || weights < 0 || view.tensor(weights).dtype != DType::f32) return {};
    if (sight::is_dequantized(view, view.input(node, 1))) return {};  // quantized when the file is read
    return product_ms(view, node, rates, Form::packed_float) - product_ms(view, node, rates, Form::integer);
  });
}

std::vector<Loss> hybrid_products(const FileView& view, const EngineRates& rates) {
  return losses_where(view, [&](const ViewNode& node) -> std::optional<double> {
    const int weights = sight::stored_weights(view, node);
    if (!is_product(node.kind) || node.is_integer || weights < 0 || !sight::is_integer_8(view.tensor(weights)))
      return {};
    const int x = view.input(node, 0);
    if (sight::is_dequantized(view, x)) return {};
    return product_ms(view, node, rates, Form::dynamic) - product_ms(view, node, rates, Form::integer);
  });
}

// TFLite: operators on floats behind operators on integers.
std::vector<Loss> tflite_islands(const FileView& view, const EngineRates& rates) {
  if (view.dialect != Dialect::full_integer) return {};
  return losses_where(view, [&](const ViewNode& node) -> std::optional<double> {
    const int result = node.outputs.empty() ? -1 : node.outputs[0], x = view.input(node, 0);
    if (result < 0 || x < 0 || node.is_integer || node.kind == Kind::dequantize || node.kind == Kind::quantize)
      return {};
    if (view.tensor(result).dtype != DType::f32 || view.tensor(x).dtype != DType::f32) return {};
    if (view.tensor(result).is_output && node.kind == Kind::softmax) return {};  // of ten numbers
    const bool is_between = view.producer_if(x, Kind::dequantize) >= 0 || view.tensor(x).producer >= 0;
    if (!is_between) return {};
    const double ms = is_product(node.kind) ? product_ms(view, node, rates, Form::packed_float) -
                                                  product_ms(view, node, rates, Form::integer)
                                            : pass_ms(result_elements(view, node), rates.float_pass_ns, rates);
    return ms;
  });
}

// A pair that an engine leaves as two passes over floats.
std::vector<Loss> all_pairs(const FileView& view, const EngineRates& rates) {
  return losses_where(view, [&](const ViewNode& node) -> std::optional<double> {
    const int x = view.input(node, 0);
    if ((node.kind != Kind::quantize && node.kind != Kind::dequantize) || x < 0) return {};
    return pass_ms(view.tensor(x).elements(), rates.quantize_ns, rates);
  });
}

template <std::vector<int> (*find)(const FileView&)>
std::vector<Loss> passes_of(const FileView& view, const EngineRates& rates) {
  std::vector<Loss> losses;
  for (const int index : find(view))
    losses.push_back(
        {index, pass_ms(result_elements(view, view.node(index)), rates.quantize_ns + rates.dequantize_ns, rates)});
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

constexpr Rule kLitert[] = {
    {.cause = Cause::dynamic_range,
     .find = hybrid_products,
     .sureness = Sureness::likely,
     .source = "LiteRT's documentation of dynamic range quantization: activations are quantized in every run, results "
               "are float",
     .advice = "convert with a representative data set (full integer)",
     .octavo = "compile --calibrate gives static scales"},
    {.cause = Cause::float_island,
     .find = tflite_islands,
     .sureness = Sureness::likely,
     .source = "operators without integer kernels stand between DEQUANTIZE and QUANTIZE, and cut what a delegate takes",
     .advice = "convert with TFLITE_BUILTINS_INT8 alone, which names the operators that stand in the way",
     .octavo = "lists islands with their reason in explain"},
    {.cause = Cause::double_pairs,
     .find = passes_of<sight::double_pairs>,
     .sureness = Sureness::likely,
     .source = "two QUANTIZE one after the other",
     .advice = "convert the trained network once, without fake quantization of its own",
     .octavo = "rescales in the kernel before it"},
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
constexpr Rule kTvm[] = {{.cause = Cause::unlowered_graph,
                          .find = all_pairs,
                          .sureness = Sureness::likely,
                          .source = "Relax reads QuantizeLinear and DequantizeLinear (apache/tvm#19391, #19993) as "
                                    "arithmetic on floats; nothing turns pairs into integer products",
                          .advice = "none within TVM 0.27; relay's quantize pass is gone",
                          .octavo = "one fused integer graph"},
                         kBatchNorm,
                         kFloatWeights};
constexpr Rule kTorch[] = {
    {.cause = Cause::unlowered_graph,
     .find = all_pairs,
     .sureness = Sureness::likely,
     .source =
         "convert_pt2e leaves quantize and dequantize nodes beside float operators (pytorch#113019, #108638, #144434)",
     .advice = "compile the converted graph with torch.compile's inductor and freezing on "
               "(torch._inductor.config.freezing = True)",
     .octavo = "reads the exported program as one integer graph"},
    kBatchNorm,
    kDoublePairs,
    kFloatWeights};

// ---- answers ----

template <sight::ScaleFault fault>
std::vector<Loss> faulty_scales(const FileView& view, const EngineRates&) {
  std::vector<Loss> losses;
  for (const ViewTensor& tensor : view.tensors) {
    if (tensor.dtype == DType::s32 || sight::fault_of(view, tensor) != fault) continue;
    const int node = tensor.producer >= 0 ? tensor.producer : tensor.readers.empty() ? -1 : tensor.readers[0];
    if (node >= 0) losses.push_back({node, 0.0});
  }
  return losses;
}

template <class Test>
std::vector<Loss> weights_where(const FileView& view, Test test) {
  return losses_where(view, [&](const ViewNode& node) -> std::optional<double> {
    if (!is_product(node.kind)) return {};
    const int index = sight::stored_weights(view, node);
    if (index < 0 || !sight::is_integer_8(view.tensor(index)) || !view.tensor(index).quant) return {};
    return test(node, index) ? std::optional(0.0) : std::nullopt;
  });
}

std::vector<Loss> saturated(const FileView& view, const EngineRates&) {
  constexpr double kMost = 0.05;
  return weights_where(view, [&](const ViewNode&, int index) {
    const auto values = view.values(index);
    const auto scales = static_cast<std::int64_t>(view.tensor(index).quant->scale.size());
    return values && sight::saturated_share(*values, scales) > kMost;
  });
}

std::vector<Loss> wide(const FileView& view, const EngineRates&) {
  return weights_where(view, [&](const ViewNode& node, int index) {
    constexpr double kFew = 60.0;
    // Scales of their own hold channels however far apart. Under one: a channel that has two steps of 127.
    if (view.tensor(index).quant->scale.size() > 1) return false;
    const auto values = view.values(index);
    const bool is_last = view.format == FileFormat::tflite && node.kind == Kind::depthwise_conv;
    const int axis = is_last ? values ? values->shape().rank() - 1 : 0 : 0;
    const bool has_zero = std::ranges::any_of(view.tensor(index).quant->zero_point, [](int z) { return z != 0; });
    return values && !has_zero && node.kind != Kind::matmul && sight::channel_spread(*values, axis) > kFew;
  });
}

std::vector<Loss> one_scale(const FileView& view, const EngineRates&) {
  return weights_where(view, [&](const ViewNode& node, int index) {
    return node.kind == Kind::depthwise_conv && view.tensor(index).quant->scale.size() == 1;
  });
}

std::vector<Loss> saturating(const FileView& view, const EngineRates&) {
  if (host_machine().isa.has(Isa::avxvnni) || host_machine().isa.has(Isa::avx512vnni)) return {};
  return weights_where(view, [&](const ViewNode&, int) { return true; });
}

constexpr std::string_view kAsItIs = "computes what the file says, and warns of it here";
constexpr Rule kAnswers[] = {
    {.cause = Cause::zero_scale,
     .find = faulty_scales<sight::ScaleFault::zero>,
     .source = "a scale divides",
     .advice = "calibrate again: this tensor was constant, or its range was lost",
     .octavo = kAsItIs},
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
     .find = faulty_scales<sight::ScaleFault::uncalibrated>,
     .source = "observers begin with a scale of 1, or with the least range",
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
    case Engine::litert: return kLitert;
    case Engine::openvino: return kOpenvino;
    case Engine::tvm: return kTvm;
    case Engine::torch: return kTorch;
  }
  return {};
}

std::span<const Rule> answer_rules() { return kAnswers; }

PredictedTime predicted_time(const FileView& view, Engine engine) {
  const EngineRates& rates = rates_of(engine);
  PredictedTime time;
  if (engine == Engine::ort) {
    for (const ProductFate& fate : fates_in_ort(view)) {
      const ViewNode& node = view.node(fate.node);
      time.products_ms += product_ms(view, node, rates, fate.form);
      const int weights = sight::stored_weights(view, node);
      if (fate.form == Form::loose_float && weights >= 0)
        time.conversions_ms += pass_ms(view.tensor(weights).elements(), rates.weight_ns, rates);
      if (fate.form != Form::loose_float) continue;
      time.conversions_ms += pass_ms(view.tensor(view.input(node, 0)).elements(), rates.dequantize_ns, rates) +
                             pass_ms(result_elements(view, node), rates.quantize_ns, rates);
    }
  } else {
    for (const ViewNode& node : view.nodes) {
      const bool is_integer = sight::has_quantized_operands(view, node);
      time.products_ms += product_ms(view, node, rates, is_integer ? Form::integer : Form::packed_float);
    }
  }
  for (const ViewNode& node : view.nodes) {
    const bool converts = node.kind == Kind::quantize || node.kind == Kind::dequantize || node.kind == Kind::relu;
    if (is_product(node.kind) || converts || node.outputs.empty()) continue;
    if (const std::int64_t elements = result_elements(view, node); elements > 0)
      time.others_ms += pass_ms(elements, rates.pass_ns, rates);
  }
  return time;
}

}  // namespace octavo::diagnose
