// Which of LiteRT's kernels computes an operator, and so by which formula its result is rounded. Part of import/.
#ifndef OCTAVO_IMPORT_TFLITE_COMPUTED_BY_H_
#define OCTAVO_IMPORT_TFLITE_COMPUTED_BY_H_

#include "import/tflite/operator_reader.h"

namespace octavo::tflite_import {

// The profile of the result of an operator in a file that is read by profile `file`: LiteRT's default interpreter
// (tflite-xnnpack) leaves operators and types that XNNPACK does not take to its own kernels, and a few of its kernels
// have a formula of their own. docs/numerics.md has the table, measured with LiteRT 2.3.
Profile computed_by(const OperatorReader& in, Profile file);

}  // namespace octavo::tflite_import

#endif  // OCTAVO_IMPORT_TFLITE_COMPUTED_BY_H_
