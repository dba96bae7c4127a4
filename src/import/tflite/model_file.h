// The FlatBuffer container of a TFLite file: verified before anything else
// looks at it. Part of import/.
#ifndef OCTAVO_IMPORT_TFLITE_MODEL_FILE_H_
#define OCTAVO_IMPORT_TFLITE_MODEL_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "base/tensor.h"
#include "import/tflite/schema_generated.h"

namespace octavo::tflite_import {

// Owns the bytes of the file; `model` points into them. Every offset that leads
// to a table, vector or string has been checked.
struct ModelFile {
  Tensor bytes;  // u8, aligned as FlatBuffers wants them
  const file::Model* model = nullptr;
  std::span<const std::byte> contents() const { return {bytes.data(), bytes.bytes()}; }
};

// Errors: resource (cannot be read), invalid_input (truncated, offsets out of
// range, nested too deeply), unsupported (another format version).
Result<ModelFile> parse_model_file(const std::string& path);
Result<ModelFile> parse_model_bytes(std::span<const std::byte> bytes, const std::string& file);

}  // namespace octavo::tflite_import

#endif  // OCTAVO_IMPORT_TFLITE_MODEL_FILE_H_
