// import: a model file becomes a Graph. The meaning of the file is kept: types, scales, rounding. Part of import/.
#ifndef OCTAVO_IMPORT_IMPORT_H_
#define OCTAVO_IMPORT_IMPORT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "base/requantize.h"
#include "base/result.h"
#include "graph/graph.h"

namespace octavo {

struct ImportOptions {
  std::int64_t batch = 1;  // value of a symbolic (or 0 or -1) first dimension of each input
  std::map<std::string, Shape>
      shapes;  // input name -> whole shape; overrides the file's. An unknown name is a usage error
  bool dequantizes_dynamic = false;  // files of integer weights beside float activations are read as fp32
  std::optional<Profile> profile;    // rounding of quantized operators; none: that of the file's format
  std::map<std::string, Tensor>
      bound_inputs;  // inputs that become constants (a compiler needs them so); used by conformance tests
};

struct ImportedModel {
  Graph graph;
  std::string dialect;        // "ONNX fp32", "ONNX QDQ s8", "ONNX QOperator u8", "PyTorch pt2e s8", "TFLite s8", ...
  bool is_quantized = false;  // holds quantized operators: scales came with the file
  int source_nodes = 0;       // nodes in the file
};

// Recognises the format by content. All problems of the file are reported at once.
// Errors: invalid_input (broken file), unsupported (operators or attributes outside ours, all listed), resource (cannot
// be read).
Result<ImportedModel> import_model(const std::string& path, const ImportOptions& options);

// The same of a file's bytes; `name` names it in messages. External data of an ONNX file is refused.
Result<ImportedModel> import_model(std::span<const std::byte> bytes, const std::string& name,
                                   const ImportOptions& options);

// From memory, by format. `folder` is where external data may lie (never outside it; empty: none allowed); `file` names
// it in messages.
Result<ImportedModel> import_onnx(std::span<const std::byte> bytes, const std::string& folder, const std::string& file,
                                  const ImportOptions& options);
Result<ImportedModel> import_tflite(std::span<const std::byte> bytes, const std::string& file,
                                    const ImportOptions& options);

// An archive of torch.export from memory; `file` names it in messages.
Result<ImportedModel> import_pt2(std::span<const std::byte> bytes, const std::string& file,
                                 const ImportOptions& options);

}  // namespace octavo

#endif  // OCTAVO_IMPORT_IMPORT_H_
