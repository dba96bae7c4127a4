// External data: tensors whose bytes lie in a file beside the model. Part of import/.
#ifndef OCTAVO_IMPORT_ONNX_EXTERNAL_H_
#define OCTAVO_IMPORT_ONNX_EXTERNAL_H_

#include <string>

#include "base/result.h"
#include "base/tensor.h"

namespace onnx {
class TensorProto;
}

namespace octavo::onnx_import {

// Reads the whole tensor. The path is relative, without '..', and no link may lead it out of `folder`.
Result<Tensor> read_external(const onnx::TensorProto& proto, DType dtype, const Shape& shape, const std::string& folder,
                             const std::string& where);

}  // namespace octavo::onnx_import

#endif  // OCTAVO_IMPORT_ONNX_EXTERNAL_H_
