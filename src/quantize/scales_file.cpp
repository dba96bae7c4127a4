// Writing and reading scales. Part of quantize/.
#include "quantize/scales_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/fields.h"
#include "ops/dequantize/dequantize.h"
#include "quantize/base64.h"
#include "quantize/scales.h"

namespace octavo {
namespace {

using Json = nlohmann::json;
constexpr char kFormat[] = "octavo scales 1";
constexpr std::size_t kErrorLimit = 100;

// The shortest decimal number that is this one when read.
double as_double(float value) {
  const std::string text = print(value);
  double shortest = 0.0;
  std::from_chars(text.data(), text.data() + text.size(), shortest);
  return static_cast<float>(shortest) == value ? shortest : static_cast<double>(value);
}

Json as_json(const std::vector<float>& values) {
  Json list = Json::array();
  for (const float value : values) list.push_back(as_double(value));
  return list;
}

Json tensors_json(const QuantizeReport& report) {
  Json tensors = Json::object();
  for (const auto& [name, own] : report.scales) {
    Json tensor = {{"type", name_of(own.type)}, {"scale", as_double(own.scale)}, {"zero_point", own.zero_point}};
    const auto range = report.calibrated.ranges.find(name);
    if (range != report.calibrated.ranges.end())
      tensor["range"] = {as_double(range->second.lowest), as_double(range->second.highest)};
    tensors[name] = std::move(tensor);
  }
  return tensors;
}

Json weights_json(const Graph& quantized) {
  Json weights = Json::object();
  for (const NodeId id : quantized.order()) {
    const Node& node = quantized.node(id);
    if (!node.attrs.is<DequantizeAttrs>() || !quantized.fact(node.inputs[0]).is_constant() ||
        !is_8bit(quantized.fact(node.inputs[0]).dtype))
      continue;
    weights[quantized.value(node.inputs[0]).name] = {
        {"type", name_of(quantized.fact(node.inputs[0]).dtype)},
        {"axis", node.attrs.as<DequantizeAttrs>().axis},
        {"scales", as_json(to_floats(quantized.fact(node.inputs[1]).constant->view()))}};
  }
  return weights;
}

Json rounded_json(const std::map<std::string, RoundedWeights>& weights) {
  Json rounded = Json::object();
  for (const auto& [name, own] : weights) {
    const std::span<const std::byte> bytes(own.values.data(), own.values.bytes());
    rounded[name] = {
        {"shape", own.values.shape().to_vector()}, {"scales", as_json(own.scale)}, {"values", to_base64(bytes)}};
  }
  return rounded;
}

Json factors_json(const ChannelFactors& factors) {
  Json lists = Json::object();
  for (const auto& [name, values] : factors) lists[name] = as_json(values);
  return lists;
}

// Nothing where the text is no JSON or nested beyond what such a file has.
std::optional<Json> parse_shallow(std::string_view text) {
  constexpr int kDeepest = 4;
  bool is_too_deep = false;
  const auto keep = [&](int depth, Json::parse_event_t, Json&) {
    return !(is_too_deep = is_too_deep || depth > kDeepest);
  };
  Json document = Json::parse(text, keep, false);
  if (is_too_deep || document.is_discarded() || !document.is_object()) return std::nullopt;
  return document;
}

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  Result<Calibrated> read(const Json& document) {
    if (!document.contains("format") || document["format"] != kFormat) {
      fail("", "no \"format\": \"" + std::string(kFormat) + "\"", "a file that --scales-out wrote");
      return errors_;
    }
    for (const auto& [name, tensor] : members(document, "tensors").items()) read_tensor(name, tensor);
    for (const auto& [name, list] : members(document, "bias_corrections").items()) read_correction(name, list);
    if (document.contains("channel_factors")) {
      for (const auto& [name, list] : members(document, "channel_factors").items()) read_factors(name, list);
    }
    if (document.contains("rounded_weights")) {
      for (const auto& [name, weights] : members(document, "rounded_weights").items()) read_weights(name, weights);
    }
    if (document.contains("kept_in_f32")) read_kept(document["kept_in_f32"]);
    if (!errors_.empty()) return errors_;
    return std::move(calibrated_);
  }

 private:
  void fail(const std::string& tensor, std::string found, std::string expected) {
    if (errors_.size() >= kErrorLimit) return;
    const std::string where = tensor.empty() ? file_ : file_ + ": tensor '" + tensor + "'";
    errors_.push_back({ErrorKind::invalid_input, where, std::move(found), std::move(expected), ""});
  }

  const Json& members(const Json& document, const char* key) {
    static const Json kNone = Json::object();
    const auto found = document.find(key);
    if (found != document.end() && found->is_object()) return *found;
    fail("", std::string("no object \"") + key + "\"", "one member per tensor");
    return kNone;
  }

  static const Json& member(const Json& object, const char* key) {
    static const Json kNone;
    const auto found = object.find(key);
    return found == object.end() ? kNone : *found;
  }

  // A number that f32 holds.
  static std::optional<float> number(const Json& value) {
    if (!value.is_number()) return std::nullopt;
    const auto read = static_cast<float>(value.get<double>());
    return std::isfinite(read) ? std::optional(read) : std::nullopt;
  }

