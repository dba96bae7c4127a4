// TensorProto -> Tensor: inline data of every encoding, and data in files beside the model. Part of import/.
#ifndef OCTAVO_IMPORT_ONNX_TENSOR_H_
#define OCTAVO_IMPORT_ONNX_TENSOR_H_

#include <string>

#include "base/result.h"
#include "base/tensor.h"

namespace onnx {
class TensorProto;
}

namespace octavo::onnx_import {

// The bytes taken are bounded by those of the file: every declared size is compared with the data before memory is
// taken. `where` names the tensor in messages; external data must lie inside `folder` (empty: none is allowed).
Result<Tensor> read_tensor(const onnx::TensorProto& proto, const std::string& folder, const std::string& where);

}  // namespace octavo::onnx_import

#endif  // OCTAVO_IMPORT_ONNX_TENSOR_H_
