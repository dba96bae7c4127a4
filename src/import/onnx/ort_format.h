// ONNX Runtime's own file format (.ort), a FlatBuffer: read as the ONNX message that it was made of. Part of import/.
#ifndef OCTAVO_IMPORT_ONNX_ORT_FORMAT_H_
#define OCTAVO_IMPORT_ONNX_ORT_FORMAT_H_

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace octavo::onnx_import {

// Whether a file that begins so is one: a small offset, then the format's name.
bool is_ort_format(std::string_view head);

// The model of a whole file, whose bytes may be hostile. What optimizers and kernels noted for themselves is left out.
// Errors: invalid_input (offsets out of range, tables nested too deeply, more data than the file has), unsupported
// (another version, operators that a device compiled, data in other files).
Result<onnx::ModelProto> model_of_ort(std::span<const std::byte> bytes, const std::string& file);

}  // namespace octavo::onnx_import

#endif  // OCTAVO_IMPORT_ONNX_ORT_FORMAT_H_
