// Graphs with other inputs and outputs. Part of api/.
#include "api/ends.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "api/quantizer.h"
#include "graph/rebuild.h"
#include "lower/lower.h"
#include "lower/quantized_value.h"
#include "ops/channel_table/channel_table.h"
#include "ops/dequantize/dequantize.h"
#include "ops/quantize/quantize.h"
#include "ops/traits.h"
#include "ops/transpose/transpose.h"
#include "pictures/input_spec.h"

namespace octavo::v1 {
namespace {

// Its one scale, where it is of 8 bits and has one.
std::optional<QuantType> known_type(const Fact& fact) {
  if (!is_8bit(fact.dtype) || !fact.quant || fact.quant->scale.size() != 1) return std::nullopt;
  return QuantType{fact.dtype, fact.quant->scale[0], fact.quant->zero_point[0]};
}

// ---- pictures ----

// Ends of the names of the nodes that are added.
constexpr const char* kPixels = "/pixels";
constexpr const char* kChannelsFirst = "/channels_first";

// Layout and channels do not depend on what stays open.
Shape example(const OpenShape& shape) {
  std::vector<std::int64_t> dims;
  for (const Dim& dim : shape) dims.push_back(dim.example());
  return Shape(dims);
}

// For each channel what preprocessing outside makes of every pixel: it is asked.
Result<Tensor> values_of_pixels(const InputSpec& input, const Preprocess& preprocess, std::int64_t channels) {
  Picture pixels{256, 1, {}};
  for (int value = 0; value < 256; ++value) pixels.rgb.insert(pixels.rgb.end(), 3, static_cast<std::uint8_t>(value));
  Preprocess by_channel = preprocess;
  by_channel.layout = ImageLayout::nchw;
  InputSpec row = input;
  row.shape = Shape{1, channels, 1, 256};
  auto values = pixels_to_input(pixels, by_channel, row);
  if (!values) return values;
  return values->reshaped(Shape{channels, 256});
}

// The channels of a picture that those of the input are made of.
std::vector<std::int64_t> sources(std::int64_t channels, ColourOrder order) {
  if (order == ColourOrder::grey || channels == 1) return std::vector<std::int64_t>(static_cast<std::size_t>(channels));
  return order == ColourOrder::bgr ? std::vector<std::int64_t>{2, 1, 0} : std::vector<std::int64_t>{0, 1, 2};
}

// Pictures in the place of the input; what it was before is made of them.
Result<Graph> with_pictures(const Graph& graph, const ImageInput& image, ColourOrder order, Tensor values) {
  const ValueId input = graph.inputs()[0];
  const Value& value = graph.value(input);
  const std::string origin = "input '" + value.name + "'";
  const bool is_nchw = image.layout == ImageLayout::nchw;
  std::vector<Dim> dims = value.fact.shape.to_vector();
  std::vector<std::int64_t> perm(dims.size());
  std::iota(perm.begin(), perm.end(), std::int64_t{0});
  std::rotate(perm.end() - 3, perm.end() - 1, perm.end());
  if (is_nchw) std::rotate(dims.end() - 3, dims.end() - 2, dims.end());
  dims.back() = image.channels == 1 || order == ColourOrder::grey ? 1 : 3;
  Rebuild changed(graph);
  const ValueId pictures = changed.graph().add_input(value.name, DType::u8, OpenShape(dims));
  const ValueId table = changed.graph().add_constant(value.name + "/values", std::move(values));
  ValueId y = changed.add(kChannelTable, ChannelTableAttrs{sources(image.channels, order)}, {pictures, table},
                          value.name + kPixels, origin);
  if (is_nchw) y = changed.add(kTranspose, TransposeAttrs{perm}, {y}, value.name + kChannelsFirst, origin);
  changed.set(input, y);
  if (y.exists() && value.fact.quant) changed.graph().set_quant(y, *value.fact.quant);
  for (const NodeId id : graph.order()) changed.copy(graph.node(id));
  changed.add_outputs(graph.outputs(), graph.output_names());
  return changed.finish();
}

// ---- outputs ----

// What the 8-bit values are that a wire consists of: its own, or those that were dequantized and moved on the way.
std::optional<QuantType> integers_behind(const Graph& graph, ValueId wire) {
  while (true) {
    if (const auto own = known_type(graph.fact(wire))) return own;
    if (const auto real = dequantized(graph, wire)) return real->type;
    const Node* producer = graph.producer(wire);
    if (producer == nullptr) return std::nullopt;
    const Elements elements = elements_of(*producer->spec, producer->attrs);
    if (elements != Elements::moved && elements != Elements::selected) return std::nullopt;
    wire = producer->inputs[0];
  }
}

// Adds what delivers outputs to a copy of a graph.
class Delivery {
 public:
  Delivery(DType type, const Graph& graph) : type_(type), new_(graph) {
    new_.add_inputs();
    for (const NodeId id : graph.order()) new_.copy(graph.node(id));
  }

