// Readers of recurrent layers, by the file that has them. Part of import/.
#ifndef OCTAVO_IMPORT_TFLITE_RECURRENT_H_
#define OCTAVO_IMPORT_TFLITE_RECURRENT_H_

#include "import/tflite/operator_reader.h"

namespace octavo::tflite_import {

// Where the inputs of one direction of an LSTM begin; weights, biases and norms are those of the gates i, f, c, o.
struct LstmAt {
  int weights = 0, recurrent = 0, peepholes = 0, bias = 0, projection = 0, hidden = 0, cell = 0;
  int norms = -1;  // none has them
};
struct LstmOptions {
  int function = 0;
  float cell_clip = 0.0f, projection_clip = 0.0f;
  bool is_asymmetric = false;  // rows that become integers beside weights of 8 bits
};
struct LstmDirection {
  bool is_backward = false;
  std::string name;  // begins those of its nodes
};

// recurrent.cpp: whether there is an input gate, all of it or nothing.
bool has_input_gate(OperatorReader& in, const LstmAt& at);
// The format's number of a fused function, as that of a cell.
UnaryAttrs cell_function(OperatorReader& in, int function);
// A state that the operator keeps is zeros when a run begins; nothing stands for zeros.
ValueId first_state(OperatorReader& in, int input);

// Those of `count` inputs that are there are errors.
void refuse(OperatorReader& in, int first, int count, const std::string& what);

// Of a tensor of one scale and this type; else an error.
struct OneScale {
  float scale = 1.0f;
  std::int32_t zero_point = 0;
};
OneScale scale_of(OperatorReader& in, const FileTensor& tensor, DType type, const std::string& place);
OneScale scale_of_input(OperatorReader& in, int input, DType type);
// Weights and cells have no zero points.
float scale_without_zero(OperatorReader& in, int input, DType type);

// full_lstm.cpp: h of every step [T, B, P] with normalized gates, projections, clips or weights of 8 bits beside
// floats, x [T, B, I].
ValueId add_full_lstm(OperatorReader& in, const LstmAt& at, ValueId x, const LstmOptions& options,
                      const LstmDirection& direction);
bool needs_full_lstm(OperatorReader& in, const LstmAt& at, const LstmOptions& options);

// integer_lstm.cpp: h of every step [T, B, P] as stored, x [T, B, I] of 8 bits.
ValueId add_integer_lstm(OperatorReader& in, const LstmAt& at, ValueId x, const LstmOptions& options);

// svdf.cpp and basic_lstm.cpp
ValueId read_svdf(OperatorReader& in);
ValueId read_basic_lstm(OperatorReader& in, const LstmOptions& options);

}  // namespace octavo::tflite_import

#endif  // OCTAVO_IMPORT_TFLITE_RECURRENT_H_
