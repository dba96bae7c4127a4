// ATen readers: pools. Part of import/.
#include <numeric>

#include "base/fields.h"
#include "import/pt2/operators.h"
#include "import/pt2/parts.h"
#include "ops/list.h"

namespace octavo::pt2_import {
namespace {

struct Pool {
  Window window;
  Rounding rounding = Rounding::floor;
};

// kernel_size, stride (empty: the kernel), padding and ceil_mode.
Pool read_pool(NodeReader& in, ValueId x, int spatial_rank) {
  in.require_rank("self", x, spatial_rank + 2, spatial_rank + 2);
  const auto rank = static_cast<std::size_t>(spatial_rank);
  Window window = unit_window(per_axis(in, "kernel_size", rank, 1));
  window.strides = in.integers("stride").empty() ? window.kernel : per_axis(in, "stride", rank, 1);
  window.pad_begin = window.pad_end = per_axis(in, "padding", rank, 0);
  return {window, in.flag("ceil_mode", false) ? Rounding::ceil : Rounding::floor};
}

// The digit of "avg_pool2d".
int spatial_rank_of(const std::string& target) { return target[target.find("pool") + 4] - '0'; }

}  // namespace

void read_average_pool(NodeReader& in) {
  const ValueId x = in.value("self");
  const Pool pool = read_pool(in, x, spatial_rank_of(in.target()));
  const bool counts_pad = in.flag("count_include_pad", true);
  if (in.has("divisor_override")) in.unsupported("argument 'divisor_override'", "a number", "none");
  in.output(
      0,
      in.add(kAveragePool,
             AveragePoolAttrs{.window = pool.window, .rounding = pool.rounding, .count_include_pad = counts_pad}, {x}));
}

void read_max_pool(NodeReader& in) {
  const ValueId x = in.value("self");
  Pool pool = read_pool(in, x, spatial_rank_of(in.target()));
  pool.window.dilations = per_axis(in, "dilation", pool.window.kernel.size(), 1);
  in.output(0, in.add(kMaxPool, MaxPoolAttrs{.window = pool.window, .rounding = pool.rounding}, {x}));
}

// Sizes that divide are windows side by side; one output is a mean, as many as inputs nothing at all.
void read_adaptive_average_pool(NodeReader& in) {
  const ValueId x = in.value("self");
  const auto sizes = per_axis(in, "output_size", 2, 1);
  in.require_rank("self", x, 4, 4);
  if (in.failed()) return;
  const std::int64_t height = in.shape(x)[2], width = in.shape(x)[3];
  if (sizes[0] < 1 || sizes[1] < 1 || height % sizes[0] != 0 || width % sizes[1] != 0 || height == 0 || width == 0) {
    return in.unsupported("argument 'output_size'", print(sizes) + " of an image of " + in.shape(x).to_string(),
                          "sizes that divide the image's");
  }
  if (sizes[0] == height && sizes[1] == width) return in.output(0, x);
  if (sizes[0] == 1 && sizes[1] == 1)
    return in.output(0, in.add(kReduce, ReduceAttrs{.kind = ReduceKind::mean, .axes = {2, 3}}, {x}));
  Window window = unit_window({height / sizes[0], width / sizes[1]});
  window.strides = window.kernel;
  in.output(0, in.add(kAveragePool, AveragePoolAttrs{.window = window}, {x}));
}

}  // namespace octavo::pt2_import
