// What a TFLite file says of its tensors: type, shape, quantization, data. Part
// of import/.
#ifndef OCTAVO_IMPORT_TFLITE_FILE_TENSOR_H_
#define OCTAVO_IMPORT_TFLITE_FILE_TENSOR_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/op.h"
#include "import/tflite/model_file.h"

namespace octavo::tflite_import {

inline constexpr int kMaxRank = 8;  // that of the format's own kernels, and of Shape's inline storage

struct FileTensor {
  std::string name;  // as in the file, or "tensor_7" where it has none
  DType dtype = DType::f32;
  Shape shape;
  std::vector<bool> is_open;               // of each dimension, by its signature; empty: there is none
  std::optional<QuantParams> quant;        // of 8-bit and 16-bit integers; elsewhere
                                           // scales mean nothing and are not read
  std::optional<QuantParams> word_quant;   // of s32 with one scale, which QUANTIZE alone asks for
  int scale_axis = 0;                      // that the file names, even where there is one scale
  std::shared_ptr<const Tensor> constant;  // where the file has data for it
  bool is_variable = false;                // an operator keeps a state in it, which is zeros when a run begins
  bool is_resource = false;                // it names a variable
  bool is_complex = false;                 // of pairs, real and imaginary part: along a last axis that the file's
                                           // shape does not have
  bool is_read = false;                    // false: an error was reported

  // Bytes, and s16 with a scale: other s16 are numbers of their own.
  bool stands_for_reals() const { return is_8bit(dtype) || (dtype == DType::s16 && quant); }
};

// All tensors of the subgraph, in the file's order; problems go to `errors`.
// Constants that share a buffer share memory.
std::vector<FileTensor> read_tensors(const ModelFile& model, const file::SubGraph& subgraph, const std::string& where,
                                     Errors& errors);

// "INT8" and the like; a number where the format has no such type.
std::string type_name(int type);
std::optional<DType> dtype_of_file(int type);

}  // namespace octavo::tflite_import

#endif  // OCTAVO_IMPORT_TFLITE_FILE_TENSOR_H_
