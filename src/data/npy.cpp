// The .npy format: a magic, a Python dictionary in text, the data. Part of data/.
#include "data/npy.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>

#include "base/file.h"
#include "base/input_file.h"

namespace octavo {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct TypeCode {
  std::string_view code;  // without the byte order
  DType dtype;
};
constexpr TypeCode kTypeCodes[] = {{"b1", DType::boolean}, {"u1", DType::u8},  {"i1", DType::s8},  {"u2", DType::u16},
                                   {"i2", DType::s16},     {"u4", DType::u32}, {"i4", DType::s32}, {"u8", DType::u64},
                                   {"i8", DType::s64},     {"f2", DType::f16}, {"f4", DType::f32}, {"f8", DType::f64}};

Error npy_error(const std::string& where, std::string found, std::string expected) {
  return {.kind = ErrorKind::invalid_input, .where = where, .found = std::move(found), .expected = std::move(expected)};
}

// The text after "'key':", leading spaces dropped; nothing where there is no such key.
std::optional<std::string_view> after_key(std::string_view text, std::string_view key) {
  const std::size_t at = text.find("'" + std::string(key) + "'");
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + key.size() + 2);
  const std::size_t begin = text.find_first_not_of(" :");
  if (begin == std::string_view::npos) return std::nullopt;
  return text.substr(begin);
}

std::optional<DType> parse_type(std::string_view text) {
  if (text.size() < 5 || text.front() != '\'') return std::nullopt;
  const char order = text[1];
  const std::string_view code = text.substr(2, 2);
  for (const TypeCode& known : kTypeCodes) {
    if (known.code != code || text[4] != '\'') continue;
    const bool is_native = order == '<' || order == '=' || (order == '|' && size_of(known.dtype) == 1);
    return is_native ? std::optional(known.dtype) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> parse_dims(std::string_view text) {
  if (text.empty() || text.front() != '(') return std::nullopt;
  const std::size_t end = text.find(')');
  if (end == std::string_view::npos) return std::nullopt;
  text = text.substr(1, end - 1);
  std::vector<std::int64_t> dims;
  while (true) {
    const std::size_t begin = text.find_first_not_of(" ,");
    if (begin == std::string_view::npos) return dims;
    text.remove_prefix(begin);
    std::int64_t dim = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), dim);
    if (error != std::errc{}) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    dims.push_back(dim);
  }
}

Result<NpyLayout> parse_header(std::string_view text, const std::string& where) {
  const auto type_text = after_key(text, "descr");
  const auto order_text = after_key(text, "fortran_order");
  const auto shape_text = after_key(text, "shape");
  if (!type_text || !order_text || !shape_text)
    return npy_error(where, "an incomplete array header", "descr, fortran_order and shape");
  const auto dtype = parse_type(*type_text);
  if (!dtype) {
    return npy_error(where, "element type " + std::string(type_text->substr(0, 8)),
                     "little-endian bool, integers, f2, f4 or f8");
  }
  auto dims = parse_dims(*shape_text);
  if (!dims || !checked_elements(*dims))
    return npy_error(where, "shape " + std::string(shape_text->substr(0, 40)), "a shape");
  return NpyLayout{.dtype = *dtype, .shape = Shape(*dims), .is_fortran = order_text->starts_with("True")};
}

// Column-major to row-major.
Tensor from_fortran(const Tensor& columns) {
  const Shape& shape = columns.shape();
  Tensor rows(columns.dtype(), shape);
  const std::size_t size = size_of(columns.dtype());
  std::vector<std::int64_t> position(static_cast<std::size_t>(shape.rank()), 0);
  for (std::int64_t i = 0; i < columns.elements(); ++i) {
    std::int64_t to = 0;
    for (int axis = 0; axis < shape.rank(); ++axis) to = to * shape[axis] + position[static_cast<std::size_t>(axis)];
    std::memcpy(rows.data() + static_cast<std::size_t>(to) * size, columns.data() + static_cast<std::size_t>(i) * size,
                size);
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (++position[static_cast<std::size_t>(axis)] < shape[axis]) break;
      position[static_cast<std::size_t>(axis)] = 0;
    }
  }
  return rows;
}

StoredArray::Read reader_of(Tensor array) {
  return [array = std::move(array)](std::int64_t offset, std::span<std::byte> to) {
    std::copy_n(array.data() + offset, to.size(), to.data());
    return ok_status();
  };
}

std::string_view type_code(DType dtype) {
  for (const TypeCode& known : kTypeCodes) {
    if (known.dtype == dtype) return known.code;
  }
  return "u2";  // bf16: NumPy has none, its bits are written
}

}  // namespace

