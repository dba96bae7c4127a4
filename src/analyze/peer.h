// Another engine, run through its Python package in a process of its own. Part of analyze/.
#ifndef OCTAVO_ANALYZE_PEER_H_
#define OCTAVO_ANALYZE_PEER_H_

#include <string>
#include <string_view>
#include <vector>

#include "analyze/file_tensors.h"
#include "base/tensor.h"

namespace octavo {

enum class Peer : std::uint8_t { onnxruntime, litert };
std::string_view name_of(Peer peer);
// What pip calls its package.
std::string_view package_of(Peer peer);

struct PeerOptions {
  Peer peer = Peer::onnxruntime;
  std::string python = "python3";  // an interpreter that has the package
  double timeout_seconds = 600.0;
};

struct PeerInput {
  MadeTensor tensor;
  ConstTensorView value;
};

struct PeerAnswer {
  std::string version;          // "onnxruntime 1.32.0"
  std::vector<Tensor> outputs;  // as they were asked for
};

// What the engine makes of these tensors of the file. Everything goes through files in a temporary folder, which is
// removed. Errors: usage (an engine for files of another format), unsupported (the engine refuses the model), resource
// (no interpreter or package, a crash, the limit of time).
Result<PeerAnswer> ask_peer(const std::string& path, FileFormat format, const std::vector<PeerInput>& inputs,
                            const std::vector<MadeTensor>& outputs, const PeerOptions& options);

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_PEER_H_
