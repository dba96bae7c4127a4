// ATen readers: convolutions. Part of import/.
#include "base/fields.h"
#include "import/pt2/operators.h"
#include "import/pt2/parts.h"
#include "ops/list.h"

namespace octavo::pt2_import {
namespace {

// Padding that keeps the size at stride 1; an odd rest goes to the end.
void pad_same(Window& window) {
  for (int i = 0; i < window.rank(); ++i) {
    const std::int64_t total = window.extent(i) - 1;
    const auto axis = static_cast<std::size_t>(i);
    window.pad_begin[axis] = total / 2;
    window.pad_end[axis] = total - total / 2;
  }
}

void add_conv(NodeReader& in, bool has_padding_name) {
  const ValueId x = in.value("input"), w = in.value("weight"), bias = in.optional("bias");
  in.require_rank("input", x, 3, kMaxRank);
  if (in.failed()) return;
  in.require_rank("weight", w, in.rank(x), in.rank(x));
  const std::int64_t groups = in.integer("groups", 1);
  if (in.failed()) return;
  const auto kernel = in.shape(w).dims().subspan(2);
  Window window = unit_window({kernel.begin(), kernel.end()});
  window.strides = per_axis(in, "stride", kernel.size(), 1);
  window.dilations = per_axis(in, "dilation", kernel.size(), 1);
  if (!has_padding_name) {
    window.pad_begin = window.pad_end = per_axis(in, "padding", kernel.size(), 0);
  } else if (const std::string name = in.text("padding", "valid"); name == "same") {
    if (!in.failed()) pad_same(window);
  } else if (name != "valid") {
    in.fail("argument 'padding'", "'" + name + "'", "'same' or 'valid'");
  }
  in.output(0, in.add(kConv, ConvAttrs{.window = window, .groups = groups}, {x, w, bias}));
}

}  // namespace

std::vector<std::int64_t> per_axis(NodeReader& in, std::string_view name, std::size_t rank, std::int64_t fallback) {
  std::vector<std::int64_t> numbers = in.integers(name, {fallback});
  if (numbers.size() == 1) numbers.assign(rank, numbers[0]);
  if (numbers.size() != rank) {
    in.fail("argument '" + std::string(name) + "'", print(numbers),
            "one number per spatial axis, " + std::to_string(rank));
    numbers.assign(rank, fallback);
  }
  return numbers;
}

void read_conv(NodeReader& in) {
  constexpr std::string_view kByName = ".padding";
  const std::string& target = in.target();
  add_conv(in, target.size() > kByName.size() &&
                   target.compare(target.size() - kByName.size(), kByName.size(), kByName) == 0);
}

void read_convolution(NodeReader& in) {
  if (in.flag("transposed", false)) in.unsupported("argument 'transposed'", "true", "false");
  in.ignore("output_padding");
  add_conv(in, false);
}

}  // namespace octavo::pt2_import
