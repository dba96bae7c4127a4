// Where our answers leave those of another engine, tensor by tensor. Part of analyze/.
#ifndef OCTAVO_ANALYZE_AGAINST_H_
#define OCTAVO_ANALYZE_AGAINST_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analyze/compare.h"
#include "analyze/peer.h"
#include "analyze/session.h"

namespace octavo {

struct AgainstOptions {
  PeerOptions engine;
  std::optional<double> min_sqnr;  // for every tensor, in dB; none: integers are equal, floats reach kEnoughDb
};
// What orders of summing in f32 leave of a deep network is better.
inline constexpr double kEnoughDb = 60.0;

// A tensor that both computed.
struct ComparedTensor {
  MadeTensor tensor;
  DType dtype = DType::f32;  // theirs, like the shape
  Shape shape;
  Difference difference;  // of integers in their steps
  bool agrees = true;
};

struct AgainstReport {
  std::string engine;                   // with its version
  std::vector<ComparedTensor> tensors;  // in the order of the file's nodes
  std::size_t not_compared = 0;         // others that nodes of the file make

  const ComparedTensor* first() const;  // that does not agree; nullptr: none
};

// Runs the session, whose inputs are filled and which comes of the file at `path`, and the engine on the same inputs.
// What is computed inside a kernel here is not asked for there, so that the engine, too, may fuse its nodes. Tensors
// are those of one name; where the session keeps one in another order of axes, that in which it is nearest to theirs;
// 8-bit ones of the other sign count as the same. Where theirs is a float and ours 8-bit, as in a file that was
// quantized on the way, it counts as what scale and zero point make of it. Errors: those of ask_peer and of running;
// usage (other inputs than the file's, no tensor to compare).
Result<AgainstReport> compare_against(const std::string& path, Session& session, const AgainstOptions& options);

// A table, what was not compared, and the first tensor that does not agree in words.
std::string against_text(const AgainstReport& report);
nlohmann::json against_json(const AgainstReport& report);

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_AGAINST_H_
