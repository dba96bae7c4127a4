// Opening sample sources. Part of data/.
#include "data/samples.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "base/file.h"
#include "base/random.h"
#include "data/combined_samples.h"
#include "data/image_decode.h"
#include "data/npy.h"
#include "data/token_rows.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

Error data_error(const std::string& where, std::string found, std::string expected) {
  return {.kind = ErrorKind::invalid_input, .where = where, .found = std::move(found), .expected = std::move(expected)};
}
Error needs_preprocess(const std::string& where) {
  return {.kind = ErrorKind::usage,
          .where = where,
          .found = "images and no --preprocess",
          .expected = "how pixels become numbers: torch, tf, bgr, raw, ..."};
}

std::optional<Error> check_finite(const Tensor& tensor, const std::string& where) {
  if (tensor.dtype() != DType::f32) return std::nullopt;
  const auto values = tensor.span<float>();
  const auto bad = std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
  if (bad == values.end()) return std::nullopt;
  return data_error(where, std::to_string(*bad) + " at element " + std::to_string(bad - values.begin()),
                    "finite numbers");
}

// The shape under which an array of this one is the input's.
Result<Shape> fitting_shape(const Shape& found, const InputSpec& input, const std::string& where) {
  if (const auto shape = shape_as(input, found)) return *shape;
  return data_error(where, "shape " + found.to_string(), input.shape_text() + " for input '" + input.name + "'");
}

// The same elements under the input's shape, with or without its batch axis; f64 becomes f32.
Result<Tensor> fit(const Tensor& tensor, const InputSpec& input, const std::string& where) {
  const auto shape = fitting_shape(tensor.shape(), input, where);
  if (!shape) return shape.errors();
  Tensor result = tensor.reshaped(*shape);
  const bool is_quantized_here = input.scale && is_float(tensor.dtype());
  if (tensor.dtype() == DType::f64 && (input.dtype == DType::f32 || is_quantized_here))
    result = Tensor::of<float>(*shape, to_floats(tensor.view()));
  if (is_quantized_here && result.dtype() == DType::f32) {
    if (auto error = check_finite(result, where)) return *error;
    return quantized(result, *input.scale);
  }
  if (result.dtype() != input.dtype) {
    return data_error(where, "element type " + std::string(name_of(tensor.dtype())),
                      std::string(name_of(input.dtype)) + " for input '" + input.name + "'");
  }
  if (auto error = check_finite(result, where)) return *error;
  return result;
}

std::string lower_extension(const fs::path& path) {
  std::string text = path.extension().string();
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

class ImageFiles final : public SampleSource {
 public:
  ImageFiles(std::vector<std::string> paths, InputSpec input, Preprocess preprocess)
      : paths_(std::move(paths)), input_(std::move(input)), preprocess_(preprocess) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(paths_.size()); }
  Result<std::vector<Tensor>> sample(std::int64_t index) const override {
    const auto image = read_image(paths_[static_cast<std::size_t>(index)]);
    if (!image) return image.errors();
    auto tensor = image_to_input(*image, preprocess_, input_);
    if (!tensor) return tensor.errors();
    return std::vector<Tensor>{std::move(*tensor)};
  }
  Result<std::vector<Shape>> shapes(std::int64_t index) const override {
    if (!takes_own_sizes(input_, preprocess_)) return std::vector<Shape>{shape_of_picture(input_, 0, 0, preprocess_)};
    const auto image = read_image(paths_[static_cast<std::size_t>(index)]);
    if (!image) return image.errors();
    return std::vector<Shape>{shape_of_picture(input_, image->width, image->height, preprocess_)};
  }
  std::string name(std::int64_t index) const override { return paths_[static_cast<std::size_t>(index)]; }

 private:
  std::vector<std::string> paths_;
  InputSpec input_;
  Preprocess preprocess_;
};

class NpyFiles final : public SampleSource {
 public:
  NpyFiles(std::vector<std::string> paths, InputSpec input) : paths_(std::move(paths)), input_(std::move(input)) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(paths_.size()); }
  Result<std::vector<Tensor>> sample(std::int64_t index) const override {
    const std::string& path = paths_[static_cast<std::size_t>(index)];
    const auto array = read_npy(path);
    if (!array) return array.errors();
    auto tensor = fit(*array, input_, path);
    if (!tensor) return tensor.errors();
    return std::vector<Tensor>{std::move(*tensor)};
  }
  Result<std::vector<Shape>> shapes(std::int64_t index) const override {
    const std::string path = name(index);
    const auto array = open_npy(path);
    if (!array) return array.errors();
    auto shape = fitting_shape(array->shape(), input_, path);
    if (!shape) return shape.errors();
    return std::vector<Shape>{std::move(*shape)};
  }
  std::string name(std::int64_t index) const override { return paths_[static_cast<std::size_t>(index)]; }

 private:
  std::vector<std::string> paths_;
  InputSpec input_;
};

