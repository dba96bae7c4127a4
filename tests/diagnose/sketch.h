// Sketch: a FileView drawn node by node, without a file, for tests of rules in every engine's words.
#ifndef OCTAVO_TESTS_DIAGNOSE_SKETCH_H_
#define OCTAVO_TESTS_DIAGNOSE_SKETCH_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/census.h"
#include "diagnose/file_view.h"

namespace octavo::diagnose {

// How values are stored: a type, a scale (so often), a zero point.
struct Stored {
  DType dtype = DType::u8;
  float scale = 0.1f;
  std::int32_t zero_point = 128;
  int channels = 1, axis = -1;  // scales of their own for so many
};
inline constexpr Stored kBytes, kWeights{.dtype = DType::s8, .zero_point = 0, .channels = 8, .axis = 0};

class Sketch {
 public:
  Sketch(FileFormat format, Dialect dialect) {
    view_.format = format;
    view_.dialect = dialect;
    view_.read = [this](const ViewTensor& tensor) -> std::optional<Tensor> {
      const auto found = values_.find(tensor.name);
      return found == values_.end() ? std::nullopt : std::optional(found->second);
    };
  }
  Sketch(const Sketch&) = delete;
  Sketch& operator=(const Sketch&) = delete;

  // A tensor of 1x8x16x16, or 8x8x3x3 where it is constant.
  int tensor(DType dtype = DType::f32, std::optional<Stored> stored = {}) {
    const int index = view_.tensor_named("t" + std::to_string(view_.tensors.size()));
    ViewTensor& made = view_.tensors[static_cast<std::size_t>(index)];
    made.dtype = dtype;
    made.shape = {1, 8, 16, 16};
    if (stored) made.quant = quant_of(*stored);
    return index;
  }
  int input(DType dtype = DType::f32, std::optional<Stored> stored = {}) {
    const int index = tensor(dtype, stored);
    at(index).is_input = true;
    return index;
  }
  int constant(DType dtype = DType::f32, std::optional<Stored> stored = {}) {
    const int index = tensor(dtype, stored);
    at(index).shape = {8, 8, 3, 3};
    at(index).is_constant = true;
    return index;
  }
  int constant(Tensor values, Stored stored) {
    const int index = constant(values.dtype(), stored);
    values_.emplace(at(index).name, std::move(values));
    return index;
  }

  void reshape(int index, std::vector<std::int64_t> shape) { at(index).shape = std::move(shape); }

  // What the node gives, floats unless `result` is a tensor made before.
  int node(const std::string& op, std::vector<int> inputs, int result = -1) {
    if (result < 0) result = tensor();
    ViewNode made{.name = op + std::to_string(view_.nodes.size()), .op = op};
    made.kind = kind_of_operator(view_.format, op);
    made.is_integer = op.starts_with("QLinear") || op.ends_with("Integer");
    made.inputs = std::move(inputs);
    made.outputs = {result};
    view_.nodes.push_back(std::move(made));
    return result;
  }
  ViewNode& last() { return view_.nodes.back(); }
  std::size_t index_of_last() const { return view_.nodes.size() - 1; }

  // The words of a format.
  std::string word(Kind kind) const {
    const bool is_torch = view_.format == FileFormat::zip, is_tflite = view_.format == FileFormat::tflite;
    switch (kind) {
      case Kind::quantize:
        return is_torch    ? "quantized_decomposed.quantize_per_tensor.default"
               : is_tflite ? "QUANTIZE"
                           : "QuantizeLinear";
      case Kind::dequantize:
        return is_torch    ? "quantized_decomposed.dequantize_per_tensor.default"
               : is_tflite ? "DEQUANTIZE"
                           : "DequantizeLinear";
      case Kind::batch_norm: return is_torch ? "aten.batch_norm.default" : "BatchNormalization";
      default: return is_torch ? "aten.conv2d.default" : is_tflite ? "CONV_2D" : "Conv";
    }
  }
  int quantized(int x, Stored stored = kBytes) { return node(word(Kind::quantize), {x}, tensor(stored.dtype, stored)); }
  int dequantized(int x) { return node(word(Kind::dequantize), {x}); }
  int pair(int x, Stored stored = kBytes) { return dequantized(quantized(x, stored)); }
  int weights(Stored stored = kWeights) { return dequantized(constant(stored.dtype, stored)); }
  int conv(int x, int w) { return node(word(Kind::conv), {x, w}); }

  // As a file's reader leaves it, with the last result for its output.
  const FileView& view() {
    view_.tensors[static_cast<std::size_t>(view_.output(view_.nodes.back()))].is_output = true;
    view_.connect();
    view_.weights = sight::all_weights(view_);
    return view_;
  }

 private:
  ViewTensor& at(int index) { return view_.tensors[static_cast<std::size_t>(index)]; }
  static QuantParams quant_of(const Stored& stored) {
    const auto count = static_cast<std::size_t>(stored.channels);
    return {.scale = std::vector<float>(count, stored.scale),
            .zero_point = std::vector<std::int32_t>(count, stored.zero_point),
            .axis = stored.axis};
  }

  FileView view_{};
  std::map<std::string, Tensor> values_;
};

}  // namespace octavo::diagnose

#endif  // OCTAVO_TESTS_DIAGNOSE_SKETCH_H_
