// Times of operators by rates, and rates as JSON. Part of diagnose/.
#include "diagnose/engine_cost.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "diagnose/census.h"

namespace octavo::diagnose {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Form::count)> kForms = {
    "packed_float", "loose_float", "integer", "signed_slow", "unsigned_slow", "dynamic", "wide"};
constexpr std::array<std::string_view, static_cast<std::size_t>(ProductKind::count)> kProductKinds = {
    "conv", "grouped", "pointwise", "depthwise", "matmul"};
constexpr std::array<std::string_view, static_cast<std::size_t>(Pass::count)> kPasses = {
    "none",          "quantize",       "dequantize",    "quantize16",
    "dequantize16",  "requantize",     "add",           "mul",
    "sigmoid",       "max_pool",       "transpose",     "average",
    "float_add",     "float_mul",      "float_sigmoid", "float_function",
    "float_relu",    "float_max_pool", "float_softmax", "float_transpose",
    "float_average", "float_window",   "wide_add",      "wide_mul",
    "slow_max_pool", "slow_average",   "slow_relu",     "slow_function",
    "slow_softmax",  "slow_window"};

// Bytes of weights that caches hold from one run to the next (NEAR_BYTES of scripts/stories/rates.py): a row of
// convolutions takes longer for each from 8 MB of weights on, and no longer than that from 16 MB on.
constexpr double kNearBytes = 8e6;

using nlohmann::json;

// Throws json::exception where it is no such object.
EngineRates rates_in(const json& object) {
  EngineRates rates{.source = object.at("source").get<std::string>()};
  rates.node_us = object.at("node_us").get<double>();
  for (std::size_t i = 1; i < kPasses.size(); ++i)
    rates.passes_ns[i] = object.at("passes_ns").value(std::string(kPasses[i]), 0.0);
  for (std::size_t form = 0; form < kForms.size(); ++form) {
    const auto of_form = object.at("products").find(std::string(kForms[form]));
    if (of_form == object.at("products").end()) continue;
    for (std::size_t kind = 0; kind < kProductKinds.size(); ++kind) {
      const json& cost = of_form->at(std::string(kProductKinds[kind]));
      rates.products[form][kind] = ProductCost{.call_us = cost.at("call_us").get<double>(),
                                               .mac_ns = cost.at("mac_ns").get<double>(),
                                               .gathered_ns = cost.at("gathered_ns").get<double>(),
                                               .copy_ns = cost.at("copy_ns").get<double>(),
                                               .result_ns = cost.at("result_ns").get<double>(),
                                               .weight_ns = cost.at("weight_ns").get<double>(),
                                               .far_weight_ns = cost.at("far_weight_ns").get<double>()};
    }
  }
  return rates;
}

EngineRates built_in(Engine engine) {
  const bool is_measured = engine == Engine::ort || engine == Engine::litert;
  EngineRates rates = rates_in(json::parse(measured_rates(is_measured ? engine : Engine::ort)));
  if (!is_measured) rates.source = "not measured: as " + rates.source;
  return rates;
}

// Whether every window is one pixel: the axes of weights that are no channels.
bool is_pointwise(const FileView& view, const std::vector<std::int64_t>& shape) {
  const bool is_last = view.format == FileFormat::tflite;
  const std::size_t first = is_last ? 1 : 2, end = shape.size() - (is_last ? 1 : 0);
  for (std::size_t i = first; i < end; ++i) {
    if (shape[i] != 1) return false;
  }
  return true;
}

// Of a convolution; 1 where the file does not say. TFLite says it by the channels that weights have.
std::int64_t groups_of(const FileView& view, const ViewNode& node) {
  if (view.format != FileFormat::tflite)
    return std::max<std::int64_t>(1, node.integer(view.format == FileFormat::zip ? "groups" : "group", 1));
  const int x = view.input(node, 0), weights = sight::stored_weights(view, node);
  if (x < 0 || weights < 0) return 1;
  const auto &given = view.tensor(x).shape, &taken = view.tensor(weights).shape;
  if (!given || !taken || given->empty() || taken->empty() || taken->back() < 1) return 1;
  return std::max<std::int64_t>(1, given->back() / taken->back());
}

ProductKind kind_of_product(const FileView& view, const ViewNode& node) {
  if (node.kind == Kind::depthwise_conv) return ProductKind::depthwise;
  if (node.kind == Kind::matmul) return ProductKind::matmul;
  const int weights = sight::stored_weights(view, node);
  const auto* shape = weights < 0 || !view.tensor(weights).shape ? nullptr : &*view.tensor(weights).shape;
  if (groups_of(view, node) > 1) return ProductKind::grouped;
  const bool is_one = shape != nullptr && shape->size() > 2 && is_pointwise(view, *shape);
  return is_one ? ProductKind::pointwise : ProductKind::conv;
}

