// Fuzz target: bytes as a TFLite file, through import, quantization, lowering and planning. Must never crash, hang or
// take unbounded memory.
#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/planning.h"
#include "import/import.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  octavo::fuzz::quantize_and_plan(octavo::import_tflite(bytes, "fuzz.tflite", octavo::fuzz::import_options_for(bytes)));
  return 0;
}
