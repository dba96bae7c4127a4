// Arrays of numpy, torch and others, seen in place. Part of the extension.
#include "arrays.h"

#include <nanobind/stl/string.h>

#include <optional>

#include "errors.h"

namespace nb = nanobind;

namespace octavo::python {
namespace {

[[noreturn]] void refuse(const std::string& where, std::string found, std::string expected, std::string hint = {}) {
  raise(Error{.kind = ErrorKind::usage,
              .where = where,
              .found = std::move(found),
              .expected = std::move(expected),
              .hint = std::move(hint)});
}

// Nothing where no tensor has such elements.
std::optional<DType> dtype_of(nb::dlpack::dtype type) {
  using Code = nb::dlpack::dtype_code;
  const auto code = static_cast<Code>(type.code);
  if (type.lanes != 1) return std::nullopt;
  const auto by_width = [&](DType w8, DType w16, DType w32, DType w64) -> std::optional<DType> {
    switch (type.bits) {
      case 8: return w8;
      case 16: return w16;
      case 32: return w32;
      case 64: return w64;
      default: return std::nullopt;
    }
  };
  switch (code) {
    case Code::Bool: return DType::boolean;
    case Code::Int: return by_width(DType::s8, DType::s16, DType::s32, DType::s64);
    case Code::UInt: return by_width(DType::u8, DType::u16, DType::u32, DType::u64);
    case Code::Float: return type.bits == 8 ? std::nullopt : by_width(DType::f16, DType::f16, DType::f32, DType::f64);
    case Code::Bfloat: return DType::bf16;
    default: return std::nullopt;
  }
}

std::string name_of_type(nb::handle object) {
  const nb::object type = nb::borrow(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())));
  return nb::cast<std::string>(nb::str(type.attr("__name__")));
}

bool is_dense(const nb::ndarray<nb::ro>& array) {
  if (array.size() == 0) return true;  // strides are anything then
  std::int64_t step = 1;
  for (std::size_t axis = array.ndim(); axis-- > 0;) {
    const auto extent = static_cast<std::int64_t>(array.shape(axis));
    if (extent > 1 && array.stride(axis) != step) return false;
    step *= extent;
  }
  return true;
}

// What kept an object that says it is an array from being seen: the text of its own exception.
std::string reason_of(nb::handle array) {
  if (!nb::hasattr(array, "__dlpack__")) return {};
  try {
    array.attr("__dlpack__")();
  } catch (nb::python_error& error) {
    return nb::cast<std::string>(nb::str(error.value()));
  }
  return {};
}

// Says what stands in the way of an array that could not be imported.
[[noreturn]] void refuse_object(nb::handle array, const std::string& where, const std::string& expected) {
  if (nb::hasattr(array, "dtype") && nb::cast<std::string>(nb::str(nb::object(array.attr("dtype")))) == "object")
    refuse(where, "an array of Python objects", expected);
  const std::string reason = reason_of(array);
  if (reason.empty()) refuse(where, "an object of type '" + name_of_type(array) + "'", expected);
  refuse(where, "a '" + name_of_type(array) + "' that cannot be read: " + reason, expected);
}

std::string expected_array(DType wanted) { return std::string("an array of ") + numpy_name(wanted); }

ArrayView view_of(nb::ndarray<nb::ro> array, const std::string& where, DType wanted) {
  if (array.device_type() != nb::device::cpu::value)
    refuse(where, "an array on device " + std::to_string(array.device_type()) + " (of DLPack)",
           "one in the CPU's memory", "Copy it there first, as .cpu() does");
  auto dtype = dtype_of(array.dtype());
  if (!dtype) refuse(where, "elements of another kind", expected_array(wanted));
  if (wanted == DType::bf16 && *dtype == DType::u16) dtype = DType::bf16;  // numpy has no such type: its bits
  ArrayView view{.dtype = *dtype, .data = const_cast<void*>(static_cast<const void*>(array.data()))};
  view.shape.reserve(array.ndim());
  for (std::size_t axis = 0; axis < array.ndim(); ++axis)
    view.shape.push_back(static_cast<std::int64_t>(array.shape(axis)));
  view.owner = std::move(array);
  return view;
}

}  // namespace

ArrayView view_to_read(nb::handle array, const std::string& where, DType wanted) {
  nb::ndarray<nb::ro> seen;
  if (!nb::try_cast(array, seen)) refuse_object(array, where, expected_array(wanted));
  if (!is_dense(seen) && seen.device_type() == nb::device::cpu::value) {
    const nb::object dense = nb::module_::import_("numpy").attr("ascontiguousarray")(array);
    seen = nb::cast<nb::ndarray<nb::ro>>(dense);
  }
  return view_of(std::move(seen), where, wanted);
}

ArrayView view_in_place(nb::handle array, const std::string& where, DType wanted) {
  nb::ndarray<nb::ro> seen;
  if (!nb::try_cast(array, seen)) refuse_object(array, where, expected_array(wanted));
  if (!is_dense(seen)) refuse(where, "an array that is not contiguous", "a contiguous one: it is used in place");
  return view_of(std::move(seen), where, wanted);
}

ArrayView view_to_write(nb::handle array, const std::string& where, DType wanted) {
  nb::ndarray<> writable;
  ArrayView view = view_in_place(array, where, wanted);
  if (!nb::try_cast(array, writable)) refuse(where, "a read-only array", "one to write into");
  return view;
}

const char* numpy_name(DType dtype) {
  constexpr const char* kNames[kDTypeCount] = {"bool",   "uint8", "int8",    "uint16",   "int16",   "uint32", "int32",
                                               "uint64", "int64", "float16", "bfloat16", "float32", "float64"};
  return kNames[static_cast<int>(dtype)];
}

namespace {

// numpy.empty and the types of numpy, looked up once; they live as long as the process.
struct Numpy {
  PyObject* empty = nullptr;
  PyObject* types[kDTypeCount] = {};
};

const Numpy& numpy() {
  static const Numpy found = [] {
    const nb::module_ module = nb::module_::import_("numpy");
    Numpy numpy{.empty = nb::object(module.attr("empty")).release().ptr()};
    for (int i = 0; i < kDTypeCount; ++i) {
      const auto dtype = static_cast<DType>(i);
      numpy.types[i] = module.attr("dtype")(dtype == DType::bf16 ? "uint16" : numpy_name(dtype)).release().ptr();
    }
    return numpy;
  }();
  return found;
}

}  // namespace

nb::object new_array(DType dtype, std::span<const std::int64_t> shape) {
  PyObject* dims = PyTuple_New(static_cast<Py_ssize_t>(shape.size()));
  if (dims == nullptr) nb::raise_python_error();
  for (std::size_t i = 0; i < shape.size(); ++i)
    PyTuple_SetItem(dims, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(shape[i]));
  const nb::object owned = nb::steal(dims);
  return nb::handle(numpy().empty)(owned, nb::handle(numpy().types[static_cast<int>(dtype)]));
}

}  // namespace octavo::python
