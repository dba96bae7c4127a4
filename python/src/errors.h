// Errors of the library as exceptions of Python. Part of the extension.
#ifndef OCTAVO_PYTHON_ERRORS_H_
#define OCTAVO_PYTHON_ERRORS_H_

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

#include "octavo/result.h"

namespace octavo::python {

// Throws what octavo/_errors.py makes of all of them, as nanobind::python_error.
[[noreturn]] void raise(const Errors& errors);
[[noreturn]] void raise(Error error);

// The value, or the exception.
template <class T>
T value_of(Result<T> result) {
  if (!result) raise(result.errors());
  return std::move(*result);
}

// What is no UTF-8 as "\xb7": names come from files, where they may be any bytes.
nanobind::object as_text(std::string_view text);

}  // namespace octavo::python

#endif  // OCTAVO_PYTHON_ERRORS_H_
