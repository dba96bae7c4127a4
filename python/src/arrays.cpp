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

[[noreturn]] void refuse_strides(const std::string& where) {
  refuse(where, "an array that is not contiguous", "a contiguous one: it is used in place");
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

// Pinned memory is the CPU's, too.
bool is_of_cpu(const nb::ndarray<nb::ro>& array) {
  return array.device_type() == nb::device::cpu::value || array.device_type() == nb::device::cuda_host::value;
}

bool is_of_device(const nb::ndarray<nb::ro>& array) { return array.device_type() == nb::device::cuda::value; }

// Which device's memory is the right one, the run finds out.
void check_place(const nb::ndarray<nb::ro>& array, const Wanted& wanted) {
  const bool takes_devices = wanted.places == Places::cpu_and_devices;
  if (is_of_cpu(array) || (takes_devices && is_of_device(array))) return;
  const std::string found = is_of_device(array)
                                ? "the memory of CUDA device " + std::to_string(array.device_id())
                                : "memory of device type " + std::to_string(array.device_type()) + " (of DLPack)";
  refuse(wanted.where, "an array in " + found,
         takes_devices ? "one in memory of the CPU or a CUDA device" : "one in the CPU's memory",
         takes_devices
             ? ""
             : "Copy it there first, as .cpu() does; what is compiled with target='cuda' takes arrays of the device");
}

// Asks the owner of an array that it has let this be imported once more, now behind its own work: in the legacy default
// stream of the device, whose number this is in DLPack. Older ones know no versions.
nb::object after_work_of(nb::handle array) {
  constexpr int kLegacyDefaultStream = 1;
  const nb::object export_to = array.attr("__dlpack__");
  const auto stream = nb::arg("stream") = kLegacyDefaultStream;
  try {
    return export_to(stream, nb::arg("max_version") = nb::make_tuple(1, 0));
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return export_to(stream);
}

// Nothing of what is no array.
nb::ndarray<nb::ro> imported(nb::handle array, const Wanted& wanted) {
  nb::ndarray<nb::ro> seen;
  if (!nb::try_cast(array, seen)) refuse_object(array, wanted.where, expected_array(wanted.dtype));
  check_place(seen, wanted);
  if (!is_of_device(seen) || !nb::hasattr(array, "__dlpack__")) return seen;  // a capsule says nothing of streams
  try {
    return nb::cast<nb::ndarray<nb::ro>>(after_work_of(array));
  } catch (nb::python_error& error) {
    refuse(wanted.where,
           "a '" + name_of_type(array) + "' that cannot be read: " + nb::cast<std::string>(nb::str(error.value())),
           expected_array(wanted.dtype));
  }
}

ArrayView view_of(nb::ndarray<nb::ro> array, const Wanted& wanted) {
  auto dtype = dtype_of(array.dtype());
  if (!dtype) refuse(wanted.where, "elements of another kind", expected_array(wanted.dtype));
  if (wanted.dtype == DType::bf16 && *dtype == DType::u16) dtype = DType::bf16;  // numpy has no such type: its bits
  ArrayView view{.dtype = *dtype, .data = const_cast<void*>(static_cast<const void*>(array.data()))};
  view.shape.reserve(array.ndim());
  for (std::size_t axis = 0; axis < array.ndim(); ++axis)
    view.shape.push_back(static_cast<std::int64_t>(array.shape(axis)));
  view.owner = std::move(array);
  return view;
}

}  // namespace

ArrayView view_to_read(nb::handle array, const Wanted& wanted) {
  nb::ndarray<nb::ro> seen = imported(array, wanted);
  if (is_dense(seen)) return view_of(std::move(seen), wanted);
  if (is_of_device(seen)) refuse_strides(wanted.where);
  const nb::object dense = nb::module_::import_("numpy").attr("ascontiguousarray")(array);
  return view_of(nb::cast<nb::ndarray<nb::ro>>(dense), wanted);
}

ArrayView view_in_place(nb::handle array, const Wanted& wanted) {
  nb::ndarray<nb::ro> seen = imported(array, wanted);
  if (!is_dense(seen)) refuse_strides(wanted.where);
  return view_of(std::move(seen), wanted);
}

ArrayView view_to_write(nb::handle array, const Wanted& wanted) {
  nb::ndarray<> writable;
  ArrayView view = view_in_place(array, wanted);
  if (!nb::try_cast(array, writable)) refuse(wanted.where, "a read-only array", "one to write into");
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
