// Shape arithmetic. Part of base/.
#include "base/shape.h"

#include <algorithm>

#include "base/sizes.h"

namespace octavo {

// Not inline: GCC 12 warns about the copy where it is (a false stringop-overflow).
template <class Extent>
BasicShape<Extent>::BasicShape(std::span<const Extent> dims) : rank_(static_cast<int>(dims.size())) {
  if (rank_ > kInlineRank) more_.resize(dims.size());
  std::copy(dims.begin(), dims.end(), data());
}

template <class Extent>
Extent BasicShape<Extent>::elements(int from, int to) const {
  Extent count = 1;
  for (int axis = from; axis < to; ++axis) count *= (*this)[axis];
  return count;
}

template <class Extent>
std::vector<Extent> BasicShape<Extent>::strides() const {
  std::vector<Extent> strides(static_cast<std::size_t>(rank()), 1);
  for (int axis = rank() - 2; axis >= 0; --axis) {
    const auto i = static_cast<std::size_t>(axis);
    strides[i] = strides[i + 1] * (*this)[axis + 1];
  }
  return strides;
}

template <class Extent>
std::string BasicShape<Extent>::to_string() const {
  using octavo::to_string;
  using std::to_string;
  if (rank() == 0) return "scalar";
  std::string text;
  for (const Extent& dim : *this) text += (text.empty() ? "" : "x") + to_string(dim);
  return text;
}

template class BasicShape<std::int64_t>;
template class BasicShape<Dim>;

std::optional<std::int64_t> checked_elements(std::span<const std::int64_t> dims) {
  std::int64_t count = 1;
  bool is_empty = false;
  for (std::int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    if (dim == 0) is_empty = true;
    // The product of the non-zero dimensions is bounded too, so that partial products stay in range.
    if (dim > 0 && count > kMaxElements / dim) return std::nullopt;
    if (dim > 0) count *= dim;
  }
  return is_empty ? 0 : count;
}

std::optional<Dim> checked_elements(std::span<const Dim> dims) {
  std::vector<std::int64_t> numbers;
  Dim count = 1;
  for (const Dim& dim : dims) {
    if (dim < 0) return std::nullopt;
    numbers.push_back(dim.example());
    count *= dim;
  }
  if (!checked_elements(std::span<const std::int64_t>(numbers))) return std::nullopt;
  return count;
}

namespace {

// Extents that meet; nothing where they do not go together. An open one that meets a number may be 1 as well.
std::optional<Dim> broadcast(const Dim& a, const Dim& b) {
  if (is_one(a) || is_one(b)) return is_one(a) ? b : a;
  if (a.is_number() && b.is_number()) return a == b ? std::optional(a) : std::nullopt;
  if (!a.is_number() && !b.is_number()) {
    if (must_equal(a, b)) return a;
    if (a == 1) return b;  // by an example that says so
    return b == 1 ? std::optional(a) : std::nullopt;
  }
  const Dim &number = a.is_number() ? a : b, &open = a.is_number() ? b : a;
  return Sizes::must_be_zero((open - 1) * (open - number)) ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<OpenShape> broadcast(const OpenShape& a, const OpenShape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::vector<Dim> dims(static_cast<std::size_t>(rank), 1);
  for (int i = 1; i <= rank; ++i) {
    const Dim da = i <= a.rank() ? a[a.rank() - i] : Dim(1);
    const Dim db = i <= b.rank() ? b[b.rank() - i] : Dim(1);
    const std::optional<Dim> both = broadcast(da, db);
    if (!both) return std::nullopt;
    dims[static_cast<std::size_t>(rank - i)] = *both;
  }
  return OpenShape(dims);
}

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  const auto both = broadcast(OpenShape(a), OpenShape(b));
  if (!both) return std::nullopt;
  return static_cast<Shape>(*both);
}

std::optional<int> normalize_axis(std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) return std::nullopt;
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace octavo
