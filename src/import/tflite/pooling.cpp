// TFLite readers: pools. Part of import/.
#include "import/tflite/operators.h"
#include "import/tflite/parts.h"
#include "ops/list.h"

namespace octavo::tflite_import {
namespace {

Window pool_window(OperatorReader& in, ValueId x, const file::Pool2DOptions& given) {
  in.require_rank("x", x, 4, 4);
  if (in.failed()) return unit_window({1, 1});
  return read_window(in, in.shape(x), {given.filter_height(), given.filter_width()},
                     {given.padding(), {given.stride_h(), given.stride_w()}, {1, 1}});
}

}  // namespace

void read_average_pool(OperatorReader& in) {
  const auto& given = in.required_options<file::Pool2DOptions>();
  const ValueId x = in.operand(0);
  const AveragePoolAttrs attrs{.window = pool_window(in, x, given), .layout = Layout::channels_last};
  in.output(0, in.activation(in.add(kAveragePool, attrs, {x}), given.fused_activation_function()));
}

void read_max_pool(OperatorReader& in) {
  const auto& given = in.required_options<file::Pool2DOptions>();
  const ValueId x = in.operand(0);
  const MaxPoolAttrs attrs{.window = pool_window(in, x, given), .layout = Layout::channels_last};
  in.output(0, in.activation(in.add(kMaxPool, attrs, {x}), given.fused_activation_function()));
}

}  // namespace octavo::tflite_import
