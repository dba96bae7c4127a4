// OperatorReader: what the reader of one operator sees of the file, and how it
// builds its part of the graph. Part of import/.
#ifndef OCTAVO_IMPORT_TFLITE_OPERATOR_READER_H_
#define OCTAVO_IMPORT_TFLITE_OPERATOR_READER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/requantize.h"
#include "graph/graph.h"
#include "import/tflite/file_tensor.h"

namespace octavo::tflite_import {

// Of height and width.
struct Pair {
  std::int64_t h = 1, w = 1;
};

// A tensor that SPACE_TO_BATCH_ND made: a convolution of it, put together by
// BATCH_TO_SPACE_ND, is a dilated one of the image.
struct SpaceToBatch {
  int image = -1;  // the file's index of the tensor before
  Pair block;
  std::int64_t top = 0, left = 0;  // padding before
};
// A convolution between the two, with what it needs to be made again; to the
// given height and width, or nothing where it cannot.
struct DilatedConv {
  ValueId x;  // real
  ValueId weights, bias;
  std::int64_t groups = 1;
  SpaceToBatch space;
  int activation = 0;
};

// The graph being built, and what is known of the file's tensors.
struct Building {
  Graph graph;
  Errors errors;
  Profile profile = Profile::tflite_xnnpack;
  std::int64_t batch = 1;                 // that the inputs have
  std::vector<FileTensor> tensors;        // by the file's index
  std::vector<ValueId> values;            // the same: each tensor as it is stored; an id that does not
                                          // exist: not made yet, or its operator failed
  std::vector<bool> is_made;              // the same: constant, input, or result of an
                                          // operator that was read (even if that failed)
  std::map<int, ValueId> reals;           // by the file's index of a quantized tensor: its dequantized form
  std::map<int, SpaceToBatch> spaces;     // by the file's index of the result
  std::map<int, DilatedConv> dilated;     // the same
  std::int64_t fold_budget = 0;           // elements that constant folding may still make
  std::map<DType, int> activation_types;  // of quantized inputs and results, and how many have it
  bool dequantizes_dynamic = false;       // weights beside float activations are real numbers
  int dynamic = 0;                        // operators with integer weights and float activations
};

// Errors are sticky: an accessor that fails records the error and gives a
// harmless value, and from then on nothing is built. A reader looks at failed()
// before it takes a shape or an option apart.
class OperatorReader {
 public:
  OperatorReader(Building& building, const file::Operator& op, std::string type, std::string name, std::string origin,
                 std::string where);

  const std::string& type() const { return type_; }

  // ---- inputs, by position ----
  int input_count() const { return input_count_; }
  bool has(int index) const;
  int tensor_index(int input) const;  // the file's; -1 where left out
  int output_index(int output) const { return op_.outputs()->Get(static_cast<flatbuffers::uoffset_t>(output)); }
  const FileTensor& tensor(int index) const;  // must be there
  // As the file stores it.
  ValueId stored(int index);
  // Quantized 8-bit values dequantized, others as they are stored: what
  // operators compute with.
  ValueId operand(int index);
  // The same for any tensor of the file that was made before.
  ValueId operand_of(int tensor);
  // `value`, which has the type and scales of an input, dequantized where that
  // is quantized.
  ValueId real(ValueId value, int input);
  const Fact& fact(ValueId id) const;
  const Shape& shape(ValueId id) const { return fact(id).shape; }
  int rank(ValueId id) const { return fact(id).shape.rank(); }
  DType dtype(ValueId id) const { return fact(id).dtype; }
  // An input of integers that must be known at compile time, rank 0 or 1.
  std::vector<std::int64_t> constant_integers(int index, std::string_view name);

  // ---- options ----
  // nullptr where the file has none of this kind.
  template <class Options>
  const Options* options() const {
    return op_.builtin_options_as<Options>();
  }
  // The same, with an error where there are none; a harmless object is given
  // then.
  template <class Options>
  const Options& required_options() {
    const Options* given = options<Options>();
    if (given != nullptr) return *given;
    fail("options", "none of the operator's kind", "them");
    return empty_options<Options>();
  }

  // ---- outputs ----
  int output_count() const { return static_cast<int>(outputs_.size()); }
  const FileTensor& output_tensor(int index) const;
  // The value has the output's element type.
  void output_stored(int index, ValueId value);
  // A quantized output is made from a real value by a quantize node with the
  // profile; others are as output_stored.
  void output(int index, ValueId value);

  // ---- building: a value that does not exist where something failed before
  // ----
  ValueId add(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs, std::string_view suffix = {});
  // For operators with several outputs.
  std::vector<ValueId> add_all(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs, std::string_view suffix);
  ValueId add_constant(Tensor tensor, std::string_view suffix);
  ValueId scalar(float value, std::string_view suffix) { return add_constant(Tensor::scalar(value), suffix); }
  ValueId reshape(ValueId value, std::vector<std::int64_t> dims, std::string_view suffix = {});
  ValueId transpose(ValueId value, std::vector<std::int64_t> perm, std::string_view suffix = {});
  ValueId dequantize(ValueId value, const QuantParams& quant, std::string_view suffix);
  // The fused activation function of the format's number: none, relu, relu6 or
  // relu_n1_to_1.
  ValueId activation(ValueId value, int function, std::string_view suffix = "activated");

  // ---- errors ----
  bool failed() const { return has_failed_; }
  void fail(std::string_view what, std::string found, std::string expected) {
    record(ErrorKind::invalid_input, what, found, expected);
  }
  void unsupported(std::string_view what, std::string found, std::string expected) {
    record(ErrorKind::unsupported, what, found, expected);
  }
  // An axis in [-rank, rank), normalised; 0 and an error where it is not.
  std::int64_t axis(std::string_view what, std::int64_t axis, int rank);
  void require_rank(std::string_view what, ValueId value, int lowest, int highest);
  // After reading: outputs that nobody made are errors. Moves all errors to the
  // Building.
  void finish();

  Building& building() { return building_; }

 private:
  template <class Options>
  static const Options& empty_options();
  ValueId dequantized(ValueId value, const FileTensor& source, std::string_view suffix);
  void record(ErrorKind kind, std::string_view what, std::string found, std::string expected);
  std::string called(std::string_view suffix) const {
    return suffix.empty() ? name_ : name_ + "." + std::string(suffix);
  }

  Building& building_;
  const file::Operator& op_;
  int input_count_;
  int first_value_;  // values from here on were made by this operator
  std::string type_, name_, origin_, where_;
  std::vector<ValueId> outputs_;
  Errors errors_;
  bool has_failed_ = false;
};

// A table without fields, which reads as all defaults.
template <class Options>
const Options& OperatorReader::empty_options() {
  static const auto buffer = [] {
    flatbuffers::FlatBufferBuilder builder;
    const auto start = builder.StartTable();
    builder.Finish(flatbuffers::Offset<Options>(builder.EndTable(start)));
    return builder.Release();
  }();
  return *flatbuffers::GetRoot<Options>(buffer.data());
}

}  // namespace octavo::tflite_import

#endif  // OCTAVO_IMPORT_TFLITE_OPERATOR_READER_H_
