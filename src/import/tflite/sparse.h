// Sparse tensors of a TFLite file, as dense ones. Part of import/.
#ifndef OCTAVO_IMPORT_TFLITE_SPARSE_H_
#define OCTAVO_IMPORT_TFLITE_SPARSE_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "base/tensor.h"
#include "import/tflite/schema_generated.h"

namespace octavo::tflite_import {

// What is wrong with a sparse tensor: "block map".
struct SparseProblem {
  std::string what, found, expected;
};

// Writes the stored elements `data` at their places of `dense`, which is zeroed and has the tensor's type and shape.
// The file stores them in the order of `traversal_order`: axes of the tensor, then axes within blocks; each level of it
// either goes over all its positions or lists those that are there.
std::optional<SparseProblem> densify(const file::SparsityParameters& sparsity, std::span<const std::byte> data,
                                     Tensor& dense);

}  // namespace octavo::tflite_import

#endif  // OCTAVO_IMPORT_TFLITE_SPARSE_H_