// Elements that are brought to windows, and the runs of them that lie together: with channels last all channels of a
// pixel, else the pixels of a row.
struct Gathered {
  double elements = 0.0, copies = 0.0;
};

Gathered gathered_by(const FileView& view, const ViewNode& node, ProductKind kind, Form form, double macs) {
  const int result = view.output(node), stored = sight::stored_weights(view, node);
  const bool has_window = kind == ProductKind::conv || kind == ProductKind::grouped || kind == ProductKind::depthwise;
  if (!has_window || stored < 0 || !view.tensor(stored).shape || !view.tensor(result).shape) return {};
  const auto &shape = *view.tensor(stored).shape, &made = *view.tensor(result).shape;
  if (shape.size() < 3 || made.size() < 3 || macs <= 0.0) return {};
  const bool has_channels_last = view.format == FileFormat::tflite || form == Form::integer ||
                                 form == Form::signed_slow || form == Form::unsigned_slow;
  const auto weights = static_cast<double>(view.tensor(stored).elements());
  const auto results = static_cast<double>(view.tensor(result).elements());
  if (kind == ProductKind::depthwise) {
    const double copies = has_channels_last ? 0.0 : macs / static_cast<double>(std::max<std::int64_t>(1, made.back()));
    return {static_cast<double>(view.tensor(view.input(node, 0)).elements()), copies};
  }
  // Each pixel gathers what one of its results sums up, for every group.
  const auto groups = static_cast<double>(groups_of(view, node));
  const double pixels = macs / weights, elements = pixels * (macs / results) * groups;
  const auto channels = static_cast<double>(view.format == FileFormat::tflite ? shape.back() : shape[1]);
  const double run = has_channels_last ? channels : static_cast<double>(made.back());
  return {elements, elements / std::max(1.0, run)};
}

// Of the weights of a product, those that no cache holds since its last run.
double far_share(const FileView& view, Form form) {
  const double bytes = static_cast<double>(view.weights) * (form == Form::packed_float ? sizeof(float) : 1.0);
  return std::clamp(bytes / kNearBytes - 1.0, 0.0, 1.0);
}

}  // namespace

const EngineRates& rates_of(Engine engine) {
  static const std::array<EngineRates, std::size(kEngines)> rates = [] {
    std::array<EngineRates, std::size(kEngines)> made;
    std::ranges::transform(kEngines, made.begin(), built_in);
    return made;
  }();
  return rates[static_cast<std::size_t>(engine)];
}

Result<EngineRates> read_rates(const std::string& path, Engine engine) {
  std::ifstream file(path, std::ios::binary);
  const std::string expected = "rates of " + std::string(title_of(engine)) + " (scripts/stories/rates.py)";
  if (!file)
    return Error{
        .kind = ErrorKind::resource, .where = path, .found = "a file that cannot be read", .expected = expected};
  try {
    const json object = json::parse(file);
    const auto of = object.at("engine").get<std::string>();
    if (of != name_of(engine))
      return Error{.kind = ErrorKind::usage, .where = path, .found = "rates of '" + of + "'", .expected = expected};
    return rates_in(object);
  } catch (const json::exception& error) {
    return Error{.kind = ErrorKind::invalid_input, .where = path, .found = error.what(), .expected = expected};
  }
}

double product_ms(const FileView& view, const ViewNode& node, const EngineRates& rates, Form form) {
  const auto macs = static_cast<double>(sight::macs_of(view, node));
  if (macs <= 0.0) return 0.0;
  const ProductKind kind = kind_of_product(view, node);
  const auto of_kind = static_cast<std::size_t>(kind);
  const auto& in_form = rates.products[static_cast<std::size_t>(form)][of_kind];
  const auto& otherwise = rates.products[static_cast<std::size_t>(Form::packed_float)][of_kind];
  const ProductCost cost = in_form.value_or(otherwise.value_or(ProductCost{}));
  const auto results = static_cast<double>(view.tensor(view.output(node)).elements());
  const int stored = sight::stored_weights(view, node);
  const double weights = stored < 0 ? 0.0 : static_cast<double>(view.tensor(stored).elements());
  const double groups = kind == ProductKind::grouped ? static_cast<double>(groups_of(view, node)) : 1.0;
  const Gathered gathered = gathered_by(view, node, kind, form, macs);
  const double ns = cost.mac_ns * macs + cost.gathered_ns * gathered.elements + cost.copy_ns * gathered.copies +
                    cost.result_ns * results + (cost.weight_ns + cost.far_weight_ns * far_share(view, form)) * weights;
  return cost.call_us * 1e-3 * groups + ns * 1e-6;
}

double pass_ms(std::int64_t elements, Pass pass, const EngineRates& rates) {
  if (pass == Pass::none) return 0.0;
  return static_cast<double>(elements) * rates.passes_ns[static_cast<std::size_t>(pass)] * 1e-6 + rates.node_us * 1e-3;
}

}  // namespace octavo::diagnose
