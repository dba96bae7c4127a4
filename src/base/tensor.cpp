// Tensor storage and element access across types. Part of base/.
#include "base/tensor.h"

#include <cassert>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/exceptions.h"
#include "base/memory.h"

namespace octavo {
namespace {

// Weights of a network: what is freed goes back to the system at once, wherever it lies between what is kept.
constexpr std::size_t kMappedFrom = 256 * 1024;

std::shared_ptr<std::byte> map_tensor(std::size_t bytes) {
  auto memory = map_zeros(bytes);
  if (!memory) throw_bad_alloc();
  const Unmap unmap = memory->get_deleter();
  return {memory->release(), unmap};
}

std::shared_ptr<std::byte> allocate(std::size_t bytes) {
  const std::size_t padded = (bytes + kReadSlack + kAlignment - 1) / kAlignment * kAlignment;
  if (padded >= kMappedFrom) return map_tensor(padded);
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, padded));
  if (memory == nullptr) throw_bad_alloc();
  std::memset(memory, 0, padded);
  return {memory, [](std::byte* p) { std::free(p); }};
}

template <class T>
void store_integer(const TensorView& tensor, std::int64_t index, double value) {
  constexpr double lowest = static_cast<double>(std::numeric_limits<T>::min());
  constexpr double highest = static_cast<double>(std::numeric_limits<T>::max());
  const double rounded = std::nearbyint(value);
  T& slot = tensor.as<T>()[index];
  if (std::isnan(rounded)) slot = 0;
  else if (rounded <= lowest) slot = std::numeric_limits<T>::min();
  else if (rounded >= highest) slot = std::numeric_limits<T>::max();
  else slot = static_cast<T>(rounded);
}

}  // namespace

Tensor::Tensor(DType dtype, Shape shape)
    : dtype_(dtype),
      shape_(std::move(shape)),
      data_(allocate(static_cast<std::size_t>(shape_.elements()) * size_of(dtype))) {}

Tensor Tensor::copy_of(const ConstTensorView& view) {
  Tensor tensor(view.dtype, view.shape);
  if (tensor.bytes() != 0) std::memcpy(tensor.data(), view.data, tensor.bytes());
  return tensor;
}

Tensor Tensor::borrowed(const ConstTensorView& view) {
  Tensor tensor;
  tensor.dtype_ = view.dtype;
  tensor.shape_ = view.shape;
  tensor.data_ = std::shared_ptr<std::byte>(const_cast<std::byte*>(view.data), [](std::byte*) {});
  return tensor;
}

Tensor Tensor::reshaped(Shape shape) const {
  assert(shape.elements() == elements());
  Tensor tensor = *this;
  tensor.shape_ = std::move(shape);
  return tensor;
}

bool Tensor::operator==(const Tensor& other) const {
  if (dtype_ != other.dtype_ || shape_ != other.shape_) return false;
  return data_ == other.data_ || bytes() == 0 || std::memcmp(data(), other.data(), bytes()) == 0;
}

double element_as_double(const ConstTensorView& tensor, std::int64_t i) {
  switch (tensor.dtype) {
    case DType::boolean: return tensor.as<std::uint8_t>()[i] != 0 ? 1.0 : 0.0;
    case DType::u8: return tensor.as<std::uint8_t>()[i];
    case DType::s8: return tensor.as<std::int8_t>()[i];
    case DType::u16: return tensor.as<std::uint16_t>()[i];
    case DType::s16: return tensor.as<std::int16_t>()[i];
    case DType::u32: return tensor.as<std::uint32_t>()[i];
    case DType::s32: return tensor.as<std::int32_t>()[i];
    case DType::u64: return static_cast<double>(tensor.as<std::uint64_t>()[i]);
    case DType::s64: return static_cast<double>(tensor.as<std::int64_t>()[i]);
    case DType::f16: return f16_to_f32(tensor.as<std::uint16_t>()[i]);
    case DType::bf16: return bf16_to_f32(tensor.as<std::uint16_t>()[i]);
    case DType::f32: return tensor.as<float>()[i];
    case DType::f64: return tensor.as<double>()[i];
  }
  return 0.0;
}

void store_double(const TensorView& tensor, std::int64_t i, double value) {
  switch (tensor.dtype) {
    case DType::boolean: tensor.as<std::uint8_t>()[i] = value != 0.0 ? 1 : 0; return;
    case DType::u8: return store_integer<std::uint8_t>(tensor, i, value);
    case DType::s8: return store_integer<std::int8_t>(tensor, i, value);
    case DType::u16: return store_integer<std::uint16_t>(tensor, i, value);
    case DType::s16: return store_integer<std::int16_t>(tensor, i, value);
    case DType::u32: return store_integer<std::uint32_t>(tensor, i, value);
    case DType::s32: return store_integer<std::int32_t>(tensor, i, value);
    case DType::u64: return store_integer<std::uint64_t>(tensor, i, value);
    case DType::s64: return store_integer<std::int64_t>(tensor, i, value);
    case DType::f16: tensor.as<std::uint16_t>()[i] = f32_to_f16(static_cast<float>(value)); return;
    case DType::bf16: tensor.as<std::uint16_t>()[i] = f32_to_bf16(static_cast<float>(value)); return;
    case DType::f32: tensor.as<float>()[i] = static_cast<float>(value); return;
    case DType::f64: tensor.as<double>()[i] = value; return;
  }
}

std::vector<std::int64_t> to_int64s(const ConstTensorView& tensor) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(tensor.shape.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    if (tensor.dtype == DType::s64) {
      values[i] = tensor.as<std::int64_t>()[index];
      continue;
    }
    const double value = element_as_double(tensor, index);
    const bool fits = value > -9.2e18 && value < 9.2e18;
    values[i] = fits ? static_cast<std::int64_t>(value) : 0;
  }
  return values;
}

std::vector<float> to_floats(const ConstTensorView& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.shape.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(element_as_double(tensor, static_cast<std::int64_t>(i)));
  }
  return values;
}

}  // namespace octavo