// u8 [N, H, W, 1 or 3], unless these are the input's stored values themselves.
bool holds_images(const StoredArray& array, const InputSpec& input, const std::optional<Preprocess>& preprocess) {
  const Shape& shape = array.shape();
  const bool is_sample_itself = shape.rank() > 0 && input.dtype == DType::u8 &&
                                shape_as(input, Shape(shape.dims().subspan(1))) &&
                                !(preprocess && takes_real_values(input, *preprocess));
  return array.dtype() == DType::u8 && shape.rank() == 4 && (shape[3] == 1 || shape[3] == 3) && !is_sample_itself;
}

Picture image_of(const Tensor& slice) {
  const Shape& shape = slice.shape();
  Picture image{static_cast<int>(shape[1]), static_cast<int>(shape[0]), {}};
  const auto pixels = slice.span<std::uint8_t>();
  if (shape[2] == 3) {
    image.rgb.assign(pixels.begin(), pixels.end());
  } else {
    for (const std::uint8_t grey : pixels) image.rgb.insert(image.rgb.end(), 3, grey);
  }
  return image;
}

// Arrays with a leading sample axis, one per input, read sample by sample.
class Arrays final : public SampleSource {
 public:
  Arrays(std::vector<StoredArray> arrays, std::vector<InputSpec> inputs, std::string path,
         std::optional<Preprocess> preprocess)
      : arrays_(std::move(arrays)), inputs_(std::move(inputs)), path_(std::move(path)), preprocess_(preprocess) {}
  std::int64_t size() const override { return arrays_.front().shape()[0]; }
  Result<std::vector<Tensor>> sample(std::int64_t index) const override {
    std::vector<Tensor> sample;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      auto tensor = one(arrays_[i], inputs_[i], index);
      if (!tensor) return tensor.errors();
      sample.push_back(std::move(*tensor));
    }
    return sample;
  }
  Result<std::vector<Shape>> shapes(std::int64_t index) const override {
    std::vector<Shape> shapes;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      auto shape = shape_of_one(arrays_[i], inputs_[i], name(index));
      if (!shape) return shape.errors();
      shapes.push_back(std::move(*shape));
    }
    return shapes;
  }
  std::string name(std::int64_t index) const override { return path_ + ": sample " + std::to_string(index); }

 private:
  Result<Shape> shape_of_one(const StoredArray& array, const InputSpec& input, const std::string& where) const {
    const Shape slice(array.shape().dims().subspan(1));
    if (!holds_images(array, input, preprocess_)) return fitting_shape(slice, input, where);
    return shape_of_picture(input, static_cast<int>(slice[1]), static_cast<int>(slice[0]), *preprocess_);
  }
  Result<Tensor> one(const StoredArray& array, const InputSpec& input, std::int64_t index) const {
    const auto slice = array.slice(index);
    if (!slice) return slice.errors();
    if (!holds_images(array, input, preprocess_)) return fit(*slice, input, name(index));
    const Picture image = image_of(*slice);
    const auto wanted = image_input_of(shape_of_picture(input, image.width, image.height, *preprocess_), *preprocess_);
    if (!wanted) return wanted.errors();
    // Small sets such as CIFAR are stored at the network's size: those are taken as they are.
    const bool has_size = image.width == wanted->width && image.height == wanted->height && !preprocess_->resize;
    return has_size ? pixels_to_input(image, *preprocess_, input) : image_to_input(image, *preprocess_, input);
  }

  std::vector<StoredArray> arrays_;
  std::vector<InputSpec> inputs_;
  std::string path_;
  std::optional<Preprocess> preprocess_;
};

