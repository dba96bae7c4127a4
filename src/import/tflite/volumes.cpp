// TFLite readers: convolutions over three axes. Part of import/.
#include "base/fields.h"
#include "import/tflite/operators.h"

namespace octavo::tflite_import {
namespace {

WindowArgs window_of(OperatorReader& in, const file::Conv3DOptions& given) {
  WindowArgs made = window_args(in, given.padding(), {});
  made.strides = Integers{given.stride_d(), given.stride_h(), given.stride_w()};
  made.dilations = Integers{given.dilation_d_factor(), given.dilation_h_factor(), given.dilation_w_factor()};
  return made;
}

// Floats alone: LiteRT has no other kernels.
void volume_require_floats(OperatorReader& in, ValueId x, ValueId w) {
  in.require_rank(x, 5, 5);
  in.require_rank(w, 5, 5);
  for (const ValueId value : {x, w}) {
    if (!in.failed() && in.dtype(value) != DType::f32)
      in.unsupported(in.place_of(value), std::string(octavo::name_of(in.dtype(value))), "f32");
  }
}

// One element per output channel; nothing where it is left out.
ValueId volume_bias_of(OperatorReader& in, int input, const Dim& channels) {
  if (in.failed() || !in.has(input)) return {};
  const ValueId bias = in.placed(in.stored(input), "input 'bias'");
  if (!in.failed() && in.shape(bias) != OpenShape(Extents{channels}))
    return in.fail("input 'bias'", "shape " + in.shape(bias).to_string(), to_string(channels) + " values");
  return bias;
}

// x [N, D, H, W, C], weights [KD, KH, KW, C / groups, OC].
ValueId read_conv_3d(OperatorReader& in) {
  const auto& given = in.required_options<file::Conv3DOptions>();
  const ValueId x = in.placed(in.stored(0), "input 'x'"), w = in.placed(in.stored(1), "input 'weights'");
  volume_require_floats(in, x, w);
  if (in.failed()) return {};
  const std::int64_t channels = in.shape(x)[4], inner = in.shape(w)[3];
  if (inner == 0 || channels % inner != 0)
    return in.fail("weights", "shape " + in.shape(w).to_string(), "channels that divide " + std::to_string(channels));
  const ConvArgs args{.x = x,
                      .w = transpose(in, w, Integers{4, 0, 1, 2, 3}, "filters"),
                      .bias = volume_bias_of(in, 2, in.shape(w)[4]),
                      .window = window_of(in, given),
                      .groups = channels / inner,
                      .layout = Layout::channels_last};
  return in.activation(conv(in, args), given.fused_activation_function());
}

// A shape that the result has, weights [KD, KH, KW, OC, C], x [N, D, H, W, C].
ValueId read_conv_3d_transpose(OperatorReader& in) {
  const auto& given = in.required_options<file::Conv3DOptions>();
  const Numbers sizes = in.constant_integers(0, "output shape");
  const ValueId w = in.placed(in.stored(1), "input 'weights'"), x = in.placed(in.stored(2), "input 'x'");
  volume_require_floats(in, x, w);
  if (in.failed()) return {};
  if (sizes.size() != 5) return in.fail(sizes.place, print(sizes.values), "five numbers");
  ConvTransposeArgs args{.x = x,
                         .w = transpose(in, w, Integers{3, 0, 1, 2, 4}, "filters"),
                         .bias = volume_bias_of(in, 3, in.shape(w)[3]),
                         .window = window_of(in, given),
                         .layout = Layout::channels_last};
  end_at(in, args, sizes);
  return in.activation(conv_transpose(in, args), given.fused_activation_function());
}

constexpr OperatorEntry kVolumeTable[] = {
    {"CONV_3D", 2, 3, 1, kStored, read_conv_3d},
    {"CONV_3D_TRANSPOSE", 3, 4, 1, kStored, read_conv_3d_transpose},
};

}  // namespace

const std::span<const OperatorEntry> kVolumes = kVolumeTable;

}  // namespace octavo::tflite_import
