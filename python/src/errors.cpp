// Errors of the library as exceptions of Python. Part of the extension.
#include "errors.h"

namespace nb = nanobind;

namespace octavo::python {
namespace {

const char* name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage: return "usage";
    case ErrorKind::invalid_input: return "invalid_input";
    case ErrorKind::unsupported: return "unsupported";
    case ErrorKind::resource: return "resource";
    case ErrorKind::cancelled: return "cancelled";
    case ErrorKind::internal: return "internal";
  }
  return "internal";
}

}  // namespace

void raise(const Errors& errors) {
  nb::list problems;
  for (const Error& error : errors) {
    problems.append(nb::make_tuple(name_of(error.kind), as_text(error.where), as_text(error.found),
                                   as_text(error.expected), as_text(error.hint), as_text(error.message())));
  }
  const nb::object exception = nb::module_::import_("octavo._errors").attr("exception_of")(problems);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  nb::raise_python_error();
}

void raise(Error error) { raise(Errors{std::move(error)}); }

nb::object as_text(std::string_view text) {
  PyObject* decoded = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
  if (decoded == nullptr) nb::raise_python_error();
  return nb::steal(decoded);
}

}  // namespace octavo::python
