// A convolution over three axes as one over two, which kernels compute. Part of lower/.
#ifndef OCTAVO_LOWER_PLANAR_CONV_H_
#define OCTAVO_LOWER_PLANAR_CONV_H_

#include <optional>

#include "base/tensor.h"
#include "graph/patch.h"
#include "ops/conv/conv.h"

namespace octavo {

// With x [N, T, H, W, C], w [OC, KT, KH, KW, C / groups] and y [N, T', H', W', OC]:
//   KH = KW = 1 without strides and padding: over T and H * W, nothing moves;
//   KT = 1: over H and W of images [N * T']; where T is strided, every so many are taken out of it;
//   else, of one group: over H and W of images [N * T', H, W, KT * C], in which the planes that a plane of y reads lie
//   side by side: x is padded along T, and KT slices of it are joined.
// Each is the same sum of the same products, exact in integers.
class PlanarConv {
 public:
  // Of a convolution that is channels_last and is_planar().
  static std::optional<PlanarConv> of(const Graph& graph, const Node& conv);

  // Of the convolution over two axes.
  const Window& window() const { return window_; }
  // Of [OC, KT, KH, KW, C / groups], any type.
  Tensor weights(const Tensor& w) const;
  // x for it; `outside` is the stored value that padding counts as.
  ValueId image(Patch& patch, ValueId x, double outside) const;
  // A value of y's shape as one of the convolution's, and back.
  ValueId flat(Patch& patch, ValueId y) const;
  ValueId back(Patch& patch, ValueId y) const;

 private:
  enum class Form { rows, planes, joined };

  ValueId add(Patch& patch, const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs, const char* what) const;
  ValueId strided(Patch& patch, ValueId x, std::int64_t first) const;

  const Node* node_ = nullptr;
  Form form_ = Form::joined;
  Window window_, given_;
  OpenShape x_, y_;
};

}  // namespace octavo

#endif  // OCTAVO_LOWER_PLANAR_CONV_H_
