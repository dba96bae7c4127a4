// Arrays of numpy, torch and others, seen in place. Part of the extension.
#ifndef OCTAVO_PYTHON_ARRAYS_H_
#define OCTAVO_PYTHON_ARRAYS_H_

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "octavo/tensor.h"

namespace octavo::python {

// Memory of an array, dense and row-major; it lasts as long as this.
struct ArrayView {
  nanobind::ndarray<nanobind::ro> owner;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  void* data = nullptr;

  v1::ConstTensorRef read() const { return {dtype, shape, data}; }
  v1::TensorRef written() const { return {dtype, shape, data}; }
};

// What is read: by DLPack or the buffer protocol, in place where it is dense, else a dense copy. `where` ("input 'x'")
// is for messages. An array that is no array, of Python objects, of a type that no tensor has, or not in the CPU's
// memory is an exception (UsageError).
ArrayView view_to_read(nanobind::handle array, const std::string& where, DType wanted);
// What is read in place, or an exception.
ArrayView view_in_place(nanobind::handle array, const std::string& where, DType wanted);
// What is written: in place, or an exception: of what is read-only or not dense, too.
ArrayView view_to_write(nanobind::handle array, const std::string& where, DType wanted);

// numpy.empty
nanobind::object new_array(DType dtype, std::span<const std::int64_t> shape);
// The name of its type in numpy.
const char* numpy_name(DType dtype);

}  // namespace octavo::python

#endif  // OCTAVO_PYTHON_ARRAYS_H_
