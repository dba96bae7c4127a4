// OperatorReader: what the reader of one operator sees of a TFLite file. Part of import/.
#ifndef OCTAVO_IMPORT_TFLITE_OPERATOR_READER_H_
#define OCTAVO_IMPORT_TFLITE_OPERATOR_READER_H_

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "import/tflite/file_tensor.h"
#include "import/verbs.h"

namespace octavo::tflite_import {

using namespace importing;

// Of height and width.
struct Pair {
  std::int64_t h = 1, w = 1;
};

// A tensor that SPACE_TO_BATCH_ND made: a convolution of it, put together by BATCH_TO_SPACE_ND, is a dilated one of the
// image.
struct SpaceToBatch {
  int image = -1;  // the file's index of the tensor before
  Pair block;
  std::int64_t top = 0, left = 0;  // padding before
};
// A convolution between the two, with what it needs to be made again.
struct DilatedConv {
  ValueId x;  // real
  ValueId weights, bias;
  std::int64_t groups = 1;
  SpaceToBatch space;
  int activation = 0;
  Profile profile = Profile::onnx;  // of the result
};

// What is known of the tensors of the subgraph that is read, by the file's index.
struct Frame {
  std::vector<FileTensor> tensors;
  std::vector<ValueId> values;  // each tensor as it is stored, in the graph being built; an id that does not exist: not
                                // made there, or its operator failed
  std::vector<Handle> handles;  // of those that graphs before have made
  std::vector<bool> is_made;    // constant, input, or result of an operator that was read (even if that failed)
  std::map<int, std::string> resources;  // names of variables
  std::map<int, ValueId> reals;          // of a quantized tensor: its dequantized form
  std::map<int, SpaceToBatch> spaces;    // of the result
  std::map<int, DilatedConv> dilated;    // the same
};

// What VAR_HANDLE names, while the file is read.
struct Variable {
  ValueId value;  // as Frame has them
  Handle handle = kNoHandle;
  bool is_state = false;     // its value before a run is an input
  DType dtype = DType::f32;  // of a state
  Shape shape;
};

// The graph being built, and the subgraph that is read.
struct Building : GraphBuilder, Frame {
  using GraphBuilder::GraphBuilder;
  std::vector<Frame> frames;  // of the subgraphs around it
  ProgramBuilder program{*this};
  std::map<std::string, Variable> variables;
  std::map<int, std::string> kept_tensors;  // of the first subgraph: variables that operators keep
  bool is_initializing = false;             // what CALL_ONCE calls is read
  int dynamic = 0;                          // operators with integer weights and float activations

  // A tensor in the graph being built, which it enters where a graph before has made it.
  ValueId find(std::size_t tensor);
  void leave_graph();
};

// What an operator computes with: quantized 8-bit values dequantized, a quantized result made from a real value by a
// quantize node; or values as the file stores them, where scale and zero point pass through. `pairs`: as stored,
// complex numbers among them, pairs along a last axis of their own.
enum class Operands { real, stored, pairs };
inline constexpr Operands kReal = Operands::real, kStored = Operands::stored, kPairs = Operands::pairs;

class OperatorReader : public NodeBuilder {
 public:
  // What the file's code of an operator says.
  struct Type {
    std::string name;
    int version = 1;
  };

  OperatorReader(Building& building, const file::Operator& op, Type type, Operands operands, std::string name,
                 const std::string& origin);

  const std::string& type() const { return type_.name; }
  int version() const { return type_.version; }

  // ---- inputs, by position ----
  int input_count() const { return input_count_; }
  bool has(int index) const { return tensor_index(index) >= 0; }
  int tensor_index(int input) const;  // the file's; -1 where left out
  const FileTensor& tensor(int index) const;
  // Real or stored, as the operator takes them.
  ValueId value(int index) { return operands_ == Operands::real ? operand(index) : stored(index); }
  std::vector<ValueId> values();  // all
  ValueId stored(int index);
  ValueId operand(int index);
  // The same for any tensor of the file that was made before.
  ValueId operand_of(int tensor);
  // Whether an input is a value that the model keeps from run to run, and what it is for the next one.
  bool keeps(int index) const;
  void keep(int index, ValueId next);
  // `value`, which has the type and scales of an input, dequantized where that is quantized.
  ValueId real(ValueId value, int input);
  // Inputs of integers that must be known at compile time; the second one has one number.
  Numbers constant_integers(int index, std::string_view name);
  Number constant_integer(int index, std::string_view name);

  // ---- tensors that an operator names for what it computes inside ----
  int intermediate_count() const {
    return op_.intermediates() == nullptr ? 0 : static_cast<int>(op_.intermediates()->size());
  }
  // An empty one where there is none.
  const FileTensor& intermediate(int index) const;

  // ---- options ----
  // nullptr where the file has none of this kind.
  template <class Options>
  const Options* options() const {
    return op_.builtin_options_as<Options>();
  }
  // The same, with an error where there are none; a harmless object is given then.
  template <class Options>
  const Options& required_options() {
    const Options* given = options<Options>();
    if (given != nullptr) return *given;
    fail("options", "none of the operator's kind", "them");
    return empty_options<Options>();
  }
  // Of an operator that has a name of its own: bytes whose form the operator knows.
  std::span<const std::uint8_t> custom_options() const;

  // ---- outputs ----
  int output_index(int output) const { return op_.outputs()->Get(static_cast<flatbuffers::uoffset_t>(output)); }
  const FileTensor& output_tensor(int index) const;
  // Output 0 is rounded by another profile than `computed_by` says.
  void rounds_by(Profile profile) { profile_ = profile; }
  // Output 0 of a real value, whatever operands the operator takes.
  ValueId quantized(ValueId value);
  // The same for integers of a type by a profile.
  ValueId rounded(ValueId value, const QuantParams& to, DType type, Profile profile, const std::string& suffix);
  // Whether output 0 has another scale or zero point than an input, both being of 8 bits.
  bool has_own_scale(int input) const;
  // A real value rounded to the scale of an input, as what these bytes stand for by the scale of output 0.
  ValueId relabelled(ValueId value, int input);
  // After reading: outputs that nobody made, or of another type than the file says, are errors. Binds the tensors.
  void finish(ValueId first);

  // ---- building ----
  ValueId scalar(float value, std::string_view suffix) { return constant(Tensor::scalar(value), suffix); }
  ValueId dequantized(ValueId value, const QuantParams& quant, const std::string& suffix);
  // The fused activation function of the format's number: none, relu, relu6 or relu_n1_to_1.
  ValueId activation(ValueId value, int function, std::string_view suffix = "activated");

  Building& building() { return building_; }
  Profile profile() const { return building_.profile; }  // the file's

 private:
  template <class Options>
  static const Options& empty_options();
  ValueId dequantized(ValueId value, const FileTensor& source, const std::string& suffix);
  ValueId quantized_by(ValueId value, const Scales& to, DType type, Profile profile, std::string_view suffix);
  ValueId checked(int output, ValueId value);

  Building& building_;
  const file::Operator& op_;
  int input_count_;
  Type type_;
  Operands operands_;
  std::optional<Profile> profile_;
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
