// What several readers of TFLite operators share. Part of import/.
#ifndef OCTAVO_IMPORT_TFLITE_PARTS_H_
#define OCTAVO_IMPORT_TFLITE_PARTS_H_

#include <string_view>
#include <vector>

#include "import/tflite/operator_reader.h"
#include "ops/window.h"

namespace octavo::tflite_import {

struct WindowOptions {
  int padding = 0;  // the format's number: SAME or VALID
  Pair stride, dilation;
};

// The window over an image [N, H, W, C], padding computed; a harmless one and
// an error where the options make no sense.
Window read_window(OperatorReader& in, const Shape& image, Pair kernel, const WindowOptions& options);

// What SAME adds along an axis in all, so that ceil(size / stride) windows fit.
std::int64_t same_padding(std::int64_t size, std::int64_t stride, std::int64_t extent);

// `x`, which has the type and scales of an input, with elements around it that stand for
// the real value 0.
ValueId add_zero_padding(OperatorReader& in, ValueId x, int input, std::vector<std::int64_t> begin,
                         std::vector<std::int64_t> end, std::string_view suffix);

}  // namespace octavo::tflite_import

#endif  // OCTAVO_IMPORT_TFLITE_PARTS_H_