// Normally distributed floats, whole-range 8-bit integers, zeros for the rest. The same on every machine.
class RandomSamples final : public SampleSource {
 public:
  RandomSamples(std::vector<InputSpec> inputs, std::int64_t count) : inputs_(std::move(inputs)), count_(count) {}
  std::int64_t size() const override { return count_; }
  Result<std::vector<Shape>> shapes(std::int64_t) const override {
    std::vector<Shape> shapes;
    for (const InputSpec& input : inputs_) shapes.push_back(input.shape);
    return shapes;
  }
  Result<std::vector<Tensor>> sample(std::int64_t index) const override {
    SplitMix random(static_cast<std::uint64_t>(index + 1));
    std::vector<Tensor> sample;
    for (const InputSpec& input : inputs_) {
      sample.emplace_back(input.dtype, input.shape);
      const TensorView view = sample.back().view();
      for (std::int64_t i = 0; i < view.shape.elements(); ++i) {
        if (is_float(input.dtype)) store_double(view, i, normal(random));
        else if (is_8bit(input.dtype)) view.data[i] = static_cast<std::byte>(random.next() & 0xff);
        else if (size_of(input.dtype) == 2) view.as<std::uint16_t>()[i] = static_cast<std::uint16_t>(random.next());
      }
    }
    return sample;
  }

 private:
  // Twelve uniform numbers: mean 0, variance 1, no libm.
  static double normal(SplitMix& random) {
    double sum = -6.0;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(random.next() >> 11) * 0x1p-53;
    return sum;
  }

  std::vector<InputSpec> inputs_;
  std::int64_t count_;
};

using Opened = Result<std::unique_ptr<SampleSource>>;

// That pictures have a size as the input, which takes images.
Status check_picture_size(const InputSpec& input, const Preprocess& preprocess, const std::string& where) {
  const Shape shape = shape_of_picture(input, 1, 1, preprocess);
  const auto dims = shape.dims();
  if (input.has_open_axis() && std::find(dims.begin(), dims.end(), 0) != dims.end()) {
    return Error{.kind = ErrorKind::usage,
                 .where = where,
                 .found = "pictures for input '" + input.name + "' of open sizes (" + input.shape_text() + ")",
                 .expected = "numbers for them (--shape), or of --preprocess crop=N, or resize=0 for their own"};
  }
  const auto image = image_input_of(shape, preprocess);
  return image ? ok_status() : Status(image.errors());
}

Opened open_image_files(std::vector<std::string> paths, const std::vector<InputSpec>& inputs,
                        const SampleOptions& options, const std::string& where) {
  if (inputs.size() != 1)
    return data_error(where, "images for a model with " + std::to_string(inputs.size()) + " inputs",
                      ".npz files with one array per input");
  if (!options.preprocess) return needs_preprocess(where);
  if (const Status sized = check_picture_size(inputs[0], *options.preprocess, where); !sized) return sized.errors();
  return Opened(std::make_unique<ImageFiles>(std::move(paths), inputs[0], *options.preprocess));
}

Opened open_npy_files(std::vector<std::string> paths, const std::vector<InputSpec>& inputs, const std::string& where) {
  if (inputs.size() == 1) return Opened(std::make_unique<NpyFiles>(std::move(paths), inputs[0]));
  return data_error(where, ".npy files for a model with " + std::to_string(inputs.size()) + " inputs",
                    ".npz files with one array per input");
}

Opened open_tokens(const std::vector<std::string>& paths, const std::vector<InputSpec>& inputs) {
  std::vector<TokenFile> files;
  for (const std::string& path : paths) {
    auto arrays = open_npz(path);
    if (!arrays) return arrays.errors();
    files.push_back({path, std::move(*arrays)});
  }
  return token_rows(files, inputs);
}

// The array of an .npz that feeds an input, or nullptr.
const StoredArray* find_array(const std::map<std::string, StoredArray>& arrays, const InputSpec& input,
                              bool is_only_input) {
  if (const auto it = arrays.find(input.name); it != arrays.end()) return &it->second;
  if (!is_only_input) return nullptr;
  for (const char* name : {"calibration", "images", "features"}) {
    if (const auto it = arrays.find(name); it != arrays.end()) return &it->second;
  }
  return arrays.size() == 1 ? &arrays.begin()->second : nullptr;
}

Opened open_arrays(const std::map<std::string, StoredArray>& arrays, const std::string& path,
                   const std::vector<InputSpec>& inputs, const SampleOptions& options) {
  std::vector<StoredArray> chosen;
  for (const InputSpec& input : inputs) {
    const StoredArray* array = find_array(arrays, input, inputs.size() == 1);
    if (array == nullptr)
      return data_error(path, "no array named '" + input.name + "'", "one array per input of the model");
    if (array->shape().rank() < 1 || array->shape()[0] < 1)
      return data_error(path, "shape " + array->shape().to_string(), "a leading sample axis of at least 1");
    if (!chosen.empty() && chosen.front().shape()[0] != array->shape()[0]) {
      return data_error(path,
                        "arrays of " + std::to_string(chosen.front().shape()[0]) + " and " +
                            std::to_string(array->shape()[0]) + " samples",
                        "equal counts");
    }
    if (holds_images(*array, input, options.preprocess)) {
      if (!options.preprocess) return needs_preprocess(path);
      if (const Status sized = check_picture_size(input, *options.preprocess, path); !sized) return sized.errors();
    }
    chosen.push_back(*array);
  }
  if (chosen.empty()) return data_error(path, "samples for a model without inputs", "a model with inputs");
  return Opened(std::make_unique<Arrays>(std::move(chosen), inputs, path, options.preprocess));
}

