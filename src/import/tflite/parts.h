// What several readers of TFLite operators share. Part of import/.
#ifndef OCTAVO_IMPORT_TFLITE_PARTS_H_
#define OCTAVO_IMPORT_TFLITE_PARTS_H_

#include "import/tflite/operator_reader.h"
#include "ops/window.h"

namespace octavo::tflite_import {

// Of height and width.
struct Pair {
  std::int64_t h = 1, w = 1;
};

struct WindowOptions {
  int padding = 0;  // the format's number: SAME or VALID
  Pair stride, dilation;
};

// The window over an image [N, H, W, C], padding computed; a harmless one and an error where the options make no sense.
Window read_window(OperatorReader& in, const Shape& image, Pair kernel, const WindowOptions& options);

}  // namespace octavo::tflite_import

#endif  // OCTAVO_IMPORT_TFLITE_PARTS_H_
