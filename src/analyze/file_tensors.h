// What nodes of a model file make, and the file with more of it as outputs: for other programs to run. Part of
// analyze/.
#ifndef OCTAVO_ANALYZE_FILE_TENSORS_H_
#define OCTAVO_ANALYZE_FILE_TENSORS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "import/import.h"

namespace octavo {

// One tensor that the file's graph computes. Those inside branches, loops and functions are not among them.
struct MadeTensor {
  std::string name;
  std::string node;  // its name, else that of its first output; TFLite: the operator's number
  std::string op;
  int index = -1;  // in a TFLite file
};

struct FileTensors {
  FileFormat format = FileFormat::unknown;
  std::vector<MadeTensor> made;    // in the order of nodes
  std::vector<MadeTensor> inputs;  // no initializers
  std::vector<MadeTensor> outputs;
};

// Errors: those of reading; usage (neither an ONNX nor a TFLite file).
Result<FileTensors> tensors_of_file(const std::string& path);

// Writes the file at `path` with `outputs` instead of its own. Data of other files are inside.
Status write_with_outputs(const std::string& path, const std::vector<MadeTensor>& outputs, const std::string& to);

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_FILE_TENSORS_H_