// Each as open_arrays takes it.
Opened open_archives(const std::vector<std::string>& paths, const std::vector<InputSpec>& inputs,
                     const SampleOptions& options) {
  return samples_of_files(paths, [inputs, options](const std::string& path) {
    const auto arrays = open_npz(path);
    return arrays ? open_arrays(*arrays, path, inputs, options) : Opened(arrays.errors());
  });
}

// By kind, each sorted.
struct FolderOfSamples {
  std::vector<std::string> images, arrays, archives;
};

Result<FolderOfSamples> list_folder(const std::string& path) {
  FolderOfSamples folder;
  std::error_code error;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    if (is_image_name(it->path().string())) folder.images.push_back(it->path().string());
    else if (lower_extension(it->path()) == ".npy") folder.arrays.push_back(it->path().string());
    else if (lower_extension(it->path()) == ".npz") folder.archives.push_back(it->path().string());
  }
  if (error) return Error{.kind = ErrorKind::resource, .where = path, .found = "cannot be read: " + error.message()};
  for (auto* files : {&folder.images, &folder.arrays, &folder.archives}) std::sort(files->begin(), files->end());
  return folder;
}

Opened open_folder(const std::string& path, const std::vector<InputSpec>& inputs, const SampleOptions& options) {
  auto folder = list_folder(path);
  if (!folder) return folder.errors();
  auto& [images, arrays, archives] = *folder;
  if (!images.empty() && !arrays.empty()) return data_error(path, "images and .npy files", "one kind of samples");
  if (!images.empty()) return open_image_files(std::move(images), inputs, options, path);
  if (!arrays.empty()) return open_npy_files(std::move(arrays), inputs, path);
  if (archives.empty()) return data_error(path, "no samples", "images (.jpg, .png, .bmp), .npy or .npz files");
  return take_tokens(inputs) ? open_tokens(archives, inputs) : open_archives(archives, inputs, options);
}

Opened open_all(const std::string& path, const std::vector<InputSpec>& inputs, const SampleOptions& options) {
  constexpr std::int64_t kRandomSamples = 8;
  if (path == "random")
    return Opened(std::make_unique<RandomSamples>(inputs, options.limit > 0 ? options.limit : kRandomSamples));
  std::error_code error;
  if (fs::is_directory(path, error)) return open_folder(path, inputs, options);
  if (lower_extension(path) == ".npz") {
    const auto arrays = open_npz(path);
    if (!arrays) return arrays.errors();
    const TokenFile tokens{path, *arrays};
    const auto has_rows = take_tokens(inputs) ? needs_rows(tokens, inputs) : Result<bool>(false);
    if (!has_rows) return has_rows.errors();
    return *has_rows ? token_rows({tokens}, inputs) : open_arrays(*arrays, path, inputs, options);
  }
  const auto array = open_npy(path);
  if (!array) return array.errors();
  return open_arrays({{inputs.empty() ? "" : inputs[0].name, *array}}, path, inputs, options);
}

struct LabelLine {
  std::string file;
  std::int64_t label = 0;
};

// Lines "file class"; the file may contain spaces. Empty lines are skipped.
Result<std::vector<LabelLine>> read_labels(const std::string& path) {
  const auto bytes = read_file(path);
  if (!bytes) return bytes.errors();
  std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  std::vector<LabelLine> lines;
  for (int number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (line.empty()) continue;
    const std::size_t space = line.find_last_of(" \t");
    const std::string_view digits = line.substr(space == std::string_view::npos ? 0 : space + 1);
    std::int64_t label = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), label);
    if (space == std::string_view::npos || error != std::errc{} || end != digits.data() + digits.size() || label < 0) {
      return data_error(path + ": line " + std::to_string(number), "'" + std::string(line.substr(0, 60)) + "'",
                        "a file name, a space and a class number");
    }
    lines.push_back({std::string(line.substr(0, line.find_last_not_of(" \t", space) + 1)), label});
  }
  if (lines.empty()) return data_error(path, "no lines", "lines of a file name, a space and a class number");
  return lines;
}

