// Tensors of a TFLite file, checked. Part of import/.
#include "import/tflite/file_tensor.h"

#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include "import/tflite/sparse.h"

namespace octavo::tflite_import {
namespace {

// The verifier aligns the length of a vector, but not its elements of 64 bits.
std::int64_t element(const flatbuffers::Vector<std::int64_t>& vector, std::size_t index) {
  std::int64_t value = 0;
  std::memcpy(&value, vector.Data() + index * sizeof value, sizeof value);
  return flatbuffers::EndianScalar(value);
}

constexpr std::size_t kErrorLimit = 100;
constexpr int kComplex = 8, kResource = 13, kHalfBytes = 17;

struct FileType {
  std::string_view name;
  std::optional<DType> dtype;
};
// By the number of the format.
constexpr std::array<FileType, 19> kTypes = {{{"FLOAT32", DType::f32},
                                              {"FLOAT16", DType::f16},
                                              {"INT32", DType::s32},
                                              {"UINT8", DType::u8},
                                              {"INT64", DType::s64},
                                              {"STRING", {}},
                                              {"BOOL", DType::boolean},
                                              {"INT16", DType::s16},
                                              {"COMPLEX64", {}},
                                              {"INT8", DType::s8},
                                              {"FLOAT64", DType::f64},
                                              {"COMPLEX128", {}},
                                              {"UINT64", DType::u64},
                                              {"RESOURCE", {}},
                                              {"VARIANT", {}},
                                              {"UINT32", DType::u32},
                                              {"UINT16", DType::u16},
                                              {"INT4", {}},
                                              {"BFLOAT16", DType::bf16}}};

// Element counts of a vector that a file may leave out.
template <class T>
std::size_t count(const flatbuffers::Vector<T>* list) {
  return list == nullptr ? 0 : list->size();
}

class TensorReader {
 public:
  TensorReader(const ModelFile& model, std::string where, Errors& errors)
      : model_(model),
        where_(std::move(where)),
        errors_(errors),
        sparse_budget_((std::int64_t{1} << 25) + 64 * static_cast<std::int64_t>(model.contents().size())) {}

  FileTensor read(const file::Tensor& tensor, std::size_t index) {
    FileTensor result;
    result.name = tensor.name() == nullptr || tensor.name()->size() == 0 ? "tensor_" + std::to_string(index)
                                                                         : tensor.name()->str();
    place_ = where_ + ", tensor " + std::to_string(index) + " '" + result.name + "'";
    result.is_read = read_type(tensor, result) && read_shape(tensor, result) && read_quantization(tensor, result) &&
                     read_data(tensor, result);
    return result;
  }

 private:
  bool fail(ErrorKind kind, std::string_view what, std::string found, std::string expected) {
    errors_.push_back(
        {kind, what.empty() ? place_ : place_ + ", " + std::string(what), std::move(found), std::move(expected), ""});
    return false;
  }
  bool invalid(std::string_view what, std::string found, std::string expected) {
    return fail(ErrorKind::invalid_input, what, std::move(found), std::move(expected));
  }

  bool read_type(const file::Tensor& tensor, FileTensor& result) {
    result.is_resource = tensor.type() == kResource;
    if (result.is_resource) return true;
    result.is_complex = tensor.type() == kComplex;
    // Two to a byte in the file, one here.
    has_half_bytes_ = tensor.type() == kHalfBytes;
    const auto dtype = result.is_complex ? DType::f32 : has_half_bytes_ ? DType::s8 : dtype_of_file(tensor.type());
    if (!dtype)
      return fail(ErrorKind::unsupported, "", "elements of type " + type_name(tensor.type()),
                  "integers of 4 or at least 8 bits, floats, pairs of them or bool");
    result.is_variable = tensor.is_variable();
    result.dtype = *dtype;
    return true;
  }

  bool read_shape(const file::Tensor& tensor, FileTensor& result) {
    const std::size_t most = result.is_complex ? kMaxRank - 1 : kMaxRank;
    if (count(tensor.shape()) > most)
      return invalid("shape", std::to_string(count(tensor.shape())) + " axes", "at most " + std::to_string(most));
    std::vector<std::int64_t> dims;
    for (std::size_t i = 0; i < count(tensor.shape()); ++i)
      dims.push_back(tensor.shape()->Get(static_cast<flatbuffers::uoffset_t>(i)));
    if (result.is_complex) dims.push_back(2);
    if (!checked_elements(dims))
      return invalid("shape", print(dims), "dimensions of at least 0 and at most 2^33 elements");
    result.shape = Shape(dims);
    for (std::size_t i = 0; i < std::min(count(tensor.shape_signature()), dims.size()); ++i)
      result.is_open.push_back(tensor.shape_signature()->Get(static_cast<flatbuffers::uoffset_t>(i)) < 0);
    return true;
  }

