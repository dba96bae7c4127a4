// The tables of TFLite operators: which are read, and how. A table stands at the end of the file that has its readers.
// Part of import/.
#ifndef OCTAVO_IMPORT_TFLITE_OPERATORS_H_
#define OCTAVO_IMPORT_TFLITE_OPERATORS_H_

#include <span>
#include <string>
#include <string_view>

#include "import/tflite/operator_reader.h"

namespace octavo::tflite_import {

inline constexpr int kCustomCode = 32;  // of operators that a file names by a string

struct OperatorEntry {
  std::string_view name;  // of the format's schema, or of a custom operator
  int min_inputs, max_inputs;
  int outputs;
  Operands operands;
  ValueId (*read)(
      OperatorReader&);  // gives output 0, still real where the operator takes real operands; sets others itself
};

extern const std::span<const OperatorEntry> kConvolutions, kCounted, kElementwise, kImages, kMatrices, kRandom,
    kRecurrentLayers, kReductions, kSelection, kShaping, kSpectra, kVolumes;
extern const std::span<const OperatorEntry> kDetection, kMediaPipe,
    kMediaPipeLandmarks;  // by the names that files give

// nullptr where Octavo does not read it. `custom` is the name of an operator whose code is kCustomCode.
const OperatorEntry* find_operator(int code, std::string_view custom);
// "CONV_2D" for known codes; "builtin 210" for those beyond.
std::string builtin_name(int code);

// ---- what readers of several files build from ----

inline constexpr int kSvdfState = 4;  // the input that SVDF keeps from run to run

// images.cpp: the window over an image [N, H, W, C] with the format's number of a padding.
WindowArgs window_args(OperatorReader& in, int padding, Pair stride, Pair dilation = {});

// convolution.cpp: what a transposed convolution [N, spatial..., C] makes of x gets `sizes`: all that is too much or
// too little lies at the end where the padding is VALID, and around it where it is SAME.
void end_at(OperatorReader& in, ConvTransposeArgs& args, const Numbers& sizes);

// shaping.cpp: `x`, which has the type and scales of an input, with elements around it that stand for the real value 0.
ValueId zero_padding(OperatorReader& in, ValueId x, int input, Integers begin, Integers end, std::string_view suffix);

}  // namespace octavo::tflite_import

#endif  // OCTAVO_IMPORT_TFLITE_OPERATORS_H_
