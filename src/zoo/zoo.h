// zoo: known architectures with seeded weights as ONNX files, for benchmarks and tests. Part of zoo/.
#ifndef OCTAVO_ZOO_ZOO_H_
#define OCTAVO_ZOO_ZOO_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace octavo {

// Names that make_zoo_model knows, sorted: torchvision's, and encoders of text.
std::vector<std::string> zoo_names();

struct ZooOptions {
  std::uint64_t seed = 1;
  int images = 16;  // synthetic images that the statistics come from
  std::function<void(std::int64_t done, std::int64_t total)> progress;
};

// An encoder has the layers behind the embeddings, input "input" f32 [batch,128,width], output "output" of the same
// shape, and random weights. A classifier is the network as torch.onnx.export writes it at opset 17 (batch norms
// already folded into the convolutions), input "input" f32 [batch,3,224,224], output "output" f32 [batch,1000]. Weights
// are random; the folded batch norms have the statistics of a training-mode pass over the images, and the classifier's
// bias is minus the mean logit, so that answers depend on the input. The same seed gives the same bytes on the same
// machine type. Errors: usage (unknown name, with the list); internal where fewer than half as many different answers
// as images come out.
Result<std::string> make_zoo_model(std::string_view name, const ZooOptions& options);

}  // namespace octavo

#endif  // OCTAVO_ZOO_ZOO_H_
