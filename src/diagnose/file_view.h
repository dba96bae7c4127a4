// FileView: a model file as it stands, whatever its format, without Octavo's meaning of it: nodes, tensors, scales.
// Part of diagnose/.
#ifndef OCTAVO_DIAGNOSE_FILE_VIEW_H_
#define OCTAVO_DIAGNOSE_FILE_VIEW_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/tensor.h"
#include "graph/op.h"
#include "import/import.h"

namespace octavo::diagnose {

// How a file says what is quantized.
enum class Dialect : std::uint8_t {
  fp32,           // nothing is
  qdq,            // pairs of quantize and dequantize nodes around operators in float (ONNX, pt2e)
  qoperator,      // operators of integers (QLinearConv, ...)
  dynamic,        // weights in integers, activations quantized in the run or not at all (ONNX, pt2)
  full_integer,   // TFLite: integer tensors with scales
  dynamic_range,  // TFLite: integer weights beside float activations
};
std::string_view name_of(Dialect dialect);

// What a node does, whatever its format calls it.
enum class Kind : std::uint8_t {
  conv,
  depthwise_conv,
  transposed_conv,
  matmul,  // Gemm, MatMul, FULLY_CONNECTED, linear
  quantize,
  dequantize,
  dynamic_quantize,
  batch_norm,
  relu,      // ReLU and clips: what every engine fuses
  sigmoid,   // sigmoid and hard sigmoid
  function,  // other functions of one value: SiLU, GELU, tanh, exp, ...
  add,       // and subtraction
  mul,       // and division
  average,   // mean and average pools
  max_pool,
  resize,
  concat,
  movement,  // reshape, transpose, slice, pad, ...: bytes stay as they are
  softmax,
  norm,  // of layers, groups, instances
  recurrent,
  cast,
  other,
};
std::string_view name_of(Kind kind);
inline bool is_product(Kind kind) { return kind <= Kind::matmul; }

using ViewAttribute = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>>;

// Inputs and outputs are indices of tensors; -1 where one is left out.
struct ViewNode {
  std::string name;  // the file's, else that of the first output; TFLite: of the first output
  std::string op;    // as the file has it: "QLinearConv", "CONV_2D", "aten.conv2d.default"
  std::string domain;
  Kind kind = Kind::other;
  bool is_integer = false;  // computes in integers as the file says it (QLinearConv, a TFLite operator on s8)
  std::vector<int> inputs, outputs;
  std::map<std::string, ViewAttribute> attributes;  // numbers, strings and lists of numbers

  std::int64_t integer(const std::string& attribute, std::int64_t otherwise) const;
  std::string text(const std::string& attribute) const;  // empty where there is none
};

struct ViewTensor {
  std::string name;
  std::optional<DType> dtype;                      // nothing where unknown, or no type of ours
  std::optional<std::vector<std::int64_t>> shape;  // open dimensions as an example has them; nothing where unknown
  // What its integers stand for: what the file says of the tensor (TFLite), or the node that makes or reads it.
  std::optional<QuantParams> quant;
  bool is_constant = false, is_input = false, is_output = false;
  int producer = -1;         // a node, or -1
  std::vector<int> readers;  // nodes, each once

  std::int64_t elements() const;  // 0 where unknown
  std::int64_t bytes() const;     // 0 where unknown
};

struct ViewOptions {
  std::int64_t batch = 1;
};

class FileView {
 public:
  std::string path;
  FileFormat format = FileFormat::unknown;
  Dialect dialect = Dialect::fp32;
  std::string producer;                 // what the file says that made it, with its version
  std::string description;              // what else a file says of its origin: metadata, signatures
  std::map<std::string, int> opsets;    // by domain, "" for ONNX's own
  std::vector<ViewNode> nodes;          // in the file's order; those of branches and loops are not among them
  std::vector<ViewTensor> tensors;      // those of the nodes, and inputs and outputs
  std::vector<int> inputs, outputs;     // tensors
  std::int64_t weights = 0;             // elements of constants that products read
  std::vector<std::string> unresolved;  // what is not known of the file, as sentences

  // "TFLite", "ONNX" or "PyTorch export".
  std::string_view format_name() const;
  // The data of a constant, where the file can be read; nothing for tensors that are none.
  std::optional<Tensor> values(int tensor) const;
  // The node that makes it where it is of that kind, else -1.
  int producer_if(int tensor, Kind kind) const;
  // -1 where there is none.
  int input(const ViewNode& node, std::size_t index) const;
  // The first result; -1 where there is none: broken files have nodes without.
  int output(const ViewNode& node) const;
  const ViewNode& node(int index) const { return nodes[static_cast<std::size_t>(index)]; }
  const ViewTensor& tensor(int index) const { return tensors[static_cast<std::size_t>(index)]; }
  int find_tensor(std::string_view name) const;  // -1 where there is none

  // ---- for those that make one ----
  int tensor_named(const std::string& name);  // adds it
  void connect();                             // sets producer and readers of all tensors
  std::function<std::optional<Tensor>(const ViewTensor&)> read;

 private:
  std::map<std::string, int, std::less<>> indices_;
};

// Reads an ONNX, TFLite or .pt2 file. Errors: those of decoding; usage (a compiled model).
Result<FileView> read_file_view(const std::string& path, const ViewOptions& options = {});

// The formats, each in a file of its own. They leave kinds of nodes, dialect and missing shapes to read_file_view.
Result<FileView> view_of_onnx(const std::string& path);
Result<FileView> view_of_tflite(const std::string& path);
Result<FileView> view_of_pt2(const std::string& path);

// As people read it. TFLite joins the names of all that was fused, with ';': the first says enough. Of long names the
// end does.
std::string short_name(const std::string& name);
// Which kind an operator is, by its name in a format.
Kind kind_of_operator(FileFormat format, std::string_view op);

}  // namespace octavo::diagnose

#endif  // OCTAVO_DIAGNOSE_FILE_VIEW_H_
