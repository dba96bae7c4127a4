// NumPy's files: .npy (one array) and .npz (a zip of them), read and written. Part of data/.
#ifndef OCTAVO_DATA_NPY_H_
#define OCTAVO_DATA_NPY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor.h"

namespace octavo {

// How the data of an array lie behind its header.
struct NpyLayout {
  DType dtype = DType::f32;
  Shape shape;
  bool is_fortran = false;
  std::int64_t offset = 0;  // of the data, in bytes

  std::size_t bytes() const { return static_cast<std::size_t>(shape.elements()) * size_of(dtype); }
};

// No header is longer than that.
inline constexpr std::int64_t kMaxNpyHeader = std::int64_t{1} << 20;
// `begin`: the array's first kMaxNpyHeader bytes, or all `size` of them where these are fewer.
Result<NpyLayout> parse_npy_layout(std::span<const std::byte> begin, std::int64_t size, const std::string& where);
// `data`: all that lies behind the header.
Tensor array_of(const NpyLayout& layout, std::span<const std::byte> data);

// `where` names the array in messages. Little-endian bool, integers, f16, f32 and f64; Fortran order becomes row-major.
Result<Tensor> parse_npy(std::span<const std::byte> bytes, const std::string& where);
std::vector<std::byte> format_npy(const ConstTensorView& tensor);

// An array that lies in a file and is read from there slice by slice. Copies share the file; one thread at a time.
class StoredArray {
 public:
  // Fills `to` from that place behind the first element. Nothing outside the array is asked for.
  using Read = std::function<Status(std::int64_t offset, std::span<std::byte> to)>;
  StoredArray(DType dtype, Shape shape, Read read) : dtype_(dtype), shape_(std::move(shape)), read_(std::move(read)) {}

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  // One slice along the first axis, without that axis.
  Result<Tensor> slice(std::int64_t index) const;
  Result<Tensor> whole() const;

 private:
  DType dtype_;
  Shape shape_;
  Read read_;
};

// The file is checked as far as its header and size go. An array in Fortran order is held in memory.
Result<StoredArray> open_npy(const std::string& path);
Result<Tensor> read_npy(const std::string& path);
Status write_npy(const std::string& path, const ConstTensorView& tensor);

// Array name (without ".npy") -> array. Members that are no arrays are refused. A member's checksum is compared at the
// first read of it; one that is deflated or in Fortran order stays in memory from then on.
Result<std::map<std::string, StoredArray>> open_npz(const std::string& path);
Result<std::map<std::string, Tensor>> read_npz(const std::string& path);
Status write_npz(const std::string& path, const std::map<std::string, Tensor>& arrays);

}  // namespace octavo

#endif  // OCTAVO_DATA_NPY_H_
