// ONNX readers: pools. Part of import/.
#include <numeric>

#include "import/onnx/operators.h"
#include "import/onnx/parts.h"
#include "import/onnx/windows.h"

namespace octavo::onnx_import {
namespace {

struct Pool {
  Window window;
  Rounding rounding = Rounding::floor;
};

Pool read_pool(NodeReader& in, ValueId x, Layout layout) {
  in.require_rank("X", x, 3, kMaxRank);
  const auto kernel = in.attributes.integers("kernel_shape");
  const Rounding asked = in.attributes.flag("ceil_mode", false) ? Rounding::ceil : Rounding::floor;
  if (in.failed()) return {};
  const auto rank = static_cast<std::size_t>(in.rank(x) - 2);
  if (kernel.size() != rank) {
    in.fail("attribute 'kernel_shape'", std::to_string(kernel.size()) + " numbers",
            std::to_string(rank) + " for shape " + in.shape(x).to_string());
    return {};
  }
  const auto sizes = in.shape(x).dims().subspan(layout == Layout::channels_first ? 2 : 1, rank);
  const ReadWindow read = read_window(in, kernel, sizes);
  return {read.window, read.rounds_down ? Rounding::floor : asked};
}

}  // namespace

ValueId add_average_pool(NodeReader& in, ValueId x, Layout layout, std::string_view suffix) {
  const Pool pool = read_pool(in, x, layout);
  const bool counts_pad = in.attributes.flag("count_include_pad", false);
  const AveragePoolAttrs attrs{
      .window = pool.window, .rounding = pool.rounding, .count_include_pad = counts_pad, .layout = layout};
  return in.add(kAveragePool, attrs, {x}, suffix);
}

ValueId add_global_pool(NodeReader& in, ReduceKind kind, Layout layout, ValueId x, std::string_view suffix) {
  in.require_rank("X", x, 3, kMaxRank);
  if (in.failed()) return {};
  std::vector<std::int64_t> axes(static_cast<std::size_t>(in.rank(x) - 2));
  std::iota(axes.begin(), axes.end(), layout == Layout::channels_first ? 2 : 1);
  return in.add(kReduce, ReduceAttrs{.kind = kind, .axes = axes}, {x}, suffix);
}

void read_average_pool(NodeReader& in) {
  const ValueId x = in.value(0);
  in.output(0, add_average_pool(in, x, Layout::channels_first, ""));
}

void read_max_pool(NodeReader& in) {
  const ValueId x = in.value(0);
  if (in.attributes.flag("storage_order", false)) in.unsupported("attribute 'storage_order'", "1", "0");
  const Pool pool = read_pool(in, x, Layout::channels_first);
  in.output(0, in.add(kMaxPool, MaxPoolAttrs{.window = pool.window, .rounding = pool.rounding}, {x}));
}

void read_global_pool(NodeReader& in) {
  const ValueId x = in.value(0);
  const ReduceKind kind = in.op() == "GlobalMaxPool" ? ReduceKind::max : ReduceKind::mean;
  in.output(0, add_global_pool(in, kind, Layout::channels_first, x, ""));
}

}  // namespace octavo::onnx_import
