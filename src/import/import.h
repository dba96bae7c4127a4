// import: a model file becomes a Graph. The meaning of the file is kept: types, scales, rounding. Part of import/.
#ifndef OCTAVO_IMPORT_IMPORT_H_
#define OCTAVO_IMPORT_IMPORT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/requantize.h"
#include "base/result.h"
#include "graph/graph.h"
#include "octavo/choices.h"
#include "plan/program.h"

namespace octavo {

struct ImportOptions {
  std::int64_t batch = 1;  // value of a symbolic (or 0 or -1) first dimension of each input
  // Dimensions that nothing here says stay open (Graph::sizes); `batch` is not asked then.
  bool keeps_open = false;
  // What open first dimensions are taken to be where the meaning of the file depends on it: no usual number of
  // channels.
  std::int64_t example_batch = 5;
  // The same of the height and width of pictures; 224 halves five times.
  std::int64_t example_side = 224;
  // And of every other dimension: of tokens, frames or samples.
  std::int64_t example_length = 48;
  // What single sizes are taken to be instead, by their names; one that is less than usual (0) is a number everywhere.
  std::map<std::string, std::int64_t> example_sizes;
  // Input name -> shape that other dimensions are taken to be then, instead of usual ones, where it is in their range.
  std::map<std::string, std::vector<std::int64_t>> examples;
  // Then: so do first dimensions of 1 that a file may mean as its batch (TFLite without signatures).
  bool opens_batch = false;
  // Input name -> whole shape; overrides the file's. An unknown name is a usage error.
  std::map<std::string, std::vector<Extent>> shapes;
  // Where it is set, tables of open sizes are added, also of a file that is refused: their conditions are what was
  // answered by examples.
  std::vector<std::shared_ptr<const Sizes>>* tables = nullptr;
  bool dequantizes_dynamic = false;   // files of integer weights beside float activations are read as fp32
  std::optional<std::uint64_t> seed;  // of random numbers that have none in the file; none: the clock's
  std::optional<Profile> profile;     // rounding of quantized operators; none: that of the file's format
  std::map<std::string, Tensor>
      bound_inputs;  // inputs that become constants (a compiler needs them so); used by conformance tests
  // Where it is set, it becomes a graph of the inputs alone, also of a file that is refused.
  Graph* inputs = nullptr;
};

// What a file becomes whose control flow or shapes depend on data.
struct ImportedProgram {
  Program program;
  std::vector<Graph> networks;  // by ProgramPart::network
};

struct ImportedModel {
  Graph graph;                // empty where there is a program
  std::string dialect;        // "ONNX fp32", "ONNX QDQ s8", "ONNX QOperator u8", "PyTorch pt2e s8", "TFLite s8", ...
  bool is_quantized = false;  // holds quantized operators: scales came with the file
  int source_nodes = 0;       // nodes in the file
  std::optional<ImportedProgram> program;
  std::vector<ModelState> states = {};  // inputs that the engine of the file begins itself
};

enum class FileFormat : std::uint8_t { onnx, tflite, zip, artifact, unknown };
// By content. Error: resource (cannot be read).
Result<FileFormat> format_of_file(const std::string& path);

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
