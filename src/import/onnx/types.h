// The element types of ONNX and ours. Part of import/.
#ifndef OCTAVO_IMPORT_ONNX_TYPES_H_
#define OCTAVO_IMPORT_ONNX_TYPES_H_

#include <optional>
#include <string>

#include "base/dtype.h"

namespace octavo::onnx_import {

// Nothing for types that Octavo does not have (strings, complex numbers, 8-bit floats, 4- and 2-bit types).
std::optional<DType> dtype_of_onnx(int type);
// The number of a type in a file.
int onnx_type_of(DType dtype);

// "FLOAT8E4M3FN"; "type 99" for numbers that nobody knows.
std::string onnx_type_name(int type);

}  // namespace octavo::onnx_import

#endif  // OCTAVO_IMPORT_ONNX_TYPES_H_
