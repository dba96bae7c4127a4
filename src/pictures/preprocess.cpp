// Parsing and applying preprocessing SPECs. Part of pictures/.
#include "pictures/preprocess.h"

#include <charconv>
#include <cmath>
#include <string>
#include <vector>

namespace octavo {
namespace {

Error spec_error(std::string found, std::string expected) {
  return {
      .kind = ErrorKind::usage, .where = "--preprocess", .found = std::move(found), .expected = std::move(expected)};
}

std::optional<Preprocess> named(std::string_view name) {
  if (name == "torch")
    return Preprocess{.scale = 1.0f / 255.0f, .mean = {0.485f, 0.456f, 0.406f}, .std = {0.229f, 0.224f, 0.225f}};
  if (name == "tf") return Preprocess{.scale = 1.0f / 127.5f, .mean = {1.0f, 1.0f, 1.0f}};
  if (name == "tfq") {
    constexpr float step = 1.0f / 0.00784313678741455f;
    return Preprocess{.mean = {127.0f, 127.0f, 127.0f}, .std = {step, step, step}};
  }
  if (name == "bgr") return Preprocess{.mean = {103.939f, 116.779f, 123.68f}, .order = ColourOrder::bgr};
  if (name == "raw") return Preprocess{};
  return std::nullopt;
}

struct SpecField {
  std::string_view key;
  std::vector<std::string_view> values;
};

// "a=1,2,b=x" -> a: 1 2, b: x. A first item without '=' becomes a key without values: a name.
std::vector<SpecField> split_spec(std::string_view spec) {
  std::vector<SpecField> fields;
  while (!spec.empty()) {
    const std::size_t comma = std::min(spec.find(','), spec.size());
    const std::string_view item = spec.substr(0, comma);
    spec.remove_prefix(std::min(spec.size(), comma + 1));
    const std::size_t equals = item.find('=');
    if (equals != std::string_view::npos) fields.push_back({item.substr(0, equals), {item.substr(equals + 1)}});
    else if (fields.empty() || fields.back().values.empty()) fields.push_back({item, {}});
    else fields.back().values.push_back(item);
  }
  return fields;
}

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(value)) return std::nullopt;
  }
  return value;
}

// One number for all channels, or three.
std::optional<std::array<float, 3>> parse_channels(const std::vector<std::string_view>& values) {
  if (values.size() != 1 && values.size() != 3) return std::nullopt;
  std::array<float, 3> channels{};
  for (std::size_t c = 0; c < 3; ++c) {
    const auto value = parse_number<float>(values[values.size() == 1 ? 0 : c]);
    if (!value) return std::nullopt;
    channels[c] = *value;
  }
  return channels;
}

bool set_number(const SpecField& field, Preprocess& result) {
  if (field.key == "mean" || field.key == "std") {
    const auto channels = parse_channels(field.values);
    if (!channels) return false;
    (field.key == "mean" ? result.mean : result.std) = *channels;
    return field.key == "mean" || ((*channels)[0] != 0.0f && (*channels)[1] != 0.0f && (*channels)[2] != 0.0f);
  }
  if (field.values.size() != 1) return false;
  if (field.key == "scale") {
    const auto value = parse_number<float>(field.values[0]);
    result.scale = value.value_or(0.0f);
    return value.has_value() && *value != 0.0f;
  }
  const auto value = parse_number<int>(field.values[0]);
  const bool is_resize = field.key == "resize";
  if (!value || *value < (is_resize ? 0 : 1) || *value > 16384) return false;
  (is_resize ? result.resize : result.crop) = *value;
  return true;
}

bool set_word(const SpecField& field, Preprocess& result) {
  if (field.values.size() != 1) return false;
  const std::string_view word = field.values[0];
  if (field.key == "layout") {
    if (word != "nchw" && word != "nhwc") return false;
    result.layout = word == "nchw" ? ImageLayout::nchw : ImageLayout::nhwc;
    return true;
  }
  if (word != "rgb" && word != "bgr" && word != "grey") return false;
  result.order = word == "rgb" ? ColourOrder::rgb : word == "bgr" ? ColourOrder::bgr : ColourOrder::grey;
  return true;
}

bool is_image(const ImageInput& input) {
  return (input.channels == 1 || input.channels == 3) && input.height > 0 && input.width > 0;
}

// Pillow's convert("L").
float grey_of(const std::uint8_t* pixel) {
  return static_cast<float>((pixel[0] * 19595 + pixel[1] * 38470 + pixel[2] * 7471 + 0x8000) >> 16);
}