  // False where the output cannot be of that type.
  bool add_output(ValueId old_id, const std::string& name) {
    const Graph& graph = new_.old_graph();
    const Fact& fact = graph.fact(old_id);
    ValueId value = new_.of(old_id);
    if (fact.dtype != type_) {
      const auto integers = integers_behind(graph, old_id);
      if (!integers) return false;
      const Node* producer = graph.producer(old_id);
      const std::string origin = producer == nullptr ? "" : producer->origin;
      if (!is_float(fact.dtype)) value = convert(kDequantize, DequantizeAttrs{}, value, *integers, name, origin);
      if (is_8bit(type_))
        value = convert(kQuantize, QuantizeAttrs{.to = type_}, value, stored(*integers), name, origin);
    }
    if (!new_.has_failed()) new_.graph().add_output(value, name);
    return true;
  }

  Result<Graph> finish() { return new_.finish(); }

 private:
  // Of the same values in the type that is delivered.
  QuantType stored(QuantType type) const {
    if (type.dtype != type_) type.zero_point += type_ == DType::u8 ? kSignShift : -kSignShift;
    type.dtype = type_;
    return type;
  }

  ValueId convert(const OpSpec& spec, Attrs attrs, ValueId value, const QuantType& type, const std::string& name,
                  const std::string& origin) {
    const std::string node = name + "/" + std::string(spec.name);
    Tensor zero_point(type.dtype, Shape{});
    store_double(zero_point.view(), 0, type.zero_point);
    const ValueId scale = new_.graph().add_constant(node + "/scale", Tensor::scalar(type.scale));
    const ValueId zero = new_.graph().add_constant(node + "/zero_point", std::move(zero_point));
    return new_.add(spec, std::move(attrs), {value, scale, zero}, node, origin);
  }

  const DType type_;
  Rebuild new_;
};

std::string described(const Graph& graph, ValueId value) {
  const std::string type(name_of(graph.fact(value).dtype));
  const Node* producer = graph.producer(value);
  if (producer == nullptr) return type;
  return type + ", computed by node '" + producer->name + "' (" + std::string(producer->spec->name) + ")";
}

}  // namespace

Result<std::vector<std::string>> take_pictures(Graph& graph, const Preprocess& preprocess, const std::string& path) {
  if (graph.inputs().size() != 1)
    return usage(path, std::to_string(graph.inputs().size()) + " inputs", "one, which takes pictures");
  record_input_scales(graph);
  const ValueId input = graph.inputs()[0];
  const Value& value = graph.value(input);
  const std::string where = path + ": input '" + value.name + "'";
  if (!is_8bit(value.fact.dtype) && value.fact.dtype != DType::f32)
    return usage(where, std::string(name_of(value.fact.dtype)), "f32, u8 or s8, which pixels can become");
  if (value.fact.shape.rank() != 4) return usage(where, value.fact.shape.to_string(), "an image with a batch, 4 axes");
  const Shape shape = example(value.fact.shape);
  const auto image = image_input_of(shape, preprocess);
  if (!image) {
    Errors errors = image.errors();
    for (Error& error : errors) error.where = where;
    return errors;
  }
  InputSpec spec{value.name, value.fact.dtype, shape};
  if (const auto type = known_type(value.fact)) spec.scale = TensorScale{type->dtype, type->scale, type->zero_point};
  auto values = values_of_pixels(spec, preprocess, image->channels);
  if (!values) return values.errors();
  std::vector<std::string> names = {value.name + kPixels};
  if (image->layout == ImageLayout::nchw) names.push_back(value.name + kChannelsFirst);
  auto changed = with_pictures(graph, *image, preprocess.order, std::move(*values));
  if (!changed) return changed.errors();
  graph = std::move(*changed);
  return names;
}

Status deliver_as(DType type, Graph& graph, const std::string& path) {
  Delivery delivery(type, graph);
  Errors errors;
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const std::string& name = graph.output_names()[i];
    if (delivery.add_output(graph.outputs()[i], name)) continue;
    errors.push_back(usage(path + ": output '" + name + "'", described(graph, graph.outputs()[i]),
                           std::string(name_of(type)) + ", or 8-bit values with one scale, which it could become",
                           is_8bit(type) ? "--integer-only makes 8-bit outputs of an fp32 file's" : ""));
  }
  if (!errors.empty()) return errors;
  auto changed = delivery.finish();
  if (!changed) return changed.errors();
  graph = std::move(*changed);
  return ok_status();
}

}  // namespace octavo::v1
