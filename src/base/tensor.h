// Tensors: views that do not own, and an immutable-when-shared owner. Part of base/.
#ifndef OCTAVO_BASE_TENSOR_H_
#define OCTAVO_BASE_TENSOR_H_

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"

namespace octavo {

// Every buffer that Octavo allocates starts on this boundary, in bytes.
inline constexpr std::size_t kAlignment = 64;
// A kernel may read (never use) this many bytes past the end of a buffer that Octavo allocates, never before its start.
inline constexpr std::size_t kReadSlack = 64;

// Dense row-major data that somebody else owns.
struct ConstTensorView {
  DType dtype = DType::f32;
  Shape shape;
  const std::byte* data = nullptr;

  std::size_t bytes() const { return static_cast<std::size_t>(shape.elements()) * size_of(dtype); }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(data);
  }
  template <class T>
  std::span<const T> span() const {
    return {as<T>(), static_cast<std::size_t>(shape.elements())};
  }
};

struct TensorView {
  DType dtype = DType::f32;
  Shape shape;
  std::byte* data = nullptr;

  std::size_t bytes() const { return static_cast<std::size_t>(shape.elements()) * size_of(dtype); }
  operator ConstTensorView() const { return {dtype, shape, data}; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
  template <class T>
  std::span<T> span() const {
    return {as<T>(), static_cast<std::size_t>(shape.elements())};
  }
};

// Owns aligned, zero-filled memory (plus kReadSlack). Copies share it: write only before sharing.
class Tensor {
 public:
  Tensor() = default;
  // Throws std::bad_alloc where memory runs out.
  Tensor(DType dtype, Shape shape);

  // As many values as the shape has elements.
  template <class T>
  static Tensor of(Shape shape, std::span<const T> values) {
    Tensor tensor(dtype_of<T>, std::move(shape));
    if (!values.empty()) std::memcpy(tensor.data(), values.data(), tensor.bytes());
    return tensor;
  }
  template <class T>
  static Tensor of(Shape shape, const std::vector<T>& values) {
    return of<T>(std::move(shape), std::span<const T>(values));
  }
  template <class T>
  static Tensor scalar(T value) {
    return of<T>(Shape{}, std::span<const T>(&value, 1));
  }
  static Tensor copy_of(const ConstTensorView& view);
  // Reads memory that somebody else owns and keeps; never to be written through.
  static Tensor borrowed(const ConstTensorView& view);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t elements() const { return shape_.elements(); }
  std::size_t bytes() const { return static_cast<std::size_t>(shape_.elements()) * size_of(dtype_); }

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(data_.get());
  }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(data_.get());
  }
  template <class T>
  std::span<T> span() {
    return {as<T>(), static_cast<std::size_t>(elements())};
  }
  template <class T>
  std::span<const T> span() const {
    return {as<T>(), static_cast<std::size_t>(elements())};
  }

  TensorView view() { return {dtype_, shape_, data_.get()}; }
  ConstTensorView view() const { return {dtype_, shape_, data_.get()}; }
  // The same data under another shape of equally many elements.
  Tensor reshaped(Shape shape) const;

  // Same type, shape and bytes.
  bool operator==(const Tensor& other) const;

 private:
  DType dtype_ = DType::f32;
  Shape shape_{0};
  std::shared_ptr<std::byte> data_;
};

// Element i as a number, whatever the type (64-bit integers above 2^53 round).
double element_as_double(const ConstTensorView& tensor, std::int64_t index);
// Stores a number into element i: integers saturate and round to nearest even, floats round to nearest even; NaN to
// integer gives 0.
void store_double(const TensorView& tensor, std::int64_t index, double value);
// All elements as 64-bit integers; for shape arithmetic. Floats are truncated.
std::vector<std::int64_t> to_int64s(const ConstTensorView& tensor);
// All elements as f32.
std::vector<float> to_floats(const ConstTensorView& tensor);

}  // namespace octavo

#endif  // OCTAVO_BASE_TENSOR_H_