  bool read_quantization(const file::Tensor& tensor, FileTensor& result) {
    const auto* quantization = tensor.quantization();
    if (quantization != nullptr && result.dtype == DType::s32) read_word_scale(*quantization, result);
    const bool has_meaning = is_8bit(result.dtype) || result.dtype == DType::s16;
    if (quantization == nullptr || !has_meaning) return true;
    if (quantization->details_type() != 0)
      return fail(ErrorKind::unsupported, "quantization", "a custom kind", "scales and zero points");
    const std::size_t scales = count(quantization->scale());
    if (scales == 0) return true;
    const std::size_t zero_points = count(quantization->zero_point());
    if (zero_points > 1 && zero_points != scales) {
      return invalid("quantization",
                     std::to_string(zero_points) + " zero points for " + std::to_string(scales) + " scales",
                     "as many of each");
    }
    const int axis = result.scale_axis = quantization->quantized_dimension();
    if (scales > 1 &&
        (axis < 0 || axis >= result.shape.rank() || result.shape[axis] != static_cast<std::int64_t>(scales))) {
      return invalid("quantization",
                     std::to_string(scales) + " scales along axis " + std::to_string(axis) + " of shape " +
                         result.shape.to_string(),
                     "one scale, or one per index of the axis");
    }
    QuantParams params{.axis = scales > 1 ? axis : -1};
    for (std::size_t i = 0; i < scales; ++i) {
      const auto at = static_cast<flatbuffers::uoffset_t>(i);
      const std::int64_t zero_point =
          zero_points == 0 ? 0 : element(*quantization->zero_point(), zero_points == 1 ? 0 : i);
      if (!read_scale(quantization->scale()->Get(at), zero_point, result.dtype, params)) return false;
    }
    result.quant = std::move(params);
    return true;
  }

  // Of a bias a scale means nothing, and nobody checks it.
  static void read_word_scale(const file::QuantizationParameters& quantization, FileTensor& result) {
    if (count(quantization.scale()) != 1) return;
    const float scale = quantization.scale()->Get(0);
    const std::int64_t zero_point = count(quantization.zero_point()) == 1 ? element(*quantization.zero_point(), 0) : 0;
    const IntegerRange range = range_of(DType::s32);
    if (!std::isfinite(scale) || scale <= 0.0f || zero_point < range.lowest || zero_point > range.highest) return;
    result.word_quant = QuantParams{.scale = {scale}, .zero_point = {static_cast<std::int32_t>(zero_point)}};
  }

  bool read_scale(float scale, std::int64_t zero_point, DType dtype, QuantParams& params) {
    if (!std::isfinite(scale) || scale <= 0.0f)
      return invalid("quantization", "the scale " + print(scale), "a finite number above 0");
    const IntegerRange range = range_of(dtype);
    if (zero_point < range.lowest || zero_point > range.highest) {
      return invalid("quantization", "the zero point " + std::to_string(zero_point),
                     "a value of " + std::string(name_of(dtype)));
    }
    params.scale.push_back(scale);
    params.zero_point.push_back(static_cast<std::int32_t>(zero_point));
    return true;
  }

  // The bytes of a buffer: inside the FlatBuffer or, by offset and size, behind
  // it. Empty: none.
  bool find_data(const file::Buffer& buffer, std::span<const std::byte>& data) {
    const auto contents = model_.contents();
    if (buffer.offset() > 1) {
      if (buffer.offset() > contents.size() || buffer.size() > contents.size() - buffer.offset()) {
        return invalid("data", std::to_string(buffer.size()) + " bytes at offset " + std::to_string(buffer.offset()),
                       "a part of the file");
      }
      data = contents.subspan(buffer.offset(), buffer.size());
    } else if (count(buffer.data()) > 0) {
      data = {reinterpret_cast<const std::byte*>(buffer.data()->data()), buffer.data()->size()};
    }
    return true;
  }

