// TfliteEdit: the first subgraph of a TFLite file while repairs change it. Part of diagnose/.
#ifndef OCTAVO_DIAGNOSE_REPAIR_TFLITE_EDIT_H_
#define OCTAVO_DIAGNOSE_REPAIR_TFLITE_EDIT_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/op.h"
#include "import/tflite/model_file.h"

namespace octavo::repair {

// Operators that repairs know, by their numbers in the format's schema.
enum TfliteCode : int {
  kAdd = 0,
  kAveragePool = 1,
  kConcatenation = 2,
  kConv = 3,
  kDepthwiseConv = 4,
  kDepthToSpace = 5,
  kDequantize = 6,
  kFullyConnected = 9,
  kL2Normalization = 11,
  kLogistic = 14,
  kMaxPool = 17,
  kMul = 18,
  kRelu = 19,
  kReluN1To1 = 20,
  kRelu6 = 21,
  kReshape = 22,
  kResizeBilinear = 23,
  kSoftmax = 25,
  kSpaceToDepth = 26,
  kTanh = 28,
  kPad = 34,
  kTranspose = 39,
  kMean = 40,
  kSub = 41,
  kSqueeze = 43,
  kStridedSlice = 45,
  kExp = 47,
  kLogSoftmax = 50,
  kPrelu = 54,
  kMaximum = 55,
  kMinimum = 57,
  kSlice = 65,
  kTransposeConv = 67,
  kExpandDims = 70,
  kResizeNearest = 97,
  kLeakyRelu = 98,
  kSquaredDifference = 99,
  kMirrorPad = 100,
  kAbs = 101,
  kElu = 111,
  kQuantize = 114,
  kHardSwish = 117,
  kGelu = 150,
};

struct TfliteTensor {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::optional<QuantParams> quant;        // of bytes and s16
  std::shared_ptr<const Tensor> constant;  // its value where it has one
  int like = -1;  // of a new one: the tensor of the file that has its shape, open sizes and all

  bool is_quantized() const { return quant && (dtype == DType::s8 || dtype == DType::u8 || dtype == DType::s16); }
  bool has_one_scale() const { return quant && quant->scale.size() == 1; }
};

struct TfliteOp {
  int code = 0, version = 1;
  std::vector<int> inputs, outputs;  // tensors; -1 where one is left out
  int like = -1;                     // the operator of the file whose options it has; -1: none

  // -1 where there is none.
  int input(std::size_t index) const { return index < inputs.size() ? inputs[index] : -1; }
  bool operator==(const TfliteOp&) const = default;
};
// Convolutions and matrix products: where their weights are multiplied with, and the bias that may be left out.
bool is_product(const TfliteOp& op);
std::size_t data_index(const TfliteOp& op);
std::size_t bias_index(const TfliteOp& op);
inline constexpr std::size_t kWeightsIndex = 1;
// The axis of the weights that channels of the result are along.
int channel_axis(const TfliteOp& op, const Shape& weights);

// Tensors of the file are never changed and keep their numbers, which signatures and other subgraphs go by: what a
// repair changes is a new tensor.
class TfliteEdit {
 public:
  // Errors: those of decoding; unsupported: a file of 2 GiB.
  static Result<TfliteEdit> of(const std::string& bytes, const std::string& file);

  std::vector<TfliteOp> ops;  // in the order in which they run
  const std::vector<int>& inputs() const { return inputs_; }
  const std::vector<int>& outputs() const { return outputs_; }

  int tensor_count() const { return static_cast<int>(tensors_.size()); }
  const TfliteTensor& tensor(int index) const { return tensors_[static_cast<std::size_t>(index)]; }
  // False, too, where it is left out.
  bool is_quantized(int index) const { return index >= 0 && tensor(index).is_quantized(); }
  bool is_float(int index) const { return index >= 0 && tensor(index).dtype == DType::f32; }
  bool is_constant(int index) const { return index >= 0 && tensor(index).constant != nullptr; }
  bool is_output(int index) const;
  // A new tensor with the name and the shape of another one, by what its name ends in.
  int add_like(int index, DType dtype, std::optional<QuantParams> quant, const std::string& suffix);
  int add_constant(std::string name, Tensor value, std::optional<QuantParams> quant = {});

  // By tensor: the operator that writes it (-1: none), and those that read it, of `ops` as they are now.
  struct Links {
    std::vector<int> writer;
    std::vector<std::vector<int>> readers;
  };
  Links links() const;
  // QUANTIZE and DEQUANTIZE whose result nobody reads.
  void drop_unread_conversions();

  // The file. What was not touched is in it byte for byte; constants that nobody reads any more give their place to new
  // ones of the same size.
  // Errors: unsupported: a table to be changed has fields of a newer schema.
  Result<std::string> finish() const;

 private:
  friend class TfliteWriter;
  TfliteEdit() = default;

  std::string bytes_, file_;
  tflite_import::ModelFile model_;
  std::vector<TfliteOp> file_ops_;
  std::vector<TfliteTensor> tensors_;
  std::size_t file_tensors_ = 0;
  std::vector<int> inputs_, outputs_;
};

}  // namespace octavo::repair

#endif  // OCTAVO_DIAGNOSE_REPAIR_TFLITE_EDIT_H_
