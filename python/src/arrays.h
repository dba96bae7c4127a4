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

// Where an array may lie: in the CPU's memory, or also in that of CUDA devices.
enum class Places : std::uint8_t { cpu, cpu_and_devices };

// Memory of an array, dense and row-major; it lasts as long as this.
struct ArrayView {
  nanobind::ndarray<nanobind::ro> owner;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  void* data = nullptr;

  v1::ConstTensorRef read() const { return {dtype, shape, data}; }
  v1::TensorRef written() const { return {dtype, shape, data}; }
};

// What an array of a model is to be.
struct Wanted {
  std::string where;  // for messages: "input 'x'"
  DType dtype = DType::f32;
  Places places = Places::cpu;
};

// What is read: by DLPack or the buffer protocol, in place where it is dense, else, in the CPU's memory, a dense copy.
// An array that is no array, of Python objects, of a type that no tensor has, or in memory that is not wanted is an
// exception (UsageError). One of a CUDA device is seen as its owner's work so far leaves it, once the device's legacy
// default stream has come that far: what runs waits for that.
ArrayView view_to_read(nanobind::handle array, const Wanted& wanted);
// What is read in place, or an exception.
ArrayView view_in_place(nanobind::handle array, const Wanted& wanted);
// What is written: in place, or an exception: of what is read-only or not dense, too.
ArrayView view_to_write(nanobind::handle array, const Wanted& wanted);

// numpy.empty
nanobind::object new_array(DType dtype, std::span<const std::int64_t> shape);
// The name of its type in numpy.
const char* numpy_name(DType dtype);

}  // namespace octavo::python

#endif  // OCTAVO_PYTHON_ARRAYS_H_