  bool read_data(const file::Tensor& tensor, FileTensor& result) {
    const auto* buffers = model_.model->buffers();
    if (tensor.buffer() >= count(buffers)) {
      if (tensor.buffer() == 0) return true;
      return invalid("buffer", std::to_string(tensor.buffer()),
                     "below " + std::to_string(count(buffers)) + ", the number of buffers");
    }
    const auto* buffer = buffers->Get(tensor.buffer());
    std::span<const std::byte> data;
    if (!find_data(*buffer, data)) return false;
    if (has_half_bytes_ && (tensor.sparsity() != nullptr || data.empty()))
      return fail(ErrorKind::unsupported, "", "elements of type INT4 without dense data", "constants of this type");
    if (tensor.sparsity() != nullptr) return read_sparse(*tensor.sparsity(), data, result);
    if (data.empty()) return true;
    const auto elements = static_cast<std::size_t>(result.shape.elements());
    const std::size_t expected = has_half_bytes_ ? (elements + 1) / 2 : elements * size_of(result.dtype);
    if (data.size() != expected) {
      return invalid(
          "data", std::to_string(data.size()) + " bytes",
          std::to_string(expected) + " for " + std::string(name_of(result.dtype)) + " " + result.shape.to_string());
    }
    result.constant = constant_of(tensor.buffer(), data, result);
    return true;
  }

  // As a dense constant. A small file may name a large tensor of zeros, again and again.
  bool read_sparse(const file::SparsityParameters& sparsity, std::span<const std::byte> data, FileTensor& result) {
    const std::int64_t elements = result.shape.elements();
    if (elements > sparse_budget_)
      return fail(ErrorKind::unsupported, "sparse data", std::to_string(elements) + " elements",
                  "at most " + std::to_string(sparse_budget_) + " in all, for a file of this size");
    sparse_budget_ -= elements;
    auto dense = std::make_shared<Tensor>(result.dtype, result.shape);
    if (auto problem = densify(sparsity, data, *dense))
      return invalid("sparse data, " + problem->what, std::move(problem->found), std::move(problem->expected));
    result.constant = std::move(dense);
    return true;
  }

  // The lower half of a byte comes first.
  static std::shared_ptr<const Tensor> unpacked(std::span<const std::byte> data, const Shape& shape) {
    auto made = std::make_shared<Tensor>(DType::s8, shape);
    for (std::int64_t i = 0; i < made->elements(); ++i) {
      const int bits = std::to_integer<int>(data[static_cast<std::size_t>(i / 2)]) >> (i % 2 * 4) & 15;
      made->as<std::int8_t>()[i] = static_cast<std::int8_t>(bits >= 8 ? bits - 16 : bits);
    }
    return made;
  }

  std::shared_ptr<const Tensor> constant_of(std::uint32_t buffer, std::span<const std::byte> data,
                                            const FileTensor& tensor) {
    if (has_half_bytes_) return unpacked(data, tensor.shape);
    auto& known = constants_[{buffer, tensor.dtype}];
    if (known == nullptr) {
      auto made = std::make_shared<Tensor>(tensor.dtype, tensor.shape);
      std::memcpy(made->data(), data.data(), data.size());
      if (tensor.dtype == DType::boolean) {
        for (std::uint8_t& value : std::span(made->as<std::uint8_t>(), data.size())) value = value != 0 ? 1 : 0;
      }
      known = made;
    }
    if (known->shape() == tensor.shape) return known;
    return std::make_shared<const Tensor>(known->reshaped(tensor.shape));
  }

  const ModelFile& model_;
  std::string where_;
  std::string place_;  // of the tensor being read
  bool has_half_bytes_ = false;
  Errors& errors_;
  std::int64_t sparse_budget_;  // elements that sparse tensors may still become
  std::map<std::pair<std::uint32_t, DType>, std::shared_ptr<const Tensor>> constants_;
};

}  // namespace

std::string type_name(int type) {
  return type >= 0 && type < static_cast<int>(kTypes.size()) ? std::string(kTypes[static_cast<std::size_t>(type)].name)
                                                             : std::to_string(type);
}

std::optional<DType> dtype_of_file(int type) {
  return type >= 0 && type < static_cast<int>(kTypes.size()) ? kTypes[static_cast<std::size_t>(type)].dtype
                                                             : std::nullopt;
}

std::vector<FileTensor> read_tensors(const ModelFile& model, const file::SubGraph& subgraph, const std::string& where,
                                     Errors& errors) {
  TensorReader reader(model, where, errors);
  std::vector<FileTensor> tensors;
  if (subgraph.tensors() == nullptr) return tensors;
  for (std::size_t i = 0; i < subgraph.tensors()->size() && errors.size() < kErrorLimit; ++i) {
    tensors.push_back(reader.read(*subgraph.tensors()->Get(static_cast<flatbuffers::uoffset_t>(i)), i));
  }
  return tensors;
}

}  // namespace octavo::tflite_import