Result<NpyLayout> parse_npy_layout(std::span<const std::byte> begin, std::int64_t size, const std::string& where) {
  const std::string_view text(reinterpret_cast<const char*>(begin.data()), begin.size());
  if (!text.starts_with(kMagic) || text.size() < 10) return npy_error(where, "no NumPy array", "a .npy file");
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(text[i])); };
  const std::size_t major = byte(6);
  const std::size_t fixed = major == 1 ? 10 : 12;
  if (major < 1 || major > 3 || text.size() < fixed)
    return npy_error(where, "format version " + std::to_string(major), "1, 2 or 3");
  std::size_t header_size = byte(8) | byte(9) << 8;
  if (major > 1) header_size |= byte(10) << 16 | byte(11) << 24;
  if (header_size > static_cast<std::size_t>(size) - fixed)
    return npy_error(where, "a truncated header", std::to_string(header_size) + " bytes");
  if (header_size > text.size() - fixed) {
    return npy_error(where, "a header of " + std::to_string(header_size) + " bytes",
                     "at most " + std::to_string(text.size() - fixed));
  }
  auto layout = parse_header(text.substr(fixed, header_size), where);
  if (!layout) return layout;
  layout->offset = static_cast<std::int64_t>(fixed + header_size);
  const auto data_bytes = static_cast<std::size_t>(size - layout->offset);
  if (data_bytes != layout->bytes())
    return npy_error(where, std::to_string(data_bytes) + " bytes of data", std::to_string(layout->bytes()));
  return layout;
}

Tensor array_of(const NpyLayout& layout, std::span<const std::byte> data) {
  const Tensor tensor = Tensor::copy_of({layout.dtype, layout.shape, data.data()});
  return layout.is_fortran ? from_fortran(tensor) : tensor;
}

Result<Tensor> parse_npy(std::span<const std::byte> bytes, const std::string& where) {
  const auto begin = bytes.first(std::min(bytes.size(), static_cast<std::size_t>(kMaxNpyHeader)));
  const auto layout = parse_npy_layout(begin, static_cast<std::int64_t>(bytes.size()), where);
  if (!layout) return layout.errors();
  return array_of(*layout, bytes.subspan(static_cast<std::size_t>(layout->offset)));
}

std::vector<std::byte> format_npy(const ConstTensorView& tensor) {
  std::string dims;
  for (const std::int64_t dim : tensor.shape) dims += std::to_string(dim) + ", ";
  if (tensor.shape.rank() > 1) dims.resize(dims.size() - 2);
  const char order = size_of(tensor.dtype) == 1 ? '|' : '<';
  std::string header = "{'descr': '" + std::string(1, order) + std::string(type_code(tensor.dtype)) +
                       "', 'fortran_order': False, 'shape': (" + dims + "), }";
  // The data starts on a multiple of 64.
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::string text(kMagic);
  text += {'\x01', '\x00', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  text += header;
  const auto head = std::as_bytes(std::span(text));
  std::vector<std::byte> bytes(head.begin(), head.end());
  bytes.insert(bytes.end(), tensor.data, tensor.data + tensor.bytes());
  return bytes;
}

Result<Tensor> StoredArray::slice(std::int64_t index) const {
  Tensor slice(dtype_, Shape(shape_.dims().subspan(1)));
  const Status read = read_(index * static_cast<std::int64_t>(slice.bytes()), {slice.data(), slice.bytes()});
  if (!read) return read.errors();
  return slice;
}

Result<Tensor> StoredArray::whole() const {
  Tensor tensor(dtype_, shape_);
  if (const Status read = read_(0, {tensor.data(), tensor.bytes()}); !read) return read.errors();
  return tensor;
}

Result<StoredArray> open_npy(const std::string& path) {
  auto opened = InputFile::open(path);
  if (!opened) return opened.errors();
  const auto file = std::make_shared<const InputFile>(std::move(*opened));
  std::vector<std::byte> begin(static_cast<std::size_t>(std::min(file->size(), kMaxNpyHeader)));
  if (const Status read = file->read(0, begin); !read) return read.errors();
  const auto layout = parse_npy_layout(begin, file->size(), path);
  if (!layout) return layout.errors();
  if (layout->is_fortran) {
    auto bytes = read_file(path);
    if (!bytes) return bytes.errors();
    auto array = parse_npy(*bytes, path);
    if (!array) return array.errors();
    return StoredArray(array->dtype(), array->shape(), reader_of(std::move(*array)));
  }
  return StoredArray(layout->dtype, layout->shape,
                     [file, first = layout->offset](std::int64_t offset, std::span<std::byte> to) {
                       return file->read(first + offset, to);
                     });
}

Result<Tensor> read_npy(const std::string& path) {
  const auto array = open_npy(path);
  if (!array) return array.errors();
  return array->whole();
}

Status write_npy(const std::string& path, const ConstTensorView& tensor) {
  return write_file(path, format_npy(tensor));
}

}  // namespace octavo