  void read_tensor(const std::string& name, const Json& tensor) {
    if (!tensor.is_object()) return fail(name, tensor.dump(), "an object with type, scale and zero_point");
    const Json& type = member(tensor, "type");
    if (type != "u8" && type != "s8") return fail(name, "type " + type.dump(), "\"u8\" or \"s8\"");
    TensorScale own{.type = type == "u8" ? DType::u8 : DType::s8};
    const auto scale = number(member(tensor, "scale"));
    if (!scale || !(*scale >= kSmallestScale && *scale <= kLargestScale)) {
      return fail(name, "scale " + member(tensor, "scale").dump(), "a number above 0, at least 2^-40 and at most 2^40");
    }
    const IntegerRange limits = range_of(own.type);
    const Json& zero_point = member(tensor, "zero_point");
    if (!zero_point.is_number_integer() || zero_point < limits.lowest || zero_point > limits.highest) {
      return fail(name, "zero_point " + zero_point.dump(),
                  std::to_string(limits.lowest) + " to " + std::to_string(limits.highest));
    }
    own.scale = *scale;
    own.zero_point = zero_point.get<std::int32_t>();
    calibrated_.scales[name] = own;
    calibrated_.ranges[name] = {*scale * static_cast<float>(limits.lowest - own.zero_point),
                                *scale * static_cast<float>(limits.highest - own.zero_point)};
    if (tensor.contains("range")) read_range(name, tensor["range"]);
  }

  void read_range(const std::string& name, const Json& range) {
    const bool is_pair = range.is_array() && range.size() == 2;
    const auto lowest = is_pair ? number(range[0]) : std::nullopt, highest = is_pair ? number(range[1]) : std::nullopt;
    if (!lowest || !highest || *lowest > *highest) return fail(name, "range " + range.dump(), "[lowest, highest]");
    calibrated_.ranges[name] = {*lowest, *highest};
  }

  void read_correction(const std::string& name, const Json& list) {
    std::vector<float> values;
    for (const Json& item : list) {
      if (const auto value = number(item)) values.push_back(*value);
    }
    if (!list.is_array() || values.size() != list.size())
      return fail(name, "a bias correction that is no list of numbers", "one number per channel");
    calibrated_.bias_corrections[name] = std::move(values);
  }

  // Numbers alone, or nothing.
  static std::optional<std::vector<float>> numbers(const Json& list) {
    if (!list.is_array()) return std::nullopt;
    std::vector<float> values;
    for (const Json& item : list) {
      const auto value = number(item);
      if (!value) return std::nullopt;
      values.push_back(*value);
    }
    return values;
  }

  void read_factors(const std::string& name, const Json& list) {
    auto values = numbers(list);
    const auto is_factor = [](float value) { return value >= 0x1p-20f && value <= 0x1p20f; };
    if (!values || !std::all_of(values->begin(), values->end(), is_factor)) {
      return fail(name, "channel factors that are no list of numbers", "one number per channel, from 2^-20 to 2^20");
    }
    calibrated_.channel_factors[name] = std::move(*values);
  }

  void read_kept(const Json& names) {
    const auto is_name = [](const Json& name) { return name.is_string(); };
    if (!names.is_array() || !std::all_of(names.begin(), names.end(), is_name))
      return fail("", "\"kept_in_f32\" that is no list of names", "the names of nodes");
    for (const Json& name : names) calibrated_.kept_in_f32.push_back(name.get<std::string>());
  }

  void read_weights(const std::string& name, const Json& weights) {
    const Json none;
    const Json& object = weights.is_object() ? weights : none;
    auto scales = object.is_object() ? numbers(member(object, "scales")) : std::nullopt;
    const auto dims = object.is_object() ? numbers(member(object, "shape")) : std::nullopt;
    const auto bytes = object.is_object() && member(object, "values").is_string()
                           ? from_base64(member(object, "values").get_ref<const std::string&>())
                           : std::nullopt;
    const auto is_scale = [](float value) {
      return value == 0.0f || (value >= kSmallestScale && value <= kLargestScale);
    };
    std::vector<std::int64_t> shape;
    for (const float dim : dims.value_or(std::vector<float>{}))
      shape.push_back(dim >= 0.0f && dim <= 0x1p24f ? static_cast<std::int64_t>(dim) : -1);
    const auto elements = checked_elements(shape);
    const bool fits = elements && bytes && static_cast<std::size_t>(*elements) == bytes->size() && !shape.empty();
    if (!scales || !fits || !std::all_of(scales->begin(), scales->end(), is_scale))
      return fail(name, "rounded weights that do not fit together",
                  "shape, scales and values in base64, as they were written");
    RoundedWeights own{Tensor(DType::s8, Shape(shape)), std::move(*scales)};
    if (!bytes->empty()) std::memcpy(own.values.data(), bytes->data(), bytes->size());
    calibrated_.weights[name] = std::move(own);
  }

  const std::string& file_;
  Calibrated calibrated_;
  Errors errors_;
};

}  // namespace

std::string scales_json(const Graph& quantized, const QuantizeReport& report, const std::string& model,
                        const std::string& calibration) {
  Json corrections = Json::object();
  for (const auto& [name, values] : report.calibrated.bias_corrections) corrections[name] = as_json(values);
  Json document = {{"format", kFormat},
                   {"model", model},
                   {"calibration", calibration},
                   {"tensors", tensors_json(report)},
                   {"weights", weights_json(quantized)},
                   {"bias_corrections", std::move(corrections)}};
  if (!report.calibrated.channel_factors.empty())
    document["channel_factors"] = factors_json(report.calibrated.channel_factors);
  if (!report.calibrated.kept_in_f32.empty()) document["kept_in_f32"] = report.calibrated.kept_in_f32;
  if (!report.calibrated.weights.empty()) document["rounded_weights"] = rounded_json(report.calibrated.weights);
  // Names that are no UTF-8 must not throw.
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Calibrated> parse_scales(std::string_view text, const std::string& file) {
  const auto document = parse_shallow(text);
  if (!document)
    return Error{ErrorKind::invalid_input, file, "no JSON object, or one nested too deep",
                 "a file that --scales-out wrote", ""};
  return Reader(file).read(*document);
}

}  // namespace octavo
