// TensorProto -> Tensor. Part of import/.
#include "import/onnx/tensor.h"

#include <algorithm>
#include <cstring>

#include "import/onnx/external.h"
#include "import/onnx/proto.h"
#include "import/onnx/types.h"

namespace octavo::onnx_import {
namespace {

using onnx::TensorProto;

constexpr int kMaxRank = 64;

Error size_error(const std::string& where, std::int64_t found, std::int64_t expected, const Shape& shape) {
  return {ErrorKind::invalid_input, where, std::to_string(found) + " elements of data",
          std::to_string(expected) + " (shape " + shape.to_string() + ")", ""};
}

// The typed fields hold each element as a wider number: narrow integers and the bits of 16-bit floats lie in
// int32_data.
template <class To, class Repeated>
Result<Tensor> from_field(DType dtype, const Shape& shape, const Repeated& field, const std::string& where) {
  if (field.size() != shape.elements()) return size_error(where, field.size(), shape.elements(), shape);
  Tensor tensor(dtype, shape);
  std::transform(field.begin(), field.end(), tensor.as<To>(), [](auto value) { return static_cast<To>(value); });
  return tensor;
}

Result<Tensor> from_typed_fields(const TensorProto& proto, DType dtype, const Shape& shape, const std::string& where) {
  switch (dtype) {
    case DType::boolean: return from_field<bool>(dtype, shape, proto.int32_data(), where);
    case DType::u8: return from_field<std::uint8_t>(dtype, shape, proto.int32_data(), where);
    case DType::s8: return from_field<std::int8_t>(dtype, shape, proto.int32_data(), where);
    case DType::u16:
    case DType::f16:
    case DType::bf16: return from_field<std::uint16_t>(dtype, shape, proto.int32_data(), where);
    case DType::s16: return from_field<std::int16_t>(dtype, shape, proto.int32_data(), where);
    case DType::s32: return from_field<std::int32_t>(dtype, shape, proto.int32_data(), where);
    case DType::u32: return from_field<std::uint32_t>(dtype, shape, proto.uint64_data(), where);
    case DType::u64: return from_field<std::uint64_t>(dtype, shape, proto.uint64_data(), where);
    case DType::s64: return from_field<std::int64_t>(dtype, shape, proto.int64_data(), where);
    case DType::f32: return from_field<float>(dtype, shape, proto.float_data(), where);
    case DType::f64: return from_field<double>(dtype, shape, proto.double_data(), where);
  }
  return Error{ErrorKind::internal, where, "an element type without a field", "one of ours", ""};
}

Result<Tensor> from_raw(const TensorProto& proto, DType dtype, const Shape& shape, const std::string& where) {
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  const auto bytes = static_cast<std::int64_t>(proto.raw_data().size());
  if (bytes / size != shape.elements() || bytes % size != 0)
    return size_error(where, bytes / size, shape.elements(), shape);
  Tensor tensor(dtype, shape);
  if (bytes > 0) std::memcpy(tensor.data(), proto.raw_data().data(), tensor.bytes());
  return tensor;
}

// A bool of the file may be any byte; ours are 0 and 1.
void normalize_booleans(Tensor& tensor) {
  if (tensor.dtype() != DType::boolean) return;
  auto* bytes = tensor.as<std::uint8_t>();
  std::transform(bytes, bytes + tensor.elements(), bytes,
                 [](std::uint8_t byte) { return static_cast<std::uint8_t>(byte != 0 ? 1 : 0); });
}

}  // namespace

Result<Tensor> read_tensor(const TensorProto& proto, const std::string& folder, const std::string& where) {
  const auto dtype = dtype_of_onnx(proto.data_type());
  if (!dtype) {
    return Error{ErrorKind::unsupported, where, "elements of type " + onnx_type_name(proto.data_type()),
                 "integers of 8 to 64 bits, floats of 16 to 64 bits or bool", ""};
  }
  const std::vector<std::int64_t> dims(proto.dims().begin(), proto.dims().end());
  if (proto.dims_size() > kMaxRank || !checked_elements(dims)) {
    return Error{ErrorKind::invalid_input, where,
                 "a shape of " + std::to_string(dims.size()) + " dimensions that are negative or too large",
                 "at most 2^33 elements in up to 64 dimensions", ""};
  }
  const Shape shape(dims);
  if (proto.has_segment()) return Error{ErrorKind::unsupported, where, "a tensor in segments", "one piece", ""};
  auto tensor = proto.data_location() == TensorProto::EXTERNAL ? read_external(proto, *dtype, shape, folder, where)
                : proto.has_raw_data()                         ? from_raw(proto, *dtype, shape, where)
                                                               : from_typed_fields(proto, *dtype, shape, where);
  if (tensor) normalize_booleans(*tensor);
  return tensor;
}

}  // namespace octavo::onnx_import
