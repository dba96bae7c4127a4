// Scales as JSON: all that samples teach, to be read, changed and used again. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_SCALES_FILE_H_
#define OCTAVO_QUANTIZE_SCALES_FILE_H_

#include <string>
#include <string_view>

#include "quantize/quantize.h"

namespace octavo {

// `quantized`: the graph with its pairs, of which `report` tells. Numbers read back as the bits that they were.
//   {"format": "octavo scales 1", "model", "calibration",
//    "tensors": {name: {"type", "scale", "zero_point", "range": [lowest, highest]}},
//    "weights": {name: {"type", "axis", "scales"}}, "bias_corrections": {name: [per channel]}}
std::string scales_json(const Graph& quantized, const QuantizeReport& report, const std::string& model,
                        const std::string& calibration);

// Of a file that may be hostile or edited: `tensors` and `bias_corrections` are taken, `weights` only tell. A tensor
// without a range has that of its scale. Errors (invalid_input), all at once, each with the tensor's name.
Result<Calibrated> parse_scales(std::string_view text, const std::string& file);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_SCALES_FILE_H_
