// The axes in front of matrices. Part of lower/.
#include "lower/leading_axes.h"

#include <algorithm>
#include <vector>

#include "ops/reshape/reshape.h"

namespace octavo {
namespace {

ValueId reshaped(Patch& patch, ValueId x, const std::vector<Dim>& dims, const std::string& name) {
  return is_same(patch.fact(x).shape, OpenShape(dims)) ? x : patch.add(kReshape, ReshapeAttrs{dims}, {x}, name);
}

// How many axes at the end are the same.
std::size_t common_end(const std::vector<Dim>& a, const std::vector<Dim>& b) {
  std::size_t count = 0;
  while (count < a.size() && count < b.size() && is_same(a[a.size() - 1 - count], b[b.size() - 1 - count])) ++count;
  return count;
}

}  // namespace

OpenShape leading_axes(const OpenShape& shape) { return OpenShape(shape.dims().first(shape.dims().size() - 2)); }

ValueId with_leading_axes(Patch& patch, ValueId x, const OpenShape& leading, const std::string& name) {
  const OpenShape& shape = patch.fact(x).shape;
  auto dims = leading.to_vector();
  dims.insert(dims.end(), shape.end() - 2, shape.end());
  return reshaped(patch, x, dims, name);
}

std::optional<ValueId> mask_for_leading_axes(Patch& patch, ValueId mask, const OpenShape& from, const OpenShape& to,
                                             const std::string& name) {
  const OpenShape& shape = patch.fact(mask).shape;
  if (shape.rank() <= 2 || is_same(from, to)) return mask;
  const auto before = from.to_vector();
  const auto after = to.to_vector();
  const auto kept = static_cast<std::ptrdiff_t>(common_end(before, after));
  // Of the mask: axes that change, then axes that stay and the matrix.
  const std::ptrdiff_t changing = std::max<std::ptrdiff_t>(shape.rank() - 2 - kept, 0);
  const std::vector<Dim> changed(shape.begin(), shape.begin() + changing);
  std::vector<Dim> dims;
  if (!std::all_of(changed.begin(), changed.end(), [](const Dim& dim) { return is_one(dim); })) {
    const std::vector<Dim> all(before.begin(), before.end() - kept);
    if (!is_same(OpenShape(changed), OpenShape(all))) return std::nullopt;
    dims.assign(after.begin(), after.end() - kept);
  }
  dims.insert(dims.end(), shape.begin() + changing, shape.end());
  return reshaped(patch, mask, dims, name);
}

}  // namespace octavo