float value_of(const std::uint8_t* pixel, int channel, const Preprocess& preprocess, bool is_grey) {
  const int source = preprocess.order == ColourOrder::bgr ? 2 - channel : channel;
  const float raw = is_grey ? grey_of(pixel) : static_cast<float>(pixel[source]);
  const auto c = static_cast<std::size_t>(channel);
  return (raw * preprocess.scale - preprocess.mean[c]) / preprocess.std[c];
}

}  // namespace

Result<Preprocess> parse_preprocess(std::string_view spec) {
  const auto fields = split_spec(spec);
  if (fields.empty()) return spec_error("nothing", "torch, tf, tfq, bgr, raw or fields such as mean=127.5,std=127.5");
  Preprocess result;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const SpecField& field = fields[i];
    const std::string key(field.key);
    if (field.values.empty()) {
      const auto known = i == 0 ? named(field.key) : std::nullopt;
      if (!known) return spec_error("'" + key + "'", "torch, tf, tfq, bgr or raw as the first item");
      result = *known;
      continue;
    }
    const std::string found =
        "'" + key + "=" + std::string(field.values[0]) + (field.values.size() > 1 ? ",...'" : "'");
    if (key == "mean" || key == "std" || key == "scale" || key == "resize" || key == "crop") {
      if (!set_number(field, result))
        return spec_error(found, "one number, or three for mean and std; std and scale not 0; sizes up to 16384");
    } else if (key == "order" || key == "layout") {
      if (!set_word(field, result)) return spec_error(found, "order=rgb, bgr or grey; layout=nchw or nhwc");
    } else {
      return spec_error("field '" + key + "'", "mean, std, scale, order, layout, resize or crop");
    }
  }
  return result;
}

Result<ImageInput> image_input_of(const Shape& shape, const Preprocess& preprocess) {
  const auto dims = shape.dims();
  const std::size_t at = dims.size() == 4 ? 1 : 0;
  const Error refusal = spec_error("an input of shape " + shape.to_string(),
                                   "an image: batch, 1 or 3 channels, height and width (any order of layout)");
  if (dims.size() != 3 && dims.size() != 4) return refusal;
  for (const std::int64_t dim : dims.subspan(at)) {
    if (dim < 1 || dim > 16384) return refusal;
  }
  const auto size = [&](std::size_t i) { return static_cast<int>(dims[at + i]); };
  const ImageInput first{ImageLayout::nchw, size(0), size(1), size(2)};
  const ImageInput last{ImageLayout::nhwc, size(2), size(0), size(1)};
  if (preprocess.layout == ImageLayout::nhwc && is_image(last)) return last;
  if (preprocess.layout == ImageLayout::nchw && is_image(first)) return first;
  if (preprocess.layout) return refusal;
  if (is_image(first)) return first;
  if (is_image(last)) return last;
  return refusal;
}

Result<Tensor> image_to_tensor(const Picture& image, const Preprocess& preprocess, DType dtype, const Shape& shape) {
  const auto input = image_input_of(shape, preprocess);
  if (!input) return input.errors();
  if (preprocess.crop && (*preprocess.crop != input->width || *preprocess.crop != input->height)) {
    return spec_error("crop=" + std::to_string(*preprocess.crop),
                      std::to_string(input->width) + "x" + std::to_string(input->height) + ", the size of the input");
  }
  const int side = preprocess.resize.value_or((std::min(input->width, input->height) * 256 + 112) / 224);
  const Picture resized = side == 0 ? image : resize_shorter_side(image, side);
  return pixels_to_tensor(crop_centre(resized, input->width, input->height), preprocess, dtype, shape);
}

Result<Tensor> pixels_to_tensor(const Picture& image, const Preprocess& preprocess, DType dtype, const Shape& shape) {
  const auto input = image_input_of(shape, preprocess);
  if (!input) return input.errors();
  if (image.width != input->width || image.height != input->height) {
    return spec_error("an image of " + std::to_string(image.width) + "x" + std::to_string(image.height),
                      std::to_string(input->width) + "x" + std::to_string(input->height));
  }
  const float shift = dtype == DType::s8 && preprocess.keeps_pixels() ? -128.0f : 0.0f;
  const bool is_grey = input->channels == 1 || preprocess.order == ColourOrder::grey;
  Tensor tensor(dtype, shape);
  const TensorView view = tensor.view();
  const std::int64_t pixels = static_cast<std::int64_t>(input->height) * input->width;
  for (int c = 0; c < input->channels; ++c) {
    for (std::int64_t i = 0; i < pixels; ++i) {
      const float value = value_of(&image.rgb[static_cast<std::size_t>(i * 3)], c, preprocess, is_grey) + shift;
      const std::int64_t to = input->layout == ImageLayout::nchw ? c * pixels + i : i * input->channels + c;
      if (dtype == DType::f32) view.as<float>()[to] = value;
      else store_double(view, to, value);
    }
  }
  return tensor;
}

}  // namespace octavo