std::vector<std::int64_t> spread(const std::vector<std::int64_t>& labels, std::int64_t limit) {
  const auto size = static_cast<std::int64_t>(labels.size());
  if (limit <= 0 || size <= limit) return labels;
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < limit; ++i) result.push_back(labels[static_cast<std::size_t>(i * size / limit)]);
  return result;
}

Result<LabelledSamples> open_labelled_folder(const std::string& images, const std::string& labels,
                                             const std::vector<InputSpec>& inputs, const SampleOptions& options) {
  const auto lines = read_labels(labels);
  if (!lines) return lines.errors();
  std::vector<std::string> paths;
  LabelledSamples result;
  for (const LabelLine& line : *lines) {
    paths.push_back((fs::path(images) / line.file).string());
    std::error_code error;
    if (!fs::is_regular_file(paths.back(), error))
      return data_error(labels, "'" + line.file + "', which is not in " + images, "files of that folder");
    result.labels.push_back(line.label);
  }
  const bool are_arrays =
      std::all_of(paths.begin(), paths.end(), [](const std::string& path) { return lower_extension(path) == ".npy"; });
  auto opened = are_arrays ? open_npy_files(std::move(paths), inputs, images)
                           : open_image_files(std::move(paths), inputs, options, images);
  if (!opened) return opened.errors();
  result.samples = limited(std::move(*opened), options.limit);
  result.labels = spread(result.labels, options.limit);
  return result;
}

// The classes in the array `labels` of an .npz, and its other arrays as samples.
Opened open_labelled_archive(const std::string& path, const std::vector<InputSpec>& inputs,
                             const SampleOptions& options, std::vector<std::int64_t>& classes) {
  auto arrays = open_npz(path);
  if (!arrays) return arrays.errors();
  const auto labels = arrays->find("labels");
  if (labels == arrays->end()) return data_error(path, "no array 'labels'", "the class of each sample");
  const auto values = labels->second.whole();
  if (!values) return values.errors();
  classes = to_int64s(values->view());
  arrays->erase(labels);
  arrays->erase("calibration");
  auto opened = open_arrays(*arrays, path, inputs, options);
  if (!opened || (*opened)->size() == static_cast<std::int64_t>(classes.size())) return opened;
  return data_error(path,
                    std::to_string((*opened)->size()) + " samples and " + std::to_string(classes.size()) + " labels",
                    "equal counts");
}

Result<LabelledSamples> open_labelled_archives(const std::vector<std::string>& paths,
                                               const std::vector<InputSpec>& inputs, const SampleOptions& options) {
  std::vector<std::int64_t> labels;
  for (const std::string& path : paths) {
    std::vector<std::int64_t> classes;
    const auto opened = open_labelled_archive(path, inputs, options, classes);
    if (!opened) return opened.errors();
    labels.insert(labels.end(), classes.begin(), classes.end());
  }
  auto samples = samples_of_files(paths, [inputs, options](const std::string& path) {
    std::vector<std::int64_t> known;
    return open_labelled_archive(path, inputs, options, known);
  });
  if (!samples) return samples.errors();
  return LabelledSamples{limited(std::move(*samples), options.limit), spread(labels, options.limit)};
}

}  // namespace

Result<std::unique_ptr<SampleSource>> open_samples(const std::string& path, const std::vector<InputSpec>& inputs,
                                                   const SampleOptions& options) {
  auto opened = open_all(path, inputs, options);
  return opened ? Opened(limited(std::move(*opened), options.limit)) : std::move(opened);
}

Result<LabelledSamples> open_labelled(const std::string& images, const std::string& labels,
                                      const std::vector<InputSpec>& open_inputs, const SampleOptions& options) {
  std::vector<InputSpec> inputs = open_inputs;
  for (InputSpec& input : inputs) {
    if (input.is_open(0)) input.open[0].reset();  // one sample, one class
  }
  if (lower_extension(images) == ".npz") return open_labelled_archives({images}, inputs, options);
  if (!labels.empty()) return open_labelled_folder(images, labels, inputs, options);
  const auto folder = list_folder(images);
  if (folder && !folder->archives.empty()) return open_labelled_archives(folder->archives, inputs, options);
  return Error{.kind = ErrorKind::usage,
               .where = "--labels",
               .found = "nothing",
               .expected = "a file of lines 'file class' beside a folder of images"};
}

}  // namespace octavo
