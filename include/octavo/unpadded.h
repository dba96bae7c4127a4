// Batches of sequences of different lengths, run without what only pads them. Part of the public API.
#ifndef OCTAVO_UNPADDED_H_
#define OCTAVO_UNPADDED_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "octavo/run.h"

namespace octavo::v1 {

// Runs a padded batch in groups of sequences of similar length, each as long as its longest. The answer of a sequence
// is the one that Context::run gives, byte for byte, wherever a network keeps sequences apart and what its mask hides
// changes nothing, as encoders do: that is the caller's to know.
class Unpadded {
 public:
  // Of a model whose batch and length are open. `mask`: the input [batch, tokens] that is not 0 for the tokens of a
  // sequence, from its first to its last, and 0 for padding behind these. Inputs and outputs may have the batch as axis
  // 0 and the tokens as axis 1, and have them nowhere else. Errors: usage, naming the input or output that is
  // otherwise.
  static Result<Unpadded> create(const Model& model, std::string_view mask, const ThreadPool* pool = nullptr);
  Unpadded(Unpadded&&) noexcept;
  Unpadded& operator=(Unpadded&&) noexcept;
  ~Unpadded();

  // Tensors in the order of ModelInfo::open_inputs and open_outputs, shapes those of the padded batch. Outputs are 0
  // for padding, and for a sequence without tokens. Lengths that come for the first time are planned for. Errors: usage
  // (shapes that disagree, a mask with a token behind padding), those of Context::create and run.
  Status run(std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs);
  // Of the last run: tokens that were computed, with the padding that is left inside groups.
  std::int64_t tokens() const;

 private:
  struct Impl;
  explicit Unpadded(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace octavo::v1

#endif  // OCTAVO_UNPADDED_H_
